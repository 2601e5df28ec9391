//! What of a box changes over time. All of it is known ahead, so a change is no event.

use bloatlab_link::{Carrier, Pauses, Reading, Trajectory, jitter};
use bloatlab_scenario::{Part, PlanLink, VaryDelay};
use bloatlab_units::{Interrupt, Nanos, Rng, Streams};

/// A delay that changes over time, from packet to packet or both.
pub(crate) struct VaryingDelay {
    constant: Nanos,
    trajectory: Option<(Trajectory, Part)>,
    pauses: Option<Pauses>,
    jitter: Option<(jitter::Params, Rng)>,
    last: Nanos,
}

impl VaryingDelay {
    /// A constant delay.
    pub fn new(constant: Nanos) -> Self {
        Self {
            constant,
            trajectory: None,
            pauses: None,
            jitter: None,
            last: 0,
        }
    }

    /// A constant delay that follows another: no packet arrives before this instant.
    pub fn after(last: Nanos, constant: Nanos) -> Self {
        Self {
            last,
            ..Self::new(constant)
        }
    }

    /// It changes over time.
    pub fn varied(mut self, vary: &VaryDelay, streams: &Streams, interrupt: &Interrupt) -> Self {
        let rng = streams.stream(&vary.stream);
        let trajectory = vary.how.trajectory(vary.nominal as f64, rng);
        self.trajectory = Some((trajectory.interrupted_by(interrupt), vary.part));
        self.pauses = vary.how.pauses();
        self
    }

    /// It differs from packet to packet.
    pub fn jittered(mut self, jitter: jitter::Params, rng: Rng) -> Self {
        self.jitter = Some((jitter, rng));
        self
    }

    /// When a packet that sets out now arrives, whatever went before it.
    pub fn due(&mut self, now: Nanos) -> Nanos {
        let delay = match &mut self.trajectory {
            Some((trajectory, part)) => part.of(trajectory.at(now).round() as Nanos),
            None => self.constant,
        };
        let delay = match &mut self.jitter {
            // A float below the range becomes 0.
            Some((jitter, rng)) => (delay as f64 + jitter.draw(rng)).round() as Nanos,
            None => delay,
        };
        let at = now + delay;
        self.pauses.map_or(at, |pauses| pauses.arrival(at))
    }

    /// When a packet that sets out now arrives: not before an earlier one.
    #[cold]
    #[inline(never)]
    pub fn arrival(&mut self, now: Nanos) -> Nanos {
        self.last = self.last.max(self.due(now));
        self.last
    }
}

/// What of a link changes.
#[derive(Default)]
pub(crate) struct VaryingLink {
    pub carrier: Option<Carrier>,
    pub delay: Option<VaryingDelay>,
    /// What was read at the end of the warm-up, and at the last sample.
    since: (Nanos, Reading),
    sampled: (Nanos, Reading),
}

impl VaryingLink {
    /// Nothing, if nothing of the link changes.
    pub fn new(
        name: &str,
        link: &PlanLink,
        streams: &Streams,
        end: Nanos,
        interrupt: &Interrupt,
    ) -> Option<Box<Self>> {
        let carrier = link.vary_rate.as_ref().map(|vary| {
            let rng = streams.stream(&format!("vary/{name}/rate"));
            vary.carrier(link.rate, &rng, end).interrupted_by(interrupt)
        });
        let delay = link.vary_delay.as_ref();
        let delay =
            delay.map(|vary| VaryingDelay::new(link.delay).varied(vary, streams, interrupt));
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
