//! Stochastic fairness queueing (McKenney 1990): flows hashed to queues that take turns, as in Linux or as in ns-2.

use bloatlab_units::{Bytes, Duration, Limit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::classifier::Classifier;
use crate::red;
use crate::{Algorithm, Context, Form, Packet, Qdisc, Tc, Word};

mod queues;
mod signals;

/// Stochastic Fairness Queueing: a queue per hash of flow, served in turn; the longest queue pays for overflow.
///
/// Flows are hashed to `divisor` queues, each of which sends `quantum` bytes in its turn, so that a greedy flow cannot push others out.
/// With `perturb` the hash changes from time to time, so that no two flows share a queue for ever. With `redflowlimit` RED keeps each
/// flow's own queue short. Use it as the oldest and simplest fair queueing that Linux has. Without RED, the delay of a bulk flow is bounded
/// by `limit` and `depth` alone.
///
/// As in ns-2: `limit` 40p, `divisor` 16, `service` packets, `overflow` share, `classifier` exact (its hash keeps neighbouring addresses
/// apart).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Packets that all queues together hold.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Number of queues that flows are hashed to.
    #[schemars(range(min = 1, max = 65_536))]
    pub divisor: u32,
    /// Most queues in use at a time; what arrives for one more is dropped. With `overflow` longest.
    #[schemars(range(min = 1, max = 65_536))]
    pub flows: u32,
    /// Packets that one queue holds. With `overflow` longest.
    #[schemars(range(min = 1, max = 65_536))]
    pub depth: u32,
    /// Bytes a queue may send in its turn. With `service` bytes.
    #[schemars(extend("x-minimum" = "256B", "x-maximum" = "1MiB"))]
    pub quantum: Bytes,
    /// Whether turns are equal in bytes or in packets.
    pub service: Service,
    /// Who pays when there is no room.
    pub overflow: Overflow,
    /// Drop a queue's oldest packet instead of its latest. With `overflow` longest.
    pub headdrop: bool,
    /// How often flows are hashed anew, and the packets that are queued with them; 0s: never.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "24h"))]
    pub perturb: Duration,
    /// What decides the queue of a packet.
    pub classifier: Classifier,
    /// With RED in each queue, on its bytes: the size from which absent thresholds follow. Absent: no RED. With `overflow` longest.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub redflowlimit: Option<Bytes>,
    /// A queue's average size below which RED signals nothing; absent: a third of `max`.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub min: Option<Bytes>,
    /// A queue's average size from which RED signals to every packet; absent: a quarter of `redflowlimit`.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub max: Option<Bytes>,
    /// Size of an average packet, for RED; absent: 1000 bytes.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1MiB"))]
    pub avpkt: Option<Bytes>,
    /// Packets that may come at once without a signal, which determines the weight of RED's average; absent or 0: (2 min + max) / 3.
    #[schemars(range(max = 1_000_000_000))]
    pub burst: Option<u32>,
    /// Probability of RED's signal where the average reaches `max`; absent: 0.02.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: Option<f64>,
    /// RED marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// RED drops ECN-capable packets too where every packet is signalled to.
    pub harddrop: bool,
}

/// What is equal in each turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// Bytes, by deficit round robin (Linux).
    Bytes,
    /// Packets, one a turn (McKenney 1990, ns-2).
    Packets,
}

/// Who pays when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The queue with the most packets (McKenney 1990, Linux).
    Longest,
    /// The packet that arrives, if its queue has half as many packets as there is room left, or more than its equal part when fewer packets
    /// fit than there are queues (ns-2).
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

impl Algorithm for Params {
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
            return Err(format!("limit: {} must be in packets", self.limit));
        }
        match self.red() {
            Some(_) if self.overflow == Overflow::Share => {
                Err("redflowlimit: RED is in Linux's queues, with `overflow` longest".to_owned())
            }
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
                    Some((name, _)) => Err(format!("{name}: means nothing without redflowlimit")),
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
    /// tc-sfq(8): the RED of each queue, as tc and Linux set up theirs.
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
