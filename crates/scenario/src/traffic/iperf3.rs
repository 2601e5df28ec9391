//! The program iperf3.

use bloatlab_tcp::TcpConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::load::{Bounds, Load};
use super::program::{self, Programs, words};
use crate::check::rules::{Check, fail};

/// The most parallel streams of iperf3.
const MAX_STREAMS: u32 = 128;

/// A download by the program iperf3, which must be installed. Only engines in real time run it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Number of parallel streams.
    #[serde(default = "default_streams")]
    #[schemars(range(min = 1, max = 128))]
    pub streams: u32,
}

fn default_streams() -> u32 {
    1
}

impl Kind for Params {
    fn check(&self, path: &str, _tcp: &TcpConfig) -> Check {
        if (1..=MAX_STREAMS).contains(&self.streams) {
            return Ok(());
        }
        let why = format!("must be between 1 and {MAX_STREAMS}, not {}", self.streams);
        fail(format!("{path}.streams"), why)
    }

    fn load(&self, _bounds: &Bounds) -> Load {
        program::load()
    }

    fn is_program() -> bool {
        true
    }

    fn programs(&self, cca: &str) -> Option<Programs> {
        let streams = self.streams.to_string();
        Some(Programs {
            server: words(&[
                "iperf3",
                "--server",
                "--one-off",
                "--bind",
                "$BLOATLAB_SERVER",
            ]),
            client: words(&[
                "iperf3",
                "--client",
                "$BLOATLAB_SERVER",
                "--reverse",
                "--parallel",
                &streams,
                "--congestion",
                cca,
                "--time",
                "$BLOATLAB_SECONDS",
                "--json",
            ]),
            ..Programs::default()
        })
    }
}
