//! Which hosts share a namespace, and what cannot be run on Linux. Nothing here makes a namespace of hosts.

use std::collections::HashMap;

use bloatlab_live::{Kernel, LinkKind, layout, refusals};
use bloatlab_scenario::{Checked, Disk, Limits, Scenario};
use bloatlab_tcp::LinuxSettings;
use proptest::prelude::*;
use serde_json::{Value, json};

fn checked(document: &Value) -> Checked {
    let checked = Scenario::load(&document.to_string(), &Disk, &Limits::default());
    checked.expect("a scenario")
}

fn dumbbell(flows: &Value) -> Value {
    json!({
        "duration": "10s",
        "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms", "queue": {"kind": "fifo", "limit": "100p"}},
        "flows": flows,
    })
}

/// Paths and the starts of reasons.
fn refused(document: &Value, link: LinkKind) -> Vec<(String, String)> {
    let Checked { scenario, plan } = checked(document);
    let found = refusals(&scenario, plan, Kernel::Here(link));
    found
        .into_iter()
        .map(|found| (found.path, found.reason))
        .collect()
}

/// Some flows among a few hosts. Each host has one of two sets of TCP settings.
fn flows() -> impl Strategy<Value = Vec<Value>> {
    let host = || prop_oneof![4 => (0..8_u8).prop_map(Some), 1 => Just(None)];
    let traffic = prop_oneof![
        6 => Just(json!("greedy")),
        4 => Just(json!("ping")),
        4 => Just(json!({"kind": "cbr", "rate": "1Mbit/s", "packet": "1472B"})),
        1 => Just(json!({"kind": "cbr", "rate": "1Mbit/s", "packet": "4000B"})),
        4 => Just(json!({"kind": "command", "client": ["true"]})),
    ];
    let flow = (host(), host(), traffic, 1..3_u8).prop_map(|(from, to, traffic, count)| {
        // Flows of other settings have other hosts.
        let group = from.or(to).map_or(0, |host| host % 2);
        let mut flow = json!({
            "traffic": traffic,
            "count": count,
            "tcp": {"send_buffer": format!("{}MB", group + 1)},
        });
        if let Some(host) = from {
            flow["source"] = json!(format!("host{host}"));
        }
        let to = to.map(|host| host / 2 * 2 + group);
        if let Some(host) = to.filter(|_| to != from) {
            flow["destination"] = json!(format!("host{host}"));
        }
        flow
    });
    prop::collection::vec(flow, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_ends_of_a_flow_are_in_different_namespaces(flows in flows()) {
        let plan = checked(&dumbbell(&json!(flows))).plan;
        let layout = match layout(&plan) {
            Ok(layout) => layout,
            Err(refused) => {
                // Only large datagrams at a host of a small MTU cannot be laid out.
                prop_assert!(refused.iter().all(|refusal| refusal.key == "traffic"), "{refused:?}");
                return Ok(());
            }
        };
        let mut clients = HashMap::new();
        for flow in plan.all_flows() {
            let [from, to] = flow.hosts.map(|host| layout.hosts[host as usize]);
            prop_assert_ne!(from.namespace, to.namespace);
            if flow.traffic.programs("").is_some() {
                let client = clients.entry(to.namespace).or_insert(to.address);
                prop_assert_eq!(*client, to.address);
            } else if flow.traffic.is_tcp() {
                for host in [from, to] {
                    let settings = &layout.namespaces[host.namespace];
                    // A program at the same host may have brought its congestion control.
                    let wanted = LinuxSettings {
                        congestion_control: settings.congestion_control.clone(),
                        ..flow.tcp.linux().unwrap()
                    };
                    prop_assert_eq!(settings, &wanted);
                }
            }
        }
        let mut addresses: Vec<_> = layout.hosts.iter().map(|host| host.address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        prop_assert_eq!(addresses.len(), layout.hosts.len());
    }
}

#[test]
fn equal_flows_need_two_namespaces() {
    let document = dumbbell(&json!([{"count": 2000}, {"traffic": "ping"}]));
    let layout = layout(&checked(&document).plan).unwrap();
    assert_eq!(layout.namespaces.len(), 2);
    assert_eq!(layout.hosts.len(), 4002);
    assert_eq!(layout.hosts[0].address.octets(), [10, 64, 0, 1]);
    assert_eq!(layout.hosts[4001].address.octets(), [10, 64, 16, 2]);
}

#[test]
fn what_linux_lacks_is_refused_with_the_path_of_its_key() {
    let mut document = dumbbell(&json!([
        {},
        {"count": 3, "tcp": {"ack_every": 4}},
        {"cca": "vivace"},
        {"cca": {"kind": "cubic", "beta": 0.5}},
        {"source": "a", "destination": "a"},
        // UDP has neither.
        {"cca": "vivace", "tcp": {"ack_every": 4}, "traffic": {"kind": "cbr", "rate": "1Mbit/s"}},
    ]));
    document["timeline"] = json!([
        {"at": "1s", "key": "dumbbell.rate", "value": "5Mbit/s"},
        {"at": "2s", "key": "flows[6]", "value": {"cca": "vivace"}},
    ]);
    let found = refused(&document, LinkKind::Userspace);
    let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "flows.2.cca",
            "flows.3.cca.beta",
            "timeline.1.value.cca",
            "flows.4.destination",
        ]
    );
    document["flows"][4] = json!({});
    let found = refused(&document, LinkKind::Userspace);
    let last = found.last().expect("a refusal");
    assert_eq!(last.0, "flows.1.tcp.ack_every");
    assert!(last.1.contains("use 2"), "{last:?}");
}

#[test]
fn hosts_with_two_sets_of_settings_are_refused() {
    let document = dumbbell(&json!([
        {"source": "server"},
        {"source": "server", "tcp": {"mss": 1000}},
        {"source": "server", "traffic": {"kind": "ping", "size": "9000B"}},
    ]));
    let found = refused(&document, LinkKind::Userspace);
    let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["flows.1.tcp", "flows.2.traffic"]);
    assert!(found[0].1.contains("flow `flow_1`"), "{found:?}");
}

#[test]
fn what_the_link_of_the_kernel_lacks_is_refused() {
    let mut document = dumbbell(&json!([{}]));
    assert_eq!(refused(&document, LinkKind::Kernel), []);
    document["dumbbell"]["queue"] = json!("gsp");
    document["dumbbell"]["reverse_rate"] = json!("1Mbit/s");
    document["dumbbell"]["reverse_queue"] = json!({"kind": "python", "class": "x:Y"});
    let found = refused(&document, LinkKind::Kernel);
    let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["dumbbell.reverse_queue", "dumbbell.queue"]);
    document["dumbbell"]["access_rate"] = json!("1Gbit/s");
    let found = refused(&document, LinkKind::Kernel);
    assert!(found.iter().any(|(path, _)| path == "dumbbell.access_rate"));
    assert_eq!(refused(&document, LinkKind::Userspace).len(), 1);
}
