//! Runs a scenario document (JSON) and prints its metrics: `cargo run --release --example run -- FILE [SEED]`.

use std::process::ExitCode;
use std::time::Instant;

use bloatlab_scenario::{Checked, Disk, Limits, Scenario};
use bloatlab_sim::{Control, NoPlugins, run};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(file) = arguments.get(1) else {
        eprintln!("usage: run FILE [SEED]");
        return ExitCode::from(2);
    };
    let seed = arguments.get(2).and_then(|s| s.parse().ok()).unwrap_or(42);
    let result = std::fs::read_to_string(file)
        .map_err(|e| e.to_string())
        .and_then(|text| {
            let loaded = Scenario::load(&text, &Disk, &Limits::default());
            loaded.map_err(|e| e.to_string())
        })
        .and_then(|Checked { plan, .. }| {
            let began = Instant::now();
            let outcome = run(plan.into(), seed, false, &NoPlugins, &Control::default())
                .map_err(|e| e.to_string())?;
            Ok((outcome, began.elapsed()))
        });
    match result {
        Err(message) => {
            eprintln!("{file}: {message}");
            ExitCode::from(2)
        }
        Ok((outcome, took)) => {
            let scopes = [
                ("flow", &outcome.flow_metrics),
                ("link", &outcome.link_metrics),
                ("probe", &outcome.probe_metrics),
                ("network", &outcome.network_metrics),
            ];
            for (scope, values) in scopes {
                for v in values {
                    println!(
                        "{scope} {} {} {:.6} {}",
                        v.entity, v.metric.name, v.value, v.metric.unit
                    );
                }
            }
            let packets: u64 = outcome
                .counts
                .iter()
                .map(|(_, c)| c.departures)
                .max()
                .unwrap_or(0);
            println!("digest {}", outcome.digest());
            println!(
                "events {} packets {packets} wall {:.3} s, {:.1} ns a packet",
                outcome.events,
                took.as_secs_f64(),
                took.as_nanos() as f64 / packets.max(1) as f64
            );
            ExitCode::SUCCESS
        }
    }
}
