//! An upper bound of what a run costs. A document that would keep a machine busy for days or fill its memory is refused.
//!
//! The limits depend on the machine, so they are not part of a scenario. Results and the identity of runs do not depend on them.

mod load;
mod traffic;

use bloatlab_units::{Bytes, Nanos};

use self::load::{link, of_flow, rtts};
use self::traffic::Packets;
use crate::check::{Check, fail, span};
use crate::traffic::seconds;
use crate::{BoxSpec, Plan, PlanBoxKind, PlanFlow, Scenario};

/// Bytes of a row of the series of flows, of links and of probes: 12 for time and index, and 8 per other column.
const FLOW_ROW: f64 = 12.0 + 9.0 * 8.0;
const LINK_ROW: f64 = 12.0 + 8.0 * 8.0;
const PROBE_ROW: f64 = 12.0 + 8.0;
/// A growing column has up to twice the capacity it needs, and is copied into a table at the end.
const COPIES: f64 = 2.5;
/// Bytes of a flow with its histograms, and of a box (measured: 9 to 15 kB).
const FLOW: f64 = 16e3;
const BOX: f64 = 16e3;
/// Bytes of a packet in flight or in a queue (measured: 105), with the sender's record of it.
const PACKET: f64 = 160.0;
/// Bytes of a write that waits in a send buffer.
const WRITE: f64 = 32.0;
/// Bytes of an event in the packet log with its row in the table (measured: 156).
const EVENT: f64 = 200.0;
/// Events per packet: sent, enqueued, dequeued and received, and the same for half an ACK.
const EVENTS: f64 = 6.0;
/// Cost of a UE of a cell per slot, in packets.
const SLOT: f64 = 0.1;
/// Cost of another base station per UE that moves and slot, in packets (measured: 255 ns, while a packet takes 180 ns).
const INTERFERER: f64 = 1.5;

/// The most that a run may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Estimated memory.
    pub memory: Bytes,
    /// Packets on all links together. 20 billion take about an hour.
    pub packets: f64,
    /// Whether the run records every packet, which takes memory.
    pub record_packets: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: Bytes(8_000_000_000),
            packets: 20e9,
            record_packets: false,
        }
    }
}

/// A part of a run's memory.
struct Part {
    /// The key that determines it.
    path: String,
    bytes: f64,
    /// What it is.
    what: String,
    /// How to reduce it.
    advice: &'static str,
}

/// Refuses a run that exceeds the limits.
pub(crate) fn check(plan: &Plan, document: &Scenario, limits: &Limits) -> Check {
    let mut packets = Packets::new(plan);
    let mut parts = Vec::new();
    let (mut rows, mut writes, mut busiest) = (0.0, 0.0, (0.0, 0));
    // The flows of one entry of the document (`count`) are added up.
    let (mut place, mut first, mut replies, mut under_way) = (0, 0, 0.0, 0.0);
    for (index, flow) in plan.flows.iter().enumerate() {
        let path = || format!("flows[{place}]");
        stands_still(plan, flow).map_or(Ok(()), |why| fail(path(), why))?;
        let load = of_flow(plan, flow);
        packets.add(flow, &load);
        too_many(packets.total, path, plan, limits)?;
        if flow.traffic.has_data() {
            rows += samples(flow.stop - flow.start, plan);
        }
        replies += load.replies;
        writes += load.writes;
        under_way += load.open_in_flight + load.window;
        if index + 1 == first + document.flows[place].count as usize {
            if replies > 0.0 {
                parts.push(series_of_probe(place, replies));
            }
            if under_way > busiest.0 {
                busiest = (under_way, place);
            }
            (place, first, replies, under_way) = (place + 1, index + 1, 0.0, 0.0);
        }
    }
    let queued = packets.settle();
    too_many(packets.total, || "duration".to_owned(), plan, limits)?;
    variations(plan, document, &mut packets.total, limits)?;
    let links = (0..plan.boxes.len())
        .filter(|&i| link(plan, i).is_some())
        .count();
    let link_rows = samples(plan.duration, plan) * links as f64;
    parts.push(Part {
        path: "sample_interval".to_owned(),
        bytes: (rows * FLOW_ROW + link_rows * LINK_ROW) * COPIES,
        what: format!(
            "{} of samples over all flows and links",
            count(rows + link_rows, "row")
        ),
        advice: "lengthen `sample_interval`",
    });
    let hops = plan
        .flows
        .iter()
        .map(|flow| flow.forward.len() + flow.reverse.len());
    let hops = hops.sum::<usize>() as f64 * size_of::<usize>() as f64;
    parts.push(Part {
        path: "flows".to_owned(),
        bytes: plan.flows.len() as f64 * FLOW + plan.boxes.len() as f64 * BOX + 2.0 * hops,
        what: format!(
            "{} and {}",
            count(plan.flows.len() as f64, "flow"),
            boxes(plan.boxes.len())
        ),
        advice: "run fewer flows",
    });
    parts.push(Part {
        path: format!("flows[{}]", busiest.1),
        bytes: (packets.in_flight + queued) * PACKET + writes * WRITE,
        what: format!(
            "up to {} under way at once",
            count(packets.in_flight + queued, "packet")
        ),
        advice: "lower a rate, a delay, a queue's limit or a send buffer",
    });
    if limits.record_packets {
        parts.push(Part {
            path: "duration".to_owned(),
            bytes: packets.total * EVENTS * EVENT,
            what: format!("the record of up to {}", count(packets.total, "packet")),
            advice: "shorten the run, or do not record its packets",
        });
    }
    too_large(&parts, limits)
}

