//! The transmitter of a port: when it is busy, and at what rate it sends.

use bloatlab_link::{Serialization, VaryingRate};
use bloatlab_units::{Nanos, Rate};

use crate::MeanRate;

/// Sends one packet after the other, at a rate that is constant, varies, or is set during the run.
pub struct Transmitter {
    wire: Serialization,
    /// A rate that varies, in place of the constant one.
    varying: Option<Box<VaryingRate>>,
    /// The mean of a rate that may be set during the run.
    mean_rate: Option<Box<MeanRate>>,
    /// A packet is being sent.
    pub busy: bool,
    /// End of the current transmission, or of the last one.
    pub busy_until: Nanos,
    /// Bytes of the packet that is being sent.
    pub(crate) sending: u32,
}

impl Transmitter {
    /// An idle transmitter. `varying` replaces the constant rate.
    pub fn new(rate: Rate, varying: Option<Box<VaryingRate>>) -> Self {
        Self {
            wire: Serialization::new(rate),
            varying,
            mean_rate: None,
            busy: false,
            busy_until: 0,
            sending: 0,
        }
    }

    /// Keeps the mean rate from the start, because the rate may be set during the run.
    pub fn with_mean_rate(mut self) -> Self {
        self.mean_rate = Some(Box::new(MeanRate::start(self.wire.rate, 0, 0)));
        self
    }

    /// The constant rate.
    pub fn rate(&self) -> Rate {
        self.wire.rate
    }

    /// Starts to send this many bytes. Returns when the last bit is sent.
    #[inline(always)]
    pub(crate) fn start(&mut self, now: Nanos, size: u32) -> Nanos {
        let done = match &mut self.varying {
            None => now + self.wire.next(u64::from(size)),
            Some(varying) => transmit(varying, now, size),
        };
        self.busy = true;
        self.busy_until = done;
        self.sending = size;
        done
    }

    /// Notes that no packet follows: a fraction of a nanosecond is carried over only while the transmitter stays busy.
    #[inline]
    pub fn rest(&mut self) {
        self.wire.rest();
        if let Some(varying) = &mut self.varying {
            varying.rest();
        }
    }

    /// What is left of the current transmission.
    #[inline]
    pub fn ahead(&self, now: Nanos) -> Nanos {
        self.busy_until.saturating_sub(now)
    }

    /// Sets the rate of the packets that are sent from now on. The packet that is being sent keeps its time.
    pub fn set_rate(&mut self, now: Nanos, rate: Rate, warmup: Nanos, sampled_at: Nanos) {
        let before = self.wire.rate;
        let start = || Box::new(MeanRate::start(before, warmup, sampled_at));
        self.mean_rate.get_or_insert_with(start).set(now, rate);
        self.wire = Serialization::new(rate);
    }

    /// Ends the warm-up.
    pub fn reset(&mut self, now: Nanos) {
        if let Some(varying) = &mut self.varying {
            varying.reset(now);
        }
        if let Some(mean) = &mut self.mean_rate {
            mean.reset(now);
        }
    }

    /// Ends the run.
    pub fn finish(&mut self, end: Nanos) {
        if let Some(mean) = &mut self.mean_rate {
            mean.advance(end);
        }
    }

    /// Returns the utilization and, if the rate changes, the mean rate (bit/s) since the last sample. `busy` is the busy share of that time.
    pub fn sample(&mut self, now: Nanos, busy: f64) -> (f64, f64) {
        if let Some(varying) = &mut self.varying {
            let (rate, utilization) = varying.sample(now);
            return (utilization.unwrap_or(f64::NAN), rate);
        }
        let mean = self.mean_rate.as_mut().and_then(|mean| mean.sample(now));
        (busy, mean.unwrap_or(f64::NAN))
    }

    /// Returns the mean rate (bit/s) and the utilization of the measured time. `busy` is the busy share of that time.
    pub fn whole(&self, busy: f64) -> (f64, Option<f64>) {
        if let Some(varying) = &self.varying {
            return varying.whole();
        }
        let mean = self.mean_rate.as_ref().and_then(|mean| mean.mean());
        (mean.unwrap_or(self.wire.rate.0 as f64), Some(busy))
    }
}

#[inline(never)]
fn transmit(varying: &mut VaryingRate, now: Nanos, size: u32) -> Nanos {
    varying.transmit(now, u64::from(size))
}
