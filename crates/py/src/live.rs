//! Runs in real time on the Linux stack.

use std::path::PathBuf;
use std::sync::Arc;

use bloatlab_live::{LinkKind, RunOptions};
use bloatlab_scenario::{Disk, Scenario};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::errors::{refused, run_error};
use crate::limits::limits;
use crate::outcome::Outcome;
use crate::run::Control;

fn kind(kernel_link: bool) -> LinkKind {
    if kernel_link {
        LinkKind::Kernel
    } else {
        LinkKind::Userspace
    }
}

/// What this machine can run in real time, and why not, in JSON.
#[pyfunction]
pub fn live_probe(py: Python<'_>) -> String {
    let report = py.detach(bloatlab_live::probe);
    serde_json::to_string(&report).expect("a report has string keys")
}

/// What Linux cannot run of a scenario: pairs of the path of a key and the reason.
#[pyfunction]
pub fn live_refusals(
    py: Python<'_>,
    scenario_json: &str,
    kernel_link: bool,
) -> PyResult<Vec<(String, String)>> {
    let limits = limits(false)?;
    let refusals = py.detach(|| {
        let checked = Scenario::load(scenario_json, &Disk, &limits)?;
        let link = kind(kernel_link);
        Ok(bloatlab_live::refusals(
            &checked.scenario,
            checked.plan,
            link,
        ))
    });
    let refusals = refusals.map_err(refused)?.into_iter();
    Ok(refusals
        .map(|refusal| (refusal.path, refusal.reason))
        .collect())
}

/// Enters namespaces of a process's own: user (without privileges), network, processes and mounts. No thread may exist yet. Everything that the
/// process starts ends with it, and it ends with the process that started it, whose id is `parent`.
#[pyfunction]
#[pyo3(signature = (parent = None))]
pub fn live_enter(parent: Option<u32>) -> PyResult<()> {
    bloatlab_live::enter(parent).map_err(PyOSError::new_err)
}

/// Runs a scenario in real time, inside the namespaces of `live_enter`.
#[pyfunction]
#[pyo3(signature = (scenario_json, seed, *, kernel_link = false, record_packets = false, control = None, files = None))]
pub fn live_run(
    py: Python<'_>,
    scenario_json: &str,
    seed: u64,
    kernel_link: bool,
    record_packets: bool,
    control: Option<&Control>,
    files: Option<PathBuf>,
) -> PyResult<Outcome> {
    let limits = limits(record_packets)?;
    let control = control.map_or_else(Default::default, |c| Arc::clone(&c.0));
    let options = RunOptions {
        seed,
        record_packets,
        link: kind(kernel_link),
        files,
    };
    py.detach(|| {
        let checked = Scenario::load(scenario_json, &Disk, &limits).map_err(refused)?;
        let result = bloatlab_live::run(checked.plan.into(), &options, &control);
        result.map(Outcome).map_err(|error| match error {
            bloatlab_live::Error::Run(error) => run_error(error, seed),
            other => PyOSError::new_err(other.to_string()),
        })
    })
}
