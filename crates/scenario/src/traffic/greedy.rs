//! A sender that always has data.

use bloatlab_tcp::TcpConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::load::{Bounds, Load};
use crate::check::rules::Check;

/// As much as the transport takes, from start to stop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

impl Kind for Params {
    fn check(&self, _path: &str, _tcp: &TcpConfig) -> Check {
        Ok(())
    }

    fn load(&self, bounds: &Bounds) -> Load {
        bounds.transfer(bounds.greedy_segments())
    }
}
