//! Programs of real hosts.

use bloatlab_scenario::traffic::{command, http, iperf3};
use bloatlab_units::{Nanos, Rng};

use crate::application::{Actions, Application, Behavior, Sender};

impl Behavior for command::Params {
    fn sender(&self, _rng: Rng) -> Sender {
        Sender::Program(Box::new(Program))
    }
}

impl Behavior for http::Params {
    fn sender(&self, _rng: Rng) -> Sender {
        Sender::Program(Box::new(Program))
    }
}

impl Behavior for iperf3::Params {
    fn sender(&self, _rng: Rng) -> Sender {
        Sender::Program(Box::new(Program))
    }
}

/// A program decides by itself what it sends. It is only started.
struct Program;

impl Application for Program {
    fn on_start(&mut self, _now: Nanos) -> Actions {
        Actions {
            starts_program: true,
            ..Actions::default()
        }
    }
}
