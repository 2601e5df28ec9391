//! A fixed window: no congestion control at all, to measure what the path does by itself.

use bloatlab_units::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::constant::Constant;
use crate::{CongestionControl, Factory, Window};

/// A constant window that reacts to nothing.
///
/// The sender keeps `window` segments in flight, whatever is lost, marked or delayed. If the window is smaller than the bandwidth-delay product, the
/// path is never full. If it is larger, exactly the surplus stays in the queue for ever. Use it to measure a path or a queue without the dynamics of
/// a congestion control, and as a baseline for the run time of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The congestion window.
    #[schemars(range(min = 1, max = 1_000_000), extend("unit" = "segments"))]
    pub window: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { window: 10 }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["fixed_window"];
    const SOURCE: &'static str =
        "RFC 9293 section 3.8.6: the sliding window alone, without congestion control";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        let segments = u64::from(self.window);
        Box::new(Constant(move |window: &mut Window| {
            window.cwnd = segments * window.mss;
            window.ssthresh = window.cwnd.max(2 * window.mss);
        }))
    }
}
