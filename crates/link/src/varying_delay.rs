//! A delay that changes over time, from packet to packet, or both.

use bloatlab_units::{Interrupt, Nanos, Rng, Streams};

use crate::{Course, DelayVariation, Pauses, jitter};

/// How a delay changes.
#[derive(Clone, Debug, PartialEq)]
pub struct VaryDelay {
    /// Of the whole that varies, of which the box may have a share.
    pub how: DelayVariation,
    /// The constant value of the whole.
    pub nominal: Nanos,
    /// What of the whole the box has.
    pub part: Part,
    /// Name of the random stream; boxes that share one vary together.
    pub stream: String,
}

/// What a box has of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// The share of the way there.
    There(Share),
    /// What that leaves for the way back.
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

    /// To the nearest nanosecond; half of an odd one is rounded down.
    #[inline]
    fn of(self, whole: Nanos) -> Nanos {
        let product = u128::from(whole) * u128::from(self.0);
        ((product + ((1 << 31) - 1)) >> 32) as Nanos
    }
}

impl Part {
    /// What the box has of this delay.
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
    course: Option<(Course, Part)>,
    pauses: Option<Pauses>,
    jitter: Option<(jitter::Params, Rng)>,
    last: Nanos,
}

impl VaryingDelay {
    /// A constant delay.
    pub fn new(constant: Nanos) -> Self {
        Self {
            constant,
            course: None,
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
        let course = vary.how.course(vary.nominal as f64, rng);
        self.course = Some((course.interrupted_by(interrupt), vary.part));
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
        let delay = match &mut self.course {
            Some((course, part)) => part.of(course.at(now).round() as Nanos),
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
