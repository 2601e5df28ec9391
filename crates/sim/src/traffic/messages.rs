//! A source of messages over UDP or TCP.

use bloatlab_scenario::traffic::Transport;
use bloatlab_units::Nanos;

use crate::application::{Actions, Application, Sender};
use crate::source::Source;

/// The sender of a source over this transport.
pub(super) fn sender(source: Source, transport: Transport) -> Sender {
    match transport {
        Transport::Udp => Sender::Udp(source),
        Transport::Tcp => Sender::Tcp(Box::new(Messages(source))),
    }
}

struct Messages(Source);

impl Application for Messages {
    fn on_start(&mut self, now: Nanos) -> Actions {
        Actions {
            wake_at: Some(self.0.times.first(now)),
            open: Some(0),
            ..Actions::default()
        }
    }

    fn on_wake(&mut self, now: Nanos) -> Actions {
        Actions {
            write: self.0.size,
            wake_at: Some(self.0.times.next(now)),
            send: Some(0),
            ..Actions::default()
        }
    }
}
