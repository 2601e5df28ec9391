//! A window that nothing changes: the common part of `fixed` and `fixed_rate`.

use bloatlab_units::Nanos;

use crate::{Ack, CongestionControl, Signal, Window};

/// Sets the same window at every call.
pub struct Constant<Set>(pub Set);

impl<Set: Fn(&mut Window) + Send> CongestionControl for Constant<Set> {
    fn on_start(&mut self, window: &mut Window, _: Nanos) {
        self.0(window);
    }

    fn on_ack(&mut self, window: &mut Window, _: &Ack) {
        self.0(window);
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        self.0(window);
    }

    fn on_recovered(&mut self, window: &mut Window, _: &Ack) {
        self.0(window);
    }

    fn on_timeout(&mut self, window: &mut Window, _: Nanos) {
        self.0(window);
    }

    fn on_idle_restart(&mut self, window: &mut Window, _: Nanos, _: Nanos) {
        self.0(window);
    }

    // The sender must not shrink the window.
    fn owns_recovery(&self) -> bool {
        true
    }
}
