//! How much more data ACKs deliver at once than the bottleneck's rate explains (Wi-Fi, cellular, receivers with offloading).

use bloatlab_units::{Nanos, float, whole};

use crate::Ack;

/// Number of rounds in each half of the window of the maximum.
const WINDOW_ROUNDS: u32 = 5;

/// The largest excess of the last five to ten rounds (draft-cardwell-iccrg-bbr-congestion-control-02 section 4.5.5; Linux's `extra_acked`).
#[derive(Clone, Debug, Default)]
pub struct AckAggregation {
    epoch: Nanos,
    acked: u64,
    extra: [u64; 2],
    rounds: u32,
}

impl AckAggregation {
    /// Starts a measurement now.
    pub fn new(now: Nanos) -> Self {
        Self {
            epoch: now,
            ..Self::default()
        }
    }

    /// Counts an ACK. `bw` is the bottleneck's rate in bytes per second.
    pub fn update(&mut self, ack: &Ack, bw: f64, round_start: bool, cwnd: u64) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.extra = [0, self.extra[0]];
            }
        }
        let mut expected = whole(bw * float(ack.now - self.epoch) * 1e-9);
        // The rate explains everything that was acknowledged, so a new epoch starts.
        if self.acked <= expected {
            (self.epoch, self.acked, expected) = (ack.now, 0, 0);
        }
        self.acked += ack.delivered_now;
        let extra = self.acked.saturating_sub(expected).min(cwnd);
        self.extra[0] = self.extra[0].max(extra);
    }

    /// The sender was idle, so the next ACKs do not belong to the current aggregate.
    pub fn restart(&mut self, now: Nanos) {
        self.epoch = now;
        self.acked = 0;
    }

    /// The largest excess, bytes.
    pub fn extra(&self) -> u64 {
        self.extra[0].max(self.extra[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::MILLISECOND;

    #[test]
    fn counts_what_the_rate_does_not_explain() {
        let mut aggregation = AckAggregation::new(0);
        let ack = |at_ms: u64, delivered_now| Ack {
            now: at_ms * MILLISECOND,
            delivered_now,
            ..Ack::default()
        };
        // At 1000 B/ms: the data of ten milliseconds at once, and then what 5 ms more explain.
        aggregation.update(&ack(10, 10_000), 1e6, false, 1 << 20);
        assert_eq!(aggregation.extra(), 10_000);
        aggregation.update(&ack(15, 7_000), 1e6, false, 1 << 20);
        assert_eq!(aggregation.extra(), 12_000);
        for round in 0..10 {
            assert_eq!(aggregation.extra(), 12_000, "round {round}");
            aggregation.update(&ack(1000 + round, 1_000), 1e6, true, 1 << 20);
        }
        assert_eq!(aggregation.extra(), 1_000);
    }
}
