//! Reads and runs a scenario with the GIL released.

use std::sync::Arc;

use bloatlab_scenario::{Disk, Scenario};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{refused, run_error};
use crate::limits::limits;
use crate::outcome::Outcome;
use crate::plugins::PythonPlugins;

/// Cancels a run from another thread and tells its progress.
#[pyclass(frozen, module = "bloatlab._core")]
pub struct Control(pub(crate) Arc<bloatlab_sim::Control>);

#[pymethods]
impl Control {
    /// With `timed`, it measures the wall time of each piece of the run.
    #[new]
    #[pyo3(signature = (*, timed = false))]
    fn new(timed: bool) -> Self {
        Self(Arc::new(if timed {
            bloatlab_sim::Control::timed()
        } else {
            bloatlab_sim::Control::default()
        }))
    }

    /// Asks the run to stop. The run then raises `Cancelled`.
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

/// The document with every default filled in, aliases resolved, keys in order.
#[pyfunction]
pub fn normalise(py: Python<'_>, scenario_json: &str) -> PyResult<String> {
    let limits = limits(false)?;
    let checked = py.detach(|| Scenario::load(scenario_json, &Disk, &limits));
    Ok(checked.map_err(refused)?.scenario.to_canonical_json())
}

/// The plan of a document, in JSON. The files that the document names are not read.
#[pyfunction]
pub fn plan(py: Python<'_>, scenario_json: &str) -> PyResult<String> {
    let view = py.detach(|| {
        let view = Scenario::plan_view(scenario_json)?;
        Ok(serde_json::to_string(&view).expect("a plan has string keys and finite numbers"))
    });
    view.map_err(refused)
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
    result.map(Outcome).map_err(|error| run_error(error, seed))
}
