//! What runs on top of the transport of a flow. Each kind of traffic has its file in `traffic`, which implements the traits of this file.

use bloatlab_units::{Nanos, Rng};

use crate::intervals::Intervals;
use crate::source::Source;

/// How an application writes its data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writes {
    /// Whenever there is room.
    Endlessly,
    /// Once. Then end 0 closes the connection.
    Once,
    /// Whenever it has something to say.
    OnDemand,
}

/// The application of a TCP flow. End 0 of the connection sends the data, end 1 receives it.
///
/// An application knows neither connection nor engine. It is told what happened and returns what is to be done.
pub(crate) trait Application {
    /// How it writes.
    fn writes(&self) -> Writes {
        Writes::OnDemand
    }

    /// Whether it must know what the ends read.
    fn reads(&self) -> bool {
        false
    }

    /// Whether it completes its work when the flow stops. Otherwise the sender drops what it has not sent and closes the connection.
    fn completes_after_stop(&self) -> bool {
        false
    }

    /// The flow starts.
    fn on_start(&mut self, now: Nanos) -> Actions;

    /// The instant of `Actions::wake_at` has come.
    fn on_wake(&mut self, _now: Nanos) -> Actions {
        Actions::default()
    }

    /// An end read this many bytes. Only called if the application [`reads`](Self::reads).
    fn on_read(&mut self, _now: Nanos, _end: usize, _bytes: u64) -> Actions {
        Actions::default()
    }

    /// An end gave up the handshake.
    fn on_handshake_failure(&mut self, _now: Nanos) -> Actions {
        Actions::default()
    }
}

/// What an application wants done, in this order.
#[derive(Default)]
pub(crate) struct Actions {
    /// Bytes that end 0 writes.
    pub write: u64,
    /// Bytes that end 1 writes: a request.
    pub request: u64,
    /// The whole transfer was read.
    pub is_complete: bool,
    /// The request of this instant was answered.
    pub answered: Option<Nanos>,
    /// A request failed.
    pub has_failed: bool,
    /// The application needs this connection no more, so its end 1 closes, too. The next one takes its place when it is opened.
    pub ends_connection: bool,
    /// When the application is to be called again.
    pub wake_at: Option<Nanos>,
    /// This end opens the connection.
    pub open: Option<usize>,
    /// This end sends what it may.
    pub send: Option<usize>,
    /// The programs of the flow start.
    pub starts_program: bool,
}

/// What sends the packets of a flow.
pub(crate) enum Sender {
    /// A TCP connection with this application.
    Tcp(Box<dyn Application>),
    /// Programs of real hosts.
    Program(Box<dyn Application>),
    /// A source of datagrams.
    Udp(Source),
    /// Echo requests of this size at these intervals.
    Echo { intervals: Intervals, size: u32 },
}

/// The parameters of a kind of traffic, which make its sender.
pub(crate) trait Behavior {
    fn sender(&self, rng: Rng) -> Sender;
}
