//! The counters of a TCP flow, and what its metrics are computed from.

use bloatlab_outcome::{Histogram, TimeMean, TimeSpread, mbps};
use bloatlab_tcp::SenderStats;
use bloatlab_units::{NEVER, Nanos, float};

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
    /// `arrived()` and `delivered` when the flow stopped, if it stopped before the end.
    pub by_stop: Option<(u64, u64)>,
    pub delay_sum: f64,
    pub in_flight: TimeSpread,
    pub cwnd: TimeMean,
    pub srtt: TimeMean,
    pub rtt: Histogram,
    pub rate_sum: f64,
    pub rates: u64,
    pub idt: f64,
    pub idt_sum: f64,
    pub idts: u64,
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
            self.idt += (gap - self.idt) * 0.125;
            self.idt_sum += self.idt;
            self.idts += 1;
        }
        self.last_departure = now;
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
    pub fn restart(&self, now: Nanos, totals: &Totals, [in_flight, cwnd, srtt]: [u64; 3]) -> Self {
        Self {
            since: now,
            base: totals.sent,
            arrived_base: totals.arrived,
            waits_base: totals.waits,
            written_base: totals.written,
            in_flight: TimeSpread::start(now, in_flight),
            cwnd: TimeMean::start(now, cwnd),
            srtt: TimeMean::start(now, srtt),
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

    /// Includes the time up to now in the averages.
    pub fn advance(&mut self, now: Nanos) {
        self.in_flight.advance(now);
        self.cwnd.advance(now);
        self.srtt.advance(now);
    }
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
    /// Retransmission timeouts of both ends.
    pub rtos: u64,
}
