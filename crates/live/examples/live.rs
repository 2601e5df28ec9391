//! Runs a scenario file in real time and prints its metrics: `live SCENARIO.json [SEED] [kernel]`.

use std::error::Error;
use std::{env, fs};

use bloatlab_live::{LinkKind, RunOptions, enter, run};
use bloatlab_scenario::{Disk, Limits, Scenario};
use bloatlab_sim::Control;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("usage: live SCENARIO.json [SEED] [kernel]")?;
    let seed = arguments.next().map_or(Ok(42), |seed| seed.parse())?;
    let checked = Scenario::load(&fs::read_to_string(path)?, &Disk, &Limits::default());
    let plan = checked.map_err(|error| error.to_string())?.plan;
    enter(None)?;
    let options = RunOptions {
        seed,
        link: match arguments.next().as_deref() {
            Some("kernel") => LinkKind::Kernel,
            _ => LinkKind::Userspace,
        },
        ..RunOptions::default()
    };
    let outcome = run(plan.into(), &options, &Control::default())?;
    let names = outcome.flows.iter().map(|flow| flow.name.as_str());
    let names: Vec<&str> = names.collect();
    for value in &outcome.flow_metrics {
        let metric = value.metric;
        println!(
            "{} {} {} {}",
            names[value.entity as usize], metric.name, value.value, metric.unit
        );
    }
    for (scope, values) in [
        ("link", &outcome.link_metrics),
        ("probe", &outcome.probe_metrics),
        ("network", &outcome.network_metrics),
    ] {
        for value in values {
            let metric = value.metric;
            println!(
                "{scope}_{} {} {} {}",
                value.entity, metric.name, value.value, metric.unit
            );
        }
    }
    println!("suspect: {:?}", outcome.suspect);
    Ok(())
}
