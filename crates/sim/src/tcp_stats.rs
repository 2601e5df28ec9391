//! The counters of a TCP flow, and what its metrics are computed from.

use bloatlab_outcome::{Histogram, mbps};
use bloatlab_tcp::SenderStats;
use bloatlab_units::{NEVER, Nanos, float};

use crate::averages::Averages;
use crate::samples::Samples;

/// Counters of a TCP flow since the warm-up.
#[derive(Default)]
pub(crate) struct TcpStats {
    pub since: Nanos,
    pub base: SenderStats,
    pub written_base: u64,
    pub delivered: u64,
    /// `arrived()` when counting began.
    pub arrived_base: u64,
    /// Set when the flow stops, if it stops before the end.
    pub by_stop: Option<Box<ByStop>>,
    pub delay_sum: f64,
    pub averages: Averages,
    pub rtt: Histogram,
    pub rate_sum: f64,
    pub rates: u64,
    /// Moving average of the time between departures in ns, if there were two.
    pub idt: f64,
    pub has_idt: bool,
    /// `idt` times the time that it held, and that time in ns.
    pub idt_sum: f64,
    pub idt_time: f64,
    pub last_departure: Nanos,
    pub samples: Samples,
    /// Times of page fetches; allocated at the first.
    pub fetches: Option<Box<Histogram>>,
    pub failed_fetches: u64,
    /// `waits()` when counting began.
    pub waits_base: Waits,
}

impl TcpStats {
    /// Updates the inter-departure times for a data segment.
    #[inline(always)]
    pub fn on_departure(&mut self, now: Nanos) {
        if self.last_departure != NEVER {
            let gap = float(now - self.last_departure);
            if self.has_idt {
                self.idt_sum += self.idt * gap;
                self.idt_time += gap;
                self.idt += (gap - self.idt) * 0.125;
            } else {
                self.idt = gap;
                self.has_idt = true;
            }
        }
        self.last_departure = now;
    }

    /// Mean over time of the moving average of the time between departures in ns; None if there were too few.
    pub fn mean_idt(&self) -> Option<f64> {
        (self.idt_time > 0.0).then(|| self.idt_sum / self.idt_time)
    }

    /// The row of an interval that began at `from` and lasted `span`.
    pub fn sample(
        &mut self,
        totals: &Totals,
        sender: &SenderState,
        (from, span): (Nanos, Nanos),
        sojourn: f64,
    ) -> [f64; 9] {
        let samples = &mut self.samples;
        let throughput = mbps((totals.arrived - samples.arrived) as f64, span);
        let rates = self.rates - samples.rates;
        let row = [
            throughput,
            mbps((totals.sent.bytes - samples.bytes_sent) as f64, span),
            if rates > 0 {
                (self.rate_sum - samples.rate_sum) / rates as f64 * 8e3
            } else {
                f64::NAN
            },
            sender.cwnd,
            sender.ssthresh,
            sender.in_flight,
            sender.srtt,
            totals.sent.retransmissions as f64,
            sojourn,
        ];
        samples.arrived = totals.arrived;
        samples.bytes_sent = totals.sent.bytes;
        samples.rate_sum = self.rate_sum;
        samples.rates = self.rates;
        if from >= self.since {
            samples.add(throughput, sender.srtt);
        }
        row
    }

    /// Counters that start at `now`, when the flow began or the warm-up ended.
    pub fn restart(&self, now: Nanos, totals: &Totals, state: [u64; 3]) -> Self {
        Self {
            since: now,
            base: totals.sent,
            arrived_base: totals.arrived,
            waits_base: totals.waits,
            written_base: totals.written,
            averages: Averages::start(now, state),
            last_departure: NEVER,
            samples: Samples {
                // The current sampling interval continues.
                arrived: self.samples.arrived,
                bytes_sent: self.samples.bytes_sent,
                ..Samples::default()
            },
            ..Self::default()
        }
    }

    /// The application stops. What arrives later does not count towards the throughput of the flow, and the later state of its sender does not count
    /// in the averages. `completed_at` is when the transfer was complete, if that is earlier.
    pub fn stop(&mut self, now: Nanos, completed_at: Nanos, arrived: u64) {
        self.averages.advance(now.min(completed_at));
        self.by_stop = Some(Box::new(ByStop {
            arrived,
            delivered: self.delivered,
            averages: self.averages,
        }));
    }
}

/// Measures of a flow at the instant when it stopped.
pub(crate) struct ByStop {
    /// `arrived()` of the flow.
    pub arrived: u64,
    /// Bytes that the receiving application had read.
    pub delivered: u64,
    /// Averages up to this instant.
    pub averages: Averages,
}

/// What the metrics of a TCP connection are computed from, besides its statistics.
pub(crate) struct Totals {
    /// What the sender counted over the whole run.
    pub sent: SenderStats,
    /// Whether the sender tells its windows, its RTT and its retransmissions.
    pub knows_sender: bool,
    /// Whether the sender also counted recoveries, probes and reductions.
    pub knows_recovery: bool,
    /// Payload bytes that arrived over the whole run.
    pub arrived: u64,
    /// Bytes that the application wrote over the whole run.
    pub written: u64,
    /// Smallest RTT; [`NEVER`] if there is no sample.
    pub min_rtt: Nanos,
    pub mss: f64,
    /// When the transfer was complete; [`NEVER`] if it is not.
    pub completed_at: Nanos,
    /// When the first byte was read; [`NEVER`] if none was.
    pub first_read_at: Nanos,
    pub handshakes_given_up: u64,
    pub waits: Waits,
}

/// The state of a sender, in segments and ms.
pub(crate) struct SenderState {
    pub cwnd: f64,
    /// NaN: there is none.
    pub ssthresh: f64,
    pub in_flight: f64,
    /// NaN: there is none.
    pub srtt: f64,
}

/// How often a client waited for a timer, because a packet of the handshake, the request or the answer was lost.
#[derive(Clone, Copy, Default)]
pub(crate) struct Waits {
    /// SYNs that it sent again.
    pub syns: u64,
    /// Connections of which it sent the SYN again.
    pub connections: u64,
    /// Retransmission timeouts of both ends.
    pub rtos: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_between_departures_is_averaged_over_time() {
        let mut stats = TcpStats {
            last_departure: NEVER,
            ..TcpStats::default()
        };
        assert_eq!(stats.mean_idt(), None);
        for at in [0, 8, 16, 32] {
            stats.on_departure(at);
        }
        // 8 ns hold for 24 ns; what follows the last departure does not count.
        assert_eq!(stats.mean_idt(), Some(8.0));
        stats.on_departure(34);
        assert_eq!(stats.mean_idt(), Some((8.0 * 24.0 + 9.0 * 2.0) / 26.0));
    }
}
