//! Checks that the outcome of every run must pass.

use bloatlab_outcome::Outcome;

/// Columns and metrics that may be negative.
const SIGNED: [&str; 2] = ["utility", "est_qdelay"];

/// Columns and metrics that are parts of a whole, so at most 1.
const SHARES: [&str; 6] = [
    "utilization",
    "loss_rate",
    "loss_rate_l4",
    "jain_index",
    "flow_fairness",
    "min_max_ratio",
];

/// Jain's index is above 0.
const POSITIVE: [&str; 2] = ["jain_index", "flow_fairness"];

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

/// Checks that metrics and samples are finite, that only those that may be negative are and none is -0, that shares are at most 1, and that time does
/// not go back.
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
        let name = value.metric.name;
        let signed = SIGNED.iter().any(|part| name.contains(part));
        let zero = POSITIVE.contains(&name) && value.value == 0.0;
        if !possible(name, value.value, signed) || zero {
            return Err(format!("impossible value of {name}: {value:?}"));
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
            let mut values = column.iter().filter(|v| !v.is_nan());
            let wrong = values.find(|v| !possible(name, **v, false));
            if wrong.is_some() || column.len() != series.len() {
                return Err(format!("column {name} holds {wrong:?}"));
            }
        }
    }
    Ok(())
}

/// Whether a metric or column can have this value.
fn possible(name: &str, value: f64, signed: bool) -> bool {
    let most = if SHARES.contains(&name) {
        1.0
    } else {
        f64::MAX
    };
    value.is_finite() && value <= most && (value.is_sign_positive() || (signed && value < 0.0))
}
