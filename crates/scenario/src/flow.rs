//! A flow of the document: its times, its path and its traffic.

use bloatlab_cc::CcConfig;
use bloatlab_tcp::TcpConfig;
use bloatlab_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Dscp, Traffic};

/// The direction of a flow's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Through the bottleneck. ACKs and answers use the return path.
    #[default]
    Forward,
    /// Over the return path. ACKs and answers cross the bottleneck.
    Reverse,
}

/// One flow, or `count` equal flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Flow {
    /// Name (`NAME_1`, `NAME_2`, ... if `count` is above 1); absent: `flow_` and its number among all flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub name: Option<String>,
    /// Number of equal flows.
    #[schemars(range(min = 1, max = 100_000))]
    pub count: u32,
    /// When the (first) flow starts; below the scenario's `duration`.
    pub start: Duration,
    /// When the application stops; absent: at the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// Time between the starts of two successive flows of `count`.
    pub start_interval: Duration,
    /// The start is delayed by a random time, uniformly distributed below this.
    pub start_jitter: Duration,
    /// RTT of this flow instead of `dumbbell.rtt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Duration>,
    /// Direction of the data.
    pub direction: Direction,
    /// In a parking lot: the first and the last hop that the flow crosses, counted from 1; absent: all hops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops: Option<[u32; 2]>,
    /// In a cell: the UE of the flow, counted from 1; absent: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    pub ue: Option<u32>,
    /// In a cell: identifier of the QoS flow (QFI) of its packets in both directions, which selects the bearer; absent: the default bearer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 63))]
    pub qfi: Option<u32>,
    /// With `boxes`: names of the boxes from sender to receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
    /// With `boxes`: names of the boxes from receiver to sender; absent: answers return without delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_path: Option<Vec<String>>,
    /// Name of the host that sends the data. Flows with the same name share a host; absent: a separate host.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub source: Option<String>,
    /// Name of the host that receives the data, as for `source`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub destination: Option<String>,
    /// Differentiated services code point of its packets in both directions: a name (`EF`, `CS1`, `AF41`, `LE`) or 0 to 63.
    pub dscp: Dscp,
    /// Congestion control. It has no effect over UDP and on a ping.
    #[serde(alias = "congestion_control")]
    pub cca: CcConfig,
    /// What the application sends.
    pub traffic: Traffic,
    /// Settings of the TCP connection. They have no effect over UDP and on a ping.
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
