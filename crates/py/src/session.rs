//! A session: a run that Python steps and changes.
//!
//! The session lives in its own thread, because it borrows the plugins and the control of the run. The thread gets jobs and sends their results back.
//! While Python waits for a result, it still receives Ctrl-C.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration as WallTime;

use arrow_array::RecordBatch;
use bloatlab_record::series_rows;
use bloatlab_scenario::{Disk, Limits, Plan, PlanBoxKind, PlanFlow, Scenario};
use bloatlab_sim::{Control, RunError};
use bloatlab_units::Nanos;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyTable;

use crate::errors::{ScenarioError, refused, run_error};
use crate::limits::limits;
use crate::outcome::Outcome;
use crate::plugins::PythonPlugins;

/// How long Python waits for a result before it looks for Ctrl-C.
const PATIENCE: WallTime = WallTime::from_millis(50);

/// Something to do with the session in its thread.
type Job = Box<dyn FnOnce(&mut Option<bloatlab_sim::Session<'_>>) + Send>;

/// A run that can be stepped and changed.
#[pyclass(frozen, module = "bloatlab._core")]
pub struct Session(Mutex<Option<Live>>);

/// A session that has not finished.
struct Live {
    jobs: Sender<Job>,
    control: Arc<Control>,
    scenario: Scenario,
    seed: u64,
    limits: Limits,
    names: Names,
    now: Nanos,
}

/// What the rows of the series belong to, by index.
#[derive(Clone, Default)]
struct Names {
    flows: Vec<String>,
    links: Vec<String>,
    probes: Vec<String>,
}

impl Names {
    /// Of the links, and of all flows that the plan has or adds.
    fn of(plan: &Plan) -> Self {
        let mut names = Self::default();
        let links = plan.boxes.iter();
        let links = links.filter(|item| matches!(item.kind, PlanBoxKind::Link(_)));
        names.links = links.map(|item| item.name.clone()).collect();
        plan.all_flows().for_each(|flow| names.add(flow));
        names
    }

    fn add(&mut self, flow: &PlanFlow) {
        let kind = flow.traffic.kind();
        if kind != "ping" {
            self.flows.push(flow.name.clone());
        }
        if kind == "ping" || kind == "fetch" {
            self.probes.push(flow.name.clone());
        }
    }
}

#[pymethods]
impl Session {
    /// Builds the network of a scenario, which must have a timeline. No time has passed yet.
    #[new]
    #[pyo3(signature = (scenario_json, seed, *, plugins = None))]
    fn new(
        py: Python<'_>,
        scenario_json: &str,
        seed: u64,
        plugins: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let limits = limits(false)?;
        let checked = py.detach(|| Scenario::load(scenario_json, &Disk, &limits));
        let checked = checked.map_err(refused)?;
        if checked.scenario.timeline.is_none() {
            return Err(ScenarioError::new_err(
                "timeline: is required in a session; give `[]` if nothing changes",
            ));
        }
        let control = Arc::new(Control::default());
        let plugins = PythonPlugins::new(plugins.map(Bound::unbind), Arc::clone(&control));
        let names = Names::of(&checked.plan);
        let (jobs, waiting) = channel();
        let (ready, started) = channel();
        let (plan, shared) = (checked.plan, Arc::clone(&control));
        thread::spawn(move || serve(plan, seed, &plugins, &shared, &ready, &waiting));
        let live = Live {
            jobs,
            control,
            scenario: checked.scenario,
            seed,
            limits,
            names,
            now: 0,
        };
        live.wait(py, started)?;
        Ok(Self(Mutex::new(Some(live))))
    }

    /// The instant up to which everything has happened, ns.
    #[getter]
    fn now(&self) -> PyResult<Nanos> {
        self.with(|live| Ok(live.now))
    }

    /// The canonical document with the timeline so far.
    #[getter]
    fn document(&self) -> PyResult<String> {
        self.with(|live| Ok(live.scenario.to_canonical_json()))
    }

    /// Runs up to an instant in ns, at most to the end. Returns the new rows of `flow_series`, `link_series` and `probe_series`.
    fn advance(&self, py: Python<'_>, to: Nanos) -> PyResult<BTreeMap<&'static str, PyTable>> {
        let rows = self.with(|live| {
            let names = live.names.clone();
            let (now, rows) = live.ask(py, move |session| advance(session, to, &names))?;
            live.now = now;
            Ok(rows)
        })?;
        let table = |(name, batch): (_, RecordBatch)| {
            let schema = batch.schema();
            let table = PyTable::try_new(vec![batch], schema);
            let wrong = |e: &dyn std::fmt::Display| PyValueError::new_err(e.to_string());
            table.map(|table| (name, table)).map_err(|e| wrong(&e))
        };
        rows.into_iter().map(table).collect()
    }

    /// Makes a change now and appends it to the timeline: a table of `key`, `value` and, if given, `at`, in JSON.
    fn apply(&self, py: Python<'_>, change_json: &str) -> PyResult<()> {
        self.with(|live| {
            let (scenario, limits) = (&live.scenario, &live.limits);
            let checked = py.detach(|| scenario.with_change(change_json, live.now, &Disk, limits));
            let checked = checked.map_err(refused)?;
            let names = Names::of(&checked.plan);
            live.ask(py, move |session| session.change(checked.plan.timeline))?;
            live.names = names;
            live.scenario = checked.scenario;
            Ok(())
        })
    }

    /// Runs to the end and returns the outcome. The session cannot be used afterwards.
    fn finish(&self, py: Python<'_>) -> PyResult<Outcome> {
        let live = self.take()?;
        let (send, reply) = channel();
        live.send(Box::new(move |session| {
            if let Some(session) = session.take() {
                // Nobody waits for the result of a session that was interrupted.
                let _ = send.send(session.finish());
            }
        }))?;
        live.wait(py, reply).map(Outcome)
    }
}

impl Session {
    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Live>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> PyResult<Live> {
        self.slot().take().ok_or_else(|| {
            PyRuntimeError::new_err("the session has finished, or another thread uses it")
        })
    }

    /// Uses the session. It is not locked meanwhile, because a thread that waits for a lock could hold the GIL that a plugin needs.
    fn with<T>(&self, work: impl FnOnce(&mut Live) -> PyResult<T>) -> PyResult<T> {
        let mut live = self.take()?;
        let result = work(&mut live);
        *self.slot() = Some(live);
        result
    }
}

impl Live {
    /// Does something with the session in its thread, and waits for the result.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut bloatlab_sim::Session<'_>) -> Result<T, RunError> + Send + 'static,
    ) -> PyResult<T> {
        let (send, reply) = channel();
        self.send(Box::new(move |session| {
            if let Some(session) = session {
                // Nobody waits for the result of a session that was interrupted.
                let _ = send.send(work(session));
            }
        }))?;
        self.wait(py, reply)
    }

    fn send(&self, job: Job) -> PyResult<()> {
        self.jobs.send(job).map_err(|_| gone())
    }

    /// Waits for a result of the thread. Ctrl-C cancels the run.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        mut reply: Receiver<Result<T, RunError>>,
    ) -> PyResult<T> {
        loop {
            let result;
            (reply, result) = py.detach(move || {
                let result = reply.recv_timeout(PATIENCE);
                (reply, result)
            });
            match result {
                Ok(result) => return result.map_err(|error| run_error(error, self.seed)),
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                Err(RecvTimeoutError::Timeout) => {
                    py.check_signals().inspect_err(|_| self.control.cancel())?;
                }
            }
        }
    }
}

