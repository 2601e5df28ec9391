//! BBR version 3's probing cycle: down, cruise, refill and up, and how a probe changes the bounds.

use bloatlab_units::{Nanos, SECOND, float};

use super::model::{Sample, UNBOUNDED};
use super::{Acks, Bbr3, MAX_UP_ROUNDS, Mode};
use crate::{Ack, Window};

impl Bbr3 {
    /// Section 5.5.10.2: the losses of a probe set the long-term bound.
    pub(super) fn check_losses(&mut self, window: &Window, ack: &Ack, sample: &Sample) {
        if ack.lost_now == 0 || !self.probing || !self.model.filled_pipe || !self.too_high(sample) {
            return;
        }
        self.probing = false;
        if !sample.app_limited {
            let floor = (self.target(window).floor() * self.params.beta) as u64;
            self.model.inflight_long = sample.tx_in_flight.max(floor);
        }
        if self.mode == Mode::Up {
            self.start_down(ack);
        }
    }

    /// Section 5.3.3.6.
    pub(super) fn update_cycle(&mut self, window: &Window, ack: &Ack, sample: &Sample) {
        if !self.model.filled_pipe {
            return;
        }
        self.adapt_long_term(window, ack, sample);
        match self.mode {
            Mode::Down | Mode::Cruise => {
                if self.time_to_probe(window, ack.now) {
                    self.start_refill(ack);
                } else if self.mode == Mode::Down && self.time_to_cruise(window, ack) {
                    self.mode = Mode::Cruise;
                }
            }
            // The pipe has been full for a round: probe.
            Mode::Refill if self.model.round_start => self.start_up(window, ack, sample),
            Mode::Up => {
                if ack.cwnd_limited && window.cwnd >= self.model.inflight_long {
                    // The long-term bound limits the rate, not the path.
                    self.model.reset_full_bw(sample.rate);
                } else if self.model.full_bw_now {
                    self.start_down(ack);
                }
            }
            _ => {}
        }
    }

    fn adapt_long_term(&mut self, window: &Window, ack: &Ack, sample: &Sample) {
        if self.model.round_start && self.acks != Acks::Other {
            if self.acks == Acks::ProbeStopping {
                self.probing = false;
                // Section 5.5.6: a new cycle for the bandwidth filter.
                if self.in_probe_bw() && !sample.app_limited {
                    self.model.cycle += 1;
                }
            }
            self.acks = Acks::Other;
        }
        if self.model.inflight_long == UNBOUNDED || self.too_high(sample) {
            return;
        }
        self.model.inflight_long = self.model.inflight_long.max(sample.tx_in_flight);
        if self.mode == Mode::Up && ack.cwnd_limited && window.cwnd >= self.model.inflight_long {
            self.raise(window, ack.delivered_now);
        }
    }

    /// Section 5.3.3.6: the long-term bound grows by one segment in the first round, and by twice as many in each following round.
    fn raise(&mut self, window: &Window, acked: u64) {
        self.up_acks += acked;
        let delta = self.up_acks / self.up_price;
        self.up_acks -= delta * self.up_price;
        self.model.inflight_long += delta;
        if self.model.round_start {
            self.steepen(window);
        }
    }

    fn steepen(&mut self, window: &Window) {
        let growth = window.mss << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.up_price = (window.cwnd / growth).max(1);
    }

    /// Section 5.3.3.5.3: after a time, or as often as Reno would lose.
    fn time_to_probe(&self, window: &Window, now: Nanos) -> bool {
        // Reno would lose once per as many rounds as the target has whole segments.
        let rounds = self.rounds_since_probe;
        now > self.cycle_stamp + self.wait
            || rounds >= u64::from(self.params.probe_rounds)
            || self.target(window) < float((rounds + 1) * window.mss)
    }

    fn time_to_cruise(&self, window: &Window, ack: &Ack) -> bool {
        ack.in_flight <= self.with_headroom(window).min(self.inflight(window, 1.0))
    }

    pub(super) fn start_down(&mut self, ack: &Ack) {
        self.model.reset_signals();
        self.up_price = UNBOUNDED;
        self.rounds_since_probe = self.rng.below(2);
        self.wait = self.params.probe_wait.0 + self.rng.below(SECOND);
        self.cycle_stamp = ack.now;
        self.acks = Acks::ProbeStopping;
        self.model.start_round(ack.delivered);
        self.mode = Mode::Down;
    }

    fn start_refill(&mut self, ack: &Ack) {
        self.model.reset_short_term();
        self.up_rounds = 0;
        self.up_acks = 0;
        self.acks = Acks::Other;
        self.model.start_round(ack.delivered);
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, window: &Window, ack: &Ack, sample: &Sample) {
        self.probing = true;
        self.acks = Acks::ProbeStarting;
        self.model.start_round(ack.delivered);
        self.model.reset_full_bw(sample.rate);
        self.mode = Mode::Up;
        self.steepen(window);
    }
}
