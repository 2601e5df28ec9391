//! Data Center TCP (RFC 8257): the window shrinks in proportion to the share of marked packets.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::{Conversion, Linux, LinuxParameter};
use crate::growth::{Growth, half, segments};
use crate::mark_share::MarkShare;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, EcnFeedback, Elsewhere, Factory, Signal, Window};

/// DCTCP: Reno's growth, and a reduction by half the share of marked bytes, so that a short queue keeps the link busy.
///
/// The receiver reports exactly which bytes were marked. Once per round trip the sender averages their share into alpha. A round trip with marks
/// reduces the window by the share alpha/2 instead of by a half. It is made for data centres whose switches mark at a low, sharp threshold (`red`
/// with `min` close to `max`, or CoDel's `ce_threshold`), which keeps the backlog at that threshold. Losses halve the window. In one queue with Reno
/// or CUBIC it takes nearly everything, because it reduces its window much less at a mark. It needs no setting of `ecn`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Weight of one round trip's share in alpha.
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub g: f64,
    /// How slow start ends, in addition to a mark.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // RFC 8257 section 4.2: 1/16.
            g: 1.0 / 16.0,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpDctcp"];
    const SOURCE: &'static str = "RFC 8257, in whole segments as in Linux";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux {
            name: "dctcp",
            module: Some("tcp_dctcp"),
            parameters: &[LinuxParameter::new(
                "g",
                "dctcp_shift_g",
                Conversion::Shift,
                4,
            )],
        }),
        ns3: Some("ns3::TcpDctcp"),
        ns2: None,
    };

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Dctcp {
            share: MarkShare::new(self.g),
            starter: Starter::new(self.slow_start),
            growth: Growth::default(),
        })
    }
}

/// State of one connection.
struct Dctcp {
    share: MarkShare,
    starter: Starter,
    growth: Growth,
}

impl CongestionControl for Dctcp {
    fn needs_ecn(&self) -> EcnFeedback {
        EcnFeedback::Dctcp
    }

    fn observe(&mut self, _: &Window, ack: &Ack) {
        // RFC 8257 section 3.3, steps 1 to 7. This runs at all times, also while the window is being reduced.
        if self.share.observe(ack) {
            self.share.update(ack);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // RFC 8257 section 3.4: growth is that of Reno.
        self.growth.reno(window, &mut self.starter, ack);
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, _: &Ack) {
        window.ssthresh = match signal {
            // RFC 8257 section 3.3 step 9: cwnd * (1 - alpha/2). As in Linux, the reduction is in whole segments, and at least two segments remain.
            Signal::Ecn => {
                let cwnd = segments(window);
                let cut = (cwnd as f64 * self.share.alpha / 2.0) as u64;
                (cwnd - cut).max(2) * window.mss
            }
            // RFC 8257 section 3.5: the reaction to a loss is conventional.
            Signal::Loss | Signal::Timeout => half(window),
        };
        self.growth.forget();
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![("alpha", self.share.alpha)]
    }
}
