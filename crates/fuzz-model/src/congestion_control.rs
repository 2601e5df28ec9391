//! Target for congestion controls: any algorithm with any parameters gets any sequence of calls that a sender can make.

use bloatlab_cc::{Ack, CcConfig, CongestionControl, RateSample, Signal, Window};
use bloatlab_units::{Nanos, SECOND, Streams};

use crate::choices::Choices;
use crate::repair::repaired_algorithm;
use crate::schema::Schema;
use crate::shared_schema;

/// The receive window, which limits the bytes in flight.
const RECEIVE_WINDOW: u64 = 64 << 20;
/// The fastest link, bit/s: data cannot be acknowledged faster than this.
const FASTEST: u64 = 10_000_000_000_000;
/// Limits above what any path needs: the window in bytes, and the pacing rate in bytes per second.
const ABSURD: (u64, u64) = (1 << 44, 1 << 60);
/// Maximum number of operations per case.
const MOST: u32 = 2_000;

/// Runs the algorithm and the operations that these bytes choose.
///
/// # Panics
/// If the algorithm breaks a promise of the trait.
pub fn congestion_control(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let Some(config) = config(&mut choices) else {
        return;
    };
    let mss = choices.whole(64, 65_000);
    let initial = choices.whole(1, 1_000);
    let mut sender = Sender::new(&config, mss, initial, choices.bits(1));
    let mut left = MOST;
    while left > 0 && !choices.is_empty() {
        left -= 1;
        sender.operate(&mut choices);
        sender.check(&config);
    }
}

/// A valid configuration of any algorithm of the registry.
pub fn config(choices: &mut Choices) -> Option<CcConfig> {
    let mut value = Schema::new(shared_schema()).value("CcConfig", choices);
    repaired_algorithm(&mut value, CcConfig::validate)
}

/// A sender that keeps the promises of [`Ack`]: time, `delivered`, `una` and `next` never go back.
struct Sender {
    algorithm: Box<dyn CongestionControl>,
    window: Window,
    now: Nanos,
    una: u64,
    next: u64,
    in_flight: u64,
    delivered: u64,
    lost: u64,
    srtt: Nanos,
    min_rtt: Nanos,
    recovery: bool,
}

impl Sender {
    fn new(config: &CcConfig, mss: u64, initial: u64, seed: u64) -> Self {
        let rng = Streams::new(seed).stream("cc");
        let mut algorithm = config.build(rng).expect("an algorithm of the registry");
        let mut window = Window::new(mss, initial);
        algorithm.on_negotiated(algorithm.needs_ecn());
        algorithm.on_start(&mut window, 0);
        Self {
            algorithm,
            window,
            now: 0,
            una: 0,
            next: 0,
            in_flight: 0,
            delivered: 0,
            lost: 0,
            srtt: 0,
            min_rtt: Nanos::MAX,
            recovery: false,
        }
    }

    fn operate(&mut self, choices: &mut Choices) {
        match choices.byte() % 12 {
            0..6 => self.acks(choices),
            6 => {
                // ACKs that acknowledge no data in sequence and have no samples, at the same time.
                for _ in 0..1 + choices.below(20) {
                    let ack = self.deliver(0, 0, 0, 0, false);
                    self.tell(&ack);
                }
            }
            7 => self.congestion(Signal::Loss),
            8 => self.congestion(Signal::Ecn),
            9 => self.congestion(Signal::Timeout),
            10 => {
                let ack = self.deliver(0, 0, 0, 0, false);
                self.algorithm.on_recovered(&mut self.window, &ack);
                self.recovery = false;
            }
            _ => {
                let idle = choices.whole(0, 100 * SECOND);
                self.now += idle;
                self.algorithm
                    .on_idle_restart(&mut self.window, self.now, idle);
            }
        }
    }

    /// ACKs that each acknowledge a share of the data in flight, with a given RTT and distance in time.
    fn acks(&mut self, choices: &mut Choices) {
        let count = 1 + choices.below(60);
        let [share, sacked] = [0, 1].map(|_| f64::from(choices.byte()) / 255.0);
        let rtt = choices.whole(1_000, 2 * SECOND);
        let gap = choices.whole(0, SECOND / 2);
        let limited = choices.once_in(2);
        for _ in 0..count {
            self.send(limited);
            let bytes = (self.in_flight as f64 * share) as u64;
            self.now += gap.max(8 * SECOND * bytes / FASTEST);
            let acked = bytes - (bytes as f64 * sacked) as u64;
            // In recovery, an ACK may find more losses, up to all data in flight.
            let left = self.in_flight - bytes;
            let lost = if self.recovery {
                (left as f64 * sacked) as u64
            } else {
                0
            };
            let ack = self.deliver(bytes, acked, lost, rtt, limited);
            self.tell(&ack);
        }
    }

