//! A client that fetches pages: end 1 of the connection. The server is end 0.

use bloatlab_scenario::traffic::fetch::{Connection, IntervalFrom, Params};
use bloatlab_units::{Nanos, Rng, SECOND};

use crate::application::{Actions, Application, Behavior, Sender, Writes};
use crate::intervals::Intervals;

/// Time that a client waits after a connection that could not be opened.
const RETRY: Nanos = SECOND;

impl Behavior for Params {
    fn sender(&self, rng: Rng) -> Sender {
        Sender::Tcp(Box::new(Fetch {
            request: self.request.0,
            response: self.response.0,
            intervals: Intervals::new(self.interval.0, self.interval_spread, rng),
            from: self.interval_from,
            is_persistent: self.connection == Connection::Persistent,
            is_open: false,
            is_active: false,
            began: 0,
            asked: 0,
            answered: 0,
        }))
    }
}

struct Fetch {
    request: u64,
    response: u64,
    intervals: Intervals,
    from: IntervalFrom,
    is_persistent: bool,
    /// The connection has been opened.
    is_open: bool,
    /// A page is being fetched.
    is_active: bool,
    began: Nanos,
    /// Bytes of the request that reached the server.
    asked: u64,
    /// Bytes of the page that reached the client.
    answered: u64,
}

impl Fetch {
    /// When the next page is requested, if this one is complete now.
    fn next_request(&mut self, now: Nanos) -> Nanos {
        let from = match self.from {
            IntervalFrom::End => now,
            IntervalFrom::Start => self.began,
        };
        (from + self.intervals.next()).max(now + 1)
    }
}

impl Application for Fetch {
    fn writes(&self) -> Writes {
        if self.is_persistent {
            Writes::OnDemand
        } else {
            Writes::Once
        }
    }

    fn reads(&self) -> bool {
        true
    }

    fn completes_after_stop(&self) -> bool {
        true
    }

    fn on_start(&mut self, now: Nanos) -> Actions {
        self.began = now;
        (self.asked, self.answered) = (0, 0);
        self.is_active = true;
        let was_open = std::mem::replace(&mut self.is_open, true);
        Actions {
            request: self.request,
            open: (!was_open).then_some(1),
            send: was_open.then_some(1),
            ..Actions::default()
        }
    }

    fn on_wake(&mut self, now: Nanos) -> Actions {
        self.on_start(now)
    }

    fn on_read(&mut self, now: Nanos, end: usize, bytes: u64) -> Actions {
        if !self.is_active {
            return Actions::default();
        }
        if end == 0 {
            self.asked += bytes;
            let is_whole = self.asked >= self.request;
            return Actions {
                write: if is_whole { self.response } else { 0 },
                ..Actions::default()
            };
        }
        self.answered += bytes;
        if self.answered < self.response {
            return Actions::default();
        }
        self.is_active = false;
        self.is_open = self.is_persistent;
        Actions {
            answered: Some(self.began),
            ends_connection: !self.is_persistent,
            wake_at: Some(self.next_request(now)),
            ..Actions::default()
        }
    }

    fn on_handshake_failure(&mut self, now: Nanos) -> Actions {
        self.is_active = false;
        self.is_open = false;
        Actions {
            has_failed: true,
            ends_connection: true,
            wake_at: Some(now + RETRY),
            ..Actions::default()
        }
    }
}
