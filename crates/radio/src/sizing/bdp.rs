//! 5G-BDP: paces into the RLC what a TTI can send (Irazabal et al. 2022).

use bloatlab_units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Paces packets into the RLC, so that over a TTI as many come as the last one could have sent, and one third of them stand ready before it begins.
///
/// What was left over at a TTI's end came too early: so much less is given the next time. When no TTI comes for long, the pace falls by a quarter
/// with each tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// What share of a TTI's packets stand ready at its beginning.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub ahead: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { ahead: 0.33 }
    }
}

impl Params {
    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first that is.
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

/// TTIs without an end after which the pace falls, and the packets below which it does not.
const SILENT: f64 = 6.0;
const FEW: f64 = 5.0;

/// The pacer of one bearer.
#[derive(Clone, Debug)]
pub struct Bdp {
    params: Params,
    /// Length of a TTI.
    tti: Nanos,
    /// Packets a TTI.
    pace: f64,
    sent: u64,
    since: Nanos,
}

impl Bdp {
    /// One packet a TTI of this length at first.
    pub fn new(params: &Params, tti: Nanos) -> Self {
        Self {
            params: params.clone(),
            tti,
            pace: 1.0,
            sent: 0,
            since: 0,
        }
    }

    /// Packets a TTI.
    pub fn pace(&self) -> f64 {
        self.pace
    }

    /// A TTI has ended that could have sent so many packets, and left so many in the RLC.
    pub fn on_tti_end(&mut self, now: Nanos, could: u64, leftover: u64) {
        self.pace = could.saturating_sub(leftover).max(1) as f64;
        self.sent = 0;
        self.since = now;
    }

    /// A tick of the pacer: how many packets go now, of so many that wait. Those count as sent.
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
    fn a_third_stands_ready_and_the_rest_follows_evenly() {
        let mut law = Bdp::new(&Params::default(), MILLISECOND);
        law.on_tti_end(10 * MILLISECOND, 24, 4);
        assert_eq!(law.pace(), 20.0);
        // 20 x 0.33 = 6.6; a quarter of a TTI on 11.6, 16.6, 21.6.
        let ticks =
            [0, 250, 500, 750].map(|us| law.on_tick(10 * MILLISECOND + us * MICROSECOND, 100));
        assert_eq!(ticks, [6, 5, 5, 5]);
        // Two wait of the five that are due; the next tick catches up.
        assert_eq!(law.on_tick(11 * MILLISECOND, 2), 2);
        assert_eq!(law.on_tick(11 * MILLISECOND, 100), 3);
    }

    #[test]
    fn at_least_one_packet_a_tti() {
        let mut law = Bdp::new(&Params::default(), MILLISECOND);
        law.on_tti_end(MILLISECOND, 5, 9);
        assert_eq!(law.pace(), 1.0);
        assert_eq!(law.on_tick(MILLISECOND, 100), 0);
        assert_eq!(law.on_tick(MILLISECOND + 700 * MICROSECOND, 100), 1);
    }

    #[test]
    fn silence_slows_it_down() {
        let mut law = Bdp::new(&Params::default(), MILLISECOND);
        law.on_tti_end(0, 20, 0);
        // 5.6 TTIs and the third ahead are not more than 6; 6 and the third are.
        assert_eq!(law.on_tick(5_600 * MICROSECOND, 1000), 118);
        assert_eq!(law.pace(), 20.0);
        assert_eq!(law.on_tick(6 * MILLISECOND, 1000), 8);
        assert_eq!(law.pace(), 15.0);
        // What a slower pace would have sent by then went already.
        assert_eq!(law.on_tick(6 * MILLISECOND, 1000), 0);
        for _ in 0..10 {
            law.on_tick(7 * MILLISECOND, 1000);
        }
        // 15, 11.25, 8.4, 6.3, 4.7.
        assert!((law.pace() - 4.746).abs() < 1e-3, "{}", law.pace());
    }
}
