//! A fixed window: no control at all, to measure what the path does by itself.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Ack, CongestionControl, Law, Signal, Window};

/// A window of constant size that reacts to nothing.
///
/// The sender keeps `window` segments in flight whatever is lost, marked or delayed. With a window below the bandwidth-delay product the path
/// is never full; above it, the surplus stands in the queue for ever, to the packet. Use it to measure a path or a queue without the
/// dynamics of a law, and as the baseline of what a law costs in time.
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

impl Law for Params {
    const ALIASES: &'static [&'static str] = &["fixed_window"];
    const SOURCE: &'static str =
        "RFC 9293 section 3.8.6: the sliding window alone, without congestion control";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Fixed {
            segments: u64::from(self.window),
        })
    }
}

/// The law.
struct Fixed {
    segments: u64,
}

impl Fixed {
    fn hold(&self, window: &mut Window) {
        window.cwnd = self.segments * window.mss;
        window.ssthresh = window.cwnd.max(2 * window.mss);
    }
}

impl CongestionControl for Fixed {
    fn on_start(&mut self, window: &mut Window, _: Nanos) {
        self.hold(window);
    }

    fn on_ack(&mut self, window: &mut Window, _: &Ack) {
        self.hold(window);
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        self.hold(window);
    }

    fn on_recovered(&mut self, window: &mut Window, _: &Ack) {
        self.hold(window);
    }

    fn on_timeout(&mut self, window: &mut Window, _: Nanos) {
        self.hold(window);
    }

    fn on_idle_restart(&mut self, window: &mut Window, _: Nanos, _: Nanos) {
        self.hold(window);
    }

    // The sender must not shrink a fixed window.
    fn owns_recovery(&self) -> bool {
        true
    }
}
