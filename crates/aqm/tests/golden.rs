//! The behaviour of each queue under one short overload, as a table in `snapshots/`. Changes in behaviour appear in the diff.
//!
//! `INSTA_UPDATE=always cargo test -p bloatlab-aqm --test golden` rewrites the tables. Read the diff before you commit it.

mod common;

use std::fmt::Write as _;

use bloatlab_aqm::{DropReason, Ecn, Qdisc, QueueConfig, describe};
use bloatlab_units::{MICROSECOND, Nanos, Rate, SECOND};
use common::{Log, TestPacket, build, packet};
use serde_json::json;

/// A flow of equal packets at equal intervals.
struct Source {
    name: &'static str,
    every: Nanos,
    size: u32,
    ecn: Ecn,
}

/// A load of 130 %: a heavy flow with ECN, a lighter one without, and a sparse one of small packets.
const SOURCES: [Source; 3] = [
    Source {
        name: "heavy, ECN",
        every: 1_250 * MICROSECOND,
        size: 1500,
        ecn: Ecn::Ect0,
    },
    Source {
        name: "light, no ECN",
        every: 2_000 * MICROSECOND,
        size: 1500,
        ecn: Ecn::NotEct,
    },
    Source {
        name: "sparse",
        every: 20_000 * MICROSECOND,
        size: 200,
        ecn: Ecn::NotEct,
    },
];

/// Sojourn times of each source's packets that reached the link.
fn run(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, end: Nanos) -> [Vec<Nanos>; 3] {
    let link = Rate(12_000_000);
    let mut sojourns = [Vec::new(), Vec::new(), Vec::new()];
    let mut arrivals = [0, 300 * MICROSECOND, 700 * MICROSECOND];
    let (mut free_at, mut id) = (0, 0);
    loop {
        let (source, arrival) = arrivals
            .iter()
            .copied()
            .enumerate()
            .min_by_key(|&(_, at)| at)
            .unwrap();
        let departure = if queue.packets() > 0 {
            free_at
        } else {
            Nanos::MAX
        };
        let wake = queue.next_wake().unwrap_or(Nanos::MAX);
        let now = arrival.min(departure).min(wake);
        if now >= end {
            return sojourns;
        }
        if now == wake {
            queue.wake(now);
        } else if now == departure {
            if let Some(packet) = queue.dequeue(now, log) {
                sojourns[packet.flow as usize].push(now - packet.enqueued_at);
                free_at = now + link.transmit(u64::from(packet.size), 0).0;
            } else if queue.packets() > 0 {
                // The link requests a packet again after the queue's next wake-up.
                free_at = queue.next_wake().unwrap();
            }
        } else {
            let Source {
                size, ecn, every, ..
            } = SOURCES[source];
            queue.enqueue(
                now,
                TestPacket {
                    size,
                    ecn,
                    ..packet(id, source as u64)
                },
                log,
            );
            id += 1;
            arrivals[source] += every;
            free_at = free_at.max(now);
        }
    }
}

fn table(config: serde_json::Value) -> String {
    let mut queue = build(config);
    let mut log = Log::default();
    let sojourns = run(queue.as_mut(), &mut log, 5 * SECOND);
    let mut text = "5 s at 12 Mbit/s, 130 % load\n\n".to_owned();
    let header = [
        "source", "sent", "overflow", "aqm", "marked", "mean us", "max us",
    ];
    writeln!(
        text,
        "{:14}{:>8}{:>10}{:>8}{:>8}{:>10}{:>10}",
        header[0], header[1], header[2], header[3], header[4], header[5], header[6]
    )
    .unwrap();
    for (flow, (source, sojourns)) in SOURCES.iter().zip(&sojourns).enumerate() {
        let of_flow = |packet: &TestPacket| packet.flow == flow as u64;
        let dropped = |why| {
            log.dropped
                .iter()
                .filter(|(packet, reason)| of_flow(packet) && *reason == why)
                .count()
        };
        let marked = log.marked.iter().filter(|packet| of_flow(packet)).count();
        let mean = sojourns.iter().sum::<Nanos>() / sojourns.len().max(1) as u64 / MICROSECOND;
        let max = sojourns.iter().max().unwrap_or(&0) / MICROSECOND;
        writeln!(
            text,
            "{:14}{:>8}{:>10}{:>8}{marked:>8}{mean:>10}{max:>10}",
            source.name,
            sojourns.len(),
            dropped(DropReason::Overflow),
            dropped(DropReason::Aqm),
        )
        .unwrap();
    }
    writeln!(
        text,
        "\nheld at the end: {} packets, {} bytes",
        queue.packets(),
        queue.bytes()
    )
    .unwrap();
    for (name, value) in queue.stats() {
        writeln!(text, "{name}: {value}").unwrap();
    }
    text
}

#[test]
fn the_behaviour_of_every_queue_is_unchanged() {
    for (config, description) in QueueConfig::all().iter().zip(describe()) {
        let mut table_of = json!({ "kind": config.kind() });
        let has = |name: &str| {
            description
                .parameters
                .iter()
                .any(|parameter| parameter.name == name)
        };
        if has("limit") {
            table_of["limit"] = json!("200p");
        }
        insta::assert_snapshot!(config.kind(), table(table_of.clone()));
        if has("ecn") {
            table_of["ecn"] = json!(config_ecn(config).is_some_and(|on| !on));
            if has("redflowlimit") {
                // sfq marks only with RED.
                table_of["redflowlimit"] = json!("60kB");
            }
            insta::assert_snapshot!(format!("{}_ecn_flipped", config.kind()), table(table_of));
        }
    }
}

/// The default value of the parameter `ecn`.
fn config_ecn(config: &QueueConfig) -> Option<bool> {
    serde_json::to_value(config).ok()?["ecn"].as_bool()
}
