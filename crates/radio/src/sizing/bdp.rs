//! 5G-BDP: paces packets into the RLC at the rate of the radio, per TTI (Irazabal et al. 2022).

use bloatlab_units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Paces packets into the RLC. Per TTI it releases as many as the last TTI could have sent, and a third of them before the TTI begins.
///
/// Packets left over at the end of a TTI came too early, so the pace is reduced by their number. If no TTI ends for a long time, the pace falls by a
/// quarter per tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Share of a TTI's packets that is ready when the TTI begins.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub ahead: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { ahead: 0.33 }
    }
}

impl Params {
    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        if !(0.0..=10.0).contains(&self.ahead) {
            return Err(format!(
                "ahead: must be between 0 and 10, not {}",
                self.ahead
            ));
        }
        Ok(())
    }
}

/// Number of TTIs without an end after which the pace falls, and the number of packets below which it does not.
const SILENT: f64 = 6.0;
const FEW: f64 = 5.0;

/// The pacer of one bearer.
#[derive(Clone, Debug)]
pub struct Bdp {
    params: Params,
    /// Length of a TTI.
    tti: Nanos,
    /// Packets per TTI.
    pace: f64,
    sent: u64,
    since: Nanos,
}

impl Bdp {
    /// Creates a pacer for TTIs of this length. It starts with one packet per TTI.
    pub fn new(params: &Params, tti: Nanos) -> Self {
        Self {
            params: params.clone(),
            tti,
            pace: 1.0,
            sent: 0,
            since: 0,
        }
    }

    /// Packets per TTI.
    pub fn pace(&self) -> f64 {
        self.pace
    }

    /// A TTI has ended. It could have sent `could` packets, and `leftover` packets are left in the RLC.
    pub fn on_tti_end(&mut self, now: Nanos, could: u64, leftover: u64) {
        self.pace = could.saturating_sub(leftover).max(1) as f64;
        self.sent = 0;
        self.since = now;
    }

    /// A tick of the pacer: how many of the `waiting` packets to release now. They count as sent.
    pub fn on_tick(&mut self, now: Nanos, waiting: u64) -> u64 {
        let elapsed = (now - self.since) as f64 / self.tti as f64 + self.params.ahead;
        let due = libm::floor(self.pace * elapsed) as u64;
        let released = due.saturating_sub(self.sent).min(waiting);
        self.sent += released;
        if elapsed > SILENT && self.pace > FEW {
            self.pace *= 0.75;
        }
        released
    }
}

#[cfg(test)]
mod tests {
    use bloatlab_units::{MICROSECOND, MILLISECOND};

    use super::*;

    #[test]
    fn a_third_is_available_at_once_and_the_rest_is_paced() {
        let mut algorithm = Bdp::new(&Params::default(), MILLISECOND);
        algorithm.on_tti_end(10 * MILLISECOND, 24, 4);
        assert_eq!(algorithm.pace(), 20.0);
        // 20 x 0.33 = 6.6, and after each quarter of a TTI: 11.6, 16.6, 21.6.
        let ticks = [0, 250, 500, 750]
            .map(|us| algorithm.on_tick(10 * MILLISECOND + us * MICROSECOND, 100));
        assert_eq!(ticks, [6, 5, 5, 5]);
        // Only two of the five packets that are due are waiting. The next tick catches up.
        assert_eq!(algorithm.on_tick(11 * MILLISECOND, 2), 2);
        assert_eq!(algorithm.on_tick(11 * MILLISECOND, 100), 3);
    }

    #[test]
    fn at_least_one_packet_a_tti() {
        let mut algorithm = Bdp::new(&Params::default(), MILLISECOND);
        algorithm.on_tti_end(MILLISECOND, 5, 9);
        assert_eq!(algorithm.pace(), 1.0);
        assert_eq!(algorithm.on_tick(MILLISECOND, 100), 0);
        assert_eq!(algorithm.on_tick(MILLISECOND + 700 * MICROSECOND, 100), 1);
    }

    #[test]
    fn an_idle_time_lowers_the_rate() {
        let mut algorithm = Bdp::new(&Params::default(), MILLISECOND);
        algorithm.on_tti_end(0, 20, 0);
        // 5.6 TTIs plus the third are not more than 6; 6 plus the third are.
        assert_eq!(algorithm.on_tick(5_600 * MICROSECOND, 1000), 118);
        assert_eq!(algorithm.pace(), 20.0);
        assert_eq!(algorithm.on_tick(6 * MILLISECOND, 1000), 8);
        assert_eq!(algorithm.pace(), 15.0);
        // What a slower pace would have sent by then has already been sent.
        assert_eq!(algorithm.on_tick(6 * MILLISECOND, 1000), 0);
        for _ in 0..10 {
            algorithm.on_tick(7 * MILLISECOND, 1000);
        }
        // 15, 11.25, 8.4, 6.3, 4.7.
        assert!(
            (algorithm.pace() - 4.746).abs() < 1e-3,
            "{}",
            algorithm.pace()
        );
    }
}
