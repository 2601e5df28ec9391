//! Pings.

use bloatlab_scenario::traffic::ping::Params;
use bloatlab_units::Rng;

use crate::application::{Behavior, Sender};
use crate::intervals::Intervals;

impl Behavior for Params {
    fn sender(&self, rng: Rng) -> Sender {
        Sender::Echo {
            intervals: Intervals::new(self.interval.0, self.interval_spread, rng),
            size: self.size.0 as u32,
        }
    }
}
