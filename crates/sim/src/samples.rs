//! What the samples of a flow add up to.

/// Sums over the sampled intervals of a flow.
#[derive(Default)]
pub(crate) struct Samples {
    pub count: u64,
    pub throughput: f64,
    pub squares: f64,
    pub power: f64,
    pub powers: u64,
    pub log_throughput: f64,
    pub inverse_throughput: f64,
    pub positive: u64,
    /// Counters at the last sample.
    pub arrived: u64,
    pub bytes_sent: u64,
    pub rate_sum: f64,
    pub rates: u64,
}

impl Samples {
    /// Counts the throughput (Mbit/s) and sRTT (ms) of an interval.
    pub fn add(&mut self, throughput: f64, srtt: f64) {
        self.count += 1;
        self.throughput += throughput;
        self.squares += throughput * throughput;
        if srtt > 0.0 {
            self.power += throughput / (srtt * 1e-3);
            self.powers += 1;
        }
        if throughput > 0.0 {
            self.log_throughput += libm::log(throughput);
            self.inverse_throughput += 1.0 / throughput;
            self.positive += 1;
        }
    }
}
