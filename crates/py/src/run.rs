//! Reads and runs a scenario with the GIL released.

use std::sync::Arc;

use bloatlab_scenario::{Disk, Scenario};
use bloatlab_sim::{RunError, Stopped};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{Cancelled, PluginError, ScenarioError, StalledError};
use crate::limits::limits;
use crate::outcome::Outcome;
use crate::plugins::PythonPlugins;

/// Cancels a run from another thread and reports its progress.
#[pyclass(frozen, module = "bloatlab._core")]
pub struct Control(Arc<bloatlab_sim::Control>);

#[pymethods]
impl Control {
    /// With `timed`, it records the wall time of each piece of the run.
    #[new]
    #[pyo3(signature = (*, timed = false))]
    fn new(timed: bool) -> Self {
        Self(Arc::new(if timed {
            bloatlab_sim::Control::timed()
        } else {
            bloatlab_sim::Control::default()
        }))
    }

    /// Stops the run, which then raises `Cancelled`.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Share of the simulated time that has passed, 0 to 1.
    #[getter]
    fn progress(&self) -> f64 {
        self.0.progress()
    }

    /// Wall time of each piece of the event loop in ns. Empty without `timed`.
    #[getter]
    fn laps(&self) -> Vec<u64> {
        self.0.laps()
    }
}

fn refused(error: bloatlab_scenario::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// The canonical document: every default filled in, aliases resolved, keys sorted.
#[pyfunction]
pub fn normalise(py: Python<'_>, scenario_json: &str) -> PyResult<String> {
    let limits = limits(false)?;
    let checked = py.detach(|| Scenario::load(scenario_json, &Disk, &limits));
    Ok(checked.map_err(refused)?.scenario.to_canonical_json())
}

/// Runs a scenario.
#[pyfunction]
#[pyo3(signature = (scenario_json, seed, *, record_packets = false, control = None, plugins = None))]
pub fn run(
    py: Python<'_>,
    scenario_json: &str,
    seed: u64,
    record_packets: bool,
    control: Option<&Control>,
    plugins: Option<Bound<'_, PyDict>>,
) -> PyResult<Outcome> {
    let limits = limits(record_packets)?;
    let checked = py.detach(|| Scenario::load(scenario_json, &Disk, &limits));
    let plan = checked.map_err(refused)?.plan;
    let control = control.map_or_else(Default::default, |c| Arc::clone(&c.0));
    let plugins = PythonPlugins::new(plugins.map(Bound::unbind), Arc::clone(&control));
    let result =
        py.detach(|| bloatlab_sim::run(plan.into(), seed, record_packets, &plugins, &control));
    match result {
        Ok(outcome) => Ok(Outcome(outcome)),
        Err(RunError::Stopped(Stopped::Cancelled)) => Err(Cancelled::new_err("cancelled")),
        Err(RunError::Stopped(Stopped::Stalled(stall))) => {
            Err(StalledError::new_err(format!("{stall} (seed {seed})")))
        }
        Err(RunError::Stopped(Stopped::Failed(message)) | RunError::Plugin(message)) => {
            Err(PluginError::new_err(message))
        }
        Err(RunError::Plan(message)) => Err(ScenarioError::new_err(message)),
    }
}
