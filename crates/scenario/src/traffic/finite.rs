//! One transfer.

use bloatlab_tcp::TcpConfig;
use bloatlab_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Kind, amount};
use super::load::{Bounds, CONNECTION_PACKETS, Load};
use crate::check::rules::Check;

/// This many bytes, then the connection closes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Application bytes.
    #[serde(alias = "MaxBytes")]
    pub bytes: Bytes,
}

impl Kind for Params {
    fn check(&self, path: &str, _tcp: &TcpConfig) -> Check {
        amount(path, "bytes", self.bytes)
    }

    fn load(&self, bounds: &Bounds) -> Load {
        let segments = bounds.segments(self.bytes) + CONNECTION_PACKETS;
        bounds.transfer(bounds.greedy_segments().min(segments))
    }
}
