//! A congestion control with its window, driven by hand or by a fluid path.

use bloatlab_cc::{Ack, CcConfig, CongestionControl, RateSample, Signal, Window};
use bloatlab_units::{Nanos, Streams};

pub const MSS: u64 = 1000;
pub const MS: Nanos = 1_000_000;

/// Reads a congestion control as a user writes it, in JSON.
pub fn config(json: &str) -> CcConfig {
    serde_json::from_str(json).unwrap()
}

/// A connection reduced to its congestion control, its window and the sender's counters.
pub struct Driver {
    pub cc: Box<dyn CongestionControl>,
    pub window: Window,
    pub now: Nanos,
    pub una: u64,
    pub min_rtt: Nanos,
    /// The duration of the last round trip of a [`Path`].
    pub last_rtt: Nanos,
}

impl Driver {
    pub fn new(json: &str, initial_segments: u64) -> Self {
        Self::of(&config(json), initial_segments)
    }

    pub fn of(config: &CcConfig, initial_segments: u64) -> Self {
        Self::with_mss(config, MSS, initial_segments)
    }

    pub fn with_mss(config: &CcConfig, mss: u64, initial_segments: u64) -> Self {
        let mut cc = config.build(Streams::new(1).stream("cc")).unwrap();
        let mut window = Window::new(mss, initial_segments);
        cc.on_negotiated(cc.needs_ecn());
        cc.on_start(&mut window, 0);
        Self {
            cc,
            window,
            now: 0,
            una: 0,
            min_rtt: Nanos::MAX,
            last_rtt: 0,
        }
    }

    /// An ACK of `acked` bytes in a connection that uses its whole window.
    pub fn ack(&mut self, acked: u64, rtt: Nanos) -> Ack {
        let in_flight = self.window.cwnd;
        self.una += acked;
        self.min_rtt = self.min_rtt.min(rtt);
        Ack {
            now: self.now,
            acked,
            delivered_now: acked,
            delivered: self.una,
            rtt,
            one_way: rtt / 2,
            srtt: rtt,
            min_rtt: self.min_rtt,
            prior_in_flight: in_flight,
            in_flight: in_flight.saturating_sub(acked),
            una: self.una,
            next: self.una + in_flight.saturating_sub(acked),
            cwnd_limited: true,
            ..Ack::default()
        }
    }

    /// Passes such an ACK to the congestion control.
    pub fn on_ack(&mut self, acked: u64, rtt: Nanos) {
        let ack = self.ack(acked, rtt);
        self.tell(&ack);
    }

    /// Passes an ACK to the congestion control, as a sender outside recovery does.
    pub fn tell(&mut self, ack: &Ack) {
        self.cc.observe(&self.window, ack);
        self.cc.on_ack(&mut self.window, ack);
    }

    /// Signals congestion and ends the following recovery at once.
    pub fn congestion(&mut self, signal: Signal) {
        if signal == Signal::Ecn && self.cc.responds_to_marks() {
            // The ACKs have already reported the marks.
            return;
        }
        let ack = self.ack(0, 0);
        self.cc.on_congestion(&mut self.window, signal, &ack);
        if signal == Signal::Timeout {
            self.window.cwnd = self.window.mss;
            self.cc.on_timeout(&mut self.window, self.now);
        } else if !self.cc.owns_recovery() {
            self.window.cwnd = self.window.ssthresh;
        }
        self.cc.on_recovered(&mut self.window, &ack);
    }

    pub fn state(&self, name: &str) -> f64 {
        let state = self.cc.state();
        state.iter().find(|(key, _)| *key == name).unwrap().1
    }

    pub fn cwnd_segments(&self) -> f64 {
        self.window.cwnd as f64 / MSS as f64
    }
}

/// A bottleneck without packets. One round trip sends the window (or what pacing allows) and lasts as long as the bottleneck needs for it.
pub struct Path {
    /// Bytes per second.
    pub rate: f64,
    pub base_rtt: Nanos,
    /// Bytes that the queue holds above the bandwidth-delay product.
    pub buffer: u64,
}

/// The result of one round trip.
pub struct Round {
    pub rtt: Nanos,
    pub signal: Option<Signal>,
}

impl Path {
    pub fn bdp(&self) -> u64 {
        (self.rate * self.base_rtt as f64 * 1e-9) as u64
    }

    /// Runs one round trip. A signal, given from outside or caused by an overflow of the queue, comes with its last ACK.
    pub fn round(&self, driver: &mut Driver, outside: Option<Signal>) -> Round {
        let spread = driver.last_rtt.max(self.base_rtt);
        let paced = match driver.window.pacing {
            0 => u64::MAX,
            rate => (rate as f64 * spread as f64 * 1e-9) as u64,
        };
        let segments = (driver.window.cwnd.min(paced) / MSS).max(1);
        let flight = segments * MSS;
        let rtt = self.base_rtt.max((flight as f64 / self.rate * 1e9) as u64);
        let overflow = (flight > self.bdp() + self.buffer).then_some(Signal::Loss);
        let signal = outside.or(overflow);
        driver.last_rtt = rtt;
        let (start, delivered) = (driver.now, driver.una);
        for segment in 1..=segments {
            driver.now = start + rtt * segment / segments;
            // A paced flight starts with the queue that the previous flight left, and changes it gradually.
            let seen = match driver.window.pacing {
                0 => rtt,
                _ => (spread * (segments - segment) + rtt * segment) / segments,
            };
            let mut ack = driver.ack(MSS, seen);
            ack.prior_in_flight = flight;
            ack.in_flight = flight - MSS;
            ack.next = delivered + flight + segment * MSS;
            ack.rate = RateSample {
                delivered: flight,
                interval: rtt,
                prior_delivered: delivered,
                app_limited: false,
            };
            if signal == Some(Signal::Ecn) {
                (ack.ecn_echo, ack.marked_now) = (true, MSS);
            }
            driver.tell(&ack);
            // The segment that this ACK releases.
            let now = driver.now;
            driver.cc.on_send(&mut driver.window, now, flight, false);
        }
        if let Some(signal) = signal {
            driver.congestion(signal);
        }
        Round { rtt, signal }
    }
}
