//! Algorithms written in Python, found by class name among the factories that Python passes.

use std::sync::Arc;

use bloatlab_aqm::Qdisc;
use bloatlab_cc::CongestionControl;
use bloatlab_sim::{Control, Packet, Plugins};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::complaint::complaint;
use crate::congestion_control::PythonControl;
use crate::queue::PythonQueue;

/// Makes Python objects when the engine asks for an algorithm.
pub struct PythonPlugins {
    factories: Option<Py<PyDict>>,
    control: Arc<Control>,
}

impl PythonPlugins {
    pub fn new(factories: Option<Py<PyDict>>, control: Arc<Control>) -> Self {
        Self { factories, control }
    }

    fn make(&self, class: &str, params: &Value) -> Result<Py<PyAny>, String> {
        Python::attach(|py| {
            let factory = self
                .factories
                .as_ref()
                .and_then(|f| f.bind(py).get_item(class).ok().flatten())
                .ok_or_else(|| format!("no class was passed for `{class}`"))?;
            let made = || -> PyResult<Py<PyAny>> {
                let text = if params.is_null() {
                    String::from("{}")
                } else {
                    params.to_string()
                };
                let params = py.import("json")?.call_method1("loads", (text,))?;
                Ok(factory.call1((params,))?.unbind())
            };
            made().map_err(|e| complaint(py, class, "__init__", &e))
        })
    }
}

impl Plugins for PythonPlugins {
    fn congestion_control(
        &self,
        params: &bloatlab_cc::PythonParams,
    ) -> Result<Box<dyn CongestionControl>, String> {
        let object = self.make(&params.class, &params.params)?;
        let made = PythonControl::new(object, params.class.clone(), Arc::clone(&self.control))?;
        Ok(Box::new(made))
    }

    fn queue(&self, params: &bloatlab_aqm::PythonParams) -> Result<Box<dyn Qdisc<Packet>>, String> {
        let object = self.make(&params.class, &params.params)?;
        Ok(Box::new(PythonQueue::new(
            object,
            params.class.clone(),
            Arc::clone(&self.control),
        )))
    }
}
