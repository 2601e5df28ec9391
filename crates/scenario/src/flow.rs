//! A flow of the document: when, where and how it sends.

use bloatlab_cc::CcConfig;
use bloatlab_tcp::TcpConfig;
use bloatlab_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Dscp, Traffic};

/// Which way a flow's data goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Through the bottleneck; answers come back on the return path.
    #[default]
    Forward,
    /// Over the return path; answers come back through the bottleneck.
    Reverse,
}

/// One flow, or `count` alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Flow {
    /// Name (`NAME_1`, `NAME_2`, ... if `count` is above 1); absent: `flow_` and the place among all flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub name: Option<String>,
    /// How many flows alike.
    #[schemars(range(min = 1, max = 100_000))]
    pub count: u32,
    /// When the (first) flow starts; below the scenario's `duration`.
    pub start: Duration,
    /// When the application stops; absent: at the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// Each of `count` flows starts this much later than the one before it.
    pub start_interval: Duration,
    /// The start is put off by a time drawn uniformly below this.
    pub start_jitter: Duration,
    /// This flow's own two-way propagation instead of `dumbbell.rtt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Duration>,
    /// Which way the data goes.
    pub direction: Direction,
    /// In a parking lot: first and last hop crossed, counted from 1, both included; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops: Option<[u32; 2]>,
    /// In a cell: the UE that it belongs to, counted from 1; absent: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    pub ue: Option<u32>,
    /// In a cell: identifier of the QoS flow that its packets, both ways, belong to, which says their bearer; absent: the default bearer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 63))]
    pub qfi: Option<u32>,
    /// With `boxes`: names of the boxes from sender to receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
    /// With `boxes`: names of the boxes from receiver to sender; absent: answers are back at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_path: Option<Vec<String>>,
    /// Host that sends the data; flows that name the same one share it. Absent: a host of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub source: Option<String>,
    /// Host that receives the data; as `source`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub destination: Option<String>,
    /// Differentiated services code point of its packets, both ways: a name (`EF`, `CS1`, `AF41`, `LE`) or 0 to 63.
    pub dscp: Dscp,
    /// Congestion control; of no effect over UDP and on a ping.
    #[serde(alias = "congestion_control")]
    pub cca: CcConfig,
    /// What the application sends.
    pub traffic: Traffic,
    /// The TCP connection; of no effect over UDP and on a ping.
    pub tcp: TcpConfig,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            name: None,
            count: 1,
            start: Duration(0),
            stop: None,
            start_interval: Duration(0),
            start_jitter: Duration(0),
            rtt: None,
            direction: Direction::Forward,
            hops: None,
            ue: None,
            qfi: None,
            path: None,
            return_path: None,
            source: None,
            destination: None,
            dscp: Dscp::default(),
            cca: CcConfig::Cubic(bloatlab_cc::cubic::Params::default()),
            traffic: Traffic::default(),
            tcp: TcpConfig::default(),
        }
    }
}
