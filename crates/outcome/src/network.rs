//! Metrics of flows that share a link, computed from the metrics of each flow.

use crate::metrics::*;
use crate::result::{FlowInfo, Value};
use crate::sheet::Sheet;

/// What a flow of data carried.
#[derive(Clone, Copy, Debug)]
struct Carried {
    /// `F_MEAN_THROUGHPUT_L4`, Mbit/s.
    throughput: f64,
    /// When its lifetime begins and ends, s.
    from: f64,
    to: f64,
}

impl Carried {
    /// Payload, Mbit.
    fn payload(&self) -> f64 {
        self.throughput * (self.to - self.from)
    }
}

/// The flows of a run, as needed for the metrics of the flows that share a link.
pub struct Flows<'a> {
    values: &'a [Value],
    /// By flow; `None` if its throughput was not measured.
    carried: Vec<Option<Carried>>,
    /// Measured time, s.
    span: f64,
}

impl<'a> Flows<'a> {
    /// Reads the metrics of flows, measured from the end of the warm-up, `warmup` seconds after the start, to `end`.
    pub fn new(infos: &[FlowInfo], values: &'a [Value], warmup: f64, end: f64) -> Self {
        let mut both = vec![[None; 2]; infos.len()];
        for value in values {
            let place = match value.metric {
                F_MEAN_THROUGHPUT_L4 => 0,
                F_FLOW_COMPLETION_TIME_L4 => 1,
                _ => continue,
            };
            both[value.entity as usize][place] = Some(value.value);
        }
        let carried = infos
            .iter()
            .zip(both)
            .map(|(info, [throughput, lifetime])| {
                let from = info.start.max(warmup);
                Some(Carried {
                    throughput: throughput?,
                    from,
                    to: from + lifetime?,
                })
            });
        Self {
            values,
            carried: carried.collect(),
            span: end - warmup,
        }
    }

    /// What the flows that `shares` selects carried.
    fn carried<'b>(
        &'b self,
        shares: &'b dyn Fn(usize) -> bool,
    ) -> impl Iterator<Item = Carried> + 'b {
        let every = self.carried.iter().enumerate();
        every.filter_map(|(flow, carried)| carried.filter(|_| shares(flow)))
    }

    /// Writes the metrics of a link that are about the flows whose data crosses it, which `crosses` selects. `rate` is its mean rate in Mbit/s, if it has
    /// a transmitter. Nothing is written if no data crosses it.
    pub fn measure_link(
        &self,
        sheet: &mut Sheet,
        link: usize,
        crosses: &dyn Fn(usize) -> bool,
        rate: Option<f64>,
    ) {
        let throughputs: Vec<f64> = self.carried(crosses).map(|c| c.throughput).collect();
        if throughputs.is_empty() {
            return;
        }
        let goodput = self.goodput(crosses);
        sheet.put(link, L_GOODPUT, goodput);
        sheet.put(link, L_GOODPUT_SHARE, rate.map(|rate| goodput / rate));
        let index = jain_index(&throughputs).filter(|_| throughputs.len() > 1);
        sheet.put(link, L_FLOW_FAIRNESS, index);
    }

    /// Computes the metrics of the network: of the flows whose data crosses the bottleneck, which `shares` selects. `capacity` is the mean rate of the
    /// bottleneck in Mbit/s, if there is one.
    pub fn measure_network(
        &self,
        shares: &dyn Fn(usize) -> bool,
        capacity: Option<f64>,
    ) -> Vec<Value> {
        let mut sheet = Sheet::default();
        let carried: Vec<Carried> = self.carried(shares).collect();
        if carried.is_empty() {
            return sheet.0;
        }
        let throughputs: Vec<f64> = carried.iter().map(|c| c.throughput).collect();
        let from = carried.iter().map(|c| c.from).fold(f64::INFINITY, f64::min);
        let to = carried.iter().map(|c| c.to).fold(0.0, f64::max);
        let total = carried.iter().map(Carried::payload).sum::<f64>() / (to - from);
        let share = capacity.map(|capacity| self.goodput(shares) / capacity);
        let largest = throughputs.iter().copied().fold(0.0, f64::max);
        let smallest = throughputs.iter().copied().fold(f64::INFINITY, f64::min);
        let ratio = (largest > 0.0).then(|| smallest / largest);
        let utility_pf: f64 = throughputs.iter().map(|&x| libm::log(x)).sum();
        let utility_mpdf: f64 = throughputs.iter().map(|x| -1.0 / x).sum();
        sheet.put(0, N_AGG_THROUGHPUT, total);
        sheet.put(0, N_CAPACITY_SHARE, share);
        sheet.put(0, N_JAIN_INDEX, jain_index(&throughputs));
        sheet.put(0, N_MIN_MAX_RATIO, ratio);
        sheet.put(0, N_UTILITY_PF, utility_pf);
        sheet.put(0, N_UTILITY_MPDF, utility_mpdf);
        let of = |metric: MetricId| -> Vec<f64> {
            let values = self.values.iter().filter(|v| v.metric == metric);
            let values = values.filter(|v| shares(v.entity as usize));
            values.map(|v| v.value).collect()
        };
        let sum = |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>());
        let srtts = of(F_MEAN_SRTT_L4);
        let mean = sum(&srtts).map(|sum| sum / srtts.len() as f64);
        sheet.put(0, N_MEAN_SRTT, mean);
        sheet.put(0, N_POWER, mean.map(|mean| total / (mean * 1e-3)));
        let retransmissions = sum(&of(F_TOTAL_RETRANSMISSIONS_L4));
        sheet.put(0, N_TOTAL_RETRANSMISSIONS, retransmissions);
        sheet.put(0, N_TOTAL_RTOS, sum(&of(F_TOTAL_RTOS_L4)));
        sheet.0
    }

    /// Payload of these flows over the measured time, Mbit/s.
    fn goodput(&self, shares: &dyn Fn(usize) -> bool) -> f64 {
        let payload: f64 = self.carried(shares).map(|c| c.payload()).sum();
        payload / self.span
    }
}

/// What the data of flows crosses, a link or the air of a cell in one direction, as a candidate for the bottleneck.
pub struct Candidate<T> {
    /// Which.
    pub shared: T,
    /// Mean rate, Mbit/s.
    pub rate: f64,
    /// Mean length of the queue, packets.
    pub queue: f64,
}

impl<T> Candidate<T> {
    /// The bottleneck: the slowest, and among equal rates the one with the longest queue.
    pub fn slowest(candidates: impl Iterator<Item = Self>) -> Option<Self> {
        candidates.min_by(|one, other| {
            let rates = one.rate.total_cmp(&other.rate);
            rates.then(other.queue.total_cmp(&one.queue))
        })
    }
}

/// Jain, Chiu and Hawe 1984; `None` if every value is 0.
fn jain_index(values: &[f64]) -> Option<f64> {
    let squares: f64 = values.iter().map(|x| x * x).sum();
    let sum: f64 = values.iter().sum();
    // Rounding may leave an index of equal values just above 1.
    (squares > 0.0).then(|| (sum * sum / (values.len() as f64 * squares)).min(1.0))
}
