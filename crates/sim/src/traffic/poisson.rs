//! Messages of a Poisson process.

use bloatlab_scenario::traffic::poisson::Params;
use bloatlab_units::{Nanos, Rng};

use super::messages;
use crate::application::{Behavior, Sender};
use crate::source::{Source, Times};

impl Behavior for Params {
    fn sender(&self, rng: Rng) -> Sender {
        let size = self.packet.0;
        let source = Source {
            times: Box::new(Poisson {
                mean: size as f64 * 8e9 / self.rate.0 as f64,
                rng,
            }),
            size,
        };
        messages::sender(source, self.transport)
    }
}

struct Poisson {
    /// Mean interval, ns.
    mean: f64,
    rng: Rng,
}

impl Times for Poisson {
    fn first(&mut self, now: Nanos) -> Nanos {
        self.next(now)
    }

    fn next(&mut self, now: Nanos) -> Nanos {
        now + (self.rng.exponential(self.mean) as u64).max(1)
    }
}
