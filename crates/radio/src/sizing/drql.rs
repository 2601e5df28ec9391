//! DRQL: dynamic queue limits (Herbert 2011) for the RLC, updated once per TTI (Irazabal et al. 2022).

use bloatlab_units::{Duration, MICROSECOND, MILLISECOND, Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{counts, lasts};

/// A limit, in packets, of the RLC's backlog. It grows when the radio runs dry at the limit, and shrinks by what is always left over.
///
/// If the RLC is emptied although it held as much as the limit allowed, it starved, and the limit is too low. If packets were left over at the end of
/// every TTI for a while, they were not needed, and the limit falls by the smallest number left over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The initial limit, packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit: u64,
    /// The lowest limit, packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub min: u64,
    /// The highest limit, packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max: u64,
    /// How much the limit grows, in percent, rounded up to a packet.
    #[schemars(range(min = 1, max = 1000))]
    pub growth_percent: u64,
    /// How long packets must be left over before the limit falls.
    #[schemars(extend("x-minimum" = "100us", "x-maximum" = "1h"))]
    pub slack_time: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            limit: 25,
            min: 1,
            max: 512,
            growth_percent: 20,
            slack_time: Duration(100 * MILLISECOND),
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
        counts("limit", self.limit, self.min, self.max)?;
        counts("growth_percent", self.growth_percent, 1, 1000)?;
        lasts(
            "slack_time",
            self.slack_time,
            100 * MICROSECOND,
            3600 * SECOND,
        )
    }
}

/// The limit of one bearer.
#[derive(Clone, Debug)]
pub struct Drql {
    params: Params,
    limit: u64,
    in_flight: u64,
    /// The smallest number left over since `since`.
    slack: u64,
    since: Nanos,
}

impl Drql {
    /// Creates a limit for an empty RLC.
    pub fn new(params: &Params) -> Self {
        Self {
            limit: params.limit,
            in_flight: 0,
            slack: u64::MAX,
            since: 0,
            params: params.clone(),
        }
    }

    /// The limit, packets.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// How many packets may be passed to the RLC now.
    pub fn may_release(&self) -> u64 {
        self.limit.saturating_sub(self.in_flight)
    }

    /// Records that `packets` packets were passed to the RLC.
    pub fn on_release(&mut self, packets: u64) {
        self.in_flight += packets;
    }

    /// A TTI has ended in which `out` packets left the RLC.
    pub fn on_tti_end(&mut self, now: Nanos, out: u64) {
        let was_full = self.in_flight >= self.limit;
        self.in_flight = self.in_flight.saturating_sub(out);
        let leftover = self.in_flight;
        if out == 0 {
            // The bearer was not served, so nothing is known.
            self.restart(now);
        } else if leftover > 0 {
            self.slack = self.slack.min(leftover);
            if now - self.since >= self.params.slack_time.0 {
                let lower = self.limit.saturating_sub(self.slack);
                self.limit = lower.max(self.params.min);
                self.restart(now);
            }
        } else {
            if was_full {
                let grown = (self.limit * (100 + self.params.growth_percent)).div_ceil(100);
                self.limit = grown.min(self.params.max);
            }
            self.restart(now);
        }
    }

    fn restart(&mut self, now: Nanos) {
        self.slack = u64::MAX;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A TTI of 1 ms. Before it, the RLC is filled up to the limit.
    fn tti(algorithm: &mut Drql, millisecond: u64, out: u64) -> u64 {
        algorithm.on_release(algorithm.may_release());
        algorithm.on_tti_end(millisecond * MILLISECOND, out);
        algorithm.limit()
    }

    #[test]
    fn starving_at_the_limit_raises_it_by_a_fifth() {
        let mut algorithm = Drql::new(&Params::default());
        assert_eq!(algorithm.may_release(), 25);
        let limits = [1, 2, 3, 4].map(|at| tti(&mut algorithm, at, 1000));
        // 25 x 1.2 = 30, 36, 43.2, 52.8.
        assert_eq!(limits, [30, 36, 44, 53]);
    }

    #[test]
    fn unused_capacity_is_removed_after_100_ms() {
        let mut algorithm = Drql::new(&Params::default());
        // Emptied below the limit, so the window starts.
        algorithm.on_release(3);
        algorithm.on_tti_end(MILLISECOND, 3);
        // 10 to 13 of 25 packets leave, so 12 to 15 stay; the smallest number is 12.
        for at in 2..101 {
            assert_eq!(tti(&mut algorithm, at, 10 + at % 4), 25, "{at} ms");
        }
        assert_eq!(tti(&mut algorithm, 101, 10), 25 - 12);
        // The RLC holds more than the new limit, so packets must leave first.
        assert_eq!(algorithm.may_release(), 0);
    }

    #[test]
    fn a_tti_without_service_restarts_the_window() {
        let mut algorithm = Drql::new(&Params::default());
        for at in 1..100 {
            tti(&mut algorithm, at, 10);
        }
        tti(&mut algorithm, 99, 0);
        assert_eq!(tti(&mut algorithm, 100, 10), 25);
        assert_eq!(tti(&mut algorithm, 199, 10), 10);
    }

    proptest! {
        #[test]
        fn never_more_in_flight_than_the_highest_limit(outs in proptest::collection::vec(0_u64..600, 1..400)) {
            let mut algorithm = Drql::new(&Params::default());
            for (at, out) in (1..).zip(outs) {
                let limit = tti(&mut algorithm, at, out);
                prop_assert!((1..=512).contains(&limit));
                prop_assert!(algorithm.in_flight <= 512);
            }
        }
    }
}
