//! Random scenarios that use all parts of a document, small enough for hundreds of runs.

mod flows;

use bloatlab_link::impairment::{corrupt, duplicate, loss, outage};
use bloatlab_link::{ImpairmentConfig, gilbert_elliott, jitter};
use bloatlab_scenario::{
    BoxSpec, DelayBox, Direction, Dumbbell, Flow, HostLink, Impairments, LinkBox, LossSpacing,
    ParkingLot, QueueConfig, Scenario,
};
use bloatlab_units::{Duration, MICROSECOND, MILLISECOND, Rate};
use flows::{Draft, draft, timed};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// A duration between two numbers of milliseconds, with any number of nanoseconds.
fn millis(low: u64, high: u64) -> impl Strategy<Value = Duration> {
    (low * MILLISECOND..=high * MILLISECOND).prop_map(Duration)
}

fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![
        (1_000_000_u64..50_000_000).prop_map(Rate),
        select(vec![1_000_000, 8_000_000, 16_000_000, 50_000_000]).prop_map(Rate),
    ]
}

/// Every queue discipline of the registry, with its defaults or a small limit, with or without ECN.
pub fn queue() -> impl Strategy<Value = QueueConfig> {
    let limit = option::of(select(vec![
        "1p", "2p", "5p", "20p", "80p", "300p", "1500B", "4000B", "30kB",
    ]));
    (select(QueueConfig::all()), limit, any::<bool>()).prop_map(|(config, limit, ecn)| {
        let mut document = serde_json::to_value(&config).unwrap();
        if let (Some(limit), Some(place)) = (limit, document.get_mut("limit")) {
            *place = json!(limit);
        }
        if let Some(place) = document.get_mut("ecn") {
            *place = Value::Bool(ecn);
        }
        let changed: QueueConfig = serde_json::from_value(document).unwrap();
        // Not every discipline accepts every unit in its limit.
        if changed.validate().is_ok() {
            changed
        } else {
            config
        }
    })
}

fn finish(
    mut scenario: Scenario,
    drafts: &[Draft],
    place: impl Fn(&Draft, &mut Flow),
    warmup: Option<f64>,
) -> Scenario {
    for draft in drafts {
        let mut flow = timed(draft, scenario.duration);
        place(draft, &mut flow);
        scenario.flows.push(flow);
    }
    let warmup = warmup.map_or(0.0, |x| x * scenario.duration.0 as f64);
    scenario.warmup = Duration(warmup as u64);
    scenario
}

fn empty(duration: Duration, interval: Duration) -> Scenario {
    let mut scenario = Scenario::on_dumbbell(
        Dumbbell::new(Rate(1_000_000), Duration(0)),
        duration,
        vec![],
    );
    scenario.dumbbell = None;
    scenario.sample_interval = interval;
    scenario
}

fn frame() -> impl Strategy<Value = (Duration, Duration, Option<f64>)> {
    (
        millis(300, 2500),
        millis(3, 150),
        option::weighted(0.3, 0.0..0.9),
    )
}

fn chance() -> impl Strategy<Value = f64> {
    prop_oneof![3 => Just(0.0), 1 => 0.0..0.05, 1 => 0.05..0.5]
}

fn jitter() -> impl Strategy<Value = jitter::Params> {
    use jitter::Distribution::{Normal, Pareto, Paretonormal, Uniform};
    let kinds = select(vec![Uniform, Normal, Pareto, Paretonormal]);
    let size = (1..20 * MILLISECOND).prop_map(Duration);
    (size, kinds, any::<bool>()).prop_map(|(size, distribution, reorder)| jitter::Params {
        size,
        distribution,
        reorder,
    })
}

fn bursts() -> impl Strategy<Value = gilbert_elliott::Params> {
    let steps = (0.001..0.1, option::of(0.05..1.0));
    (steps, 0.0..0.9, 0.95..1.0).prop_map(|((p, r), h, k)| gilbert_elliott::Params { p, r, h, k })
}

fn impairments() -> impl Strategy<Value = Impairments> {
    let all = (
        option::of(bursts()),
        chance(),
        prop_oneof![Just(0.0), 0.0..=1.0],
        option::of(jitter()),
    );
    let all = all.prop_map(
        |(gilbert_elliott, corrupt, duplicate, jitter)| Impairments {
            gilbert_elliott,
            corrupt,
            duplicate,
            jitter,
        },
    );
    prop_oneof![2 => Just(Impairments::default()), 1 => all]
}

