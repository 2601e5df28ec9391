//! What holds in the outcome of every run.

use bloatlab_outcome::Outcome;

/// Names in which a number below 0 is a number like any other.
const SIGNED: [&str; 2] = ["utility", "est_qdelay"];

/// Whether packets are conserved, and all metrics and samples are numbers that can be.
///
/// # Errors
/// What does not hold.
pub fn sound(outcome: &Outcome) -> Result<(), String> {
    conserved(outcome)?;
    numbers(outcome)
}

/// What enters a box or is made in it leaves it, is dropped in it, or is in it.
///
/// # Errors
/// The box of which it does not hold.
pub fn conserved(outcome: &Outcome) -> Result<(), String> {
    let wrong = outcome.counts.iter().find(|(_, count)| {
        count.arrivals + count.duplicates != count.departures + count.drops + count.held
    });
    wrong.map_or(Ok(()), |(name, count)| {
        Err(format!("packets of `{name}` are not conserved: {count:?}"))
    })
}

/// Metrics and samples are finite, and not negative where nothing can be; time goes on.
///
/// # Errors
/// The metric or the column of which it does not hold.
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
            return Err(format!("a metric that cannot be: {value:?}"));
        }
        if value.metric.name == "utilization" && value.value > 1.0 {
            return Err(format!("more than all of a link: {value:?}"));
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
            // NaN is a value that does not exist.
            let possible = |v: &f64| v.is_nan() || (v.is_finite() && *v >= 0.0);
            let wrong = column.iter().find(|v| !possible(v));
            if wrong.is_some() || column.len() != series.len() {
                return Err(format!("column {name} holds {wrong:?}"));
            }
        }
    }
    Ok(())
}
