//! The extension module `bloatlab._core`: takes scenarios and returns Arrow tables.

mod catalogue;
mod complaint;
mod congestion_control;
mod errors;
mod limits;
#[cfg(target_os = "linux")]
mod live;
mod outcome;
mod plugins;
mod quantity;
mod queue;
mod run;
mod session;
mod statistics;
mod tc;
mod trace;

use pyo3::prelude::*;

/// The simulator, in Rust. A run is a pure function of (scenario, seed).
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("ScenarioError", py.get_type::<errors::ScenarioError>())?;
    module.add("Cancelled", py.get_type::<errors::Cancelled>())?;
    module.add("PluginError", py.get_type::<errors::PluginError>())?;
    module.add("StalledError", py.get_type::<errors::StalledError>())?;
    module.add_class::<run::Control>()?;
    module.add_class::<outcome::Outcome>()?;
    module.add_class::<pyo3_arrow::PyTable>()?;
    module.add_class::<congestion_control::Window>()?;
    module.add_class::<congestion_control::Ack>()?;
    module.add_class::<congestion_control::RateSample>()?;
    module.add_class::<queue::Handle>()?;
    module.add_class::<trace::Trace>()?;
    module.add_function(wrap_pyfunction!(trace::trace_formats, module)?)?;
    module.add_class::<session::Session>()?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_function(wrap_pyfunction!(live::live_probe, module)?)?;
        module.add_function(wrap_pyfunction!(live::live_refusals, module)?)?;
        module.add_function(wrap_pyfunction!(live::live_virtual_refusals, module)?)?;
        module.add_function(wrap_pyfunction!(live::live_enter, module)?)?;
        module.add_function(wrap_pyfunction!(live::live_run, module)?)?;
        module.add_function(wrap_pyfunction!(live::live_show_instead, module)?)?;
        module.add_class::<live::Samples>()?;
    }
    module.add_function(wrap_pyfunction!(run::normalise, module)?)?;
    module.add_function(wrap_pyfunction!(run::plan, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::read_quantity, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::write_quantity, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::schema, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::program_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::metric_definitions, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::engine_version, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::t_quantile, module)?)?;
    module.add_function(wrap_pyfunction!(tc::queue, module)?)?;
    module.add_function(wrap_pyfunction!(tc::tc, module)?)?;
    module.add_function(wrap_pyfunction!(tc::sysctl, module)?)?;
    Ok(())
}
