//! Shares of a link, sums and fairness: over which flows they are, over what time, and that they keep their bounds.

use bloatlab_outcome::Outcome;
use bloatlab_scenario::{ImpairmentConfig, Plan, PlanBoxKind, Scenario};
use bloatlab_units::{Duration, MICROSECOND};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cell::cells;
use crate::generator::scenario;
use crate::invariants::sound;
use crate::wire::Verdict;
use crate::{compiled, config, measured, value};

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn keep_their_bounds(mut scenario in scenario(), interval in 50_u64..1000, seed in any::<u64>()) {
        scenario.sample_interval = Duration(interval * MICROSECOND);
        let plan = compiled(&scenario);
        let outcome = measured(&plan, seed);
        sound(&outcome)?;
        goodputs(&plan, &outcome)?;
    }
}

proptest! {
    #![proptest_config(config(60))]

    /// A sample may be shorter than a slot, and the warm-up may end within one.
    #[test]
    fn keep_their_bounds_in_a_cell(
        mut scenario in cells(),
        interval in 50_u64..2000,
        warmup in 0_u64..1500,
        seed in any::<u64>(),
    ) {
        scenario.duration = "1500ms".parse().unwrap();
        scenario.sample_interval = Duration(interval * MICROSECOND);
        scenario.warmup = Duration(warmup * 997 * MICROSECOND);
        let plan = compiled(&scenario);
        let outcome = measured(&plan, seed);
        sound(&outcome)?;
        goodputs(&plan, &outcome)?;
    }
}

/// The payload that arrived is at most what the link sent, unless the path held some of it already when the measured time began.
fn goodputs(plan: &Plan, outcome: &Outcome) -> Verdict {
    let duplicate = |kind: &_| {
        matches!(
            kind,
            PlanBoxKind::Impairment(ImpairmentConfig::Duplicate(_))
        )
    };
    if plan.warmup > 0 || plan.boxes.iter().any(|planned| duplicate(&planned.kind)) {
        return Ok(());
    }
    for link in 0..outcome.links.len() {
        let of = |name: &str| value(&outcome.link_metrics, link, name);
        let (goodput, sent) = (
            of("goodput").unwrap_or(0.0),
            of("throughput").unwrap_or(0.0),
        );
        prop_assert!(goodput <= sent * (1.0 + 1e-9), "{goodput} of {sent}");
        let share = of("goodput_share").unwrap_or(0.0);
        prop_assert!(share <= 1.0 + 1e-9, "{share} of a link");
    }
    let share = value(&outcome.network_metrics, 0, "capacity_share").unwrap_or(0.0);
    prop_assert!(share <= 1.0 + 1e-9, "{share} of the bottleneck");
    Ok(())
}

fn run(document: Value) -> Outcome {
    let scenario = Scenario::from_value(document).unwrap_or_else(|error| panic!("{error}"));
    measured(&compiled(&scenario), 1)
}

fn flow(outcome: &Outcome, name: &str, metric: &str) -> f64 {
    let number = outcome.flows.iter().position(|flow| flow.name == name);
    value(&outcome.flow_metrics, number.unwrap(), metric).unwrap()
}

fn link(outcome: &Outcome, name: &str, metric: &str) -> Option<f64> {
    let number = outcome.links.iter().position(|link| link.name == name);
    value(&outcome.link_metrics, number.unwrap(), metric)
}

fn network(outcome: &Outcome, metric: &str) -> Option<f64> {
    value(&outcome.network_metrics, 0, metric)
}

fn near(one: Option<f64>, other: f64) {
    let is_near = one.is_some_and(|one| (one - other).abs() <= 1e-9 * other.abs().max(1.0));
    assert!(is_near, "{one:?} is not {other}");
}

/// Two flows down a slow link, and three up a faster one.
#[test]
fn each_direction_has_its_own_sum_share_and_fairness() {
    let outcome = run(json!({
        "duration": "10s",
        "dumbbell": { "rate": "10Mbit/s", "reverse_rate": "20Mbit/s", "rtt": "40ms", "queue": "fq_codel" },
        "flows": [
            { "name": "a", "cca": "cubic" },
            { "name": "b", "cca": "reno", "rtt": "160ms" },
            { "name": "up", "count": 3, "direction": "reverse" },
        ],
    }));
    let rate = |name: &str| flow(&outcome, name, "mean_throughput_l4");
    let (a, b) = (rate("a"), rate("b"));
    near(network(&outcome, "agg_throughput"), a + b);
    near(network(&outcome, "capacity_share"), (a + b) / 10.0);
    near(
        network(&outcome, "jain_index"),
        (a + b).powi(2) / (2.0 * (a * a + b * b)),
    );
    near(network(&outcome, "min_max_ratio"), a.min(b) / a.max(b));
    let sent_again = |name: &str| flow(&outcome, name, "total_retransmissions_l4");
    near(
        network(&outcome, "total_retransmissions"),
        sent_again("a") + sent_again("b"),
    );
    let up: f64 = ["up_1", "up_2", "up_3"].map(rate).iter().sum();
    near(link(&outcome, "bottleneck", "goodput"), a + b);
    let reverse = &outcome
        .links
        .iter()
        .find(|link| link.name != "bottleneck")
        .unwrap()
        .name;
    near(link(&outcome, reverse, "goodput"), up);
    near(link(&outcome, reverse, "goodput_share"), up / 20.0);
    assert!(link(&outcome, reverse, "flow_fairness").unwrap() > 0.9);
}

