//! CAKE (arXiv 1804.07617, Linux): shaper, tins by code point, flows and hosts served fairly, each flow under COBALT.

use bloatlab_units::{Bytes, Duration, MILLISECOND, Rate, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Algorithm, Context, Packet, Qdisc, Tc};

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
use tins::Diffserv;

/// Common Applications Kept Enhanced: a shaper without bursts, tins by code point, fairness between hosts and between flows, each
/// flow under COBALT.
///
/// It is the qdisc that home routers put before a slow link: with a `bandwidth` it shapes a little below the link, so that the queue is
/// here and not in the modem. Each tin serves its hosts in turn, each host its flows, and COBALT keeps each flow's queue short; `rtt`
/// scales that law. Give it the link's `overhead` and `atm` when the link adds headers, or the shaper is too fast for small packets. A
/// `bandwidth` above what the link really carries undoes all of it. Without a `bandwidth` it is only as good as the buffer behind it is
/// short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Rate to which it shapes; absent: it does not, and sends whenever the link behind it can.
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "1Tbit/s"))]
    pub bandwidth: Option<Rate>,
    /// Tins by code point: `diffserv3` has bulk, best effort and voice, `diffserv4` video too, `diffserv8` and `precedence` eight,
    /// `besteffort` one.
    pub diffserv: Diffserv,
    /// What is shared between: flows are 5-tuples, and with `dual-srchost`, `dual-dsthost` or `triple-isolate` (both) the flows of one
    /// host share what one gets; with `srchost`, `dsthost` and `hosts` all packets of a host or a pair of hosts are one flow; with
    /// `flowblind` all packets of a tin.
    pub flowmode: Isolation,
    /// Clear the code point once the tin is chosen.
    pub wash: bool,
    /// Packets crossed the bottleneck before they came here, so dropped ones count against the shaper too.
    pub ingress: bool,
    /// Drop queued pure ACKs that a later one makes superfluous: `enabled` leaves two besides the newest, `aggressive` none.
    pub ack_filter: AckFilter,
    /// Round-trip time that most connections are below; the target is a twentieth of it, or more at low rates.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub rtt: Duration,
    /// Link technology, whose overhead the shaper and the scheduler count; absent: none.
    pub link: Option<Link>,
    /// VLAN tags, four bytes each, on top of the overhead.
    #[schemars(range(min = 0, max = 8))]
    pub ether_vlan: u32,
    /// Framing of the link, instead of the technology's own: cells of `atm`, the code words of `ptm`, or `noatm`.
    pub atm: Option<Framing>,
    /// Bytes that the link adds to an IP packet, instead of the technology's own; with `raw`, to the packet as it is counted elsewhere.
    #[schemars(range(min = -64, max = 256))]
    pub overhead: Option<i32>,
    /// Least bytes of a packet with its overhead, instead of the technology's own.
    #[schemars(range(min = 0, max = 256))]
    pub mpu: Option<u32>,
    /// Bytes that all queues together hold; beyond it the longest is cut from its head. Absent: four round-trip times at the
    /// bandwidth, at least 4 MiB; at most 10 240 of the largest packets.
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
    /// From a packet's size to what it costs, where sizes contain this much of the link layer.
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

    /// Bytes that all queues together hold.
    pub fn memory_limit(&self, mtu: u32) -> u64 {
        // Linux: 10 240 packets of the largest size, however high the rate.
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

impl Algorithm for Params {
    const SOURCE: &'static str = "Høiland-Jørgensen, Täht, Morton, Piece of CAKE, LANMAN 2018 (arXiv 1804.07617); parameters as in tc-cake(8)";
    const TC: &'static [Tc] = words::TC;

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Cake::new(self, context))
    }
}