/// A shaper, or a line with this many packets in its device.
fn device() -> impl Strategy<Value = (bool, u32)> {
    prop_oneof![3 => (Just(false), 0_u32..3), 1 => Just((true, 0))]
}

fn dumbbell() -> impl Strategy<Value = Scenario> {
    let there = (
        rate(),
        prop_oneof![1 => Just(Duration(0)), 8 => millis(1, 120)],
        queue(),
        chance(),
    );
    let back = (option::of(rate()), queue(), chance());
    let hosts = (option::weighted(0.3, rate()), device(), 0_u32..40);
    let ways = (
        prop_oneof![2 => Just(0.5), 1 => 0.0..=1.0],
        impairments(),
        impairments(),
    );
    (frame(), there, back, hosts, ways, vec(draft(), 1..=6)).prop_map(
        |((duration, interval, warmup), there, back, hosts, ways, drafts)| {
            let mut scenario = empty(duration, interval);
            scenario.dumbbell = Some(Dumbbell {
                queue: there.2,
                loss: there.3,
                reverse_rate: back.0,
                reverse_queue: back.1,
                reverse_loss: back.2,
                access_rate: hosts.0,
                shaper: hosts.1.0,
                device_packets: hosts.1.1,
                overhead: hosts.2,
                forward_share: ways.0,
                impair: ways.1,
                reverse_impair: ways.2,
                ..Dumbbell::new(there.0, there.1)
            });
            let place = |draft: &Draft, flow: &mut Flow| {
                flow.rtt = draft.rtt;
                if flow.rtt.unwrap_or(there.1).0 == 0 {
                    // If data used a reverse path without link and delay, simulated time would not advance. Such a document is refused.
                    flow.direction = Direction::Forward;
                }
            };
            finish(scenario, &drafts, place, warmup)
        },
    )
}

fn parking_lot() -> impl Strategy<Value = Scenario> {
    let lot = (
        2_u32..=4,
        rate(),
        millis(1, 30),
        queue(),
        option::of(rate()),
        device(),
    );
    (frame(), lot, vec(draft(), 1..=5)).prop_map(|((duration, interval, warmup), lot, drafts)| {
        let (hops, rate, hop_delay, queue, reverse_rate, (shaper, device_packets)) = lot;
        let mut scenario = empty(duration, interval);
        scenario.parking_lot = Some(ParkingLot {
            hops,
            rate,
            hop_delay,
            queue,
            reverse_rate,
            shaper,
            device_packets,
            overhead: 14,
            header: 0,
        });
        let place = |draft: &Draft, flow: &mut Flow| {
            let ends = draft.places.map(|i| i.index(hops as usize) as u32 + 1);
            flow.hops = Some([ends[0].min(ends[1]), ends[0].max(ends[1])]);
        };
        finish(scenario, &drafts, place, warmup)
    })
}

/// Gives a box another name.
fn rename(spec: &mut BoxSpec, name: String) {
    let mut table = json!(spec);
    table["name"] = json!(name);
    *spec = serde_json::from_value(table).expect("the same box with another name");
}

/// Makes every link that all its paths begin with a link of the hosts.
fn give_to_hosts(scenario: &mut Scenario, host: HostLink) {
    let paths = |flow: &Flow| [flow.path.clone(), flow.return_path.clone()];
    let paths: Vec<Vec<String>> = scenario.flows.iter().flat_map(paths).flatten().collect();
    for spec in &mut scenario.boxes {
        if let BoxSpec::Link(link) = spec {
            let mut crossing = paths.iter().filter(|path| path.contains(&link.name));
            if crossing.all(|path| path[0] == link.name) {
                link.host = host;
            }
        }
    }
}

