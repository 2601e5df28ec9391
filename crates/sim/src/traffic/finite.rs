//! One transfer.

use bloatlab_scenario::traffic::finite::Params;
use bloatlab_units::{Nanos, Rng};

use crate::application::{Actions, Application, Behavior, Sender, Writes};

impl Behavior for Params {
    fn sender(&self, _rng: Rng) -> Sender {
        Sender::Tcp(Box::new(Finite {
            bytes: self.bytes.0,
            read: 0,
        }))
    }
}

struct Finite {
    bytes: u64,
    read: u64,
}

impl Application for Finite {
    fn writes(&self) -> Writes {
        Writes::Once
    }

    fn reads(&self) -> bool {
        true
    }

    fn on_start(&mut self, _now: Nanos) -> Actions {
        Actions {
            write: self.bytes,
            open: Some(0),
            ..Actions::default()
        }
    }

    fn on_read(&mut self, _now: Nanos, end: usize, bytes: u64) -> Actions {
        if end == 1 {
            self.read += bytes;
        }
        Actions {
            is_complete: end == 1 && self.read >= self.bytes,
            ..Actions::default()
        }
    }
}
