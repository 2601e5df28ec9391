//! Collects the metrics of a run.

use crate::histogram::Histogram;
use crate::metrics::MetricId;
use crate::result::Value;
use crate::units::MS;

/// Collects values of metrics. Values that do not exist are left out.
#[derive(Default)]
pub struct Sheet(pub Vec<Value>);

impl Sheet {
    /// Adds a value, if it exists.
    pub fn put(&mut self, entity: usize, metric: MetricId, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into().filter(|v| v.is_finite()) {
            self.0.push(Value {
                entity: entity as u32,
                metric,
                // Turns -0, for example the sum of no values, into 0.
                value: value + 0.0,
            });
        }
    }

    /// Adds quantiles of times.
    pub fn quantiles<const N: usize>(
        &mut self,
        entity: usize,
        histogram: &Histogram,
        metrics: &[(f64, MetricId); N],
    ) {
        let values = histogram.quantiles(metrics.map(|(fraction, _)| fraction));
        for (&(_, metric), value) in metrics.iter().zip(values) {
            self.put(entity, metric, value.map(|v| v * MS));
        }
    }
}
