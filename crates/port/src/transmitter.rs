//! The transmitter of a port, and the propagation behind it.

use bloatlab_link::{Serialization, VaryingDelay, VaryingRate};
use bloatlab_units::{Nanos, Rate};

use crate::MeanRate;

/// Sends one packet after the other. Rate and propagation delay are constant, vary, or are set during the run.
pub struct Transmitter {
    wire: Serialization,
    /// Propagation delay, one way.
    delay: Nanos,
    /// A rate or delay that varies, in place of the constant one.
    varying: Option<Box<Varying>>,
    /// The mean of a rate that may be set during the run.
    mean_rate: Option<Box<MeanRate>>,
    /// It is a shaper: a packet leaves at the start of its time instead of at the end.
    pub(crate) shapes: bool,
    /// A packet is being sent.
    pub busy: bool,
    /// End of the current transmission, or of the last one.
    pub busy_until: Nanos,
    /// Bytes of the packet that is being sent.
    pub(crate) sending: u32,
}

#[derive(Default)]
struct Varying {
    rate: Option<VaryingRate>,
    delay: Option<VaryingDelay>,
}

impl Transmitter {
    /// An idle transmitter. What varies replaces the constant rate and propagation delay.
    pub fn new(
        (rate, varying_rate): (Rate, Option<VaryingRate>),
        (delay, varying_delay): (Nanos, Option<VaryingDelay>),
    ) -> Self {
        let varies = varying_rate.is_some() || varying_delay.is_some();
        Self {
            wire: Serialization::new(rate),
            delay,
            varying: varies.then(|| {
                Box::new(Varying {
                    rate: varying_rate,
                    delay: varying_delay,
                })
            }),
            mean_rate: None,
            shapes: false,
            busy: false,
            busy_until: 0,
            sending: 0,
        }
    }

    /// Keeps the mean rate from the start, because the rate may be set during the run.
    pub fn with_mean_rate(mut self) -> Self {
        self.mean_rate = Some(Box::new(MeanRate::start(self.wire.rate)));
        self
    }

    /// Lets packets leave at the start of their time, as behind a shaper on a faster line.
    pub fn as_shaper(mut self, shapes: bool) -> Self {
        self.shapes = shapes;
        self
    }

    /// The constant rate.
    pub fn rate(&self) -> Rate {
        self.wire.rate
    }

    /// The constant propagation delay, one way.
    pub fn delay(&self) -> Nanos {
        self.delay
    }

    /// Starts to send this many bytes. Returns when the last of them is sent, and when it arrives.
    #[inline(always)]
    pub(crate) fn start(&mut self, now: Nanos, size: u32) -> (Nanos, Nanos) {
        let (done, arrival) = if self.varying.is_some() || self.shapes {
            self.start_varying(now, size)
        } else {
            let done = now + self.wire.next(u64::from(size));
            (done, done + self.delay)
        };
        self.busy = true;
        self.busy_until = done;
        self.sending = size;
        (done, arrival)
    }

    /// Sends this many bytes together with what is being sent, as a shaper does. Returns how much longer that takes, and when the last byte arrives.
    pub(crate) fn join(&mut self, now: Nanos, size: u32) -> (Nanos, Nanos) {
        let from = self.busy_until;
        let done = self.send(from, size);
        self.busy_until = done;
        self.sending += size;
        (done - from, self.arrival_behind(now))
    }

    /// Returns when the last of this many bytes is sent, and when it arrives, if the rate or the delay varies or a shaper sends.
    #[inline(never)]
    fn start_varying(&mut self, now: Nanos, size: u32) -> (Nanos, Nanos) {
        let done = self.send(now, size);
        let arrival = if self.shapes {
            self.arrival_behind(now)
        } else {
            self.arrival(done)
        };
        (done, arrival)
    }

    /// Returns when the last of this many bytes is sent that are sent from now on.
    fn send(&mut self, now: Nanos, size: u32) -> Nanos {
        match self.varying_rate() {
            Some(rate) => rate.transmit(now, u64::from(size)),
            None => now + self.wire.next(u64::from(size)),
        }
    }

