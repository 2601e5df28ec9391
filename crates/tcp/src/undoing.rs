//! When a sender undoes a reduction.

use bloatlab_cc::Ack;

use crate::sender::Sender;
use crate::state::State;
use crate::undo::AckReport;

impl Sender {
    /// Prepares for an undo: a loss is about to reduce the window.
    pub(crate) fn begin_undo(&mut self) {
        if !self.board.any_retransmitted() {
            self.undo.first_repeat = None;
        }
        // As in Linux, with a tail loss probe that is not answered.
        let probes = u64::from(self.probe_end != 0 && self.probe_repeated);
        let outstanding = self.board.retransmissions() + probes;
        self.undo.begin(&self.window, self.una, outstanding);
    }

    /// Undoes the last reduction if this ACK shows that it was unnecessary. What the ACK made look lost is then not lost.
    #[inline]
    pub(crate) fn look_for_undo(&mut self, ack: &mut Ack, signs: &AckReport) {
        self.undo.sends_new = false;
        if self.undo.before.is_some() || self.undo.frto {
            self.examine(ack, signs);
        }
    }

    #[cold]
    fn examine(&mut self, ack: &mut Ack, signs: &AckReport) {
        self.undo.count(signs, self.window.mss);
        let original = ack.acked > 0 && self.undo.answers_original(signs.tsecr);
        let spurious = match self.state {
            State::Cwr => false,
            State::Open => self.undo.all_spurious(),
            State::Recovery => {
                // If nothing was retransmitted, nothing was lost.
                let untouched = ack.acked > 0 && self.undo.first_repeat.is_none();
                let waits = (original || untouched)
                    && self.una < self.recover
                    && self.board.retransmissions() > 0;
                // As in Linux: until the answers to retransmissions are known, new data is sent instead of what looks lost.
                self.undo.sends_new = waits;
                ((original || untouched) && !waits) || self.undo.all_spurious()
            }
            State::Loss => original || (ack.acked > 0 && self.undo.all_spurious()),
        };
        if spurious && self.undo.before.is_some() {
            self.undo_reduction(ack);
        } else if self.state == State::Loss && self.undo.frto {
            self.frto(ack, signs);
        }
    }

    /// RFC 5682 section 3.1, with SACK, as in Linux.
    fn frto(&mut self, ack: &mut Ack, signs: &AckReport) {
        if signs.original && self.undo.before.is_some() {
            // Step 3b: data that was never retransmitted arrives, so the timeout was spurious.
            self.undo_reduction(ack);
        } else if self.next > self.recover {
            // Step 3a: new data arrived, but the old data did not.
            self.undo.frto &= !signs.sacked;
        } else if ack.acked > 0 && self.una < self.recover {
            // Step 2b: send two new segments, if there are any, instead of what may not be lost.
            let fresh = self.next < self.limit && self.next < self.edge;
            self.recover = self.next;
            self.undo.frto = fresh;
            self.undo.sends_new = fresh;
        }
    }

    /// RFC 4015 sections 3.2 and 3.3, as in Linux: restores the window. What was judged lost and not retransmitted is in flight again.
    fn undo_reduction(&mut self, ack: &mut Ack) {
        let Some(before) = self.undo.before else {
            return;
        };
        self.stats.undone += 1;
        self.undo.forget();
        self.board.undo_losses();
        ack.lost_now = 0;
        ack.in_flight = self.board.pipe;
        self.rack.judge_again(self.una);
        self.highest.judge_again(self.una);
        self.cwr_wanted = false;
        if self.state != State::Open {
            self.end_recovery(ack);
        }
        if !self.owns_recovery {
            self.window.cwnd = self.window.cwnd.max(before.cwnd);
            self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
        }
        self.cc.on_undo(&mut self.window, ack);
    }
}