fn gone() -> PyErr {
    PyRuntimeError::new_err("the thread of the session has ended")
}

/// The thread of a session: does jobs until the session is dropped.
fn serve(
    plan: Plan,
    seed: u64,
    plugins: &PythonPlugins,
    control: &Control,
    ready: &Sender<Result<(), RunError>>,
    jobs: &Receiver<Job>,
) {
    let session = bloatlab_sim::Session::new(plan, seed, false, plugins, control);
    let (mut session, started) = match session {
        Ok(session) => (Some(session), Ok(())),
        Err(error) => (None, Err(error)),
    };
    if ready.send(started).is_ok() {
        jobs.iter().for_each(|job| job(&mut session));
    }
}

/// Runs up to an instant. Returns the time of the session, and the new rows by table.
fn advance(
    session: &mut bloatlab_sim::Session<'_>,
    to: Nanos,
    names: &Names,
) -> Result<(Nanos, BTreeMap<&'static str, RecordBatch>), RunError> {
    let new = session.advance(to)?;
    let tables = [
        (
            "flow_series",
            "flow",
            session.flow_series(),
            &names.flows,
            new.flows,
        ),
        (
            "link_series",
            "link",
            session.link_series(),
            &names.links,
            new.links,
        ),
        (
            "probe_series",
            "probe",
            session.probe_series(),
            &names.probes,
            new.probes,
        ),
    ];
    let rows = tables
        .into_iter()
        .map(|(table, entity, series, names, rows)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let batch = series_rows(series, entity, &names, rows);
            (table, batch.expect("columns of equal length"))
        });
    Ok((session.now(), rows.collect()))
}
