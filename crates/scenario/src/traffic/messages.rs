//! What the kinds share that send messages of one size: constant rate, Poisson process, and on and off.

use bloatlab_tcp::TcpConfig;
use bloatlab_units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Kind, size};
use super::load::{Bounds, HEADERS, Load, per_second};
use crate::check::rules::{Check, fail, rate};

/// What carries the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// One datagram per message. It is sent at once and never again.
    #[default]
    Udp,
    /// A byte stream, in which each message is a write of the application.
    Tcp,
}

/// Payload of a message by default.
pub(super) fn default_packet() -> Bytes {
    Bytes(1200)
}

/// The parameters that these kinds have in common. Each `Params` has them as fields, because serde cannot flatten a struct and refuse unknown keys.
pub(super) struct Common {
    pub rate: Rate,
    pub packet: Bytes,
    pub transport: Transport,
}

/// A kind that sends messages of one size.
pub(super) trait Messages {
    fn common(&self) -> Common;

    /// Refuses values out of range of the kind's own parameters.
    fn check_own(&self, _path: &str) -> Check {
        Ok(())
    }

    /// Messages that it may send beyond those of its rate.
    fn more(&self, _bounds: &Bounds) -> f64 {
        0.0
    }
}

impl<T: Messages> Kind for T {
    fn check(&self, path: &str, tcp: &TcpConfig) -> Check {
        let Common {
            rate: given,
            packet,
            transport,
        } = self.common();
        rate(format!("{path}.rate"), given)?;
        self.check_own(path)?;
        // 28 bytes of UDP and IP header have to fit as well.
        let most = match transport {
            Transport::Udp => 65_507,
            Transport::Tcp => 65_535,
        };
        size(path, "packet", packet, 20, most)?;
        if transport == Transport::Tcp && packet > tcp.send_buffer {
            let why = format!(
                "must be at most `tcp.send_buffer`, {}, not {packet}",
                tcp.send_buffer
            );
            return fail(format!("{path}.packet"), why);
        }
        Ok(())
    }

    fn load(&self, bounds: &Bounds) -> Load {
        let Common { rate, packet, .. } = self.common();
        let packet = packet.0 as f64;
        // A write over TCP is cut into segments.
        let size = if self.is_tcp() {
            packet.min(f64::from(bounds.mss))
        } else {
            packet
        };
        let packets = per_second(rate, size);
        // Only what the slowest link lets through propagates behind it.
        let passed = bounds
            .slowest
            .map_or(packets, |link| packets.min(per_second(link, size)));
        let open = packets * bounds.active + 1.0 + self.more(bounds);
        let waiting = bounds.send_buffer.0 as f64 / packet;
        Load {
            open,
            open_size: size + f64::from(HEADERS),
            open_in_flight: passed * bounds.one_way,
            writes: if self.is_tcp() {
                waiting.min(open)
            } else {
                0.0
            },
            ..Load::default()
        }
    }

    fn is_tcp(&self) -> bool {
        self.common().transport == Transport::Tcp
    }
}
