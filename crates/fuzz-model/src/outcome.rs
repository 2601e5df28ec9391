//! Checks that the outcome of every run must pass.

use bloatlab_outcome::Outcome;

/// Columns and metrics that may be negative.
const SIGNED: [&str; 2] = ["utility", "est_qdelay"];

/// Checks that packets are conserved, and that all metrics and samples have possible values.
///
/// # Errors
/// The check that failed.
pub fn sound(outcome: &Outcome) -> Result<(), String> {
    conserved(outcome)?;
    numbers(outcome)
}

/// Checks that each packet that enters a box or is made in it leaves it, is dropped in it, or is still in it.
///
/// # Errors
/// The box whose packets are not conserved.
pub fn conserved(outcome: &Outcome) -> Result<(), String> {
    let wrong = outcome.counts.iter().find(|(_, count)| {
        count.arrivals + count.duplicates != count.departures + count.drops + count.held
    });
    wrong.map_or(Ok(()), |(name, count)| {
        Err(format!("packets of `{name}` are not conserved: {count:?}"))
    })
}

/// Checks that metrics and samples are finite, that only those that may be negative are, and that time does not go back.
///
/// # Errors
/// The wrong metric or column.
pub fn numbers(outcome: &Outcome) -> Result<(), String> {
    let metrics = [
        &outcome.flow_metrics,
        &outcome.link_metrics,
        &outcome.probe_metrics,
        &outcome.network_metrics,
    ];
    for value in metrics.into_iter().flatten() {
        let signed = SIGNED.iter().any(|part| value.metric.name.contains(part));
        if !value.value.is_finite() || (value.value < 0.0 && !signed) {
            return Err(format!("impossible value of a metric: {value:?}"));
        }
        if value.metric.name == "utilization" && value.value > 1.0 {
            return Err(format!("a share of a link above 1: {value:?}"));
        }
    }
    for series in [
        &outcome.flow_series,
        &outcome.link_series,
        &outcome.probe_series,
    ] {
        if !series.times().is_sorted() {
            return Err("the times of a series go back".to_owned());
        }
        for (name, column) in &series.columns {
            // NaN means that there is no value.
            let possible = |v: &f64| v.is_nan() || (v.is_finite() && *v >= 0.0);
            let wrong = column.iter().find(|v| !possible(v));
            if wrong.is_some() || column.len() != series.len() {
                return Err(format!("column {name} holds {wrong:?}"));
            }
        }
    }
    Ok(())
}
