//! Invariants of every run of every scenario.

use bloatlab_fuzz_model::outcome;
use bloatlab_outcome::Outcome;
use bloatlab_scenario::traffic::finite;
use bloatlab_scenario::{
    CcConfig, ImpairmentConfig, Plan, PlanBoxKind, PlanFlow, QueueConfig, Scenario, Traffic,
};
use bloatlab_sim::{Control, NoPlugins, run};
use bloatlab_tcp::Reduction;
use bloatlab_units::Limit;
use proptest::prelude::*;
use serde_json::json;

use crate::generator::scenario;
use crate::wire::{self, Verdict, Witness};
use crate::{compiled, config, logged, measured, value};

proptest! {
    #![proptest_config(config(800))]

    #[test]
    fn hold_in_every_scenario(scenario in scenario(), seed in any::<u64>()) {
        let plan = compiled(&scenario);
        let outcome = logged(&plan, seed);
        let flows = wire::check(&plan, &outcome)?;
        sound(&outcome)?;
        links(&plan, &outcome)?;
        for (rank, index) in data_flows(&plan).enumerate() {
            throughput(&plan, &outcome, rank, index, &flows[index])?;
        }
        windows(&plan, &outcome)?;
        // The log must not change results, and a second run must equal the first.
        prop_assert_eq!(outcome.digest(), measured(&plan, seed).digest());
    }
}

fn data_flows(plan: &Plan) -> impl Iterator<Item = usize> {
    let flows = plan.flows.iter().enumerate();
    flows
        .filter(|(_, flow)| flow.traffic.has_data())
        .map(|(i, _)| i)
}

/// Packets are conserved, and all metrics and samples have possible values.
pub fn sound(outcome: &Outcome) -> Verdict {
    outcome::sound(outcome).map_err(TestCaseError::fail)
}

fn links(plan: &Plan, outcome: &Outcome) -> Verdict {
    let links = plan.boxes.iter().filter_map(|planned| match &planned.kind {
        PlanBoxKind::Link(link) => Some(link),
        _ => None,
    });
    let span = (plan.duration - plan.warmup) as f64 * 1e-9;
    for (index, link) in links.enumerate() {
        let of = |name: &str| value(&outcome.link_metrics, index, name);
        let utilization = of("utilization").unwrap_or(0.0);
        prop_assert!(utilization <= 1.0, "utilization {utilization}");
        // The packet in transmission at the start of measurement ends within it.
        let most = link.rate.0 as f64 * 1e-6 + (65_535.0 + 40.0) * 8e-6 / span;
        prop_assert!(of("throughput").unwrap_or(0.0) <= most, "{:?}", link);
        if let QueueConfig::Fifo(params) = &link.queue
            && let Limit::Packets(limit) = params.limit
        {
            prop_assert!(of("max_queue_length").unwrap_or(0.0) <= limit as f64);
        }
        let order = ["p50_sojourn", "p95_sojourn", "p99_sojourn", "max_sojourn"].map(of);
        prop_assert!(order.is_sorted(), "{:?}", order);
    }
    let column = |name: &str| {
        let found = outcome.link_series.columns.iter().find(|c| c.0 == name);
        &found.expect("a column").1
    };
    let full = column("utilization").iter().find(|&&u| u > 1.0);
    prop_assert!(full.is_none(), "utilization of a sample: {full:?}");
    Ok(())
}

/// No flow gets more than the log shows, nor more than its slowest link carries.
fn throughput(
    plan: &Plan,
    outcome: &Outcome,
    rank: usize,
    index: usize,
    witness: &Witness,
) -> Verdict {
    let flow = &plan.flows[index];
    let of = |name: &str| value(&outcome.flow_metrics, rank, name);
    let info = &outcome.flows[rank];
    let Some(throughput) = of("mean_throughput_l4") else {
        return Ok(());
    };
    if let Traffic::Finite(finite::Params { bytes }) = flow.traffic {
        prop_assert!(
            witness.delivered <= bytes.0,
            "{} of {bytes}",
            witness.delivered
        );
    }
    if plan.warmup > 0 {
        return Ok(());
    }
    let lifetime = of("flow_completion_time_l4").unwrap_or(0.0);
    prop_assert!(lifetime <= info.stop - info.start + 1e-9);
    // What leaves a shaper leaves before its time, so a short flow may be faster.
    let slowest = flow
        .forward
        .iter()
        .filter_map(|&i| match &plan.boxes[i].kind {
            PlanBoxKind::Link(link) => (!link.shaper).then_some(link.rate.0),
            _ => None,
        });
    // Duplicated datagrams count twice.
    let copies: i32 = match flow.traffic.is_tcp() {
        true => 0,
        false => flow
            .forward
            .iter()
            .map(|&i| {
                i32::from(matches!(
                    plan.boxes[i].kind,
                    PlanBoxKind::Impairment(ImpairmentConfig::Duplicate(_))
                ))
            })
            .sum(),
    };
    let capacity = slowest.min().map_or(f64::INFINITY, |rate| {
        rate as f64 * 1e-6 * 2_f64.powi(copies)
    });
    prop_assert!(
        throughput <= capacity,
        "{throughput} Mbit/s over a link of {capacity}"
    );
    prop_assert_eq!(of("drops_l4"), Some(witness.drops as f64));
    prop_assert_eq!(
        of("checksum_discards_l4").unwrap_or(0.0),
        witness.discards as f64
    );
    if !flow.traffic.is_tcp() {
        return Ok(());
    }
    let read = of("mean_throughput_l7").unwrap_or(0.0);
    prop_assert!(read <= throughput, "{read} read, {throughput} arrived");
    for (rate, seen) in [
        (read, witness.by_stop),
        (throughput, witness.arrived_by_stop),
    ] {
        let bytes = rate * lifetime * 1e6 / 8.0;
        let [least, most] = seen.map(|b| b as f64);
        prop_assert!(
            least - 0.5 <= bytes && bytes <= most + 0.5,
            "{bytes} bytes counted, {least} to {most} on the wire"
        );
    }
    prop_assert_eq!(
        of("total_retransmissions_l4"),
        Some(witness.retransmissions as f64)
    );
    let written = of("mean_sending_rate_l7").unwrap_or(0.0);
    prop_assert!(
        throughput <= written * (1.0 + 1e-12),
        "{throughput} read, {written} written"
    );
    Ok(())
}

