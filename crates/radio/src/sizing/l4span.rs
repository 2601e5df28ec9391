//! Marks by the radio's queue and egress rate, as in L4Span (Wan and Jamieson, CoNEXT 2025; implemented from the paper only).

use bloatlab_units::{Bytes, Duration, MICROSECOND, MILLISECOND, Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lasts;

/// Number of samples of the egress rate.
const SAMPLES: usize = 50;
/// The constant of the square-root algorithm for Reno and CUBIC, before the segment size.
const SQUARE_ROOT_LAW: f64 = 1.75;

/// Marks packets above the RLC, according to the queue of a bearer and the rate of the radio.
///
/// L4S flows are marked with the probability that the queue cannot be sent within a target time. Other flows are marked while the queue is long, as
/// often as their congestion control needs to settle at the rate of the radio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Time within which a queue of L4S flows should be sent.
    #[schemars(extend("x-minimum" = "100us", "x-maximum" = "1s"))]
    pub target: Duration,
    /// Backlog of all users together above which other flows are marked. Each user has an equal share.
    #[schemars(extend("x-minimum" = "1B"))]
    pub classic_queue: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            target: Duration(10 * MILLISECOND),
            classic_queue: Bytes(225_000),
        }
    }
}

impl Params {
    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        if self.classic_queue.0 == 0 {
            return Err("classic_queue: must be at least 1B".to_owned());
        }
        lasts("target", self.target, 100 * MICROSECOND, SECOND)
    }
}

/// The marker of one bearer.
#[derive(Clone, Debug)]
pub struct L4Span {
    params: Params,
    /// Egress rates, bytes per second.
    rates: [f64; SAMPLES],
    taken: usize,
}

impl L4Span {
    /// Creates a marker without samples.
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            rates: [0.0; SAMPLES],
            taken: 0,
        }
    }

    /// A TTI of length `tti` has ended. `out` bytes left or could have left, and `leftover` bytes stayed. An idle TTI gives no sample of the rate.
    pub fn on_tti_end(&mut self, tti: Nanos, out: u64, leftover: u64) {
        if tti > 0 && (out > 0 || leftover > 0) {
            self.rates[self.taken % SAMPLES] = out as f64 * 1e9 / tti as f64;
            self.taken += 1;
        }
    }

    /// The egress rate in bytes per second and its error: mean and standard deviation of the last 50 samples.
    pub fn rate(&self) -> (f64, f64) {
        let rates = &self.rates[..self.taken.min(SAMPLES)];
        if rates.is_empty() {
            return (0.0, 0.0);
        }
        let count = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / count;
        let squares = rates.iter().map(|rate| (rate - mean) * (rate - mean));
        (mean, libm::sqrt(squares.sum::<f64>() / count))
    }

    /// Probability of a mark for a packet of an L4S flow, with `queued` bytes in the queue.
    pub fn l4s(&self, queued: u64) -> f64 {
        let (rate, error) = self.rate();
        if self.taken == 0 {
            return 0.0;
        }
        let required = queued as f64 / self.params.target.seconds();
        if required > rate + error {
            1.0
        } else if required < rate - error || error == 0.0 {
            0.0
        } else {
            (required - rate + error) / (2.0 * error)
        }
    }

    /// Probability of a mark for a packet of another flow, with `queued` bytes in the queue and `users` users, given its segment size and the one-way
    /// delay.
    pub fn classic(&self, queued: u64, users: u64, segment: u32, delay: Nanos) -> f64 {
        let (rate, _) = self.rate();
        let sent = 2.0 * rate * delay as f64 * 1e-9;
        if queued * users <= self.params.classic_queue.0 || sent == 0.0 {
            return 0.0;
        }
        let root = SQUARE_ROOT_LAW * f64::from(segment) / sent;
        (root * root).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alternately 1 and 3 MB/s: a mean of 2 MB/s with an error of 1.
    fn marker() -> L4Span {
        let mut marker = L4Span::new(&Params::default());
        for place in 0..120 {
            marker.on_tti_end(MILLISECOND, 1000 + 2000 * (place % 2), 1);
        }
        marker
    }

    #[test]
    fn the_rate_is_that_of_the_last_fifty_busy_ttis() {
        let mut marker = marker();
        let (rate, error) = marker.rate();
        assert!((rate - 2e6).abs() < 1e-3 && (error - 1e6).abs() < 1e-3);
        marker.on_tti_end(MILLISECOND, 0, 0);
        assert_eq!(marker.rate(), (rate, error));
        for _ in 0..50 {
            marker.on_tti_end(MILLISECOND / 2, 2000, 1);
        }
        assert_eq!(marker.rate(), (4e6, 0.0));
    }

    #[test]
    fn l4s_flows_are_marked_from_where_the_rate_may_not_do() {
        let marker = marker();
        // 10 kB in 10 ms is 1 MB/s = r - e; 15 kB 1.5, 20 kB 2, 30 kB 3 MB/s = r + e.
        let marks =
            [9_000, 10_000, 15_000, 20_000, 30_000, 31_000].map(|queued| marker.l4s(queued));
        let expected = [0.0, 0.0, 0.25, 0.5, 1.0, 1.0];
        for (mark, expected) in marks.into_iter().zip(expected) {
            assert!((mark - expected).abs() < 1e-9, "{marks:?}");
        }
        assert_eq!(L4Span::new(&Params::default()).l4s(1_000_000), 0.0);
    }

    #[test]
    fn classic_flows_are_marked_by_the_throughput_equation_while_the_queue_is_long() {
        let marker = marker();
        assert_eq!(marker.classic(225_000, 1, 1448, 20 * MILLISECOND), 0.0);
        // (1.75 x 1448/(2 x 2e6 x 0.02))^2 = (2534/80000)^2 = 0.0010033.
        let mark = marker.classic(225_001, 1, 1448, 20 * MILLISECOND);
        assert!((mark - 0.001_003_3).abs() < 1e-7, "{mark}");
        assert_eq!(marker.classic(112_501, 2, 1448, 20 * MILLISECOND), mark);
        assert_eq!(marker.classic(300_000, 1, 1448, 1), 1.0);
    }
}
