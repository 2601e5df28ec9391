//! A law with its window, driven by hand or by a fluid path.

use bloatlab_cc::{Ack, CcConfig, CongestionControl, RateSample, Signal, Window};
use bloatlab_units::{Nanos, Streams};

pub const MSS: u64 = 1000;
pub const MS: Nanos = 1_000_000;

/// Reads a law as a user writes it, in JSON.
pub fn config(json: &str) -> CcConfig {
    serde_json::from_str(json).unwrap()
}

/// A connection reduced to its law, its window and what its sender counted.
pub struct Driver {
    pub law: Box<dyn CongestionControl>,
    pub window: Window,
    pub now: Nanos,
    pub una: u64,
    pub min_rtt: Nanos,
    /// How long the last round trip of a [`Path`] was.
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
        let mut law = config.build(Streams::new(1).stream("cc")).unwrap();
        let mut window = Window::new(mss, initial_segments);
        law.on_negotiated(law.needs_ecn());
        law.on_start(&mut window, 0);
        Self {
            law,
            window,
            now: 0,
            una: 0,
            min_rtt: Nanos::MAX,
            last_rtt: 0,
        }
    }

    /// An ACK of this many bytes in a connection whose window is full.
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

    /// Hands such an ACK to the law.
    pub fn on_ack(&mut self, acked: u64, rtt: Nanos) {
        let ack = self.ack(acked, rtt);
        self.tell(&ack);
    }

    /// Hands an ACK to the law, as a sender outside recovery does.
    pub fn tell(&mut self, ack: &Ack) {
        self.law.observe(&self.window, ack);
        self.law.on_ack(&mut self.window, ack);
    }

    /// Congestion and the end of the recovery that follows, at once.
    pub fn congestion(&mut self, signal: Signal) {
        if signal == Signal::Ecn && self.law.answers_marks() {
            // Its ACKs have told it.
            return;
        }
        let ack = self.ack(0, 0);
        self.law.on_congestion(&mut self.window, signal, &ack);
        if signal == Signal::Timeout {
            self.window.cwnd = self.window.mss;
            self.law.on_timeout(&mut self.window, self.now);
        } else if !self.law.owns_recovery() {
            self.window.cwnd = self.window.ssthresh;
        }
        self.law.on_recovered(&mut self.window, &ack);
    }

    pub fn state(&self, name: &str) -> f64 {
        let state = self.law.state();
        state.iter().find(|(key, _)| *key == name).unwrap().1
    }

    pub fn cwnd_segments(&self) -> f64 {
        self.window.cwnd as f64 / MSS as f64
    }
}

/// A bottleneck without packets: a round trip sends the window (or what pacing lets through) and lasts as long as the pipe needs.
pub struct Path {
    /// Bytes per second.
    pub rate: f64,
    pub base_rtt: Nanos,
    /// Bytes that the queue holds above the bandwidth-delay product.
    pub buffer: u64,
}

/// What one round trip came to.
pub struct Round {
    pub rtt: Nanos,
    pub signal: Option<Signal>,
}

impl Path {
    pub fn bdp(&self) -> u64 {
        (self.rate * self.base_rtt as f64 * 1e-9) as u64
    }

    /// One round trip; a signal comes with its last ACK, from outside or because the queue overflowed.
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
            // A paced flight finds the queue as the one before left it, and changes it bit by bit.
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
            // What the ACK lets go.
            let now = driver.now;
            driver.law.on_send(&mut driver.window, now, flight, false);
        }
        if let Some(signal) = signal {
            driver.congestion(signal);
        }
        Round { rtt, signal }
    }
}
