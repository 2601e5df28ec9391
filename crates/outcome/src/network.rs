//! Metrics of the whole network, computed from those of its flows.

use crate::metrics::*;
use crate::result::Value;
use crate::sheet::Sheet;

/// Computes the metrics of the network from those of its flows. `capacity` is the sum of the rates of the bottlenecks in use, in Mbit/s.
pub fn network_metrics(flows: &[Value], capacity: f64) -> Vec<Value> {
    let of = |metric: MetricId| -> Vec<f64> {
        let values = flows.iter().filter(|v| v.metric == metric);
        values.map(|v| v.value).collect()
    };
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let throughputs = of(F_MEAN_THROUGHPUT_L4);
    let mut sheet = Sheet::default();
    if throughputs.is_empty() {
        return sheet.0;
    }
    let n = throughputs.len() as f64;
    let total = sum(&throughputs);
    let squares: f64 = throughputs.iter().map(|x| x * x).sum();
    let largest = throughputs.iter().copied().fold(0.0, f64::max);
    let smallest = throughputs.iter().copied().fold(f64::INFINITY, f64::min);
    let utility_pf: f64 = throughputs.iter().map(|&x| libm::log(x)).sum();
    let utility_mpdf: f64 = throughputs.iter().map(|x| -1.0 / x).sum();
    let jain = (squares > 0.0).then(|| total * total / (n * squares));
    let ratio = (largest > 0.0).then(|| smallest / largest);
    sheet.put(0, N_AGG_THROUGHPUT, total);
    sheet.put(0, N_CAPACITY_SHARE, total / capacity);
    sheet.put(0, N_JAIN_INDEX, jain);
    sheet.put(0, N_MIN_MAX_RATIO, ratio);
    sheet.put(0, N_UTILITY_PF, utility_pf);
    sheet.put(0, N_UTILITY_MPDF, utility_mpdf);
    let srtts = of(F_MEAN_SRTT_L4);
    if !srtts.is_empty() {
        let mean = sum(&srtts) / srtts.len() as f64;
        sheet.put(0, N_MEAN_SRTT, mean);
        sheet.put(0, N_POWER, total / (mean * 1e-3));
    }
    let (retransmissions, rtos) = (of(F_TOTAL_RETRANSMISSIONS_L4), of(F_TOTAL_RTOS_L4));
    sheet.put(0, N_TOTAL_RETRANSMISSIONS, sum(&retransmissions));
    sheet.put(0, N_TOTAL_RTOS, sum(&rtos));
    sheet.0
}