/// The second flow runs while the first one does not, so their throughputs cannot be added.
#[test]
fn flows_of_different_lifetimes_are_added_over_one_time() {
    let outcome = run(json!({
        "duration": "10s", "warmup": "1s",
        "dumbbell": { "rate": "10Mbit/s", "rtt": "20ms" },
        "flows": [{ "name": "first", "stop": "5s" }, { "name": "second", "start": "5s", "stop": "9s" }],
    }));
    let rate = |name: &str| flow(&outcome, name, "mean_throughput_l4");
    let payload = rate("first") * 4.0 + rate("second") * 4.0;
    near(network(&outcome, "agg_throughput"), payload / 8.0);
    near(network(&outcome, "capacity_share"), payload / 9.0 / 10.0);
    near(link(&outcome, "bottleneck", "goodput"), payload / 9.0);
    assert!(network(&outcome, "agg_throughput").unwrap() < 10.0);
}

/// The stopped flow leaves a sender behind whose sRTT and window stay and which has nothing in flight. Another flow lasts to the end.
#[test]
fn averages_of_a_flow_end_when_it_stops() {
    let of = |duration: &str, stop: Option<&str>| {
        let mut first = json!({ "name": "first" });
        if let Some(stop) = stop {
            first["stop"] = stop.into();
        }
        run(json!({
            "duration": duration, "warmup": "1s",
            "dumbbell": { "rate": "10Mbit/s", "rtt": "20ms" },
            "flows": [first, { "name": "second", "start": "2s" }],
        }))
    };
    let (stopped, ended) = (of("20s", Some("5s")), of("5s", None));
    for metric in [
        "mean_srtt_l4",
        "mean_est_qdelay_l4",
        "mean_cwnd_l4",
        "mean_in_flight_l4",
        "cov_in_flight_l4",
        "mean_throughput_l4",
    ] {
        let of_stopped = flow(&stopped, "first", metric);
        near(Some(of_stopped), flow(&ended, "first", metric));
    }
}

/// CoDel drops much of the queue of the warm-up after it, when little else arrives.
#[test]
fn packets_that_arrived_before_the_measured_time_are_not_lost_in_it() {
    let outcome = run(json!({
        "duration": "20s", "warmup": "5s",
        "dumbbell": { "rate": "100kbit/s", "rtt": "20ms", "queue": { "kind": "codel", "limit": "1000p" } },
        "flows": [
            { "name": "burst", "stop": "4990ms", "traffic": { "kind": "cbr", "rate": "1Mbit/s", "packet": "1000B" } },
            { "name": "calm", "start": "4s", "traffic": { "kind": "cbr", "rate": "8kbit/s", "packet": "1000B" } },
        ],
    }));
    let of = |metric: &str| link(&outcome, "bottleneck", metric).unwrap();
    assert!(of("drops") > of("arrivals"));
    assert!(of("loss_rate") < 1.0);
    let calm = flow(&outcome, "calm", "loss_rate_l4");
    assert!((calm - of("loss_rate")).abs() < 1e-9, "{calm}");
}

#[test]
fn datagrams_alone_have_no_retransmissions() {
    let outcome = run(json!({
        "duration": "1s",
        "dumbbell": { "rate": "10Mbit/s", "rtt": "20ms" },
        "flows": [{ "traffic": { "kind": "cbr", "rate": "1Mbit/s", "packet": "1000B" } }],
    }));
    assert_eq!(network(&outcome, "total_retransmissions"), None);
    near(network(&outcome, "jain_index"), 1.0);
}

/// All bearers of a direction divide the symbols of the cell, so their flows share one bottleneck.
#[test]
fn the_flows_of_all_ues_share_the_cell() {
    let fixed = json!({ "kind": "fixed", "snr_db": 20.0 });
    let outcome = run(json!({
        "duration": "2s", "sample_interval": "100us",
        "cell": { "radio": { "ues": [fixed, fixed] } },
        "flows": [
            { "name": "down", "ue": 1 }, { "name": "other", "ue": 2 }, { "name": "up", "ue": 1, "direction": "reverse" },
        ],
    }));
    let rate = |name: &str| flow(&outcome, name, "mean_throughput_l4");
    let downs = rate("down") + rate("other");
    let ups = rate("up");
    let total = network(&outcome, "agg_throughput");
    let is_down = total.is_some_and(|total| (total - downs).abs() < 1e-6);
    let is_up = total.is_some_and(|total| (total - ups).abs() < 1e-6);
    assert!(is_down || is_up, "{total:?} of {downs} and {ups}");
    let utilizations = &outcome
        .link_series
        .columns
        .iter()
        .find(|c| c.0 == "utilization")
        .unwrap()
        .1;
    assert!(utilizations.iter().any(|&u| u > 0.5));
    assert!(utilizations.iter().all(|&u| u.is_nan() || u <= 1.0));
}
