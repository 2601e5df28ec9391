//! A probability, which may vary over time, and what happens to the packets that it selects.

use bloatlab_units::{Interrupt, Nanos, Rng, Streams};

use super::factory::{Action, Impairment};
use crate::{Probability, Trajectory, Variation};

/// A probability in a document: the constant value, and how it varies.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub probability: f64,
    pub vary: Option<&'a Variation<Probability>>,
}

impl Given<'_> {
    /// Refuses a probability of 1 or more, and a variation that is out of range.
    pub fn check_below_one(self) -> Result<(), String> {
        let Self { probability, vary } = self;
        if !(0.0..1.0).contains(&probability) {
            return Err(format!(
                "probability: must be a probability of at least 0 and below 1, not {probability}"
            ));
        }
        check_variation(vary)
    }

    /// Refuses a probability above 1, and a variation that is out of range.
    pub fn check(self) -> Result<(), String> {
        let Self { probability, vary } = self;
        if !(0.0..=1.0).contains(&probability) {
            return Err(format!(
                "probability: must be between 0 and 1, not {probability}"
            ));
        }
        check_variation(vary)
    }

    /// The probability over time. If it varies, the box `name` of this kind has a random stream for that.
    pub fn over_time(
        self,
        kind: &str,
        name: &str,
        streams: &Streams,
        interrupt: &Interrupt,
    ) -> VaryingProbability {
        let trajectory = self.vary.map(|vary| {
            let rng = streams.stream(&format!("vary/{name}/{kind}"));
            vary.trajectory(self.probability, rng)
                .interrupted_by(interrupt)
        });
        VaryingProbability {
            probability: self.probability,
            trajectory,
        }
    }
}

fn check_variation(vary: Option<&Variation<Probability>>) -> Result<(), String> {
    let verdict = vary.map_or(Ok(()), Variation::validate);
    verdict.map_err(|why| format!("vary.{why}"))
}

/// A probability that may vary.
pub struct VaryingProbability {
    probability: f64,
    trajectory: Option<Trajectory>,
}

impl VaryingProbability {
    /// The probability at this instant, which must not precede the last one.
    #[inline]
    pub fn at(&mut self, now: Nanos) -> f64 {
        if let Some(trajectory) = &mut self.trajectory {
            self.probability = trajectory.at(now);
        }
        self.probability
    }

    /// Sets the probability from now on.
    pub fn set(&mut self, probability: f64) {
        self.probability = probability;
    }
}

/// Selects packets independently of each other.
pub(super) struct Random {
    pub probability: VaryingProbability,
    pub rng: Rng,
    /// What happens to the selected packets.
    pub action: Action,
}

impl Impairment for Random {
    fn pass(&mut self, now: Nanos) -> Action {
        if self.rng.chance(self.probability.at(now)) {
            self.action
        } else {
            Action::Forward
        }
    }

    fn set_probability(&mut self, probability: f64) {
        self.probability.set(probability);
    }
}
