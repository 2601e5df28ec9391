//! A sender that always has data.

use bloatlab_scenario::traffic::greedy::Params;
use bloatlab_units::{Nanos, Rng};

use crate::application::{Actions, Application, Behavior, Sender, Writes};

impl Behavior for Params {
    fn sender(&self, _rng: Rng) -> Sender {
        Sender::Tcp(Box::new(Greedy))
    }
}

struct Greedy;

impl Application for Greedy {
    fn writes(&self) -> Writes {
        Writes::Endlessly
    }

    fn on_start(&mut self, _now: Nanos) -> Actions {
        Actions {
            write: u64::MAX,
            open: Some(0),
            ..Actions::default()
        }
    }
}
