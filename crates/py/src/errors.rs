//! The errors of the extension module.

use bloatlab_sim::{RunError, Stopped};
use pyo3::PyErr;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};

pyo3::create_exception!(
    _core,
    ScenarioError,
    PyValueError,
    "A scenario that is refused; the text is one line, `path: message`."
);
pyo3::create_exception!(
    _core,
    Cancelled,
    PyException,
    "The run's `Control` was cancelled."
);
pyo3::create_exception!(
    _core,
    PluginError,
    PyRuntimeError,
    "A user's own algorithm raised an exception or returned an invalid value."
);

pyo3::create_exception!(
    _core,
    StalledError,
    PyRuntimeError,
    "Simulated time did not advance. The text is one line with box or flow, time and seed."
);

/// The error for a document that is refused.
pub fn refused(error: bloatlab_scenario::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// The error for a run that gave no outcome.
pub fn run_error(error: RunError, seed: u64) -> PyErr {
    match error {
        RunError::Stopped(Stopped::Cancelled) => Cancelled::new_err("cancelled"),
        RunError::Stopped(Stopped::Stalled(stall)) => {
            StalledError::new_err(format!("{stall} (seed {seed})"))
        }
        RunError::Stopped(Stopped::Failed(message)) | RunError::Plugin(message) => {
            PluginError::new_err(message)
        }
        RunError::Plan(message) => ScenarioError::new_err(message),
    }
}
