//! The outcome of a run, as Python sees it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use bloatlab_record::{CaptureError, metrics_of, tables, write_pcap};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

/// The outcome of a run.
#[pyclass(frozen, module = "bloatlab._core")]
pub struct Outcome(pub bloatlab_outcome::Outcome);

#[pymethods]
impl Outcome {
    /// Hash of all tables. Equal for equal scenario, seed and engine version.
    #[getter]
    fn digest(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.digest())
    }

    /// Number of events that the engine processed.
    #[getter]
    fn events(&self) -> u64 {
        self.0.events
    }

    /// Why the engine doubts its own measurement. Never in virtual time.
    #[getter]
    fn suspect(&self) -> Option<&str> {
        self.0.suspect.as_deref()
    }

    /// The tables of docs/architecture.md by name.
    fn tables(&self, py: Python<'_>) -> PyResult<BTreeMap<&'static str, PyTable>> {
        let wrong = |e: &dyn std::fmt::Display| PyValueError::new_err(e.to_string());
        let tables = py.detach(|| tables(&self.0)).map_err(|e| wrong(&e))?;
        tables
            .into_iter()
            .map(|(name, batch)| {
                let schema = batch.schema();
                PyTable::try_new(vec![batch], Arc::clone(&schema))
                    .map(|t| (name, t))
                    .map_err(|e| wrong(&e))
            })
            .collect()
    }

    /// `{"flow_metrics": {flow: {metric: value}}, "link_metrics": ..., "network_metrics": ..., "probe_metrics": ...}`.
    fn metrics_json(&self, py: Python<'_>) -> String {
        py.detach(|| metrics_of(&self.0).to_string())
    }

    /// Writes the packets (`record_packets=True`) as a pcap file: as sent and received by the senders of data, or as sent by the named link.
    #[pyo3(signature = (path, link = None))]
    fn write_pcap(&self, py: Python<'_>, path: &str, link: Option<&str>) -> PyResult<()> {
        py.detach(|| {
            let file = File::create(path)?;
            let mut file = BufWriter::new(file);
            write_pcap(&self.0, link, &mut file).map_err(|e| match e {
                CaptureError::Write(why) => PyOSError::new_err(why),
                other => PyValueError::new_err(other.to_string()),
            })?;
            Ok(file.flush()?)
        })
    }
}
