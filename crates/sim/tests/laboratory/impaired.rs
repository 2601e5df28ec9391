//! Paths with bursts of losses, corruption, duplication, jitter, handovers and traces, checked by what arrives.

use std::path::{Path, PathBuf};

use bloatlab_outcome::{HOST, Outcome, PacketEvent, Step};
use bloatlab_scenario::Scenario;
use bloatlab_units::{MILLISECOND, Nanos, SECOND};
use serde_json::{Value, json};

use crate::{compiled, logged, measured, value};

fn run(network: Value, flows: Value) -> Outcome {
    let mut document = json!({ "duration": "20s", "flows": flows });
    let table = document.as_object_mut().expect("a table");
    table.extend(network.as_object().expect("a table").clone());
    let scenario = Scenario::from_value(document).unwrap_or_else(|error| panic!("{error}"));
    logged(&compiled(&scenario), 1)
}

fn dumbbell(keys: Value, flows: Value) -> Outcome {
    let mut dumbbell = json!({ "rate": "100Mbit/s", "rtt": "40ms" });
    let table = dumbbell.as_object_mut().expect("a table");
    table.extend(keys.as_object().expect("a table").clone());
    run(json!({ "dumbbell": dumbbell }), flows)
}

/// 1000 packets per second.
fn stream() -> Value {
    json!([{ "traffic": { "kind": "cbr", "rate": "4Mbit/s", "packet": "500B" } }])
}

fn of(outcome: &Outcome, step: Step) -> Vec<&PacketEvent> {
    let events = outcome.packets.iter();
    events.filter(|event| event.step == step).collect()
}

fn count<'a>(outcome: &'a Outcome, name: &str) -> &'a bloatlab_outcome::Count {
    let found = outcome.counts.iter().find(|(n, _)| n == name);
    &found.expect("a box").1
}

#[test]
fn corrupted_packets_are_discarded_by_their_receiver() {
    let outcome = dumbbell(json!({ "impair": { "corrupt": 0.1 } }), stream());
    let discards = of(&outcome, Step::Discard);
    assert!(discards.iter().all(|e| e.place == HOST));
    let lost = discards.len() as f64;
    assert!((lost - 2000.0).abs() < 4.0 * 1800_f64.sqrt(), "{lost}");
    // No box drops anything: the box that corrupts packets passes all of them.
    assert_eq!(of(&outcome, Step::Drop).len(), 0);
    let corrupt = count(&outcome, "corrupt");
    assert_eq!((corrupt.drops, corrupt.arrivals), (0, corrupt.departures));
    let metric = |name: &str| value(&outcome.flow_metrics, 0, name);
    assert_eq!(metric("drops_l4"), Some(0.0));
    assert_eq!(metric("checksum_discards_l4"), Some(lost));
    assert_eq!(metric("loss_rate_l4"), Some(lost / 20_000.0));
    // TCP retransmits them. A flow on a path without corruption does not have this metric.
    let tcp = dumbbell(
        json!({ "impair": { "corrupt": 0.001 } }),
        json!([{ "traffic": { "kind": "finite", "bytes": "20MB" } }]),
    );
    let metric = |outcome: &Outcome, name: &str| value(&outcome.flow_metrics, 0, name);
    assert!(metric(&tcp, "total_retransmissions_l4") > Some(5.0));
    assert_eq!(
        metric(&dumbbell(json!({}), stream()), "checksum_discards_l4"),
        None
    );
}

#[test]
fn an_outage_drops_what_arrives_in_it_and_nothing_else() {
    let boxes = json!([
        { "kind": "link", "name": "link", "rate": "100Mbit/s" },
        { "kind": "outage", "name": "outage", "first": "5s", "length": "500ms", "interval": "10s" },
    ]);
    let mut flows = stream();
    flows[0]["path"] = json!(["link", "outage"]);
    let outcome = run(json!({ "boxes": boxes }), flows);
    let is_out = |event: &&PacketEvent| {
        (5 * SECOND..5 * SECOND + SECOND / 2).contains(&(event.at % (10 * SECOND)))
    };
    let drops = of(&outcome, Step::Drop);
    assert!(drops.iter().all(is_out));
    assert!(!of(&outcome, Step::Receive).iter().any(is_out));
    // Two outages of half a second.
    assert!(drops.len().abs_diff(1000) <= 2, "{}", drops.len());
    assert_eq!(count(&outcome, "outage").drops, drops.len() as u64);
}

