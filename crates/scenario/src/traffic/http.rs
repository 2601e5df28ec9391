//! A real HTTP server and client.

use bloatlab_tcp::TcpConfig;
use bloatlab_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Kind, Probe, amount};
use super::load::{Bounds, Load};
use super::program::{self, Programs, words};
use crate::check::rules::{Check, delay};

/// A real HTTP server, and a client that fetches its page again and again: curl where it is installed, our own elsewhere. Only engines in real time
/// run it. The kind `fetch` has the same pattern without HTTP, and runs everywhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Size of the page.
    pub page: Bytes,
    /// Time from a complete page to the next request.
    #[serde(default)]
    pub interval: Duration,
}

impl Kind for Params {
    fn check(&self, path: &str, _tcp: &TcpConfig) -> Check {
        amount(path, "page", self.page)?;
        delay(format!("{path}.interval"), self.interval)
    }

    fn load(&self, _bounds: &Bounds) -> Load {
        program::load()
    }

    fn probe(&self) -> Option<Probe> {
        Some(Probe {
            interval: self.interval,
            size: self.page,
        })
    }

    fn is_program() -> bool {
        true
    }

    fn programs(&self, _cca: &str) -> Option<Programs> {
        let program = [
            "$BLOATLAB_PYTHON",
            "-P",
            "-m",
            "bloatlab.engines.linux.http",
        ];
        let page = self.page.0.to_string();
        let pause = (self.interval.0 as f64 * 1e-9).to_string();
        let with = |more: &[&str]| words(&[&program[..], more].concat());
        Some(Programs {
            server: with(&["serve", "$BLOATLAB_SERVER", &page]),
            client: with(&["fetch", "$BLOATLAB_SERVER", &pause]),
            reports_fetches: true,
            ..Programs::default()
        })
    }
}
