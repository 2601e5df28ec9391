//! The errors of the extension module.

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
    "A user's own algorithm raised, or answered what cannot be."
);

pyo3::create_exception!(
    _core,
    StalledError,
    PyRuntimeError,
    "Simulated time did not move for more events than any scenario needs; the text is one line with box or flow, time and seed."
);
