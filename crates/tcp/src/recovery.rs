//! The congestion state machine: when a sender enters and leaves recovery, and how its window changes there.

use bloatlab_cc::{Ack, Signal};

use crate::sender::Sender;
use crate::state::State;
use crate::undo::AckReport;

impl Sender {
    /// Updates the congestion state and the window after an ACK.
    #[inline(always)]
    pub(crate) fn respond(&mut self, mut ack: Ack, signs: &AckReport) {
        self.cc.observe(&self.window, &ack);
        if self.probe_end != 0 && self.una >= self.probe_end {
            self.end_probe(&ack, signs.duplicate.is_some());
        }
        let was = self.state;
        self.look_for_undo(&mut ack, signs);
        match self.state {
            State::Open | State::Cwr if ack.lost_now > 0 => self.enter_recovery(&ack),
            State::Open => {}
            // As in Linux, the reduction lasts until the segment with CWR is acknowledged, which follows `recover`. An echo before that is no new mark.
            State::Cwr if self.una > self.recover => self.leave_recovery(&ack),
            State::Cwr => {}
            _ if self.una >= self.recover => self.leave_recovery(&ack),
            _ => {}
        }
        let may_reduce = self.state == State::Open && matches!(was, State::Open | State::Cwr);
        if may_reduce && signs.echo && !self.responds_to_marks {
            self.stats.ecn_reductions += 1;
            self.enter_cwr(Signal::Ecn, &ack);
        }
        ack.in_recovery = self.state != State::Open;
        self.disordered = self.state == State::Open && self.board.sacked > 0;
        ack.disordered = self.disordered;
        if self.owns_recovery {
            self.cc.on_ack(&mut self.window, &ack);
        } else {
            let may_grow =
                ack.acked > 0 || (ack.delivered_now > 0 && self.rack.reorders_far(self.window.mss));
            match self.state {
                // After a timeout's slow start (RFC 5681 section 3.1) the ACK that ends it grows the window like the others.
                State::Open
                    if may_grow
                        && (matches!(was, State::Open | State::Loss)
                            || self.prr.is_over_at_once()) =>
                {
                    self.cc.on_ack(&mut self.window, &ack)
                }
                // Slow start back to ssthresh after a timeout.
                State::Loss if may_grow && self.window.in_slow_start() => {
                    self.cc.on_ack(&mut self.window, &ack)
                }
                State::Recovery | State::Cwr => {
                    self.window.cwnd = self.prr.on_ack(&ack, &self.window)
                }
                _ => {}
            }
        }
    }

    pub(crate) fn enter_recovery(&mut self, ack: &Ack) {
        if self.state == State::Cwr {
            self.undo.forget();
        } else {
            self.begin_undo();
            self.cc.on_congestion(&mut self.window, Signal::Loss, ack);
            self.prr.begin(self.next - self.una, self.window.cwnd);
            // RFC 3168 section 6.1.2: CWR follows every reduction, so that an echo of the same window does not reduce again.
            self.cwr_wanted = self.uses_cwr();
        }
        self.stats.recoveries += 1;
        self.recovery_began = ack.now;
        self.state = State::Recovery;
        self.recover = self.next;
    }

    pub(crate) fn enter_cwr(&mut self, signal: Signal, ack: &Ack) {
        self.undo.forget();
        self.cc.on_congestion(&mut self.window, signal, ack);
        // Together with what this ACK acknowledges, because the ACKs of all of it pace the reduction.
        let outstanding = self.next - self.una + ack.acked;
        self.prr.begin(outstanding, self.window.cwnd);
        self.state = State::Cwr;
        self.recover = self.next;
        self.cwr_wanted = self.uses_cwr();
    }

    fn leave_recovery(&mut self, ack: &Ack) {
        self.end_recovery(ack);
        // If data sent during recovery was lost too, a new recovery starts.
        let missing = if self.prr.counts_repeated() {
            self.board.any_lost()
        } else {
            self.board.to_retransmit > 0
        };
        if missing {
            self.enter_recovery(ack);
        }
    }

    pub(crate) fn end_recovery(&mut self, ack: &Ack) {
        if self.state == State::Recovery {
            self.stats.recovered += 1;
            self.stats.recovery_time += ack.now - self.recovery_began;
        }
        if self.state != State::Cwr {
            self.rack.on_recovered();
        }
        if self.state != State::Loss && !self.owns_recovery {
            self.window.cwnd = self.window.ssthresh.max(self.window.mss);
        }
        self.state = State::Open;
        self.cc.on_recovered(&mut self.window, ack);
    }
}
