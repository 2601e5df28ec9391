//! Every law under random sequences of what a sender can tell it.

use bloatlab_cc::{Ack, CcConfig, RateSample, Signal};
use bloatlab_units::Nanos;
use proptest::prelude::*;

use crate::harness::{Driver, MS, MSS};

/// The receive window, which bounds what can be in flight.
const RECEIVE_WINDOW: u64 = 64 << 20;

#[derive(Clone, Debug)]
enum Operation {
    /// ACKs of this share of the flight each, at this RTT and distance.
    Acks {
        count: u8,
        share: f64,
        rtt: Nanos,
        gap: Nanos,
        sacked: f64,
        limited: bool,
    },
    /// ACKs without data in sequence, samples or time.
    Duplicates(u8),
    Congestion(Signal),
    Recovered,
    Idle(Nanos),
}

fn operation() -> impl Strategy<Value = Operation> {
    let signal = prop_oneof![Just(Signal::Loss), Just(Signal::Ecn), Just(Signal::Timeout)];
    prop_oneof![
        6 => (1_u8..60, 0.0..1.0, 1_000_u64..2_000 * MS, 0_u64..500 * MS, 0.0..1.0, any::<bool>())
            .prop_map(|(count, share, rtt, gap, sacked, limited)| Operation::Acks { count, share, rtt, gap, sacked, limited }),
        1 => (1_u8..20).prop_map(Operation::Duplicates),
        2 => signal.prop_map(Operation::Congestion),
        2 => Just(Operation::Recovered),
        1 => (0_u64..100_000 * MS).prop_map(Operation::Idle),
    ]
}

/// A sender that keeps its own promises of [`Ack`]: time, `delivered`, `una` and `next` never go back.
struct Sender {
    driver: Driver,
    in_flight: u64,
    delivered: u64,
    lost: u64,
    next: u64,
    srtt: Nanos,
    recovery: bool,
}

impl Sender {
    fn new(config: &CcConfig) -> Self {
        Self {
            driver: Driver::of(config, 10),
            in_flight: 0,
            delivered: 0,
            lost: 0,
            next: 0,
            srtt: 0,
            recovery: false,
        }
    }

    fn send(&mut self, limited: bool) {
        let window = self.driver.window.cwnd.min(RECEIVE_WINDOW);
        if self.in_flight < window {
            self.next += window - self.in_flight;
            self.in_flight = window;
            let now = self.driver.now;
            self.driver
                .law
                .on_send(&mut self.driver.window, now, window, limited);
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
        self.driver.una = (self.driver.una + acked).min(self.next);
        if rtt > 0 {
            self.srtt = if self.srtt == 0 {
                rtt
            } else {
                (7 * self.srtt + rtt) / 8
            };
            self.driver.min_rtt = self.driver.min_rtt.min(rtt);
        }
        Ack {
            now: self.driver.now,
            acked,
            delivered_now: bytes,
            most: if lost_now > 0 { MSS } else { 0 },
            delivered: self.delivered,
            lost_now,
            lost: self.lost,
            rtt,
            one_way: rtt / 2,
            srtt: self.srtt,
            min_rtt: if self.srtt == 0 {
                0
            } else {
                self.driver.min_rtt
            },
            prior_in_flight,
            in_flight: self.in_flight,
            una: self.driver.una,
            next: self.next,
            cwnd_limited: !app_limited && self.driver.window.cwnd <= RECEIVE_WINDOW,
            in_recovery: self.recovery,
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
        self.driver.law.observe(&self.driver.window, ack);
        if !self.recovery || self.driver.law.owns_recovery() {
            self.driver.law.on_ack(&mut self.driver.window, ack);
        }
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Acks {
                count,
                share,
                rtt,
                gap,
                sacked,
                limited,
            } => {
                for _ in 0..count {
                    self.send(limited);
                    self.driver.now += gap;
                    let bytes = (self.in_flight as f64 * share) as u64;
                    let acked = bytes - (bytes as f64 * sacked) as u64;
                    // In recovery an ACK may find more losses, up to everything that is left.
                    let left = self.in_flight - bytes;
                    let lost = if self.recovery {
                        (left as f64 * sacked) as u64
                    } else {
                        0
                    };
                    let ack = self.deliver(bytes, acked, lost, rtt, limited);
                    self.tell(&ack);
                    self.check();
                }
            }
            Operation::Duplicates(count) => {
                for _ in 0..count {
                    let ack = self.deliver(0, 0, 0, 0, false);
                    self.tell(&ack);
                }
            }
            Operation::Congestion(signal) => self.congestion(signal),
            Operation::Recovered => {
                let ack = self.deliver(0, 0, 0, 0, false);
                self.driver.law.on_recovered(&mut self.driver.window, &ack);
                self.recovery = false;
            }
            Operation::Idle(idle) => {
                self.driver.now += idle;
                let now = self.driver.now;
                self.driver
                    .law
                    .on_idle_restart(&mut self.driver.window, now, idle);
            }
        }
    }

    fn congestion(&mut self, signal: Signal) {
        if signal == Signal::Ecn && self.driver.law.answers_marks() {
            return;
        }
        // Once a round trip: a second loss in recovery is the same event, a timeout is not.
        if self.recovery && signal != Signal::Timeout {
            return;
        }
        let lost = if signal == Signal::Loss {
            self.in_flight / 3
        } else {
            0
        };
        let ack = self.deliver(0, 0, lost, 0, false);
        self.driver
            .law
            .on_congestion(&mut self.driver.window, signal, &ack);
        let window = &self.driver.window;
        assert!(
            window.ssthresh >= 2 * window.mss,
            "ssthresh {} after {signal:?}",
            window.ssthresh
        );
        self.recovery = true;
        if signal == Signal::Timeout {
            self.driver.window.cwnd = self.driver.window.mss;
            let now = self.driver.now;
            self.driver.law.on_timeout(&mut self.driver.window, now);
            // A sender in slow start after a timeout grows by every ACK.
            self.recovery = self.driver.law.owns_recovery();
        } else if !self.driver.law.owns_recovery() {
            self.driver.window.cwnd = self.driver.window.ssthresh;
        }
    }

    fn check(&self) {
        let window = &self.driver.window;
        assert!(
            window.cwnd >= window.mss,
            "cwnd {} is below one segment",
            window.cwnd
        );
        assert!(window.cwnd < 1 << 40, "cwnd {} is absurd", window.cwnd);
        assert!(
            window.pacing < 1 << 60,
            "pacing {} is absurd",
            window.pacing
        );
        assert!(
            self.driver
                .law
                .state()
                .iter()
                .all(|(_, value)| value.is_finite())
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_breaks_a_law(operations in proptest::collection::vec(operation(), 1..80)) {
        for config in CcConfig::all() {
            let mut sender = Sender::new(&config);
            for operation in &operations {
                sender.apply(operation);
                sender.check();
            }
        }
    }
}
