//! Pings.

use bloatlab_scenario::traffic::ping::Params;
use bloatlab_units::Rng;

use crate::application::{Behavior, Sender};

impl Behavior for Params {
    fn sender(&self, _rng: Rng) -> Sender {
        Sender::Echo {
            interval: self.interval.0.max(1),
            size: self.size.0 as u32,
        }
    }
}
