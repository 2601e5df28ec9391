//! A delay that changes over time, from packet to packet, or both.

use bloatlab_units::{Interrupt, Nanos, Rng, Streams};

use crate::{DelayVariation, Pauses, Trajectory, jitter};

/// How a delay varies.
#[derive(Clone, Debug, PartialEq)]
pub struct VaryDelay {
    /// How the whole delay varies, of which the box may have a share.
    pub how: DelayVariation,
    /// Constant value of the whole delay.
    pub nominal: Nanos,
    /// The part of the whole delay that the box has.
    pub part: Part,
    /// Name of the random stream. Boxes with the same stream vary together.
    pub stream: String,
}

/// The part of a delay that a box has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole delay.
    Whole,
    /// The share of the forward path.
    There(Share),
    /// The rest, on the reverse path.
    Back(Share),
}

/// A share of a delay, in parts of 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(u64);

impl Share {
    /// From a number between 0 and 1.
    pub fn new(share: f64) -> Self {
        Self((share * (1_u64 << 32) as f64).round() as u64)
    }

    /// This share of a delay, to the nearest nanosecond; a half is rounded down.
    #[inline]
    fn of(self, whole: Nanos) -> Nanos {
        let product = u128::from(whole) * u128::from(self.0);
        ((product + ((1 << 31) - 1)) >> 32) as Nanos
    }
}

impl Part {
    /// The part of this delay that the box has.
    #[inline]
    pub fn of(self, whole: Nanos) -> Nanos {
        match self {
            Self::Whole => whole,
            Self::There(share) => share.of(whole),
            Self::Back(share) => whole - share.of(whole),
        }
    }
}

impl VaryDelay {
    /// The least and the greatest delay that the box can have.
    pub fn bounds(&self) -> (Nanos, Nanos) {
        let (least, greatest) = self.how.bounds(self.nominal as f64);
        (self.part.of(least as u64), self.part.of(greatest as u64))
    }
}

/// A delay that changes over time, from packet to packet or both.
pub struct VaryingDelay {
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

    /// A constant delay after another one. No packet arrives before `last`.
    pub fn after(last: Nanos, constant: Nanos) -> Self {
        Self {
            last,
            ..Self::new(constant)
        }
    }

    /// Makes the delay vary over time.
    pub fn varied(mut self, vary: &VaryDelay, streams: &Streams, interrupt: &Interrupt) -> Self {
        let rng = streams.stream(&vary.stream);
        let trajectory = vary.how.trajectory(vary.nominal as f64, rng);
        self.trajectory = Some((trajectory.interrupted_by(interrupt), vary.part));
        self.pauses = vary.how.pauses();
        self
    }

    /// Makes the delay differ from packet to packet.
    pub fn jittered(mut self, jitter: jitter::Params, rng: Rng) -> Self {
        self.jitter = Some((jitter, rng));
        self
    }

    /// Returns when a packet that is sent now arrives. It may overtake earlier packets.
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

    /// Returns when a packet that is sent now arrives, which is never before an earlier one.
    #[cold]
    #[inline(never)]
    pub fn arrival(&mut self, now: Nanos) -> Nanos {
        self.last = self.last.max(self.due(now));
        self.last
    }
}
