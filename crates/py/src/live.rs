//! Runs in real time on the Linux stack.

use std::path::PathBuf;
use std::sync::Arc;

use bloatlab_live::{Foreground, Kernel, LinkKind, RunOptions};
use bloatlab_scenario::{Disk, Scenario};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

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
    refusals(py, scenario_json, Kernel::Here(kind(kernel_link)))
}

/// What a kernel in virtual time, which has these congestion controls and queue disciplines, cannot run of a scenario.
#[pyfunction]
pub fn live_virtual_refusals(
    py: Python<'_>,
    scenario_json: &str,
    congestion_controls: Vec<String>,
    queues: Vec<String>,
) -> PyResult<Vec<(String, String)>> {
    let kernel = Kernel::Virtual {
        congestion_controls: &congestion_controls,
        queues: &queues,
    };
    refusals(py, scenario_json, kernel)
}

fn refusals(
    py: Python<'_>,
    scenario_json: &str,
    kernel: Kernel<'_>,
) -> PyResult<Vec<(String, String)>> {
    let limits = limits(false)?;
    let refusals = py.detach(|| {
        let checked = Scenario::load(scenario_json, &Disk, &limits)?;
        Ok(bloatlab_live::refusals(
            &checked.scenario,
            checked.plan,
            kernel,
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

/// What a run in real time gave: its outcome, how long it took in ns, and the exit code of the program in the foreground.
type Made = (Outcome, u64, Option<i32>);

/// Runs a scenario in real time, inside the namespaces of `live_enter`.
///
/// The program of the flow `foreground` has the standard streams of this process, and the run ends with it. `uplink` is a socket to a process that connects
/// its server with the world.
#[pyfunction]
#[pyo3(signature = (
    scenario_json, seed, *, kernel_link = false, record_packets = false, control = None, files = None, variables = Vec::new(),
    foreground = None, is_interactive = false, samples = None, uplink = None,
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn live_run(
    py: Python<'_>,
    scenario_json: &str,
    seed: u64,
    kernel_link: bool,
    record_packets: bool,
    control: Option<&Control>,
    files: Option<PathBuf>,
    variables: Vec<(String, String)>,
    foreground: Option<String>,
    is_interactive: bool,
    samples: Option<&Samples>,
    uplink: Option<i32>,
) -> PyResult<Made> {
    let mut limits = limits(record_packets)?;
    if foreground.is_some() {
        // Nobody knows how long a program runs. It takes the time that it takes.
        limits.packets = f64::INFINITY;
    }
    let control = control.map_or_else(Default::default, |c| Arc::clone(&c.0));
    let options = RunOptions {
        seed,
        record_packets,
        link: kind(kernel_link),
        files,
        variables,
        foreground: foreground.map(|flow| Foreground {
            flow,
            is_interactive,
        }),
        samples: samples.map(|samples| samples.0.clone()),
        uplink: uplink.map(bloatlab_live::descriptor).transpose()?,
    };
    py.detach(|| {
        let checked = Scenario::load(scenario_json, &Disk, &limits).map_err(refused)?;
        let result = bloatlab_live::run(checked.plan.into(), &options, &control);
        let finished = result.map_err(|error| match error {
            bloatlab_live::Error::Run(error) => run_error(error, seed),
            other => PyOSError::new_err(other.to_string()),
        })?;
        Ok((Outcome(finished.outcome), finished.at, finished.code))
    })
}

/// Shows a file in place of another one, for the processes of the present mount namespace.
#[pyfunction]
pub fn live_show_instead(file: &str, place: &str) -> PyResult<()> {
    bloatlab_live::sandbox::show_instead(file, place).map_err(PyOSError::new_err)
}

/// The samples of the links of a run that is under way.
#[pyclass(frozen, module = "bloatlab._core")]
#[derive(Default)]
pub struct Samples(bloatlab_live::Samples);

#[pymethods]
impl Samples {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Takes all new samples: a list of lists of rows of the table `link_series`, in JSON.
    fn take(&self) -> String {
        let (samples, names) = self.0.take();
        let Some(names) = names else {
            return "[]".to_owned();
        };
        let row = |time: f64, link: u32, values: &[f64]| {
            let mut row = Map::new();
            row.insert("time_s".into(), json!(time));
            row.insert("link".into(), json!(names.links.get(link as usize)));
            // A value that does not exist becomes null.
            let values = values.iter().map(|&value| json!(value));
            row.extend(
                names
                    .columns
                    .iter()
                    .map(|&name| name.to_owned())
                    .zip(values),
            );
            Value::Object(row)
        };
        let samples = samples.iter().map(|sample| {
            let rows = sample.rows.iter();
            Value::Array(
                rows.map(|(link, values)| row(sample.time, *link, values))
                    .collect(),
            )
        });
        Value::Array(samples.collect()).to_string()
    }
}