#[test]
fn copies_follow_their_originals_and_are_logged() {
    let outcome = dumbbell(json!({ "impair": { "duplicate": 0.25 } }), stream());
    let copies = of(&outcome, Step::Duplicate);
    let made = copies.len() as f64;
    assert!((made - 5000.0).abs() < 4.0 * 3750_f64.sqrt(), "{made}");
    let duplicate = count(&outcome, "duplicate");
    assert_eq!(duplicate.duplicates, copies.len() as u64);
    assert_eq!(
        duplicate.departures,
        duplicate.arrivals + duplicate.duplicates
    );
    // Each copied sequence number is received twice, at the same instant.
    let received = of(&outcome, Step::Receive);
    let twice: Vec<_> = received
        .windows(2)
        .filter(|pair| pair[0].segment.seq == pair[1].segment.seq)
        .collect();
    assert!(twice.iter().all(|pair| pair[0].at == pair[1].at));
    assert!(
        copies.len() - twice.len() <= 1,
        "one may be under way at the end"
    );
    // TCP recognises them as duplicates and delivers data once.
    let bytes = json!([{ "traffic": { "kind": "finite", "bytes": "5MB" } }]);
    let both = json!({ "impair": { "duplicate": 1.0 }, "reverse_impair": { "duplicate": 1.0 } });
    let [clean, copied] = [json!({}), both].map(|keys| dumbbell(keys, bytes.clone()));
    let read = |outcome: &Outcome| {
        let of = |name: &str| value(&outcome.flow_metrics, 0, name).expect("a value");
        (of("mean_throughput_l7") * of("flow_completion_time_l4")).round()
    };
    assert_eq!((read(&clean), read(&copied)), (40.0, 40.0));
}

#[test]
fn bursts_are_longer_than_those_of_independent_losses() {
    let lost = |keys: Value| {
        let outcome = dumbbell(keys, stream());
        let mut seqs: Vec<u32> = of(&outcome, Step::Drop)
            .iter()
            .map(|e| e.segment.seq)
            .collect();
        seqs.dedup();
        let bursts = 1 + seqs
            .windows(2)
            .filter(|pair| pair[1] != pair[0] + 1)
            .count();
        (seqs.len() as f64, seqs.len() as f64 / bursts as f64)
    };
    // Both have a mean loss of 5 %. 263 bursts of four.
    let (bursty, length) =
        lost(json!({ "impair": { "gilbert_elliott": { "p": 0.25 / 19.0, "r": 0.25 } } }));
    let (single, alone) = lost(json!({ "loss": 0.05 }));
    assert!(
        (single - 1000.0).abs() < 130.0 && (bursty - 1000.0).abs() < 330.0,
        "{single} {bursty}"
    );
    assert!(
        (alone - 1.0 / 0.95).abs() < 0.05 && (length - 4.0).abs() < 0.9,
        "{alone} {length}"
    );
}

#[test]
fn jitter_reorders_only_if_allowed() {
    let jitter = |reorder: bool| {
        let jitter = json!({ "size": "10ms", "distribution": "uniform", "reorder": reorder });
        let outcome = dumbbell(json!({ "impair": { "jitter": jitter } }), stream());
        let sent: Vec<Nanos> = of(&outcome, Step::Send).iter().map(|e| e.at).collect();
        let received = of(&outcome, Step::Receive);
        let order: Vec<u32> = received.iter().map(|e| e.segment.seq).collect();
        let delays: Vec<f64> = received
            .iter()
            .map(|e| (e.at - sent[e.segment.seq as usize]) as f64 * 1e-6)
            .collect();
        (order, delays)
    };
    let (order, delays) = jitter(true);
    assert!(!order.is_sorted());
    // 528 bytes at 100 Mbit/s, and 20 ms plus or minus 10 ms.
    let (least, most) = delays
        .iter()
        .fold((f64::MAX, 0.0_f64), |(a, b), d| (a.min(*d), b.max(*d)));
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!(
        (10.04..10.1).contains(&least) && (29.9..30.05).contains(&most),
        "{least} {most}"
    );
    assert!((mean - 20.04).abs() < 0.2, "{mean}");
    let mut all = order.clone();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), order.len());
    let (order, delays) = jitter(false);
    assert!(order.is_sorted());
    // Each packet waits for the slowest before it, which is the slowest of about ten at a distance of 1 ms.
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((23.0..29.0).contains(&mean), "{mean}");
}

#[test]
fn nothing_arrives_during_a_handover() {
    let handover = json!({ "kind": "handover", "min": "30ms", "max": "90ms", "interval": "5s", "first": "2s", "pause": "300ms" });
    let outcome = dumbbell(
        json!({ "vary": { "rtt": handover }, "forward_share": 0.75 }),
        stream(),
    );
    let received = of(&outcome, Step::Receive);
    let within =
        |at: Nanos| at >= 2 * SECOND && (at - 2 * SECOND) % (5 * SECOND) < 300 * MILLISECOND;
    assert!(received.iter().all(|e| !within(e.at)));
    for k in 0..4 {
        let end = (2 + 5 * k) * SECOND + 300 * MILLISECOND;
        // The packets of 300 ms arrive together, more or fewer by a change of up to 45 ms. Later ones have the new delay until the next handover.
        let burst = received.iter().filter(|e| e.at == end).count();
        assert!((255..=346).contains(&burst), "{burst}");
        let later = received
            .iter()
            .filter(|e| e.at > end + 200 * MILLISECOND && e.at < (7 + 5 * k) * SECOND);
        let delays: Vec<Nanos> = later
            .map(|e| e.at - e.segment.tsval as Nanos - ((e.segment.tsecr as Nanos) << 32))
            .collect();
        assert!(delays.len() > 2000 && delays.iter().all(|d| *d == delays[0]));
        // Three quarters of 30 to 90 ms, and 42 us on the link.
        assert!((22 * MILLISECOND..68 * MILLISECOND).contains(&delays[0]));
    }
    let orders: Vec<u32> = received.iter().map(|e| e.segment.seq).collect();
    assert!(orders.is_sorted());
}

