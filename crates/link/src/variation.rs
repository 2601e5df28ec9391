//! How values and delays vary: the questions that every generator answers.

use bloatlab_units::Rng;

use crate::{DelayVariation, Pauses, Quantity, Trajectory, Variation};

impl<Q: Quantity> Variation<Q> {
    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<(), String> {
        self.factory().validate()
    }

    /// The least and the greatest possible value. `nominal` is the constant value beside `vary`.
    pub fn bounds(&self, nominal: f64) -> (f64, f64) {
        self.factory().bounds(nominal)
    }

    /// Mean number of changes per second.
    pub fn changes_per_second(&self) -> f64 {
        self.factory().changes_per_second()
    }

    /// The value over time.
    pub fn trajectory(&self, nominal: f64, rng: Rng) -> Trajectory {
        Trajectory::new(nominal, self.factory().source(nominal, rng))
    }
}

impl DelayVariation {
    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<(), String> {
        self.factory().validate()
    }

    /// Mean number of changes per second.
    pub fn changes_per_second(&self) -> f64 {
        self.factory().changes_per_second()
    }

    /// The least and the greatest possible value, including the wait for the end of a pause. `nominal` is the constant value beside `vary`.
    pub fn bounds(&self, nominal: f64) -> (f64, f64) {
        self.factory().bounds(nominal)
    }

    /// The value over time.
    pub fn trajectory(&self, nominal: f64, rng: Rng) -> Trajectory {
        Trajectory::new(nominal, self.factory().source(nominal, rng))
    }

    /// The times during which nothing arrives.
    pub fn pauses(&self) -> Option<Pauses> {
        self.factory().pauses()
    }
}
