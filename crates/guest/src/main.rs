//! The first process of a kernel in virtual time: makes one run, writes its outcome into the folder of the host that started the kernel, and powers off.
//!
//! Reads `request.json`. Writes `progress` now and then, and at the end either the files of the outcome, `outcome.json` last, or `error`.

#[cfg(target_os = "linux")]
mod disk;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod write;

#[cfg(target_os = "linux")]
fn main() {
    system::start(run);
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("bloatlab-guest: runs on Linux only");
    std::process::exit(2);
}

/// What the host asks for.
#[cfg(target_os = "linux")]
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Request {
    /// One run.
    Run {
        /// The scenario, as canonical JSON.
        scenario: String,
        seed: u64,
        record_packets: bool,
        /// The folder of the host at which relative paths of the scenario start.
        folder: std::path::PathBuf,
    },
    /// What this kernel offers.
    Probe {},
}

/// Does what the host asks for.
#[cfg(target_os = "linux")]
fn run() -> Result<(), Box<dyn std::error::Error>> {
    use bloatlab_scenario::{Limits, Scenario};
    let request: Request = serde_json::from_str(&write::read("request.json")?)?;
    let Request::Run {
        scenario,
        seed,
        record_packets,
        folder,
    } = request
    else {
        let probe = serde_json::to_string(&bloatlab_live::probe())?;
        return Ok(write::text("probe.json", &probe)?);
    };
    // The host has checked the cost.
    let limits = Limits {
        record_packets,
        packets: f64::INFINITY,
        ..Limits::default()
    };
    let checked = Scenario::load(&scenario, &disk::HostDisk { folder }, &limits)?;
    let plan = std::sync::Arc::new(checked.plan);
    let mut progress = write::Progress::new(plan.duration);
    let duration = plan.duration;
    let mut tell = |now| progress.tell(now);
    let outcome = bloatlab_live::run_in_virtual_time(plan, (seed, record_packets), &mut tell)?;
    if record_packets {
        write::packets(&outcome)?;
    }
    write::outcome(&outcome, duration)
}
