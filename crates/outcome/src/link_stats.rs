//! What is counted at a queue and at the transmitter behind it.

use std::mem::replace;

use bloatlab_units::Nanos;

use crate::metrics::*;
use crate::{Histogram, Lengths, LossEvents, MS, Sheet, TimeMean, mbps, mean_ms};

/// What is counted at a link since the warm-up, and since the last sample.
#[derive(Clone, Default)]
pub struct LinkStats {
    /// Packets that arrived before the end of the warm-up.
    pub earlier_arrivals: u64,
    /// When counting began: the end of the warm-up.
    pub since: Nanos,
    /// Bytes whose transmission has ended.
    pub sent_bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Of these, packets that had arrived before the end of the warm-up.
    pub earlier_drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Time for which the transmitter sends, up to the end of the current transmission.
    pub busy: Nanos,
    /// Sojourn times of the packets that left the queue.
    pub sojourn: Histogram,
    /// Queue length in packets, weighted by time.
    pub length: Lengths,
    /// Backlog in bytes, as a mean over time.
    pub bytes: TimeMean,
    /// Largest backlog in bytes.
    pub max_bytes: u64,
    /// Loss events among greedy flows.
    pub losses: LossEvents,
    /// Sums since the last sample.
    pub interval: Interval,
}

/// Sums since the last sample.
#[derive(Clone, Copy, Default)]
pub struct Interval {
    /// Number of sojourn times.
    pub sojourns: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// `LinkStats::busy` at the last sample. It wraps, because the end of the warm-up sets the time back.
    busy: Nanos,
    /// `LinkStats::sent_bytes` at the last sample. It wraps, too.
    bytes: u64,
    /// Sum of all sojourn times at the last sample. It wraps, too.
    sojourn_sum: u64,
}

/// A link at the end of the run.
pub struct LinkAtEnd {
    /// Packets that arrived since the start of the run.
    pub arrivals: u64,
    /// Packets and bytes in the queue.
    pub backlog: (u64, u64),
    /// The measured time.
    pub span: Nanos,
    /// Share of the capacity that was used; `None` if there was none, or no transmitter.
    pub utilization: Option<f64>,
    /// Number of greedy TCP flows whose data crosses the link.
    pub greedy_flows: u64,
}

impl Interval {
    /// Mean sojourn time in ms, of an interval that [`LinkStats::take_interval`] returned; NaN if no packet left the queue.
    pub fn mean_sojourn(&self) -> f64 {
        mean_ms(self.sojourn_sum, self.sojourns)
    }
}

impl LinkStats {
    /// Returns the sums since the last sample, and starts the next interval.
    pub fn take_interval(&mut self) -> Interval {
        let next = Interval {
            busy: self.interval.busy,
            bytes: self.interval.bytes,
            sojourn_sum: self.sojourn.sum() as u64,
            ..Interval::default()
        };
        let mut interval = replace(&mut self.interval, next);
        interval.sojourn_sum = next.sojourn_sum.wrapping_sub(interval.sojourn_sum);
        interval
    }

    /// Returns the time since the last sample for which the transmitter was busy. `ahead` is what is left of the current transmission.
    pub fn take_busy(&mut self, ahead: Nanos) -> Nanos {
        let busy = self.busy - ahead;
        busy.wrapping_sub(replace(&mut self.interval.busy, busy))
    }

    /// Returns the bytes sent since the last sample.
    pub fn take_bytes(&mut self) -> u64 {
        let sent = self.sent_bytes;
        sent.wrapping_sub(replace(&mut self.interval.bytes, sent))
    }

    /// Counts a drop of a packet that arrived at `arrival`.
    pub fn count_drop(&mut self, arrival: Nanos) {
        self.drops += 1;
        self.earlier_drops += u64::from(arrival < self.since);
        self.interval.drops += 1;
    }

    /// Forgets what was counted during the warm-up. `arrivals` packets have arrived, `bytes` are queued, and the current transmission takes another
    /// `ahead` ns.
    pub fn reset(&mut self, now: Nanos, arrivals: u64, bytes: u64, ahead: Nanos) {
        let interval = Interval {
            busy: self.interval.busy.wrapping_sub(self.busy - ahead),
            bytes: self.interval.bytes.wrapping_sub(self.sent_bytes),
            sojourn_sum: (self.interval.sojourn_sum).wrapping_sub(self.sojourn.sum() as u64),
            ..self.interval
        };
        *self = Self {
            earlier_arrivals: arrivals,
            since: now,
            busy: ahead,
            bytes: TimeMean::start(now, bytes),
            max_bytes: bytes,
            interval,
            ..Self::default()
        };
    }

    /// Writes the metrics of a link, with what else is known of it at the end.
    pub fn measure(&self, sheet: &mut Sheet, link: usize, end: &LinkAtEnd) {
        let lengths = self.length.histogram();
        sheet.put(link, L_MEAN_QUEUE_LENGTH, lengths.mean());
        sheet.put(link, L_P95_QUEUE_LENGTH, lengths.quantile(0.95));
        sheet.put(link, L_MAX_QUEUE_LENGTH, lengths.max().map(|v| v as f64));
        sheet.put(link, L_MEAN_QUEUE_BYTES, self.bytes.mean());
        sheet.put(link, L_MAX_QUEUE_BYTES, self.max_bytes as f64);
        let sojourn = &self.sojourn;
        sheet.put(link, L_MEAN_SOJOURN, sojourn.mean().map(|v| v * MS));
        let quantiles = [
            (0.5, L_P50_SOJOURN),
            (0.95, L_P95_SOJOURN),
            (0.99, L_P99_SOJOURN),
        ];
        sheet.quantiles(link, sojourn, &quantiles);
        sheet.put(link, L_MAX_SOJOURN, sojourn.max().map(|v| v as f64 * MS));
        let arrivals = end.arrivals - self.earlier_arrivals;
        sheet.put(link, L_ARRIVALS, arrivals as f64);
        sheet.put(link, L_BACKLOG_PACKETS, end.backlog.0 as f64);
        sheet.put(link, L_BACKLOG_BYTES, end.backlog.1 as f64);
        sheet.put(link, L_DROPS, self.drops as f64);
        // A queue that was replaced gives its packets a new arrival, and the kernel does not say which packets it dropped.
        let lost = (self.drops - self.earlier_drops).min(arrivals);
        let loss_rate = (arrivals > 0).then(|| lost as f64 / arrivals as f64);
        sheet.put(link, L_LOSS_RATE, loss_rate);
        sheet.put(link, L_MARKS, self.marks as f64);
        let losses = &self.losses;
        let interval = losses.mean_interval().map(|v| v * MS);
        sheet.put(link, L_MEAN_LOSS_INTERVAL, interval);
        sheet.put(link, L_LOSS_EVENTS, losses.events as f64);
        sheet.put(link, L_MEAN_LOSS_EVENT_SIZE, losses.mean_size());
        let together = losses.synchronization(end.greedy_flows);
        let together = together.filter(|_| end.greedy_flows > 1);
        sheet.put(link, L_LOSS_SYNCHRONIZATION, together);
        sheet.put(link, L_THROUGHPUT, mbps(self.sent_bytes as f64, end.span));
        sheet.put(link, L_UTILIZATION, end.utilization);
    }
}