#[test]
fn one_direction_may_be_longer() {
    let outcome = dumbbell(
        json!({ "forward_share": 0.9 }),
        json!([{ "traffic": "ping" }, { "traffic": { "kind": "cbr", "rate": "1Mbit/s" } }]),
    );
    // 36 ms forward, 4 ms reverse.
    let receives = of(&outcome, Step::Receive);
    let mut pings = receives.iter().filter(|e| e.flow as usize == 0);
    let (first, second) = (
        pings.next().expect("a request"),
        pings.next().expect("a reply"),
    );
    assert_eq!((first.direction, second.direction), (0, 1));
    assert_eq!(second.at - first.at, 4 * MILLISECOND);
    let delay = value(&outcome.flow_metrics, 0, "mean_one_way_delay_l4").expect("a delay");
    assert!((36.0..36.2).contains(&delay), "{delay}");
}

/// Measured traces. They have no free licence, so they are not in the repository.
fn traces() -> Option<PathBuf> {
    let named = std::env::var_os("BLOATLAB_TRACES").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let folder = named.or_else(|| beside.map(|f| f.join("shared/traces")).find(|f| f.is_dir()));
    if folder.is_none() {
        println!("skipped: measured traces are not at hand (BLOATLAB_TRACES names their folder)");
    }
    folder
}

/// The times, in ns, of the first deliveries of a trace after `from`.
fn instants(file: &Path, from: Nanos, until: Nanos) -> Vec<Nanos> {
    let text = std::fs::read_to_string(file).expect("a trace");
    let lines: Vec<Nanos> = text
        .lines()
        .map(|line| line.trim().parse::<u64>().expect("ms") * MILLISECOND)
        .collect();
    let (mut all, mut origin) = (Vec::new(), 0);
    while origin < until {
        all.extend(lines.iter().map(|at| origin + at));
        origin += lines[lines.len() - 1];
    }
    all.retain(|at| (from..until).contains(at));
    all
}

#[test]
fn replay_uses_each_delivery_in_both_directions() {
    let Some(folder) = traces() else {
        return;
    };
    let names = [
        "ATT-LTE-driving-2016.down",
        "ATT-LTE-driving-2016.up",
        "Verizon-LTE-short.down",
        "Verizon-LTE-short.up",
        "TMobile-LTE-short.down",
    ];
    let files = names.map(|name| folder.join("mahimahi").join(name));
    // Each trace once in the forward direction and once in the reverse direction.
    for (place, there) in files.iter().enumerate() {
        let back = &files[(place + 1) % files.len()];
        // A payload of 1472 bytes and 28 bytes of headers fill one delivery. More packets arrive than any trace can carry.
        let flow = |direction: &str| json!({ "direction": direction, "traffic": { "kind": "cbr", "rate": "400Mbit/s", "packet": "1472B" } });
        let document = json!({
            "duration": "4s",
            "dumbbell": {
                "rate": "50Mbit/s", "rtt": "0s", "reverse_rate": "50Mbit/s", "queue": { "kind": "fifo", "limit": "200p" },
                "reverse_queue": { "kind": "fifo", "limit": "200p" },
                "vary": { "rate": { "kind": "mahimahi", "file": there }, "reverse_rate": { "kind": "mahimahi", "file": back } }
            },
            "flows": [flow("forward"), flow("reverse")]
        });
        let scenario = Scenario::from_value(document).unwrap_or_else(|error| panic!("{error}"));
        let outcome = logged(&compiled(&scenario), 1);
        for (index, file) in [there, back].into_iter().enumerate() {
            let arrivals: Vec<Nanos> = of(&outcome, Step::Receive)
                .iter()
                .filter(|e| e.flow as usize == index)
                .map(|e| e.at)
                .collect();
            // The first packet is sent at 0, after the deliveries of that instant.
            let expected = instants(file, 1, 4 * SECOND);
            assert_eq!(arrivals.len(), expected.len(), "{}", file.display());
            assert_eq!(arrivals, expected, "{}", file.display());
        }
        assert!(measured(&compiled(&scenario), 1).digest() == outcome.digest());
    }
}