/// Refuses a run that needs too much memory. The error names the largest part.
fn too_large(parts: &[Part], limits: &Limits) -> Check {
    let total: f64 = parts.iter().map(|part| part.bytes).sum();
    let largest = parts.iter().max_by(|a, b| a.bytes.total_cmp(&b.bytes));
    let Some(part) = largest.filter(|_| total > limits.memory.0 as f64) else {
        return Ok(());
    };
    let Part {
        path,
        bytes,
        what,
        advice,
    } = part;
    let why = format!(
        "the run needs about {} of memory, of which {} are for {what}; at most {} are allowed; {advice}, or raise the limit with BLOATLAB_MEMORY",
        memory(total),
        memory(*bytes),
        memory(limits.memory.0 as f64),
    );
    fail(path, why)
}

fn series_of_probe(place: usize, replies: f64) -> Part {
    Part {
        path: format!("flows[{place}].traffic.interval"),
        bytes: replies * PROBE_ROW * COPIES,
        what: format!("up to {} of replies", count(replies, "row")),
        advice: "lengthen `interval` or shorten the run",
    }
}

/// Adds the cost of a cell and of rates, delays and losses that vary. Refuses it if it is too much.
fn variations(plan: &Plan, document: &Scenario, total: &mut f64, limits: &Limits) -> Check {
    if let Some(cell) = &plan.cell {
        let slots = seconds(plan.duration) / seconds(cell.params.slot().unwrap_or(1));
        let (ues, others) = (cell.params.ues.len(), cell.params.interferers.len());
        *total += slots * ues as f64 * (SLOT + others as f64 * INTERFERER);
        too_many(*total, || "cell.radio.ues".to_owned(), plan, limits)?;
    }
    for (index, item) in plan.boxes.iter().enumerate() {
        let per_second = match &item.kind {
            PlanBoxKind::Link(link) => {
                let rate = link.vary_rate.as_ref();
                let delay = link.vary_delay.as_ref();
                rate.map_or(0.0, |rate| rate.changes_per_second(link.rate))
                    + delay.map_or(0.0, |vary| vary.how.changes_per_second())
            }
            PlanBoxKind::Delay { vary, .. } => vary
                .as_ref()
                .map_or(0.0, |vary| vary.how.changes_per_second()),
            PlanBoxKind::Impairment(impairment) => {
                let vary = impairment.params().vary();
                vary.map_or(0.0, |vary| vary.changes_per_second())
            }
        };
        let changes = per_second * seconds(plan.duration);
        *total += changes;
        if *total > limits.packets {
            let why = format!(
                "changes up to {} in this run; at most {} (packets and changes) are allowed; shorten the run, make changes rarer, or raise the limit with BLOATLAB_PACKETS",
                count(changes, "time"),
                count(limits.packets, "event"),
            );
            return fail(place_of_box(document, index), why);
        }
    }
    Ok(())
}

/// Rows of a series that lasts this long.
fn samples(lasting: Nanos, plan: &Plan) -> f64 {
    (lasting / plan.sample_interval + 2) as f64
}

/// Refuses a TCP flow over a path on which simulated time would never advance.
fn stands_still(plan: &Plan, flow: &PlanFlow) -> Option<String> {
    let mut boxes = flow.forward.iter().chain(&flow.reverse);
    let has_link = boxes.any(|&i| link(plan, i).is_some());
    (flow.traffic.is_tcp() && rtts(plan, flow).0 == 0 && !has_link).then(|| {
        format!(
            "the path of `{}` has no link and no delay, so simulated time would never advance",
            flow.name
        )
    })
}

fn too_many(packets: f64, path: impl Fn() -> String, plan: &Plan, limits: &Limits) -> Check {
    if packets <= limits.packets {
        return Ok(());
    }
    let why = format!(
        "this run of {} may have {}; at most {} are allowed; shorten the run, lower the rates, enlarge packets, or raise the limit with BLOATLAB_PACKETS",
        span(plan.duration),
        count(packets, "packet"),
        count(limits.packets, "packet"),
    );
    fail(path(), why)
}

/// The path in the document of what varies in a box of the plan.
fn place_of_box(document: &Scenario, index: usize) -> String {
    let key = match document.boxes.get(index) {
        Some(BoxSpec::Link(_)) => "vary.rate",
        Some(_) => "vary",
        None => return "dumbbell.vary".to_owned(),
    };
    format!("boxes[{index}].{key}")
}

/// A number in words: `20 billion packets`.
fn count(value: f64, what: &str) -> String {
    let (scale, word) = match value {
        v if v >= 1e12 => (1e12, " trillion"),
        v if v >= 1e9 => (1e9, " billion"),
        v if v >= 1e6 => (1e6, " million"),
        _ => (1.0, ""),
    };
    if value > 1e18 {
        return format!("infinitely many {what}s");
    }
    format!("{:.0}{word} {what}s", value / scale)
}

fn boxes(number: usize) -> String {
    match number {
        1 => "1 box".to_owned(),
        _ => format!("{number} boxes"),
    }
}

/// Bytes in a suitable unit.
fn memory(bytes: f64) -> String {
    match bytes {
        b if b >= 1e18 => "an infinite amount".to_owned(),
        b if b >= 1e12 => format!("{:.1} TB", b / 1e12),
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b => format!("{:.1} MB", b / 1e6),
    }
}
