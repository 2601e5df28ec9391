//! The tins: the tin of each code point, and the share of each tin.

use bloatlab_units::{Nanos, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cobalt::CobaltController;

/// How traffic is divided into tins by code point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "tc-cake(8) explains each")]
pub enum Diffserv {
    Besteffort,
    Precedence,
    Diffserv8,
    Diffserv4,
    Diffserv3,
}

// RFC 2474, 2597, 3246, 5865 and 8622. TOS4 is the old "minimise delay", TOS2 "maximise throughput".
const LE: u8 = 1;
const TOS2: u8 = 2;
const TOS4: u8 = 4;
const CS1: u8 = 8;
const CS2: u8 = 16;
const CS3: u8 = 24;
const CS4: u8 = 32;
const CS5: u8 = 40;
const VA: u8 = 44;
const EF: u8 = 46;
const CS6: u8 = 48;
const CS7: u8 = 56;

/// The class of an assured-forwarding code point (RFC 2597), 1 to 4; 0 for all others.
fn assured(dscp: u8) -> u8 {
    let class = dscp >> 3;
    if (1..=4).contains(&class) && matches!(dscp & 7, 2 | 4 | 6) {
        class
    } else {
        0
    }
}

impl Diffserv {
    /// The tin of a code point. While below its threshold, a tin of higher number has priority.
    fn tin(self, dscp: u8) -> u8 {
        match self {
            Self::Besteffort => 0,
            Self::Precedence => dscp >> 3,
            // tc-cake(8): bulk, best effort, voice.
            Self::Diffserv3 => match dscp {
                LE | CS1 => 0,
                TOS4 | VA | EF | CS6 | CS7 => 2,
                _ => 1,
            },
            // tc-cake(8): bulk, best effort, video, voice.
            Self::Diffserv4 => match dscp {
                LE | CS1 => 0,
                CS4 | CS5 | VA | EF | CS6 | CS7 => 3,
                TOS4 | CS2 | CS3 => 2,
                _ if assured(dscp) >= 2 => 2,
                _ => 1,
            },
            // Linux since 5.9: background, high throughput, best effort, video, low latency, interactive, minimum latency, control.
            Self::Diffserv8 => match dscp {
                LE => 0,
                TOS2 | CS1 => 1,
                CS3 => 3,
                TOS4 => 4,
                CS2 => 5,
                CS4 | CS5 | VA | EF => 6,
                CS6 | CS7 => 7,
                _ => match assured(dscp) {
                    1 => 1,
                    2 => 4,
                    3 | 4 => 3,
                    _ => 2,
                },
            },
        }
    }

    /// The tin of every code point.
    pub fn map(self) -> [u8; 64] {
        std::array::from_fn(|dscp| self.tin(dscp as u8))
    }

    /// The name of each tin, as in the output of tc. With eight tins, as the comments in Linux call them.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Besteffort => &[""],
            Self::Diffserv3 => &["Bulk", "Best Effort", "Voice"],
            Self::Diffserv4 => &["Bulk", "Best Effort", "Video", "Voice"],
            Self::Diffserv8 => &[
                "Background",
                "High Throughput",
                "Best Effort",
                "Video",
                "Low Latency",
                "Interactive",
                "Minimum Latency",
                "Network Control",
            ],
            Self::Precedence => &[
                "Precedence 0",
                "Precedence 1",
                "Precedence 2",
                "Precedence 3",
                "Precedence 4",
                "Precedence 5",
                "Precedence 6",
                "Precedence 7",
            ],
        }
    }

    /// The share of `whole` that each tin may use with priority.
    fn shares(self, whole: u64) -> Vec<u64> {
        match self {
            Self::Besteffort => vec![whole],
            Self::Diffserv3 => vec![whole >> 4, whole, whole >> 2],
            Self::Diffserv4 => vec![whole >> 4, whole, whole >> 1, whole >> 2],
            // Each tin has seven eighths of the previous one.
            Self::Precedence | Self::Diffserv8 => {
                std::iter::successors(Some(whole), |below| Some(below * 7 / 8))
                    .take(8)
                    .collect()
            }
        }
    }

    /// The settings of each tin for this bandwidth, round-trip time and largest packet.
    pub fn settings(self, bandwidth: Option<Rate>, rtt: Nanos, mtu: u32) -> Vec<Settings> {
        // As in Linux: the weight of a tin without a shaper. With eight tins, each has a smaller weight, so that a round stays short.
        let weights = self.shares(match self {
            Self::Besteffort => 65_535,
            Self::Diffserv3 | Self::Diffserv4 => 1024,
            Self::Precedence | Self::Diffserv8 => 256,
        });
        let rates: Vec<Option<Rate>> = match bandwidth {
            Some(Rate(rate)) => {
                let shares = self.shares(rate).into_iter();
                shares.map(|share| Some(Rate(share.max(1)))).collect()
            }
            None => vec![None; weights.len()],
        };
        let both = rates.into_iter().zip(weights);
        both.map(|(rate, weight)| Settings::new(rate, weight as i64, rtt, mtu))
            .collect()
    }
}

/// The settings of one tin.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Below this rate the tin has priority. Absent without a shaper.
    pub threshold: Option<Rate>,
    /// Without a shaper: bytes per turn of the tin.
    pub weight: i64,
    /// Bytes per turn of a flow.
    pub quantum: u32,
    /// The AQM controller of the tin's queues.
    pub controller: CobaltController,
    /// Transmission time of the largest packet at the threshold rate.
    pub mtu_time: Nanos,
}

impl Settings {
    fn new(threshold: Option<Rate>, weight: i64, rtt: Nanos, mtu: u32) -> Self {
        let mtu_time = threshold.map_or(0, |rate| rate.transmit(u64::from(mtu), 0).0);
        // tc-cake(8): the target is 5 % of the round-trip time.
        let usual = rtt / 20;
        // arXiv 1804.07617 section III: at low rates, a target of less than one and a half packets would leave the link idle.
        let target = usual.max(mtu_time * 3 / 2);
        let interval = (rtt + target - usual).max(2 * target);
        Self {
            threshold,
            weight,
            // arXiv 1804.07617 section III: the bytes of about 2 ms, at least 300 and at most an Ethernet frame.
            quantum: threshold.map_or(1514, |rate| (rate.0 >> 15).clamp(300, 1514) as u32),
            controller: CobaltController::new(target, interval),
            mtu_time,
        }
    }
}
