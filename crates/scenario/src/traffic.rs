//! What an application sends.

use bloatlab_units::{Bytes, Duration, MILLISECOND, Rate};
use schemars::JsonSchema;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// What carries the packets of an open-loop source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Each packet at once, whatever happens to it.
    #[default]
    Udp,
    /// A byte stream: the packets are the application's writes.
    Tcp,
}

/// How the lengths of on and off periods are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Exponential with the given means.
    #[default]
    Exponential,
    /// Always the given lengths.
    Constant,
}

/// The connection of a repeated fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    /// A new connection, handshake and slow start for every page.
    #[default]
    New,
    /// One connection for all pages.
    Persistent,
}

/// What an application sends. In a document a kind whose parameters all have defaults may be written as its bare name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Traffic {
    /// As much as the transport takes, from start to stop.
    #[default]
    Greedy,
    /// This many bytes, then the connection closes.
    Finite {
        /// Application bytes.
        bytes: Bytes,
    },
    /// Packets of one size at even distances.
    Cbr {
        /// Rate of the payload.
        rate: Rate,
        /// Payload of a packet.
        packet: Bytes,
        /// What carries it.
        transport: Transport,
    },
    /// Packets of one size with exponentially distributed distances.
    Poisson {
        /// Mean rate of the payload.
        rate: Rate,
        /// Payload of a packet.
        packet: Bytes,
        /// What carries it.
        transport: Transport,
    },
    /// Constant rate while on, silence while off.
    OnOff {
        /// Rate of the payload while on.
        rate: Rate,
        /// (Mean) length of an on period.
        on: Duration,
        /// (Mean) length of an off period.
        off: Duration,
        /// How the lengths are drawn.
        distribution: Distribution,
        /// Payload of a packet.
        packet: Bytes,
        /// What carries it.
        transport: Transport,
    },
    /// The client asks, the server answers, again and again. The data flows from server to client.
    Fetch {
        /// Size of the request.
        request: Bytes,
        /// Size of the response.
        response: Bytes,
        /// Wait after a complete page before the next request.
        interval: Duration,
        /// The connection.
        connection: Connection,
    },
    /// An ICMP echo at even distances, and its reply.
    Ping {
        /// Distance of two echoes.
        interval: Duration,
        /// Size on the IP layer, headers included.
        size: Bytes,
    },
}

/// [`Traffic`] as serde reads it: the defaults, and `Greedy {}` because serde checks no unknown key of a tagged unit variant.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "TaggedTraffic")]
enum Tagged {
    /// As much as the transport takes, from start to stop.
    #[serde(alias = "Greedy", alias = "BulkSendApplication")]
    Greedy {},
    /// This many bytes, then the connection closes.
    #[serde(alias = "Finite")]
    Finite {
        /// Application bytes.
        #[serde(alias = "MaxBytes")]
        bytes: Bytes,
    },
    /// Packets of one size at even distances.
    #[serde(alias = "Cbr")]
    Cbr {
        /// Rate of the payload.
        #[serde(alias = "DataRate")]
        rate: Rate,
        /// Payload of a packet (over TCP: of a write).
        #[serde(default = "packet", alias = "PacketSize")]
        packet: Bytes,
        /// What carries it.
        #[serde(default)]
        transport: Transport,
    },
    /// Packets of one size with exponentially distributed distances.
    #[serde(alias = "Poisson")]
    Poisson {
        /// Mean rate of the payload.
        #[serde(alias = "DataRate")]
        rate: Rate,
        /// Payload of a packet (over TCP: of a write).
        #[serde(default = "packet", alias = "PacketSize")]
        packet: Bytes,
        /// What carries it.
        #[serde(default)]
        transport: Transport,
    },
    /// Constant rate while on, silence while off.
    #[serde(alias = "OnOff", alias = "OnOffApplication")]
    OnOff {
        /// Rate of the payload while on.
        #[serde(alias = "DataRate")]
        rate: Rate,
        /// (Mean) length of an on period.
        #[serde(alias = "OnTime")]
        on: Duration,
        /// (Mean) length of an off period.
        #[serde(alias = "OffTime")]
        off: Duration,
        /// How the lengths are drawn.
        #[serde(default)]
        distribution: Distribution,
        /// Payload of a packet (over TCP: of a write).
        #[serde(default = "packet", alias = "PacketSize")]
        packet: Bytes,
        /// What carries it.
        #[serde(default)]
        transport: Transport,
    },
    /// The client asks, the server answers, again and again. The data flows from server to client.
    #[serde(alias = "Fetch")]
    Fetch {
        /// Size of the request.
        #[serde(default = "request")]
        request: Bytes,
        /// Size of the response.
        response: Bytes,
        /// Wait after a complete page before the next request.
        #[serde(default)]
        interval: Duration,
        /// The connection.
        #[serde(default)]
        connection: Connection,
    },
    /// An ICMP echo at even distances, and its reply.
    #[serde(alias = "Ping")]
    Ping {
        /// Distance of two echoes.
        #[serde(default = "ping_interval", alias = "Interval")]
        interval: Duration,
        /// Size on the IP layer, headers included.
        #[serde(default = "ping_size")]
        size: Bytes,
    },
}

