//! What of a box changes over time. All of it is known ahead, so a change is no event.

use bloatlab_link::{Carrier, Course, Reading};
use bloatlab_scenario::{Part, PlanLink, VaryDelay};
use bloatlab_units::{Nanos, Streams};

/// A delay that changes. No packet overtakes another: none arrives before an earlier one.
pub(crate) struct VaryingDelay {
    course: Course,
    part: Part,
    last: Nanos,
}

impl VaryingDelay {
    pub fn new(vary: &VaryDelay, streams: &Streams) -> Self {
        let rng = streams.stream(&vary.stream);
        Self {
            course: vary.how.course(vary.nominal as f64, rng),
            part: vary.part,
            last: 0,
        }
    }

    /// When a packet that sets out now arrives.
    #[cold]
    #[inline(never)]
    pub fn arrival(&mut self, now: Nanos) -> Nanos {
        let whole = self.course.at(now).round() as Nanos;
        self.last = self.last.max(now + self.part.of(whole));
        self.last
    }
}

/// What of a link changes.
pub(crate) struct VaryingLink {
    pub carrier: Option<Carrier>,
    pub delay: Option<VaryingDelay>,
    /// What was read at the end of the warm-up, and at the last sample.
    since: (Nanos, Reading),
    sampled: (Nanos, Reading),
}

impl VaryingLink {
    /// Nothing, if nothing of the link changes.
    pub fn new(name: &str, link: &PlanLink, streams: &Streams, end: Nanos) -> Option<Box<Self>> {
        let carrier = link.vary_rate.as_ref().map(|vary| {
            let rng = streams.stream(&format!("vary/{name}/rate"));
            vary.carrier(link.rate, &rng, end)
        });
        let delay = link.vary_delay.as_ref();
        let delay = delay.map(|vary| VaryingDelay::new(vary, streams));
        (carrier.is_some() || delay.is_some()).then(|| {
            Box::new(Self {
                carrier,
                delay,
                since: (0, Reading::default()),
                sampled: (0, Reading::default()),
            })
        })
    }

    /// The transmitter has nothing to send.
    pub fn rest(&mut self) {
        if let Some(carrier) = &mut self.carrier {
            carrier.rest();
        }
    }

    /// The warm-up is over.
    pub fn reset(&mut self, now: Nanos) {
        if let Some(carrier) = &mut self.carrier {
            self.since = (now, carrier.read(now));
        }
    }

    /// Mean rate (bit/s) and utilization since the last sample.
    pub fn sample(&mut self, now: Nanos) -> Option<(f64, Option<f64>)> {
        let carrier = self.carrier.as_mut()?;
        let reading = carrier.read(now);
        let (at, before) = std::mem::replace(&mut self.sampled, (now, reading));
        Some((reading.rate(before, now - at), reading.utilization(before)))
    }

    /// Mean rate (bit/s) and utilization since the warm-up, at the last sample.
    pub fn whole(&self) -> Option<(f64, Option<f64>)> {
        self.carrier.as_ref()?;
        let ((from, before), (to, reading)) = (self.since, self.sampled);
        Some((reading.rate(before, to - from), reading.utilization(before)))
    }
}
