//! The UPF-SDAP pacer: SDAP tells the UPF how much it may hold, so that flows queue apart in the UPF (Irazabal et al. 2022).

use bloatlab_units::{Duration, MICROSECOND, Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{counts, lasts};

/// A cap in packets on SDAP's queue of a QoS flow, which the UPF keeps filled: set at each saturation to what a tick has passed on in the mean, and
/// doubled half a period later, to find out whether the radio takes more.
///
/// SDAP is saturated when the bearer below has no room, or when more than a few packets beyond a TTI's need wait for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Length of a tick.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1s"))]
    pub tick: Duration,
    /// Ticks of a period.
    #[schemars(range(min = 1, max = 1000))]
    pub ticks: u64,
    /// The lowest cap, packets.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub min: u64,
    /// The highest cap, packets; the one at first.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max: u64,
    /// Packets beyond a TTI's need that may wait in SDAP.
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
    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first that is.
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
    /// Packets passed on since the last saturation.
    passed: u64,
    /// When the cap doubles; `None` after it has.
    doubles: Option<Nanos>,
}

impl UpfPacer {
    /// At the highest cap.
    pub fn new(params: &Params) -> Self {
        Self {
            cap: params.max,
            passed: 0,
            doubles: None,
            params: params.clone(),
        }
    }

    /// How many packets SDAP may hold for the flow.
    pub fn cap(&self) -> u64 {
        self.cap
    }

    /// How many packets the UPF may send to an SDAP that holds so many.
    pub fn may_release(&self, queued: u64) -> u64 {
        self.cap.saturating_sub(queued)
    }

    /// SDAP passed so many packets on.
    pub fn on_passed(&mut self, packets: u64) {
        self.passed += packets;
    }

    /// A tick of SDAP: `has_room` below it, `queued` packets of the flow in it, `pace` packets that a TTI needs.
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
        let mut law = UpfPacer::new(&Params::default());
        let tick = |n: u64| n * 100 * MICROSECOND;
        assert_eq!(law.may_release(1000), 24);
        law.on_passed(41);
        // 12 waiting are not more than 7 + 5; 13 are.
        law.on_tick(tick(1), true, 12, 7.0);
        assert_eq!(law.cap(), 1024);
        law.on_tick(tick(2), true, 13, 7.0);
        assert_eq!((law.cap(), law.may_release(13)), (5, 0));
        law.on_passed(3);
        law.on_tick(tick(6), true, 2, 7.0);
        assert_eq!(law.cap(), 5);
        law.on_tick(tick(7), true, 2, 7.0);
        assert_eq!(law.cap(), 10);
        law.on_tick(tick(20), true, 2, 7.0);
        assert_eq!(law.cap(), 10);
        // No room below: 3 packets in the mean of ten ticks are 0.3.
        law.on_tick(tick(21), false, 0, 7.0);
        assert_eq!(law.cap(), 1);
    }
}
