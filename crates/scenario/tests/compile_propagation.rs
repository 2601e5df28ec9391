//! How propagation is divided between directions, and between links and flows.

#[path = "common/plans.rs"]
mod plans;

use bloatlab_scenario::{PlanBoxKind, Scenario};
use bloatlab_units::MILLISECOND;
use plans::{delay, link, names, plan};
use serde_json::json;

#[test]
fn propagation_is_shared_between_the_ways_as_said() {
    let plan = |share: f64, rtt: &str| {
        let document = serde_json::json!({
            "duration": "1s",
            "dumbbell": { "rate": "1Mbit/s", "rtt": rtt, "forward_share": share },
            "flows": [{}]
        });
        Scenario::from_value(document)
            .and_then(|s| s.compile())
            .expect("a plan")
    };
    for (share, there, back) in [
        (0.0, 0, 100_000_001),
        (0.1, 10_000_000, 90_000_001),
        (0.3, 30_000_000, 70_000_001),
        // The odd nanosecond belongs to the reverse direction.
        (0.5, 50_000_000, 50_000_001),
        (0.7, 70_000_001, 30_000_000),
        (1.0, 100_000_001, 0),
    ] {
        let plan = plan(share, "100000001ns");
        assert_eq!(link(&plan, "bottleneck").delay, there);
        assert_eq!(delay(&plan, "delay"), back);
        assert_eq!(plan.flows[0].base_rtt, 100_000_001);
    }
}

#[test]
fn the_delay_of_a_queue_is_propagation() {
    let netem = json!({ "kind": "netem", "delay": "7ms" });
    let htb = json!({ "kind": "htb", "rate": "1Mbit/s", "queue": netem });
    let tbf = json!({ "kind": "tbf", "rate": "1Mbit/s", "queue": netem });
    for (queue, rtt) in [(json!("fifo"), 10), (netem, 17), (htb, 17), (tbf, 17)] {
        let dumbbell = json!({ "rate": "10Mbit/s", "rtt": "10ms", "queue": queue });
        let plan = plan(json!({ "duration": "1s", "dumbbell": dumbbell, "flows": [{}] }));
        assert_eq!(plan.flows[0].base_rtt, rtt * MILLISECOND);
        let bottleneck = &plan.boxes[plan.flows[0].forward[0]];
        let added = (rtt - 10) * MILLISECOND;
        let own = 5 * MILLISECOND + added;
        assert_eq!(bottleneck.propagation_bounds(), (own, own));
    }
}

#[test]
fn impairments_are_boxes_in_order_and_jitter_has_the_propagation() {
    let impair = serde_json::json!({
        "gilbert_elliott": { "p": 0.1 }, "corrupt": 0.1, "duplicate": 0.1, "jitter": { "size": "1ms" }
    });
    let names = |flows: serde_json::Value, reverse_rate: Option<&str>| {
        let mut document = serde_json::json!({
            "duration": "1s",
            "dumbbell": {
                "rate": "1Mbit/s", "rtt": "10ms", "loss": 0.1, "reverse_loss": 0.1, "impair": impair, "reverse_impair": impair,
                "vary": { "rtt": { "kind": "pulse", "lower": "4ms", "upper": "6ms", "period": "1s" } }
            },
            "flows": flows
        });
        if let Some(rate) = reverse_rate {
            document["dumbbell"]["reverse_rate"] = rate.into();
        }
        if flows.as_array().is_some_and(|flows| flows.len() > 1) {
            document["dumbbell"]["vary"] = serde_json::json!({});
        }
        let plan = Scenario::from_value(document)
            .and_then(|s| s.compile())
            .expect("a plan");
        let ways = [&plan.flows[0].forward, &plan.flows[0].reverse];
        let names = ways.map(|way| {
            let names: Vec<&str> = way.iter().map(|&i| plan.boxes[i].name.as_str()).collect();
            names.join(" ")
        });
        (names, plan)
    };
    let (ways, plan) = names(serde_json::json!([{}]), Some("1Mbit/s"));
    let back = "reverse_loss reverse_burst_loss reverse_corrupt reverse_duplicate";
    assert_eq!(
        ways,
        [
            "bottleneck loss burst_loss corrupt duplicate forward_delay".to_owned(),
            format!("reverse {back} delay")
        ]
    );
    assert_eq!(
        link(&plan, "bottleneck").delay + link(&plan, "reverse").delay,
        0
    );
    assert_eq!(
        [delay(&plan, "forward_delay"), delay(&plan, "delay")],
        [5_000_000; 2]
    );
    assert_eq!(plan.flows[0].base_rtt, 10_000_000);
    assert!(link(&plan, "bottleneck").vary_delay.is_none());
    // At most 3 ms, and 1 ms of jitter.
    let last = plan.boxes.last().expect("a box");
    assert_eq!(last.propagation_bounds(), (2_000_000, 4_000_000));
    let (ways, _) = names(serde_json::json!([{ "rtt": "20ms" }, {}]), None);
    assert_eq!(
        ways,
        [
            "bottleneck loss burst_loss corrupt duplicate delay_20ms".to_owned(),
            format!("{back} reverse_delay_20ms")
        ]
    );
}

