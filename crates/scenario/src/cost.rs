//! What a run costs an engine, from above: a document that would keep a machine busy for days or fill its memory is refused.

use std::collections::BTreeMap;

use bloatlab_units::{Bytes, Nanos, Rate};

use crate::check::{Check, fail, span};
use crate::{Connection, Flow, Plan, PlanBoxKind, PlanFlow, PlanLink, Traffic, Transport};

/// Packets sent on links and by flows that cross none; about half an hour at 100 ns each.
const MAX_PACKETS: f64 = 20e9;
/// Packets that propagate at once; 48 bytes each.
const MAX_IN_FLIGHT: f64 = 100e6;
/// Rows of all series together.
const MAX_ROWS: f64 = 100e6;
/// IP and TCP header without options: the least that a segment adds to its payload.
const HEADERS: u32 = 40;
/// Packets of a connection besides its data: handshake and close.
const CONNECTION_PACKETS: f64 = 7.0;

/// What one flow can put on the network at most.
#[derive(Default)]
struct Load {
    /// Packets that come whatever links let through.
    open: f64,
    /// Packets that come as fast as links let them through, with their bytes.
    elastic: [(u32, f64); 2],
    /// Of the open packets, those under way at once.
    open_in_flight: f64,
    /// Of the elastic packets, those under way at once.
    window: f64,
}

impl Load {
    /// As many times as much.
    fn times(mut self, factor: f64) -> Self {
        self.open *= factor;
        self.open_in_flight *= factor;
        self.window *= factor;
        self.elastic = self.elastic.map(|(size, packets)| (size, packets * factor));
        self
    }
}

/// The most packets that may come of one, in the mean, where boxes on its way duplicate.
fn copies(plan: &Plan, flow: &PlanFlow) -> f64 {
    let boxes = flow.forward.iter().chain(&flow.reverse);
    let factors = boxes.map(|&i| match &plan.boxes[i].kind {
        PlanBoxKind::Duplicate { probability, vary } => {
            let vary = vary.as_ref();
            1.0 + vary.map_or(*probability, |vary| vary.bounds(*probability).1)
        }
        _ => 1.0,
    });
    factors.product()
}

/// What the elastic flows of a link can put on it together.
#[derive(Clone, Default)]
struct Elastic {
    by_size: BTreeMap<u32, f64>,
    /// Of flows for which this is the first link.
    window: f64,
    rtt: Nanos,
}

impl Elastic {
    /// What the link lets through in this time: the smallest first, as that is the most.
    fn packets(&self, link: &PlanLink, duration: Nanos) -> f64 {
        let (mut left, mut passed) = (seconds(duration), 0.0);
        for (&size, &packets) in &self.by_size {
            let rate = per_second(
                link.greatest_rate(),
                f64::from(size) + f64::from(link.overhead + link.header),
            );
            let fit = packets.min(rate * left);
            passed += fit;
            left = (left - fit / rate).max(0.0);
        }
        passed
    }

    fn in_flight(&self, link: &PlanLink) -> f64 {
        let smallest = self.by_size.keys().next().map_or(1, |&size| size.max(1));
        self.window
            .min(per_second(link.greatest_rate(), f64::from(smallest)) * seconds(self.rtt) + 1.0)
    }
}

/// Refuses what is too much.
pub(crate) fn check(plan: &Plan, document: &[Flow]) -> Check {
    let rows = (plan.duration / plan.sample_interval + 1) as f64
        * (plan.flows.len() + plan.boxes.len()) as f64;
    if rows > MAX_ROWS {
        let rows = count(rows, "row");
        let why = format!(
            "makes {rows} of samples over all flows and boxes; at most 100 million are taken"
        );
        return fail("sample_interval", why);
    }
    let (mut total, mut in_flight) = (0.0, 0.0);
    let mut elastic: Vec<Option<Elastic>> = vec![None; plan.boxes.len()];
    for (index, flow) in plan.flows.iter().enumerate() {
        stands_still(plan, flow).map_or(Ok(()), |why| fail(place_of(document, index), why))?;
        let load = load(plan, flow).times(copies(plan, flow));
        let mut links = flow
            .forward
            .iter()
            .filter(|&&i| link(plan, i).is_some())
            .peekable();
        match links.peek() {
            Some(&&first) => {
                let sum = elastic[first].get_or_insert_default();
                sum.window += load.window;
                sum.rtt = sum.rtt.max(rtts(plan, flow).1);
            }
            None => {
                total += load.open + load.elastic.iter().map(|(_, packets)| packets).sum::<f64>();
                in_flight += load.window;
            }
        }
        for &i in links {
            total += load.open;
            let sum = elastic[i].get_or_insert_default();
            for (size, packets) in load.elastic {
                if packets > 0.0 {
                    *sum.by_size.entry(size).or_default() += packets;
                }
            }
        }
        in_flight += load.open_in_flight;
        too_many(total, || place_of(document, index), plan)?;
        too_full(in_flight, || place_of(document, index))?;
    }
    for (i, sum) in elastic.iter().enumerate() {
        if let (Some(sum), Some(link)) = (sum, link(plan, i)) {
            total += sum.packets(link, plan.duration);
            in_flight += sum.in_flight(link);
            too_many(total, || "duration".to_owned(), plan)?;
            too_full(in_flight, || "flows".to_owned())?;
        }
    }
    Ok(())
}