    fn send(&mut self, limited: bool) {
        let window = self.window.cwnd.min(RECEIVE_WINDOW);
        if self.in_flight < window {
            self.next += window - self.in_flight;
            self.in_flight = window;
            self.algorithm
                .on_send(&mut self.window, self.now, window, limited);
        }
    }

    fn deliver(
        &mut self,
        bytes: u64,
        acked: u64,
        lost_now: u64,
        rtt: Nanos,
        app_limited: bool,
    ) -> Ack {
        let prior_in_flight = self.in_flight;
        let prior_delivered = self.delivered.saturating_sub(prior_in_flight);
        self.in_flight -= bytes + lost_now;
        self.delivered += bytes;
        self.lost += lost_now;
        self.una = (self.una + acked).min(self.next);
        if rtt > 0 {
            self.srtt = if self.srtt == 0 {
                rtt
            } else {
                (7 * self.srtt + rtt) / 8
            };
            self.min_rtt = self.min_rtt.min(rtt);
        }
        Ack {
            now: self.now,
            acked,
            delivered_now: bytes,
            most: if lost_now > 0 { self.window.mss } else { 0 },
            delivered: self.delivered,
            lost_now,
            lost: self.lost,
            rtt,
            one_way: rtt / 2,
            srtt: self.srtt,
            min_rtt: if self.srtt == 0 { 0 } else { self.min_rtt },
            prior_in_flight,
            in_flight: self.in_flight,
            una: self.una,
            next: self.next,
            cwnd_limited: !app_limited && self.window.cwnd <= RECEIVE_WINDOW,
            in_recovery: self.recovery,
            disordered: false,
            ecn_echo: lost_now > 0,
            marked_now: if lost_now > 0 { bytes } else { 0 },
            rate: RateSample {
                delivered: bytes,
                interval: rtt,
                prior_delivered,
                app_limited,
            },
        }
    }

    fn tell(&mut self, ack: &Ack) {
        self.algorithm.observe(&self.window, ack);
        if !self.recovery || self.algorithm.owns_recovery() {
            self.algorithm.on_ack(&mut self.window, ack);
        }
    }

    fn congestion(&mut self, signal: Signal) {
        if signal == Signal::Ecn && self.algorithm.responds_to_marks() {
            return;
        }
        // At most once per round trip: a second loss in recovery belongs to the same event, but a timeout is a new one.
        if self.recovery && signal != Signal::Timeout {
            return;
        }
        let lost = if signal == Signal::Loss {
            self.in_flight / 3
        } else {
            0
        };
        let ack = self.deliver(0, 0, lost, 0, false);
        self.algorithm.on_congestion(&mut self.window, signal, &ack);
        assert!(
            self.window.ssthresh >= 2 * self.window.mss,
            "ssthresh {} after {signal:?}",
            self.window.ssthresh
        );
        self.recovery = true;
        if signal == Signal::Timeout {
            self.window.cwnd = self.window.mss;
            self.algorithm.on_timeout(&mut self.window, self.now);
            // In slow start after a timeout, the window of a sender grows with every ACK.
            self.recovery = self.algorithm.owns_recovery();
        } else if !self.algorithm.owns_recovery() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    fn check(&self, config: &CcConfig) {
        let Window {
            cwnd, mss, pacing, ..
        } = self.window;
        assert!(
            cwnd >= mss,
            "{config:?}: cwnd {cwnd} is below a segment of {mss}"
        );
        assert!(cwnd < ABSURD.0, "{config:?}: cwnd {cwnd} is absurd");
        assert!(pacing < ABSURD.1, "{config:?}: pacing {pacing} is absurd");
        let state = self.algorithm.state();
        let odd = state.iter().find(|(_, value)| !value.is_finite());
        assert!(odd.is_none(), "{config:?}: state {odd:?}");
    }
}
