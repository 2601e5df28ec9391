//! Messages at a constant rate.

use bloatlab_scenario::traffic::cbr::Params;
use bloatlab_units::{Nanos, Rng};

use super::messages;
use crate::application::{Behavior, Sender};
use crate::source::{Source, Spacing, Times};

impl Behavior for Params {
    fn sender(&self, _rng: Rng) -> Sender {
        let source = Source {
            times: Box::new(Constant(Spacing::new(self.rate, self.packet.0))),
            size: self.packet.0,
        };
        messages::sender(source, self.transport)
    }
}

struct Constant(Spacing);

impl Times for Constant {
    fn first(&mut self, now: Nanos) -> Nanos {
        now
    }

    fn next(&mut self, now: Nanos) -> Nanos {
        now + self.0.next()
    }
}
