//! A client that fetches pages.

use bloatlab_tcp::TcpConfig;
use bloatlab_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Kind, Probe, amount};
use super::load::{Bounds, CONNECTION_PACKETS, HEADERS, Load, per_second, seconds};
use crate::check::rules::{Check, delay, within};

/// The connections of a client that fetches pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    /// A new connection for every page, with handshake and slow start.
    #[default]
    New,
    /// One connection for all pages.
    Persistent,
}

/// Where the time to the next request starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalFrom {
    /// At the complete page.
    #[default]
    End,
    /// At the request. If the page takes longer than the interval, the next request follows at once.
    Start,
}

/// A client requests a page, the server responds, and the client waits before the next request. The data flows from server to client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Size of the request.
    #[serde(default = "default_request")]
    pub request: Bytes,
    /// Size of the response.
    pub response: Bytes,
    /// Time from a complete page to the next request, or between two requests (`interval_from`).
    #[serde(default)]
    pub interval: Duration,
    /// Where `interval` starts.
    #[serde(default)]
    pub interval_from: IntervalFrom,
    /// Each interval is drawn uniformly, shorter or longer than `interval` by at most this share of it.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub interval_spread: f64,
    /// The connections.
    #[serde(default)]
    pub connection: Connection,
}

fn default_request() -> Bytes {
    Bytes(200)
}

impl Kind for Params {
    fn check(&self, path: &str, _tcp: &TcpConfig) -> Check {
        amount(path, "request", self.request)?;
        amount(path, "response", self.response)?;
        delay(format!("{path}.interval"), self.interval)?;
        within(
            format!("{path}.interval_spread"),
            self.interval_spread,
            0.0,
            1.0,
        )
    }

    fn load(&self, bounds: &Bounds) -> Load {
        let data = bounds.segments(self.request) + bounds.segments(self.response);
        let others = match self.connection {
            Connection::New => CONNECTION_PACKETS,
            Connection::Persistent => 1.0,
        };
        let size = (self.response.0.min(u64::from(bounds.mss)) as u32) + HEADERS;
        let on_links = bounds
            .slowest
            .map_or(0.0, |rate| 1.0 / per_second(rate, self.response.0 as f64));
        // Not zero: a path with neither link nor propagation is refused before.
        let (taken, interval) = (bounds.rtt + on_links, seconds(self.interval.0));
        let cycle = match self.interval_from {
            IntervalFrom::End => taken + interval,
            IntervalFrom::Start => taken.max(interval),
        };
        let pages = if cycle > 0.0 {
            bounds.active / cycle + 1.0
        } else {
            f64::INFINITY
        };
        Load {
            elastic: [(size, data * pages), (HEADERS, others * pages)],
            window: bounds.window().min(data + others),
            replies: pages,
            ..Load::default()
        }
    }

    fn probe(&self) -> Option<Probe> {
        Some(Probe {
            interval: self.interval,
            size: self.response,
        })
    }
}
