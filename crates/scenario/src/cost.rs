//! What a run costs an engine, from above: a document that would keep a machine busy for days or fill its memory is refused.

use bloatlab_units::{Nanos, Rate};

use crate::check::{Check, fail, span};
use crate::{Connection, Flow, Plan, PlanBoxKind, PlanFlow, PlanLink, Traffic};

/// Packets sent on links and by flows that cross none; about half an hour at 100 ns each.
const MAX_PACKETS: f64 = 20e9;
/// Packets that propagate at once; 48 bytes each.
const MAX_IN_FLIGHT: f64 = 100e6;
/// Rows of all series together.
const MAX_ROWS: f64 = 100e6;
/// IP and TCP header without options: the least that a segment adds to its payload.
const HEADERS: f64 = 40.0;
/// Packets of a connection besides its data: handshake and close.
const CONNECTION_PACKETS: f64 = 7.0;

/// What one flow can put on the network at most.
struct Load {
    /// Packets over the whole run, whatever links allow.
    packets: f64,
    /// Packets under way at once, whatever links allow.
    in_flight: f64,
    /// Bytes of a full packet, for what a link lets through; None where only the packets above count.
    elastic: Option<f64>,
}

/// What a link's elastic flows can put on it together.
#[derive(Clone, Copy)]
struct Elastic {
    packets: f64,
    smallest: f64,
}

pub(crate) fn check(plan: &Plan, document: &[Flow]) -> Check {
    let rows = (plan.duration / plan.sample_interval + 1) as f64
        * (plan.flows.len() + plan.boxes.len()) as f64;
    if rows > MAX_ROWS {
        let why = format!(
            "makes {} of samples over all flows and boxes; at most 100 million are taken",
            count(rows, "row")
        );
        return fail("sample_interval", why);
    }
    let place = |index: usize| place_of(document, index);
    let mut total = 0.0;
    let mut in_flight = 0.0;
    let mut elastic: Vec<Option<Elastic>> = vec![None; plan.boxes.len()];
    for (index, flow) in plan.flows.iter().enumerate() {
        let links = || flow.forward.iter().filter_map(|&i| link(plan, i));
        let has_link = flow
            .forward
            .iter()
            .chain(&flow.reverse)
            .any(|&i| link(plan, i).is_some());
        let needs_time = matches!(
            flow.traffic,
            Traffic::Greedy | Traffic::Finite { .. } | Traffic::Fetch { .. }
        );
        if needs_time && flow.base_rtt == 0 && !has_link {
            let why = format!(
                "`{}` crosses neither a link nor a delay, so its packets would go round in no time",
                flow.name
            );
            return fail(place(index), why);
        }
        let load = load(plan, flow);
        in_flight += load.in_flight;
        if in_flight > MAX_IN_FLIGHT {
            let why = format!(
                "with `{}` up to {} propagate at once; at most 100 million are simulated: lower a rate or a delay",
                flow.name,
                count(in_flight, "packet")
            );
            return fail(place(index), why);
        }
        let crossed = links().count();
        if crossed == 0 || load.elastic.is_none() {
            total += load.packets * crossed.max(1) as f64;
        }
        if let Some(size) = load.elastic {
            for &i in flow.forward.iter().filter(|&&i| link(plan, i).is_some()) {
                let sum = elastic[i].get_or_insert(Elastic {
                    packets: 0.0,
                    smallest: f64::INFINITY,
                });
                sum.packets += load.packets;
                sum.smallest = sum.smallest.min(size);
            }
        }
        too_many(total, || place(index), plan)?;
    }
    for (i, sum) in elastic.iter().enumerate() {
        let (Some(sum), Some(link)) = (sum, link(plan, i)) else {
            continue;
        };
        let size = sum.smallest + f64::from(link.overhead);
        let capacity = per_second(link.rate, size) * seconds(plan.duration);
        total += sum.packets.min(capacity);
        too_many(total, || "duration".to_owned(), plan)?;
    }
    Ok(())
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
    let segment = mss + HEADERS;
    let window = (flow.tcp.send_buffer.0.min(flow.tcp.receive_buffer.0) as f64 / mss).ceil();
    let slowest = flow
        .forward
        .iter()
        .filter_map(|&i| link(plan, i))
        .map(|link| link.rate)
        .min();
    // A window's worth each round trip; with a link on the way the round trip may be as short as it likes.
    let rounds = match (flow.base_rtt, slowest) {
        (0, _) => f64::INFINITY,
        (rtt, _) => active / seconds(rtt) + 1.0,
    };
    let one_way: Nanos = flow
        .forward
        .iter()
        .map(|&i| plan.boxes[i].propagation())
        .sum();
    let narrow = |packets: f64| match slowest {
        Some(rate) => packets.min(per_second(rate, segment) * seconds(flow.base_rtt) + 1.0),
        None => packets,
    };
    let closed_loop = |packets: f64| Load {
        packets,
        in_flight: narrow(window.min(packets)),
        elastic: Some(segment),
    };
    let open_loop = |rate: Rate, packet: u64, events: f64| {
        let rate = per_second(rate, packet as f64);
        // What the first link lets through is what propagates behind it.
        let passed = slowest.map_or(rate, |link| rate.min(per_second(link, packet as f64)));
        Load {
            packets: rate * active + 1.0 + events,
            in_flight: passed * seconds(one_way),
            elastic: None,
        }
    };
    match flow.traffic {
        Traffic::Greedy => closed_loop(window * rounds),
        Traffic::Finite { bytes } => {
            closed_loop((window * rounds).min((bytes.0 as f64 / mss).ceil() + CONNECTION_PACKETS))
        }
        Traffic::Cbr { rate, packet, .. } | Traffic::Poisson { rate, packet, .. } => {
            open_loop(rate, packet.0, 0.0)
        }
        Traffic::OnOff {
            rate,
            on,
            off,
            packet,
            ..
        } => open_loop(
            rate,
            packet.0,
            2.0 * active / (seconds(on.0) + seconds(off.0)),
        ),
        Traffic::Fetch {
            request,
            response,
            interval,
            connection,
        } => {
            let data = (request.0 as f64 / mss).ceil() + (response.0 as f64 / mss).ceil();
            let page = data
                + if connection == Connection::New {
                    CONNECTION_PACKETS
                } else {
                    0.0
                };
            let on_links: f64 = slowest.map_or(0.0, |rate| {
                1.0 / per_second(rate, request.0.max(response.0) as f64 + HEADERS)
            });
            let cycle = seconds(flow.base_rtt) + seconds(interval.0) + on_links;
            let pages = if cycle > 0.0 {
                active / cycle + 1.0
            } else {
                f64::INFINITY
            };
            Load {
                packets: page * pages,
                in_flight: narrow(window.min(page)),
                elastic: None,
            }
        }
        Traffic::Ping { interval, size } => {
            let pings = active / seconds(interval.0) + 1.0;
            let in_flight = seconds(one_way) / seconds(interval.0);
            debug_assert!(size.0 > 0);
            Load {
                packets: pings,
                in_flight,
                elastic: None,
            }
        }
    }
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
