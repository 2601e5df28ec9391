//! An upper bound of the packets of one flow.

use bloatlab_units::{Bytes, Nanos, Rate};

use super::quantities::{link, per_second, seconds};
use crate::{Connection, Plan, PlanBoxKind, PlanFlow, PlanLink, Traffic, Transport};

/// Bytes of an IP and a TCP header without options.
const HEADERS: u32 = 40;
/// Packets of a connection besides its data: handshake and close.
const CONNECTION_PACKETS: f64 = 7.0;

/// An upper bound of the packets of one flow.
#[derive(Default)]
pub(super) struct Load {
    /// Packets that are sent regardless of congestion, and the size of one.
    pub open: f64,
    pub open_size: f64,
    /// Packets that are sent as fast as links forward them: size and number.
    pub elastic: [(u32, f64); 2],
    /// Open packets in flight at the same time.
    pub open_in_flight: f64,
    /// Elastic packets in flight at the same time.
    pub window: f64,
    /// Replies of a ping, or fetched pages: rows of the series of probes.
    pub replies: f64,
    /// Writes of an application that wait in the send buffer.
    pub writes: f64,
}

impl Load {
    /// The load of a flow.
    pub fn of(plan: &Plan, flow: &PlanFlow) -> Self {
        let copies = copies(plan, flow);
        let mut load = sent(plan, flow);
        load.open *= copies;
        load.open_in_flight *= copies;
        load.window *= copies;
        load.replies *= copies;
        load.elastic = load.elastic.map(|(size, packets)| (size, packets * copies));
        load
    }
}

/// The largest mean number of packets that boxes on the path make of one.
fn copies(plan: &Plan, flow: &PlanFlow) -> f64 {
    let boxes = flow.forward.iter().chain(&flow.reverse);
    let factors = boxes.map(|&i| match &plan.boxes[i].kind {
        PlanBoxKind::Impairment(impairment) => impairment.params().copies(),
        PlanBoxKind::Link(_) | PlanBoxKind::Delay { .. } => 1.0,
    });
    factors.product()
}

/// The load without duplicates.
fn sent(plan: &Plan, flow: &PlanFlow) -> Load {
    let active = seconds(flow.stop - flow.start);
    let mss = f64::from(flow.tcp.mss);
    let segments = |bytes: Bytes| (bytes.0 as f64 / mss).ceil();
    let window = segments(flow.tcp.send_buffer.min(flow.tcp.receive_buffer));
    let slowest = flow
        .forward
        .iter()
        .filter_map(|&i| link(plan, i))
        .map(PlanLink::greatest_rate)
        .min();
    let one_way: Nanos = flow
        .forward
        .iter()
        .map(|&i| plan.boxes[i].propagation_bounds().1)
        .sum();
    // At most a window per RTT. Without propagation delay, only links limit the rate.
    let rtt = rtts(plan, flow).0;
    let rounds = if rtt == 0 {
        f64::INFINITY
    } else {
        active / seconds(rtt) + 1.0
    };
    let bulk = |packets: f64| Load {
        elastic: [(flow.tcp.mss + HEADERS, packets), (0, 0.0)],
        window: window.min(packets),
        ..Load::default()
    };
    let stream = |rate: Rate, packet: Bytes, transport: Transport, events: f64| {
        let is_tcp = transport == Transport::Tcp;
        // A write over TCP is cut into segments.
        let size = if is_tcp {
            mss.min(packet.0 as f64)
        } else {
            packet.0 as f64
        };
        let packets = per_second(rate, size);
        // No more packets propagate than the slowest link forwards.
        let passed = slowest.map_or(packets, |link| packets.min(per_second(link, size)));
        let open = packets * active + 1.0 + events;
        let waiting = flow.tcp.send_buffer.0 as f64 / packet.0 as f64;
        Load {
            open,
            open_size: size + f64::from(HEADERS),
            open_in_flight: passed * seconds(one_way),
            writes: if is_tcp { waiting.min(open) } else { 0.0 },
            ..Load::default()
        }
    };
    match flow.traffic {
        Traffic::Greedy => bulk(window * rounds),
        Traffic::Finite { bytes } => {
            bulk((window * rounds).min(segments(bytes) + CONNECTION_PACKETS))
        }
        Traffic::Cbr {
            rate,
            packet,
            transport,
        }
        | Traffic::Poisson {
            rate,
            packet,
            transport,
        } => stream(rate, packet, transport, 0.0),
        Traffic::OnOff {
            rate,
            on,
            off,
            packet,
            transport,
            ..
        } => stream(
            rate,
            packet,
            transport,
            2.0 * active / (seconds(on.0) + seconds(off.0)),
        ),
        Traffic::Fetch {
            request,
            response,
            interval,
            connection,
        } => {
            let data = segments(request) + segments(response);
            let others = if connection == Connection::New {
                CONNECTION_PACKETS
            } else {
                1.0
            };
            let size = (response.0.min(u64::from(flow.tcp.mss)) as u32) + HEADERS;
            let on_links = slowest.map_or(0.0, |rate| 1.0 / per_second(rate, response.0 as f64));
            // Not zero: a path without link and delay is refused earlier.
            let cycle = seconds(rtt) + seconds(interval.0) + on_links;
            let pages = if cycle > 0.0 {
                active / cycle + 1.0
            } else {
                f64::INFINITY
            };
            Load {
                elastic: [(size, data * pages), (HEADERS, others * pages)],
                window: window.min(data + others),
                replies: pages,
                ..Load::default()
            }
        }
        Traffic::Ping { interval, size } => {
            let echoes = active / seconds(interval.0) + 1.0;
            Load {
                open: echoes,
                open_size: size.0 as f64,
                open_in_flight: seconds(one_way) / seconds(interval.0),
                replies: echoes,
                ..Load::default()
            }
        }
    }
}

/// The smallest and the largest propagation delay of both directions together.
pub(super) fn rtts(plan: &Plan, flow: &PlanFlow) -> (Nanos, Nanos) {
    let boxes = flow.forward.iter().chain(&flow.reverse);
    let bounds = boxes.map(|&i| plan.boxes[i].propagation_bounds());
    bounds.fold((0, 0), |sum, (least, greatest)| {
        (sum.0 + least, sum.1 + greatest)
    })
}
