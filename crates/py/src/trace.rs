//! Traces: files of rates over time.

use bloatlab_link::tracefile::{Format, Reading, TraceFile, Unit};
use bloatlab_scenario::{Disk, Scenario, ScenarioError as Refused};
use bloatlab_units::{Duration, Rate};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::ScenarioError;

/// The key of a scenario that varies the rate of the bottleneck.
const PLACE: &str = "dumbbell.vary.rate";

/// A rate over time: one pass of a trace.
#[pyclass(frozen, module = "bloatlab._core")]
pub struct Trace(TraceFile);

fn wrong(message: impl ToString) -> PyErr {
    ScenarioError::new_err(message.to_string())
}

/// Reads a name, such as that of a format or a unit.
fn word<T: serde::de::DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_value(Value::from(text)).map_err(wrong)
}

fn quantity<T: std::str::FromStr<Err = bloatlab_units::ParseError>>(
    name: &str,
    text: &str,
) -> PyResult<T> {
    text.parse().map_err(|why| wrong(format!("{name}: {why}")))
}

fn interval(text: &str) -> PyResult<Duration> {
    let interval: Duration = quantity("interval", text)?;
    match interval.0 {
        0 => Err(wrong("interval: must be above 0s")),
        _ => Ok(interval),
    }
}

/// Formats of trace files, as a list of `{name, description, example, holds}` in JSON. `holds` is `rates` or `deliveries`.
#[pyfunction]
pub fn trace_formats() -> String {
    let describe = |format: &Format| {
        let holds = match format.holds_deliveries() {
            true => "deliveries",
            false => "rates",
        };
        json!({
            "name": format.name(),
            "description": format.description(),
            "example": format.example(),
            "holds": holds,
        })
    };
    Value::Array(Format::ALL.iter().map(describe).collect()).to_string()
}

#[pymethods]
impl Trace {
    /// Reads a file. `how_json` is a table with `format`, `unit` and the switches of rate files.
    #[staticmethod]
    fn read(file: &str, how_json: &str) -> PyResult<Self> {
        let how: Reading = serde_json::from_str(how_json).map_err(wrong)?;
        TraceFile::read(&Disk, file, &how).map(Self).map_err(wrong)
    }

    /// Makes a trace with a generator: the one that the bottleneck of a dumbbell with this constant rate has in a run with this seed.
    #[staticmethod]
    fn make(variation_json: &str, rate: &str, seed: u64, duration: &str) -> PyResult<Self> {
        let rate: Rate = quantity("rate", rate)?;
        let duration: Duration = quantity("duration", duration)?;
        let variation: Value = serde_json::from_str(variation_json).map_err(wrong)?;
        // It is read as a part of a scenario, so that it is checked in the same way.
        let document = json!({
            "duration": "1s",
            "dumbbell": { "rate": rate, "rtt": "1ms", "vary": { "rate": variation } },
            "flows": [{ "traffic": "ping" }]
        });
        let refused = |error: Refused| {
            let key = error
                .path
                .strip_prefix(PLACE)
                .map(|key| key.trim_start_matches('.'));
            match key {
                Some("") => wrong(error.message),
                Some(key) => wrong(format!("{key}: {}", error.message)),
                None => wrong(error.to_string().replace("dumbbell.", "")),
            }
        };
        let scenario = Scenario::from_value(document).map_err(refused)?;
        let variation = scenario.dumbbell.and_then(|dumbbell| dumbbell.vary.rate);
        let mut variation = variation.ok_or_else(|| wrong("no generator"))?;
        let made = TraceFile::make(&Disk, &mut variation, rate, seed, duration);
        made.map(Self).map_err(wrong)
    }

    /// Format of the file, or the format that suits a generated trace.
    #[getter]
    fn format(&self) -> String {
        self.0.format.name().to_owned()
    }

    /// Length, rates and dips, in JSON.
    #[pyo3(signature = (interval_text, below = None))]
    fn info(&self, interval_text: &str, below: Option<&str>) -> PyResult<String> {
        let below = below.map(|text| quantity("below", text)).transpose()?;
        let info = self
            .0
            .info(below, interval(interval_text)?)
            .map_err(wrong)?;
        serde_json::to_string(&info).map_err(wrong)
    }

    /// Start in seconds and rate in Mbit/s of each piece; the last entry is the end with the last rate.
    fn rates(&self, interval_text: &str) -> PyResult<Vec<(f64, f64)>> {
        let mut at = 0;
        let mut points = Vec::new();
        let rates = self.0.rates(interval(interval_text)?).map_err(wrong)?;
        for (span, rate) in rates {
            points.push((at as f64 * 1e-9, rate.0 as f64 * 1e-6));
            at += span;
        }
        points.extend(points.last().map(|(_, rate)| (at as f64 * 1e-9, *rate)));
        Ok(points)
    }

    /// The text of the trace in this format.
    fn text(&self, format: &str, unit: &str, interval_text: &str) -> PyResult<String> {
        let (format, unit): (Format, Unit) = (word(format)?, word(unit)?);
        let text = self.0.text(format, unit, interval(interval_text)?);
        text.map_err(|why| wrong(format!("the trace {why}")))
    }
}
