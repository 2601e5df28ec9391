//! What a run costs an engine, from above: a document that would keep a machine busy for days or fill its memory is refused.
//!
//! How much is too much depends on the machine, so the limits are no part of a scenario: its results, and the identity of its runs, do not depend on them.

mod load;
mod traffic;

use bloatlab_units::{Bytes, Nanos};

use self::load::{link, of_flow, rtts};
use self::traffic::Packets;
use crate::check::{Check, fail, span};
use crate::traffic::seconds;
use crate::{BoxSpec, Plan, PlanBoxKind, PlanFlow, Scenario};

/// Columns of a row of the series of flows, of links and of probes: time and entity take 12 bytes, others 8 each.
const FLOW_ROW: f64 = 12.0 + 9.0 * 8.0;
const LINK_ROW: f64 = 12.0 + 8.0 * 8.0;
const PROBE_ROW: f64 = 12.0 + 8.0;
/// A column that grows has room for up to as much again, and is copied into a table at the end.
const COPIES: f64 = 2.5;
/// Bytes of a flow with its histograms, and of a box (measured: 9 to 15 kB).
const FLOW: f64 = 16e3;
const BOX: f64 = 16e3;
/// Bytes of a packet on its way or in a queue (measured: 105), with the sender's record of it.
const PACKET: f64 = 160.0;
/// Bytes of a write that waits to be read.
const WRITE: f64 = 32.0;
/// Bytes of an event of the packet log with its row of the table (measured: 156), and events of a packet: sent, enqueued, dequeued and received, and the same
/// for half an ACK.
const EVENT: f64 = 200.0;
const EVENTS: f64 = 6.0;
/// Packets that a UE of a cell costs in a slot.
const SLOT: f64 = 0.1;

/// What a run may cost at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Memory, by estimate.
    pub memory: Bytes,
    /// Packets on all links together; 20 billion take about an hour.
    pub packets: f64,
    /// Whether the run records every packet, which takes memory, too.
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
    /// The key that decides it.
    path: String,
    bytes: f64,
    /// What it is.
    what: String,
    /// How to have less of it.
    advice: &'static str,
}

/// Refuses what is too much.
pub(crate) fn check(plan: &Plan, document: &Scenario, limits: &Limits) -> Check {
    let mut packets = Packets::new(plan);
    let mut parts = Vec::new();
    let (mut rows, mut writes, mut busiest) = (0.0, 0.0, (0.0, 0));
    // Flows of one entry of the document (`count`) differ only in their start.
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

/// Refuses a run that takes more memory than it may; what takes most of it is named.
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
        "the run needs about {} of memory, of which {} are for {what}; at most {} are allowed: {advice}, or raise the limit with BLOATLAB_MEMORY",
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

/// Refuses rates, delays and losses that change so often that following them takes days; adds what is not too much.
fn variations(plan: &Plan, document: &Scenario, total: &mut f64, limits: &Limits) -> Check {
    if let Some(cell) = &plan.cell {
        let slots = seconds(plan.duration) / seconds(cell.params.slot().unwrap_or(1));
        *total += slots * cell.params.ues.len() as f64 * SLOT;
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
            PlanBoxKind::Loss { vary, .. }
            | PlanBoxKind::Corrupt { vary, .. }
            | PlanBoxKind::Duplicate { vary, .. } => {
                vary.as_ref().map_or(0.0, |vary| vary.changes_per_second())
            }
        };
        let changes = per_second * seconds(plan.duration);
        *total += changes;
        if *total > limits.packets {
            let why = format!(
                "changes up to {} in this run, and at most {} of packets and changes are simulated: shorten the run or let it change less often, or raise the limit with BLOATLAB_PACKETS",
                count(changes, "time"),
                count(limits.packets, "event"),
            );
            return fail(place_of_box(document, index), why);
        }
    }
    Ok(())
}

/// Rows that a series gets of something that lasts so long.
fn samples(lasting: Nanos, plan: &Plan) -> f64 {
    (lasting / plan.sample_interval + 2) as f64
}

/// Why a closed loop over this path would never let time pass.
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
        "the {} of this run may take {}; at most {} are simulated: shorten the run, lower the rates or enlarge packets, or raise the limit with BLOATLAB_PACKETS",
        span(plan.duration),
        count(packets, "packet"),
        count(limits.packets, "packet"),
    );
    fail(path(), why)
}

/// The document's place of what the plan's box varies.
fn place_of_box(document: &Scenario, index: usize) -> String {
    let key = match document.boxes.get(index) {
        Some(BoxSpec::Link { .. }) => "vary.rate",
        Some(_) => "vary",
        None => return "dumbbell.vary".to_owned(),
    };
    format!("boxes[{index}].{key}")
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

fn boxes(number: usize) -> String {
    match number {
        1 => "1 box".to_owned(),
        _ => format!("{number} boxes"),
    }
}

/// Bytes as people say them.
fn memory(bytes: f64) -> String {
    match bytes {
        b if b >= 1e18 => "endlessly much".to_owned(),
        b if b >= 1e12 => format!("{:.1} TB", b / 1e12),
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b => format!("{:.1} MB", b / 1e6),
    }
}
