//! Pings.

use bloatlab_tcp::TcpConfig;
use bloatlab_units::{Bytes, Duration, MILLISECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Kind, Probe, size};
use super::load::{Bounds, Load, seconds};
use crate::check::rules::{Check, HOUR, duration, within};

/// An ICMP echo request at regular intervals, and its reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Time from one request to the next.
    #[serde(default = "default_interval", alias = "Interval")]
    pub interval: Duration,
    /// Each interval is drawn uniformly, shorter or longer than `interval` by at most this share of it. Without it, pings and the window of a single
    /// flow can keep in step.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub interval_spread: f64,
    /// Size on the IP layer, headers included.
    #[serde(default = "default_size")]
    pub size: Bytes,
}

fn default_interval() -> Duration {
    Duration(200 * MILLISECOND)
}

fn default_size() -> Bytes {
    Bytes(64)
}

impl Kind for Params {
    fn check(&self, path: &str, _tcp: &TcpConfig) -> Check {
        duration(format!("{path}.interval"), self.interval, 1_000, HOUR)?;
        within(
            format!("{path}.interval_spread"),
            self.interval_spread,
            0.0,
            1.0,
        )?;
        // 20 bytes of IP and 8 of ICMP header.
        size(path, "size", self.size, 28, 65_535)
    }

    fn load(&self, bounds: &Bounds) -> Load {
        let interval = seconds(self.interval.0);
        let echoes = bounds.active / interval + 1.0;
        Load {
            open: echoes,
            open_size: self.size.0 as f64,
            open_in_flight: bounds.one_way / interval,
            replies: echoes,
            ..Load::default()
        }
    }

    fn is_tcp(&self) -> bool {
        false
    }

    fn has_data(&self) -> bool {
        false
    }

    fn probe(&self) -> Option<Probe> {
        Some(Probe {
            interval: self.interval,
            size: self.size,
        })
    }
}
