//! DRQL: dynamic queue limits (Herbert 2011) for the RLC, looked at once a TTI (Irazabal et al. 2022).

use bloatlab_units::{Duration, MICROSECOND, MILLISECOND, Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{counts, lasts};

/// A limit in packets on what the RLC holds, which grows when the radio runs dry at the limit and shrinks by what always stays behind.
///
/// A queue that is emptied while as much was in it as the limit allowed has starved: the limit is too low. What was left over at the end of each TTI
/// for a while was not needed: the limit falls by the least of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The limit at first, packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit: u64,
    /// The lowest limit, packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub min: u64,
    /// The highest limit, packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max: u64,
    /// By how much the limit grows, percent, rounded up to a packet.
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
    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first that is.
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
    /// The least that was left over since `since`.
    slack: u64,
    since: Nanos,
}

impl Drql {
    /// With nothing in the RLC.
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

    /// How many packets may go to the RLC now.
    pub fn may_release(&self) -> u64 {
        self.limit.saturating_sub(self.in_flight)
    }

    /// So many went.
    pub fn on_release(&mut self, packets: u64) {
        self.in_flight += packets;
    }

    /// A TTI has ended in which so many packets left the RLC.
    pub fn on_tti_end(&mut self, now: Nanos, out: u64) {
        let was_full = self.in_flight >= self.limit;
        self.in_flight = self.in_flight.saturating_sub(out);
        let leftover = self.in_flight;
        if out == 0 {
            // Not served: nothing can be said.
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

    /// A TTI of 1 ms before which the RLC is filled up to the limit.
    fn tti(law: &mut Drql, millisecond: u64, out: u64) -> u64 {
        law.on_release(law.may_release());
        law.on_tti_end(millisecond * MILLISECOND, out);
        law.limit()
    }

    #[test]
    fn starving_at_the_limit_raises_it_by_a_fifth() {
        let mut law = Drql::new(&Params::default());
        assert_eq!(law.may_release(), 25);
        let limits = [1, 2, 3, 4].map(|at| tti(&mut law, at, 1000));
        // 25 x 1.2 = 30, 36, 43.2, 52.8.
        assert_eq!(limits, [30, 36, 44, 53]);
    }

    #[test]
    fn what_was_never_needed_is_taken_off_after_100_ms() {
        let mut law = Drql::new(&Params::default());
        // Emptied below the limit: the window begins.
        law.on_release(3);
        law.on_tti_end(MILLISECOND, 3);
        // 10 to 13 of 25 leave: 12 to 15 stay, at least 12.
        for at in 2..101 {
            assert_eq!(tti(&mut law, at, 10 + at % 4), 25, "{at} ms");
        }
        assert_eq!(tti(&mut law, 101, 10), 25 - 12);
        // What is there beyond the new limit must leave before anything follows.
        assert_eq!(law.may_release(), 0);
    }

    #[test]
    fn a_tti_without_service_begins_the_window_anew() {
        let mut law = Drql::new(&Params::default());
        for at in 1..100 {
            tti(&mut law, at, 10);
        }
        tti(&mut law, 99, 0);
        assert_eq!(tti(&mut law, 100, 10), 25);
        assert_eq!(tti(&mut law, 199, 10), 10);
    }

    proptest! {
        #[test]
        fn never_more_in_flight_than_the_highest_limit(outs in proptest::collection::vec(0_u64..600, 1..400)) {
            let mut law = Drql::new(&Params::default());
            for (at, out) in (1..).zip(outs) {
                let limit = tti(&mut law, at, out);
                prop_assert!((1..=512).contains(&limit));
                prop_assert!(law.in_flight <= 512);
            }
        }
    }
}
