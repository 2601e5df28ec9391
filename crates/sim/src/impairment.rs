//! Stretches on which packets are lost, damaged or duplicated by chance.

use bloatlab_link::{Trajectory, gilbert_elliott::Chain};
use bloatlab_scenario::{LossSpacing, PlanBox, PlanBoxKind};
use bloatlab_units::{Interrupt, Nanos, Rng, Streams};

use crate::flight::Flight;
use crate::packet::Packet;
use crate::schedule::{Schedule, clock, event};
use bloatlab_outcome::Count;

/// How those that are hit follow each other.
enum Spacing {
    /// Each independently of the others.
    Random,
    /// One in 1/p: the share that has been earned since the last, of which a whole is taken.
    Even(f64),
    /// In bursts.
    Bursts(Chain),
}

/// Hits some of the packets that come by.
pub(crate) struct Impairment {
    /// Its number among the plan's boxes.
    pub number: u32,
    probability: f64,
    spacing: Spacing,
    /// How the probability changes.
    varying: Option<Trajectory>,
    rng: Rng,
    pub count: Count,
}

impl Impairment {
    /// From a box of the plan; `None`: it hits nothing by chance.
    pub fn new(
        number: usize,
        planned: &PlanBox,
        streams: &Streams,
        interrupt: &Interrupt,
    ) -> Option<Self> {
        let (what, probability, spacing, vary) = match &planned.kind {
            PlanBoxKind::Loss {
                probability,
                spacing,
                vary,
                gilbert_elliott,
            } => {
                let spacing = match (gilbert_elliott, spacing) {
                    (Some(params), _) => Spacing::Bursts(params.chain()),
                    (None, LossSpacing::Random) => Spacing::Random,
                    (None, LossSpacing::Even) => Spacing::Even(0.0),
                };
                ("loss", probability, spacing, vary)
            }
            PlanBoxKind::Corrupt { probability, vary } => {
                ("corrupt", probability, Spacing::Random, vary)
            }
            PlanBoxKind::Duplicate { probability, vary } => {
                ("duplicate", probability, Spacing::Random, vary)
            }
            PlanBoxKind::Link(_) | PlanBoxKind::Delay { .. } => return None,
        };
        let name = &planned.name;
        let varying = vary.as_ref().map(|vary| {
            let stream = format!("vary/{name}/{what}");
            let course = vary.trajectory(*probability, streams.stream(&stream));
            course.interrupted_by(interrupt)
        });
        Some(Self {
            number: number as u32,
            probability: *probability,
            spacing,
            varying,
            rng: streams.stream(&format!("{what}/{name}")),
            count: Count::default(),
        })
    }

    /// The probability from now on, of one that does not vary.
    pub fn set_probability(&mut self, probability: f64) {
        self.probability = probability;
    }

    #[cold]
    #[inline(never)]
    fn vary(&mut self, now: Nanos) {
        if let Some(course) = &mut self.varying {
            self.probability = course.at(now);
        }
    }

    /// Counts a packet that enters and says whether it is hit.
    #[inline]
    pub fn hits(&mut self, now: Nanos) -> bool {
        if self.varying.is_some() {
            self.vary(now);
        }
        self.count.arrivals += 1;
        match &mut self.spacing {
            Spacing::Random => self.rng.chance(self.probability),
            Spacing::Even(due) => {
                *due += self.probability;
                let hit = *due >= 1.0;
                *due -= f64::from(u8::from(hit));
                hit
            }
            Spacing::Bursts(chain) => chain.loses(&mut self.rng),
        }
    }
}

/// Lets packets through twice: the copy follows at the same instant, by an event of its own.
pub(crate) struct Duplicator {
    pub impairment: Impairment,
    pub copies: Flight,
}

impl Duplicator {
    pub fn new(impairment: Impairment, index: u32) -> Self {
        Self {
            impairment,
            copies: Flight::new(event::CLOCK, clock::COPY | index),
        }
    }

    /// Counts a packet that goes on, and says whether a copy of it follows.
    pub fn pass(&mut self, schedule: &mut Schedule, packet: &Packet) -> bool {
        let twice = self.impairment.hits(schedule.now);
        self.impairment.count.departures += 1;
        if twice {
            self.impairment.count.duplicates += 1;
            self.copies.push(schedule, schedule.now, packet);
        }
        twice
    }

    /// Takes the copy that goes on now.
    pub fn pop(&mut self, schedule: &mut Schedule) -> Option<Packet> {
        self.impairment.count.departures += 1;
        self.copies.pop(schedule)
    }
}
