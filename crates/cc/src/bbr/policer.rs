//! Whether a policer limits the flow: it loses much, and always gets the same rate. As in Linux's `tcp_bbr.c` (long-term bandwidth).

use bloatlab_units::{MILLISECOND, Nanos, float};

use crate::Ack;

/// An interval has at least this many rounds, and at most four times as many.
const ROUNDS: u32 = 4;
/// Share of what was delivered that a policer drops at least.
const LOSS: f64 = 50.0 / 256.0;
/// Two intervals have the same rate if they differ by at most this share,
const ALIKE: f64 = 0.125;
/// or by at most this many bytes per second.
const ALIKE_RATE: f64 = 500.0;
/// Rounds for which the rate is used.
const USED: u32 = 48;

/// What is known of a policer on the path.
#[derive(Default)]
pub(super) struct Policer {
    /// Rate of the last interval, or of two alike, bytes per second; 0 before the first.
    rate: f64,
    in_use: bool,
    is_sampling: bool,
    /// Rounds of the interval, or since the rate is used.
    rounds: u32,
    /// What was lost and delivered when the interval began, bytes.
    lost: u64,
    delivered: u64,
    start: Nanos,
}

impl Policer {
    /// The policer's rate, bytes per second, if one is believed to be there.
    pub fn rate(&self) -> Option<f64> {
        self.in_use.then_some(self.rate)
    }

    /// Forgets the policer.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Records an ACK. Returns whether the rate has been used for long enough, so that probing starts again.
    pub fn update(&mut self, ack: &Ack, round_start: bool, probes: bool) -> bool {
        if self.in_use {
            self.rounds += u32::from(probes && round_start);
            let over = self.rounds >= USED;
            if over {
                self.reset();
            }
            return over;
        }
        if !self.is_sampling {
            // The tokens are used up at the first loss.
            if ack.lost_now == 0 {
                return false;
            }
            self.start_interval(ack);
            self.is_sampling = true;
        }
        if ack.rate.app_limited {
            self.reset();
            return false;
        }
        self.rounds += u32::from(round_start);
        if self.rounds > 4 * ROUNDS {
            self.reset();
        } else if self.rounds >= ROUNDS && ack.lost_now > 0 {
            self.end_interval(ack);
        }
        false
    }

    fn start_interval(&mut self, ack: &Ack) {
        self.rounds = 0;
        self.lost = ack.lost;
        self.delivered = ack.delivered;
        self.start = ack.now;
    }

    /// Ends the interval at a loss, if the policer has dropped enough in it.
    fn end_interval(&mut self, ack: &Ack) {
        let (lost, delivered) = (ack.lost - self.lost, ack.delivered - self.delivered);
        let (lost, delivered) = (float(lost), float(delivered));
        let time = ack.now - self.start;
        if delivered == 0.0 || lost < LOSS * delivered || time < MILLISECOND {
            return;
        }
        let rate = delivered * 1e9 / float(time);
        let apart = (rate - self.rate).abs();
        if self.rate > 0.0 && (apart <= ALIKE * self.rate || apart <= ALIKE_RATE) {
            self.rate = f64::midpoint(rate, self.rate);
            self.in_use = true;
            self.rounds = 0;
        } else {
            self.rate = rate;
            self.start_interval(ack);
        }
    }
}
