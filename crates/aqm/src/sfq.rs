//! Stochastic fairness queueing (McKenney 1990): flows are hashed to queues that take turns, as in Linux or as in ns-2.

use bloatlab_units::{Bytes, Duration, Limit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::classifier::Classifier;
use crate::red;
use crate::{Context, Factory, Form, Packet, Qdisc, Tc, Word};

mod queues;
mod signals;

/// Stochastic Fairness Queueing: one queue per hash of a flow, served in turn. On overflow, the longest queue loses a packet.
///
/// Flows are hashed to `divisor` queues, each of which sends `quantum` bytes per turn, so a greedy flow cannot push out others. With `perturb` the
/// hash changes from time to time, so that no two flows share a queue for ever. With `redflowlimit`, RED keeps each queue short. Use it as the oldest
/// and simplest fair queueing of Linux. Without RED, only `limit` and `depth` bound the delay of a bulk flow.
///
/// As in ns-2: `limit` 40p, `divisor` 16, `service` packets, `overflow` share, `classifier` exact (its hash keeps neighbouring addresses apart).
///
/// A buffer of segmentation offload is one packet, as in Linux: it leaves whole, even if the queue's
/// quantum is exceeded. Limits count its segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of all queues together, in packets.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Number of queues that flows are hashed to.
    #[schemars(range(min = 1, max = 65_536))]
    pub divisor: u32,
    /// Largest number of queues in use. A packet for one more queue is dropped. Used with `overflow` longest.
    #[schemars(range(min = 1, max = 65_536))]
    pub flows: u32,
    /// Capacity of one queue, in packets. Used with `overflow` longest.
    #[schemars(range(min = 1, max = 65_536))]
    pub depth: u32,
    /// Bytes that a queue may send per turn. Used with `service` bytes.
    #[schemars(extend("x-minimum" = "256B", "x-maximum" = "1MiB"))]
    pub quantum: Bytes,
    /// Whether turns are equal in bytes or in packets.
    pub service: Service,
    /// Which packet is dropped when there is no space.
    pub overflow: Overflow,
    /// Drop the oldest packet of a queue instead of the newest. Used with `overflow` longest.
    pub headdrop: bool,
    /// How often the hash changes, also for packets in the queue; 0s: never.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "24h"))]
    pub perturb: Duration,
    /// What decides the queue of a packet.
    pub classifier: Classifier,
    /// Enables RED in each queue, on its bytes. Absent thresholds are computed from this size. If absent, there is no RED. Used with `overflow`
    /// longest.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub redflowlimit: Option<Bytes>,
    /// Average size of a queue below which RED does not signal. If absent, a third of `max`.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub min: Option<Bytes>,
    /// Average size of a queue from which RED signals to every packet. If absent, a quarter of `redflowlimit`.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub max: Option<Bytes>,
    /// Size of an average packet, for RED. If absent, 1000 bytes.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1MiB"))]
    pub avpkt: Option<Bytes>,
    /// Number of packets that may arrive at once without a signal. It determines the weight of RED's average. If absent or 0: (2 min + max) / 3.
    #[schemars(range(max = 1_000_000_000))]
    pub burst: Option<u32>,
    /// Probability of RED's signal when the average reaches `max`. If absent, 0.02.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: Option<f64>,
    /// Let RED mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Let RED drop also ECN-capable packets if every packet gets a signal.
    pub harddrop: bool,
}

/// What is equal in every turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// Bytes, by deficit round robin (Linux).
    Bytes,
    /// Packets, one per turn (McKenney 1990, ns-2).
    Packets,
}

/// Which packet is dropped when there is no space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// A packet of the queue with the most packets (McKenney 1990, Linux).
    Longest,
    /// The arriving packet, if its queue has at least half as many packets as there is space left. If less space is left than there are queues, also
    /// if its queue has more than an equal share (ns-2).
    Share,
}

impl Default for Params {
    fn default() -> Self {
        // tc-sfq(8), with Ethernet's packets of 1514 bytes.
        Self {
            limit: Limit::Packets(127),
            divisor: 1024,
            flows: 127,
            depth: 127,
            quantum: Bytes(1514),
            service: Service::Bytes,
            overflow: Overflow::Longest,
            headdrop: false,
            perturb: Duration(0),
            classifier: Classifier::Flow,
            redflowlimit: None,
            min: None,
            max: None,
            avpkt: None,
            burst: None,
            probability: None,
            ecn: false,
            harddrop: false,
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str =
        "McKenney, Stochastic Fairness Queueing, INFOCOM 1990; tc-sfq(8); ns-2's SFQ";
    const TC: &'static [Tc] = &[Tc {
        name: "sfq",
        words: &[
            Word::same("limit", Form::PacketsFrom(2)),
            Word::same("perturb", Form::Seconds),
            Word::same("quantum", Form::Size),
            Word::same("depth", Form::Integer),
            Word::same("flows", Form::Integer),
            Word::same("divisor", Form::Integer),
            Word::new("headdrop", "headdrop", Form::Flag("true")),
            Word::same("redflowlimit", Form::WholeBytes),
            Word::same("min", Form::WholeBytes),
            Word::same("max", Form::WholeBytes),
            Word::same("avpkt", Form::Size),
            Word::same("burst", Form::Integer),
            Word::same("probability", Form::Probability),
            Word::same("ecn", Form::Flag("true")),
            Word::same("harddrop", Form::Flag("true")),
        ],
        required: &[],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        if !matches!(self.limit, Limit::Packets(_)) {
            return Err(format!(
                "limit: {} must be in packets, such as 127p",
                self.limit
            ));
        }
        match self.red() {
            Some(_) if self.overflow == Overflow::Share => Err(
                "redflowlimit: RED needs `overflow` longest: set it, or leave out redflowlimit"
                    .to_owned(),
            ),
            Some(red) => red.check(),
            None => {
                let given = [
                    ("min", self.min.is_some()),
                    ("max", self.max.is_some()),
                    ("avpkt", self.avpkt.is_some()),
                    ("burst", self.burst.is_some()),
                    ("probability", self.probability.is_some()),
                    ("ecn", self.ecn),
                    ("harddrop", self.harddrop),
                ];
                match given.iter().find(|(_, given)| *given) {
                    Some((name, _)) => Err(format!(
                        "{name}: has no effect without redflowlimit: set it, or leave out {name}"
                    )),
                    None => Ok(()),
                }
            }
        }
    }

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(queues::Sfq::new(self, context))
    }
}

impl Params {
    /// tc-sfq(8): the RED of each queue, with the values of tc and Linux.
    fn red(&self) -> Option<red::Params> {
        self.redflowlimit.map(|Bytes(limit)| red::Params {
            limit: Limit::Bytes(limit),
            min: self.min.map(|Bytes(min)| Limit::Bytes(min)),
            max: self.max.map(|Bytes(max)| Limit::Bytes(max)),
            auto: red::Auto::Limit,
            avpkt: Some(self.avpkt.unwrap_or(Bytes(1000))),
            burst: Some(self.burst.unwrap_or(0)),
            probability: self.probability.unwrap_or(0.02),
            gentle: false,
            wait: false,
            bytemode: false,
            spare_empty: false,
            ..red::Params::default()
        })
    }
}
