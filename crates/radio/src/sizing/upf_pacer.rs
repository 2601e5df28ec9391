//! The UPF-SDAP pacer: SDAP tells the UPF how much it may hold, so that flows queue separately in the UPF (Irazabal et al. 2022).

use bloatlab_units::{Duration, MICROSECOND, Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{counts, lasts};

/// A cap, in packets, on SDAP's queue of a QoS flow, which the UPF keeps filled. At each saturation it is set to the mean number of packets passed on
/// per tick. Half a period later it doubles, to find out whether the radio can send more.
///
/// SDAP is saturated if the bearer below has no space, or if more packets wait for it than a TTI needs, plus a few.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Duration of a tick.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1s"))]
    pub tick: Duration,
    /// Number of ticks per period.
    #[schemars(range(min = 1, max = 1000))]
    pub ticks: u64,
    /// The lowest cap, packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub min: u64,
    /// The highest cap, packets, which is also the initial one.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max: u64,
    /// Number of packets beyond a TTI's need that may wait in SDAP.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub spare: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            tick: Duration(100 * MICROSECOND),
            ticks: 10,
            min: 1,
            max: 1024,
            spare: 5,
        }
    }
}

impl Params {
    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        lasts("tick", self.tick, MICROSECOND, SECOND)?;
        counts("ticks", self.ticks, 1, 1000)?;
        counts("min", self.min, 1, 1_000_000)?;
        counts("max", self.max, self.min, 1_000_000)?;
        counts("spare", self.spare, 0, 1_000_000)
    }
}

/// The cap of one QoS flow.
#[derive(Clone, Debug)]
pub struct UpfPacer {
    params: Params,
    cap: u64,
    /// Number of packets passed on since the last saturation.
    passed: u64,
    /// When the cap will double; `None` after it has.
    doubles: Option<Nanos>,
}

impl UpfPacer {
    /// Creates a pacer with the highest cap.
    pub fn new(params: &Params) -> Self {
        Self {
            cap: params.max,
            passed: 0,
            doubles: None,
            params: params.clone(),
        }
    }

    /// How many packets of the flow SDAP may hold.
    pub fn cap(&self) -> u64 {
        self.cap
    }

    /// How many packets the UPF may send to an SDAP that holds `queued` packets.
    pub fn may_release(&self, queued: u64) -> u64 {
        self.cap.saturating_sub(queued)
    }

    /// Records that SDAP passed on `packets` packets.
    pub fn on_passed(&mut self, packets: u64) {
        self.passed += packets;
    }

    /// A tick of SDAP. `has_room` tells whether there is space below it, `queued` how many packets of the flow it holds, and `pace` how many packets
    /// a TTI needs.
    pub fn on_tick(&mut self, now: Nanos, has_room: bool, queued: u64, pace: f64) {
        if !has_room || queued as f64 > pace + self.params.spare as f64 {
            let mean = self.passed.div_ceil(self.params.ticks);
            self.cap = mean.clamp(self.params.min, self.params.max);
            self.passed = 0;
            self.doubles = Some(now + self.params.tick.0 * self.params.ticks / 2);
        } else if self.doubles.is_some_and(|at| now >= at) {
            self.cap = (2 * self.cap).min(self.params.max);
            self.doubles = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturation_sets_the_cap_and_half_a_period_doubles_it() {
        let mut algorithm = UpfPacer::new(&Params::default());
        let tick = |n: u64| n * 100 * MICROSECOND;
        assert_eq!(algorithm.may_release(1000), 24);
        algorithm.on_passed(41);
        // 12 waiting packets are not more than 7 + 5; 13 are.
        algorithm.on_tick(tick(1), true, 12, 7.0);
        assert_eq!(algorithm.cap(), 1024);
        algorithm.on_tick(tick(2), true, 13, 7.0);
        assert_eq!((algorithm.cap(), algorithm.may_release(13)), (5, 0));
        algorithm.on_passed(3);
        algorithm.on_tick(tick(6), true, 2, 7.0);
        assert_eq!(algorithm.cap(), 5);
        algorithm.on_tick(tick(7), true, 2, 7.0);
        assert_eq!(algorithm.cap(), 10);
        algorithm.on_tick(tick(20), true, 2, 7.0);
        assert_eq!(algorithm.cap(), 10);
        // There is no space below. 3 packets in ten ticks are 0.3 per tick.
        algorithm.on_tick(tick(21), false, 0, 7.0);
        assert_eq!(algorithm.cap(), 1);
    }
}