#[test]
fn halves_of_a_varying_rtt_share_their_stream() {
    let document = serde_json::json!({
        "duration": "1s",
        "dumbbell": {
            "rate": "1Mbit/s", "rtt": "15ns",
            "vary": { "rtt": { "kind": "pulse", "lower": "3ns", "upper": "9ns", "period": "1s" }, "loss": { "kind": "pulse", "lower": 0.0, "upper": 0.1, "period": "1s" } }
        },
        "flows": [{}]
    });
    let plan = Scenario::from_value(document)
        .and_then(|s| s.compile())
        .expect("a plan");
    assert_eq!(plan.flows[0].base_rtt, 15);
    let there = link(&plan, "bottleneck")
        .vary_delay
        .clone()
        .expect("varies");
    assert_eq!(there.bounds(), (1, 4));
    let PlanBoxKind::Delay {
        vary: Some(back), ..
    } = &plan.boxes[plan.flows[0].reverse[0]].kind
    else {
        panic!("the way back varies");
    };
    assert_eq!(back.bounds(), (2, 5));
    assert_eq!(there.stream, back.stream);
    // A loss that starts at 0 also has a box.
    assert_eq!(plan.boxes[plan.flows[0].forward[1]].name, "loss");
}

#[test]
fn an_odd_nanosecond_is_not_lost() {
    let plan = plan(json!({
        "duration": "1s", "dumbbell": { "rate": "1Mbit/s", "rtt": "7ns" }, "flows": [{}]
    }));
    assert_eq!(
        (
            link(&plan, "bottleneck").delay,
            delay(&plan, "delay"),
            plan.flows[0].base_rtt
        ),
        (3, 4, 7)
    );
}

#[test]
fn own_rtts_move_propagation_out_of_shared_links() {
    let plan = plan(json!({
        "duration": "15s",
        "dumbbell": { "rate": "16Mbit/s", "rtt": "20ms", "loss": 0.01, "reverse_rate": "1Mbit/s", "reverse_loss": 0.02 },
        "flows": [{ "rtt": "10ms" }, {}, { "rtt": "10ms" }, { "rtt": "0s", "direction": "reverse" }]
    }));
    let rtts: Vec<u64> = plan
        .flows
        .iter()
        .map(|f| f.base_rtt / MILLISECOND)
        .collect();
    assert_eq!(rtts, [10, 20, 10, 0]);
    assert_eq!(link(&plan, "bottleneck").delay, 0);
    assert_eq!(link(&plan, "reverse").delay, 0);
    assert_eq!(
        names(&plan, &plan.flows[0].forward),
        ["bottleneck", "loss", "delay_10ms"]
    );
    assert_eq!(
        names(&plan, &plan.flows[0].reverse),
        ["reverse", "reverse_loss", "reverse_delay_10ms"]
    );
    assert_eq!(plan.flows[0].forward, plan.flows[2].forward);
    assert_eq!(
        names(&plan, &plan.flows[3].forward),
        ["reverse", "reverse_loss", "reverse_delay_0s"]
    );
    assert_eq!(
        names(&plan, &plan.flows[3].reverse),
        ["bottleneck", "loss", "delay_0s"]
    );
}

#[test]
fn one_rtt_for_all_flows_needs_no_private_delays() {
    let plan = plan(json!({
        "duration": "15s",
        "dumbbell": { "rate": "16Mbit/s", "rtt": "20ms", "reverse_rate": "16Mbit/s" },
        "flows": [{ "rtt": "10ms", "count": 2 }]
    }));
    assert_eq!(plan.boxes.len(), 2);
    assert_eq!(
        (
            link(&plan, "bottleneck").delay,
            link(&plan, "reverse").delay
        ),
        (5 * MILLISECOND, 5 * MILLISECOND)
    );
}