/// Why a closed loop over this path would never let time pass.
fn stands_still(plan: &Plan, flow: &PlanFlow) -> Option<String> {
    let has_link = flow
        .forward
        .iter()
        .chain(&flow.reverse)
        .any(|&i| link(plan, i).is_some());
    (flow.traffic.is_tcp() && rtts(plan, flow).0 == 0 && !has_link).then(|| {
        format!(
            "`{}` crosses neither a link nor a delay, so its packets would go round in no time",
            flow.name
        )
    })
}

fn too_full(in_flight: f64, path: impl Fn() -> String) -> Check {
    if in_flight <= MAX_IN_FLIGHT {
        return Ok(());
    }
    let packets = count(in_flight, "packet");
    let why = format!(
        "up to {packets} propagate at once; at most 100 million are simulated: lower a rate or a delay"
    );
    fail(path(), why)
}

fn too_many(packets: f64, path: impl Fn() -> String, plan: &Plan) -> Check {
    if packets <= MAX_PACKETS {
        return Ok(());
    }
    let duration = span(plan.duration);
    let why = format!(
        "the {duration} of this run may take {}; at most 20 billion are simulated: shorten the run, lower the rates or enlarge packets",
        count(packets, "packet")
    );
    fail(path(), why)
}

fn load(plan: &Plan, flow: &PlanFlow) -> Load {
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
    // At most a window each round trip; without propagation only links hold packets back.
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
        // A write over TCP is cut into segments.
        let size = if transport == Transport::Tcp {
            mss.min(packet.0 as f64)
        } else {
            packet.0 as f64
        };
        let packets = per_second(rate, size);
        // What the slowest link lets through is what propagates behind it.
        let passed = slowest.map_or(packets, |link| packets.min(per_second(link, size)));
        Load {
            open: packets * active + 1.0 + events,
            open_in_flight: passed * seconds(one_way),
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
            // Not zero: a path with neither link nor propagation is refused before.
            let cycle = seconds(rtt) + seconds(interval.0) + on_links;
            let pages = if cycle > 0.0 {
                active / cycle + 1.0
            } else {
                f64::INFINITY
            };
            Load {
                elastic: [(size, data * pages), (HEADERS, others * pages)],
                window: window.min(data + others),
                ..Load::default()
            }
        }
        Traffic::Ping { interval, .. } => Load {
            open: active / seconds(interval.0) + 1.0,
            open_in_flight: seconds(one_way) / seconds(interval.0),
            ..Load::default()
        },
    }
}

/// The least and the greatest time that packets propagate both ways.
fn rtts(plan: &Plan, flow: &PlanFlow) -> (Nanos, Nanos) {
    let boxes = flow.forward.iter().chain(&flow.reverse);
    let bounds = boxes.map(|&i| plan.boxes[i].propagation_bounds());
    bounds.fold((0, 0), |sum, (least, greatest)| {
        (sum.0 + least, sum.1 + greatest)
    })
}

fn link(plan: &Plan, index: usize) -> Option<&PlanLink> {
    match &plan.boxes[index].kind {
        PlanBoxKind::Link(link) => Some(link),
        _ => None,
    }
}

/// The document's place of the plan's flow.
fn place_of(document: &[Flow], index: usize) -> String {
    let mut before = 0;
    for (place, flow) in document.iter().enumerate() {
        before += flow.count as usize;
        if index < before {
            return format!("flows[{place}]");
        }
    }
    "flows".to_owned()
}

fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 * 1e-9
}

fn per_second(rate: Rate, bytes: f64) -> f64 {
    rate.0 as f64 / (8.0 * bytes)
}

/// A large number as people say it.
fn count(value: f64, what: &str) -> String {
    let (scale, word) = match value {
        v if v >= 1e12 => (1e12, " trillion"),
        v if v >= 1e9 => (1e9, " billion"),
        v if v >= 1e6 => (1e6, " million"),
        _ => (1.0, ""),
    };
    if value > 1e18 {
        return format!("endlessly many {what}s");
    }
    format!("{:.0}{word} {what}s", value / scale)
}