fn packet() -> Bytes {
    Bytes(1200)
}

fn request() -> Bytes {
    Bytes(200)
}

fn ping_interval() -> Duration {
    Duration(200 * MILLISECOND)
}

fn ping_size() -> Bytes {
    Bytes(64)
}

impl From<Tagged> for Traffic {
    fn from(tagged: Tagged) -> Self {
        match tagged {
            Tagged::Greedy {} => Self::Greedy,
            Tagged::Finite { bytes } => Self::Finite { bytes },
            Tagged::Cbr {
                rate,
                packet,
                transport,
            } => Self::Cbr {
                rate,
                packet,
                transport,
            },
            Tagged::Poisson {
                rate,
                packet,
                transport,
            } => Self::Poisson {
                rate,
                packet,
                transport,
            },
            Tagged::OnOff {
                rate,
                on,
                off,
                distribution,
                packet,
                transport,
            } => Self::OnOff {
                rate,
                on,
                off,
                distribution,
                packet,
                transport,
            },
            Tagged::Fetch {
                request,
                response,
                interval,
                connection,
            } => Self::Fetch {
                request,
                response,
                interval,
                connection,
            },
            Tagged::Ping { interval, size } => Self::Ping { interval, size },
        }
    }
}

impl<'de> Deserialize<'de> for Traffic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;
        impl<'de> Visitor<'de> for NameOrTable {
            type Value = Traffic;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name of a kind of traffic, or a table with its `kind`")
            }
            fn visit_str<E: Error>(self, kind: &str) -> Result<Traffic, E> {
                let table = Map::from_iter([("kind".to_owned(), Value::from(kind))]);
                Tagged::deserialize(Value::Object(table))
                    .map(Traffic::from)
                    .map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Traffic, A::Error> {
                Tagged::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    .map(Traffic::from)
            }
        }
        deserializer.deserialize_any(NameOrTable)
    }
}

impl JsonSchema for Traffic {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Traffic".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "What the application sends.",
            "anyOf": [
                { "type": "string", "enum": ["greedy", "ping"] },
                generator.subschema_for::<Tagged>(),
            ],
        })
    }
}

impl Traffic {
    /// The name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Greedy => "greedy",
            Self::Finite { .. } => "finite",
            Self::Cbr { .. } => "cbr",
            Self::Poisson { .. } => "poisson",
            Self::OnOff { .. } => "on_off",
            Self::Fetch { .. } => "fetch",
            Self::Ping { .. } => "ping",
        }
    }

    /// Whether a TCP connection carries it.
    pub fn is_tcp(&self) -> bool {
        match self {
            Self::Greedy | Self::Finite { .. } | Self::Fetch { .. } => true,
            Self::Cbr { transport, .. }
            | Self::Poisson { transport, .. }
            | Self::OnOff { transport, .. } => *transport == Transport::Tcp,
            Self::Ping { .. } => false,
        }
    }
}