/// The congestion window is at least a segment, and the data in flight respects it and the receive window.
fn windows(plan: &Plan, outcome: &Outcome) -> Verdict {
    let series = &outcome.flow_series;
    let column = |name: &str| {
        let found = series.columns.iter().find(|c| c.0 == name);
        &found.expect("a column").1
    };
    let ranks: Vec<usize> = data_flows(plan).collect();
    let (cwnd, in_flight) = (column("cwnd"), column("in_flight"));
    for (row, (time, entity)) in series.times().zip(series.entities()).enumerate() {
        let flow = &plan.flows[ranks[entity as usize]];
        if cwnd[row].is_nan() {
            continue;
        }
        let at = format!("{time} s: {flow:?}");
        prop_assert!(cwnd[row] >= 1.0, "cwnd {} at {at}", cwnd[row]);
        let mss = f64::from(flow.tcp.mss);
        // FIN takes a sequence number but no room in the window.
        // The last offload buffer in a send buffer that grows may exceed its size.
        let beyond = u64::from(flow.tcp.autotuned_send_buffer) << 16;
        let written = flow.tcp.send_buffer.0 + beyond;
        let buffer = flow.tcp.receive_buffer.0.min(written) as f64;
        let bytes = in_flight[row] * mss;
        prop_assert!(bytes <= buffer + 1.5, "{bytes} bytes in flight at {at}");
        if falls_with_pipe(flow) {
            // A tail-loss probe is sent whatever the window is (RFC 8985 section 7.3).
            let bound = cwnd[row] + 2.0;
            prop_assert!(
                in_flight[row] <= bound,
                "{} in flight, cwnd {} at {at}",
                in_flight[row],
                cwnd[row]
            );
        }
    }
    Ok(())
}

/// Whether the window of the algorithm never falls below the data in flight: it falls only in recovery, where proportional rate
/// reduction follows it.
fn falls_with_pipe(flow: &PlanFlow) -> bool {
    use CcConfig::{Bic, Cubic, Dctcp, Highspeed, Htcp, Hybla, Illinois, Newreno, Reno};
    use CcConfig::{Scalable, Veno};
    let falls_in_recovery_alone = matches!(
        flow.cca,
        Bic(_)
            | Cubic(_)
            | Dctcp(_)
            | Highspeed(_)
            | Htcp(_)
            | Hybla(_)
            | Illinois(_)
            | Newreno(_)
            | Reno(_)
            | Scalable(_)
            | Veno(_)
    );
    flow.tcp.recovery == Reduction::Prr && falls_in_recovery_alone
}

#[test]
fn the_longest_path_works_and_a_longer_one_is_refused() {
    let cross = |boxes: usize| -> Result<Outcome, String> {
        let names: Vec<String> = (0..boxes).map(|i| format!("box {i}")).collect();
        let delay = |name| json!({ "kind": "delay", "name": name, "delay": "1ms" });
        let document = json!({
            "duration": "1s",
            "boxes": names.iter().map(delay).collect::<Vec<_>>(),
            "flows": [{ "path": names, "traffic": { "kind": "cbr", "rate": "100kbit/s" } }],
        });
        let scenario = Scenario::from_value(document).map_err(|why| why.to_string())?;
        let plan = scenario.compile().map_err(|why| why.to_string())?;
        run(plan.into(), 1, false, &NoPlugins, &Control::default()).map_err(|why| why.to_string())
    };
    let outcome = cross(255).expect("a run");
    let delay = value(&outcome.flow_metrics, 0, "mean_one_way_delay_l4");
    assert_eq!(delay, Some(255.0));
    let why = cross(256).err().unwrap_or_default();
    assert!(why.contains("256 boxes"), "{why}");
}
