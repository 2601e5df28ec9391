//! CAKE (arXiv 1804.07617, Linux): a shaper, tins by code point, fairness between hosts and flows, and COBALT for each flow.

use bloatlab_units::{Bytes, Duration, MILLISECOND, Rate, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Context, Factory, Packet, Qdisc, Tc};

pub mod ack_filter;
pub mod hash;
pub mod hosts;
pub mod overhead;
mod rotation;
mod scheduler;
pub mod shaper;
mod stats;
mod table;
mod tin;
pub mod tins;
mod words;

use ack_filter::AckFilter;
use hosts::Isolation;
use overhead::{Framing, Link, Overhead};
use scheduler::Cake;
pub use stats::TIN_STATISTICS;
use tins::Diffserv;

/// Common Applications Kept Enhanced: a shaper without bursts, tins by code point, fairness between hosts and between flows, and COBALT for each
/// flow.
///
/// Home routers use it before a slow link. With a `bandwidth` it shapes slightly below the rate of the link, so that packets queue here and not in
/// the modem. Each tin serves its hosts in turn, each host its flows, and COBALT keeps the queue of each flow short; `rtt` scales COBALT. If the link
/// adds headers, set its `overhead` and `atm`; otherwise the shaper is too fast for small packets. A `bandwidth` above the real rate of the link
/// makes it useless. Without a `bandwidth`, the delay depends on the buffer behind it.
///
/// Segments of a buffer of segmentation offload are queued, judged and sent one by one, as with tc's default, `split-gso`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Rate of the shaper. If absent, it does not shape, and sends whenever the link can.
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "1Tbit/s"))]
    pub bandwidth: Option<Rate>,
    /// Tins by code point: `diffserv3` has bulk, best effort and voice; `diffserv4` also has video; `diffserv8` and `precedence` have eight tins,
    /// `besteffort` has one.
    pub diffserv: Diffserv,
    /// Which flows share fairly. Flows are 5-tuples. With `dual-srchost`, `dual-dsthost` or `triple-isolate` (both), the flows of one host share the
    /// capacity of one. With `srchost`, `dsthost` and `hosts`, all packets of a host or a pair of hosts are one flow. With `flowblind`, all packets
    /// of a tin are.
    pub flowmode: Isolation,
    /// On a router that translates addresses, tell hosts apart by the addresses before the translation. It changes nothing in a simulation, where no
    /// address is translated; `bloatlab tc` and kernel queues use it.
    pub nat: bool,
    /// Clear the code point after the tin is chosen.
    pub wash: bool,
    /// Packets have already crossed the bottleneck, so dropped packets count against the shaper, too.
    pub ingress: bool,
    /// Drop queued pure ACKs that a later ACK makes redundant: `enabled` keeps two besides the newest, `aggressive` keeps none.
    pub ack_filter: AckFilter,
    /// A round-trip time that exceeds that of most connections. The target is a twentieth of it, or more at low rates.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub rtt: Duration,
    /// Link technology, whose overhead the shaper and the scheduler count. If absent, there is no overhead.
    pub link: Option<Link>,
    /// Number of VLAN tags, which add four bytes each to the overhead.
    #[schemars(range(min = 0, max = 8))]
    pub ether_vlan: u32,
    /// Framing of the link, instead of that of the technology: the cells of `atm`, the code words of `ptm`, or `noatm`.
    pub atm: Option<Framing>,
    /// Bytes that the link adds to an IP packet, instead of those of the technology. With `raw`, they are added to the packet's size as counted
    /// elsewhere.
    #[schemars(range(min = -64, max = 256))]
    pub overhead: Option<i32>,
    /// Smallest size of a packet with its overhead, in bytes, instead of that of the technology.
    #[schemars(range(min = 0, max = 256))]
    pub mpu: Option<u32>,
    /// Capacity of all queues together, in bytes. Beyond it, packets are dropped from the head of the longest queue. If absent, four round-trip times
    /// at the bandwidth, but at least 4 MiB and at most 10 240 of the largest packets.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    pub memlimit: Option<Bytes>,
}

impl Default for Params {
    fn default() -> Self {
        // tc-cake(8).
        Self {
            bandwidth: None,
            diffserv: Diffserv::Diffserv3,
            flowmode: Isolation::TripleIsolate,
            nat: false,
            wash: false,
            ingress: false,
            ack_filter: AckFilter::Disabled,
            rtt: Duration(100 * MILLISECOND),
            link: None,
            ether_vlan: 0,
            atm: None,
            overhead: None,
            mpu: None,
            memlimit: None,
        }
    }
}

impl Params {
    /// The overhead of a packet, where packet sizes include `header` bytes of the link layer.
    pub fn overhead(&self, header: u32) -> Overhead {
        Overhead::new(
            self.link,
            self.overhead,
            self.ether_vlan,
            self.mpu,
            self.atm,
            header,
        )
    }

    /// Capacity of all queues together, in bytes.
    pub fn memory_limit(&self, mtu: u32) -> u64 {
        // As in Linux: 10 240 packets of the largest size, at any rate.
        let most = 10_240 * u64::from(mtu);
        match (self.memlimit, self.bandwidth) {
            (Some(limit), _) => limit.0,
            (None, None) => most,
            (None, Some(Rate(rate))) => {
                let trips = 4 * u128::from(rate / 8) * u128::from(self.rtt.0) / u128::from(SECOND);
                (trips as u64).max(4 << 20).min(most)
            }
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "Høiland-Jørgensen, Täht, Morton, Piece of CAKE, LANMAN 2018 (arXiv 1804.07617); parameters as in tc-cake(8)";
    const TC: &'static [Tc] = words::TC;

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Cake::new(self, context))
    }
}
