//! A constant rate that is turned on and off.

use bloatlab_scenario::traffic::on_off::{Distribution, Params};
use bloatlab_units::{Nanos, Rng};

use super::messages;
use crate::application::{Behavior, Sender};
use crate::source::{Source, Spacing, Times};

impl Behavior for Params {
    fn sender(&self, rng: Rng) -> Sender {
        let source = Source {
            times: Box::new(OnOff {
                spacing: Spacing::new(self.rate, self.packet.0),
                on: self.on.0,
                off: self.off.0,
                is_random: self.distribution == Distribution::Exponential,
                on_until: 0,
                rng,
            }),
            size: self.packet.0,
        };
        messages::sender(source, self.transport)
    }
}

struct OnOff {
    spacing: Spacing,
    /// (Mean) lengths of an on period and of an off period.
    on: Nanos,
    off: Nanos,
    is_random: bool,
    on_until: Nanos,
    rng: Rng,
}

impl OnOff {
    /// The length of a period.
    fn length(&mut self, mean: Nanos) -> Nanos {
        if self.is_random {
            self.rng.exponential(mean as f64) as u64
        } else {
            mean
        }
    }
}

impl Times for OnOff {
    fn first(&mut self, now: Nanos) -> Nanos {
        self.on_until = now + self.length(self.on);
        now
    }

    fn next(&mut self, now: Nanos) -> Nanos {
        let next = now + self.spacing.next();
        if next < self.on_until {
            return next;
        }
        let start = self.on_until.max(now) + self.length(self.off).max(1);
        self.on_until = start + self.length(self.on);
        start
    }
}
