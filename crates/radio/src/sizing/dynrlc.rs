//! DynRLC: the size of the RLC's buffer follows the sojourn time in it (Kumar et al. 2018, as compared by Irazabal et al. 2022).

use bloatlab_units::{Duration, MICROSECOND, MILLISECOND, Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{counts, lasts};

/// A limit, in packets, of the RLC's backlog. It falls while the sojourn time in the RLC exceeds a target, and grows otherwise.
///
/// The steps become smaller near the bounds, down to one packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The initial limit, packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub size: u64,
    /// The lowest limit, packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub min: u64,
    /// The highest limit, packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max: u64,
    /// Mean sojourn time in the RLC above which the limit falls.
    #[schemars(extend("x-minimum" = "100us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// Time between two steps.
    #[schemars(extend("x-minimum" = "1ms", "x-maximum" = "1h"))]
    pub interval: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            size: 10,
            min: 2,
            max: 20,
            target: Duration(11 * MILLISECOND),
            interval: Duration(100 * MILLISECOND),
        }
    }
}

impl Params {
    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        counts("min", self.min, 1, 1_000_000)?;
        counts("max", self.max, self.min, 1_000_000)?;
        counts("size", self.size, self.min, self.max)?;
        lasts("target", self.target, 100 * MICROSECOND, 3600 * SECOND)?;
        lasts("interval", self.interval, MILLISECOND, 3600 * SECOND)
    }
}

/// The limit of one bearer.
#[derive(Clone, Debug)]
pub struct DynRlc {
    params: Params,
    size: f64,
    sojourns: Nanos,
    packets: u64,
    next: Nanos,
}

impl DynRlc {
    /// Creates a limit of the initial size.
    pub fn new(params: &Params) -> Self {
        Self {
            size: params.size as f64,
            sojourns: 0,
            packets: 0,
            next: params.interval.0,
            params: params.clone(),
        }
    }

    /// The limit in whole packets.
    pub fn limit(&self) -> u64 {
        self.size as u64
    }

    /// How many packets may be passed to an RLC that holds `queued` packets.
    pub fn may_release(&self, queued: u64) -> u64 {
        self.limit().saturating_sub(queued)
    }

    /// Records that a packet left the RLC.
    pub fn on_packet_out(&mut self, sojourn: Nanos) {
        self.sojourns = self.sojourns.saturating_add(sojourn);
        self.packets += 1;
    }

    /// A TTI has ended.
    pub fn on_tti_end(&mut self, now: Nanos) {
        while now >= self.next {
            self.next += self.params.interval.0;
            let (low, high) = (self.params.min as f64, self.params.max as f64);
            // If no packet left, there was no delay.
            let mean = self.sojourns / self.packets.max(1);
            if mean > self.params.target.0 {
                self.size -= (0.1 * (self.size - low)).max(1.0);
            } else {
                self.size += (0.1 * (high - self.size)).max(1.0);
            }
            self.size = self.size.clamp(low, high);
            (self.sojourns, self.packets) = (0, 0);
            if self.size == high && now >= self.next {
                // Nothing has left since, so the limit stays at the maximum.
                let interval = self.params.interval.0;
                self.next += ((now - self.next) / interval + 1) * interval;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(algorithm: &mut DynRlc, interval: u64, sojourns_ms: &[u64]) -> f64 {
        for sojourn in sojourns_ms {
            algorithm.on_packet_out(sojourn * MILLISECOND);
        }
        algorithm.on_tti_end((interval * 100 - 1) * MILLISECOND);
        algorithm.on_tti_end(interval * 100 * MILLISECOND);
        algorithm.size
    }

    #[test]
    fn a_step_up_or_down_each_100_ms() {
        let mut algorithm = DynRlc::new(&Params::default());
        assert_eq!(algorithm.may_release(4), 6);
        // A mean of 11 ms is not above the target: + max(1, 0.1 (20 - 10)).
        assert_eq!(after(&mut algorithm, 1, &[10, 12]), 11.0);
        assert_eq!(after(&mut algorithm, 2, &[12]), 10.0);
        assert_eq!(algorithm.may_release(14), 0);
        let falls: Vec<f64> = (3..14).map(|at| after(&mut algorithm, at, &[30])).collect();
        assert_eq!(
            falls,
            [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 2.0, 2.0, 2.0]
        );
        for at in 14..40 {
            after(&mut algorithm, at, &[]);
        }
        assert_eq!(algorithm.limit(), 20);
    }

    #[test]
    fn a_long_idle_time_takes_few_steps() {
        let params = Params {
            interval: Duration(MILLISECOND),
            ..Params::default()
        };
        let mut algorithm = DynRlc::new(&params);
        // 300 years of 1 ms: one step at a time would take a day of computing.
        let now = 9_000_000_000 * SECOND + 1;
        algorithm.on_tti_end(now);
        assert_eq!(
            (algorithm.limit(), algorithm.next),
            (20, now - 1 + MILLISECOND)
        );
    }

    #[test]
    fn steps_are_a_tenth_of_the_way_where_that_is_more_than_a_packet() {
        let params = Params {
            size: 100,
            max: 200,
            ..Params::default()
        };
        let mut algorithm = DynRlc::new(&params);
        // + 0.1 (200 - 100), then - 0.1 (110 - 2).
        assert_eq!(after(&mut algorithm, 1, &[5]), 110.0);
        assert!((after(&mut algorithm, 2, &[50]) - 99.2).abs() < 1e-9);
        assert_eq!(algorithm.limit(), 99);
    }
}