    /// Returns when a packet arrives that leaves a shaper now. The line behind it takes a nanosecond, so that time goes on without propagation.
    fn arrival_behind(&mut self, now: Nanos) -> Nanos {
        self.arrival(now + 1)
    }

    /// Returns when a packet arrives that leaves at this instant.
    fn arrival(&mut self, leaves: Nanos) -> Nanos {
        let delay = self
            .varying
            .as_mut()
            .and_then(|varying| varying.delay.as_mut());
        delay.map_or(leaves + self.delay, |delay| delay.arrival(leaves))
    }

    /// Notes that no packet follows: a fraction of a nanosecond is carried over only while the transmitter stays busy.
    #[inline]
    pub fn rest(&mut self) {
        self.wire.rest();
        if let Some(varying) = &mut self.varying
            && let Some(rate) = &mut varying.rate
        {
            rate.rest();
        }
    }

    /// What is left of the current transmission.
    #[inline]
    pub fn ahead(&self, now: Nanos) -> Nanos {
        self.busy_until.saturating_sub(now)
    }

    /// Sets the rate of the packets that are sent from now on. The packet that is being sent keeps its time. `busy` is the busy time since the warm-up.
    pub(crate) fn set_rate(&mut self, now: Nanos, rate: Rate, busy: Nanos) {
        if let Some(mean) = &mut self.mean_rate {
            mean.set(now, rate, busy);
        }
        self.wire = Serialization::new(rate);
    }

    /// Sets the propagation delay of the packets that are sent from now on. None arrives before `last`.
    pub fn set_delay(&mut self, delay: Nanos, last: Nanos) {
        self.delay = delay;
        let varying = self.varying.get_or_insert_default();
        varying.delay = Some(VaryingDelay::after(last, delay));
    }

    fn varying_rate(&mut self) -> Option<&mut VaryingRate> {
        self.varying.as_mut()?.rate.as_mut()
    }

    /// Ends the warm-up, in which the transmitter was busy for this long.
    pub(crate) fn reset(&mut self, now: Nanos, busy: Nanos) {
        if let Some(rate) = self.varying_rate() {
            rate.reset(now);
        }
        if let Some(mean) = &mut self.mean_rate {
            mean.reset(now, busy);
        }
    }

    /// Ends the run. `busy` is the busy time since the warm-up.
    pub(crate) fn finish(&mut self, end: Nanos, busy: Nanos) {
        if let Some(mean) = &mut self.mean_rate {
            mean.advance(end, busy);
        }
    }

    /// Returns the utilization and, if the rate changes, the mean rate (bit/s) since the last sample, which was `span` ns ago. `busy` is the busy time
    /// since then and since the warm-up.
    pub(crate) fn sample(&mut self, now: Nanos, span: Nanos, busy: [Nanos; 2]) -> (f64, f64) {
        if let Some(varying) = self.varying_rate() {
            let (rate, utilization) = varying.sample(now);
            return (utilization.unwrap_or(f64::NAN), rate);
        }
        let mean = self.mean_rate.as_mut();
        match mean.and_then(|mean| mean.sample(now, span, busy[1])) {
            Some((rate, utilization)) => (utilization, rate),
            None => (busy[0] as f64 / span as f64, f64::NAN),
        }
    }

    /// Returns the mean rate (bit/s) and the utilization of the measured time of `span` ns, for `busy` of which the transmitter was busy.
    pub(crate) fn whole(&self, span: Nanos, busy: Nanos) -> (f64, Option<f64>) {
        let varying = self.varying.as_ref();
        if let Some(rate) = varying.and_then(|varying| varying.rate.as_ref()) {
            return rate.whole();
        }
        let mean = self.mean_rate.as_ref();
        match mean.and_then(|mean| mean.whole(span)) {
            Some((rate, utilization)) => (rate, Some(utilization)),
            None => (self.wire.rate.0 as f64, Some(busy as f64 / span as f64)),
        }
    }
}