/// Boxes that flows cross in any order, so that data of one flow shares queues with ACKs of another.
pub fn boxes(prefix: &'static str) -> impl Strategy<Value = Scenario> {
    let link = (
        rate(),
        (0..30 * MILLISECOND).prop_map(Duration),
        queue(),
        device(),
        0_u32..40,
        prop_oneof![Just(0_u32), Just(14)],
    );
    let kinds = prop_oneof![
        4 => link.prop_map(|(rate, delay, queue, (shaper, device_packets), overhead, header)| BoxSpec::Link(LinkBox {
            name: String::new(), rate, delay, vary: Box::default(), queue, shaper, device_packets, overhead, header, host: HostLink::None,
        })),
        1 => (millis(0, 40), option::of(jitter())).prop_map(|(delay, jitter)| BoxSpec::Delay(DelayBox {
            name: String::new(),
            delay,
            vary: None,
            jitter,
        })),
        1 => bursts().prop_map(|bursts| {
            BoxSpec::Impairment(ImpairmentConfig::Loss(loss::Params::bursts(String::new(), bursts)))
        }),
        1 => chance().prop_map(|probability| {
            let params = corrupt::Params { name: String::new(), probability, vary: None };
            BoxSpec::Impairment(ImpairmentConfig::Corrupt(params))
        }),
        1 => (0.0..=1.0).prop_map(|probability| {
            let params = duplicate::Params { name: String::new(), probability, vary: None };
            BoxSpec::Impairment(ImpairmentConfig::Duplicate(params))
        }),
        1 => (millis(0, 400), millis(1, 200), option::of(millis(201, 600))).prop_map(|(first, length, interval)| {
            let params = outage::Params { name: String::new(), first, length, interval };
            BoxSpec::Impairment(ImpairmentConfig::Outage(params))
        }),
        1 => (chance(), any::<bool>()).prop_map(|(probability, even)| {
            let params = loss::Params {
                spacing: if even { LossSpacing::Even } else { LossSpacing::Random },
                ..loss::Params::random(String::new(), probability)
            };
            BoxSpec::Impairment(ImpairmentConfig::Loss(params))
        }),
    ];
    let host = prop_oneof![
        Just(HostLink::None),
        Just(HostLink::Device),
        Just(HostLink::Netem)
    ];
    (frame(), rate(), vec(kinds, 1..6), vec(draft(), 1..=5), host).prop_map(
        move |((duration, interval, warmup), rate, mut specs, drafts, host)| {
            // One link at least, and some propagation wherever a flow goes.
            specs.push(BoxSpec::Link(LinkBox {
                name: String::new(),
                rate,
                delay: Duration(100 * MICROSECOND),
                vary: Box::default(),
                queue: QueueConfig::all().remove(0),
                shaper: false,
                device_packets: 0,
                overhead: 0,
                header: 0,
                host: HostLink::None,
            }));
            for (number, spec) in specs.iter_mut().enumerate() {
                rename(spec, format!("{prefix}box_{number}"));
            }
            let names: Vec<String> = specs.iter().map(|spec| spec.name().to_owned()).collect();
            let path = |route: &[Index], last: bool| {
                let mut chosen: Vec<String> = Vec::new();
                for index in route {
                    let name = index.get(&names).clone();
                    if !chosen.contains(&name) && Some(&name) != names.last() {
                        chosen.push(name);
                    }
                }
                if last {
                    chosen.extend(names.last().cloned());
                }
                chosen
            };
            let mut scenario = empty(duration, interval);
            let place = |draft: &Draft, flow: &mut Flow| {
                // The link that always exists is on the forward path or on the reverse path.
                let there = draft.places[0].index(2) == 0;
                flow.path = Some(path(&draft.route, there));
                flow.return_path = Some(path(&draft.back, !there));
                if flow.path.as_ref().is_some_and(Vec::is_empty) {
                    flow.path = Some(vec![names[names.len() - 1].clone()]);
                    flow.return_path = Some(vec![names[names.len() - 1].clone()]);
                }
                // Data crosses that link. The path of responses may be empty.
                flow.direction = if there || flow.return_path == flow.path {
                    Direction::Forward
                } else {
                    Direction::Reverse
                };
            };
            scenario = finish(scenario, &drafts, place, warmup);
            scenario.boxes = specs;
            give_to_hosts(&mut scenario, host);
            for (number, flow) in scenario.flows.iter_mut().enumerate() {
                flow.name = Some(format!("{prefix}flow_{number}"));
            }
            scenario
        },
    )
}

/// Any scenario.
pub fn scenario() -> impl Strategy<Value = Scenario> {
    prop_oneof![3 => dumbbell(), 1 => parking_lot(), 2 => boxes("")]
}
