//! Undoing of reductions: signs that retransmitted data had not been lost, and F-RTO, which looks for them after a timeout (RFC 5682).

use bloatlab_cc::{Ack, Window};
use bloatlab_units::Nanos;

use crate::TcpConfig;
use crate::sender::{Sender, State};

/// What one ACK reports, in addition to what the congestion control sees.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckReport {
    /// It reports a mark.
    pub echo: bool,
    /// Number of bytes that it reports as received twice, and the end of their range (RFC 2883).
    pub duplicate: Option<(u64, u64)>,
    /// It delivers something that was sent only once, before the timer of the last timeout started.
    pub original: bool,
    /// Its SACK blocks deliver something.
    pub sacked: bool,
    /// The timestamp that it echoes.
    pub tsecr: u32,
}

/// The window before a reduction that may be undone.
#[derive(Clone, Copy, Debug)]
struct SavedWindow {
    cwnd: u64,
    ssthresh: u64,
    una: u64,
}

/// The signs collected since the last reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    enabled: bool,
    use_frto: bool,
    before: Option<SavedWindow>,
    /// Number of retransmitted segments that were not reported as duplicates; `None` before the first retransmission.
    repeated: Option<u64>,
    /// Timestamp of the first retransmission.
    first_repeat: Option<u32>,
    /// Whether F-RTO is examining a timeout.
    frto: bool,
    /// When the timer of the timeout started. What was sent before should have been acknowledged since. Linux considers everything sent before the
    /// timeout. It therefore takes a timeout for spurious that a lost retransmission caused while new data was still in flight.
    pub waited_since: Nanos,
    /// New data is sent before what was judged lost (RFC 5682 section 2.1, step 2b).
    pub sends_new: bool,
}

impl Undo {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            enabled: config.undo,
            use_frto: config.frto,
            before: None,
            repeated: None,
            first_repeat: None,
            frto: false,
            waited_since: 0,
            sends_new: false,
        }
    }

    /// Saves the window that a loss is about to reduce.
    fn begin(&mut self, window: &Window, una: u64) {
        self.forget();
        if self.enabled {
            self.before = Some(SavedWindow {
                cwnd: window.cwnd,
                ssthresh: window.ssthresh,
                una,
            });
        }
    }

    /// Discards the saved window, because another reduction follows.
    pub fn forget(&mut self) {
        self.before = None;
        self.repeated = None;
        self.first_repeat = None;
        self.frto = false;
        self.sends_new = false;
    }

    /// Handles a timeout. As in Linux, it is examined unless it ends a fast recovery.
    pub fn on_timeout(&mut self, state: State, started: Nanos) {
        self.waited_since = started;
        self.frto = self.use_frto && state != State::Recovery;
        self.sends_new = false;
    }

    /// Records a retransmission with this timestamp.
    pub fn on_repeat(&mut self, tsval: u32) {
        self.repeated = Some(self.repeated.unwrap_or(0) + 1);
        self.first_repeat.get_or_insert(tsval);
    }

    /// Counts reported duplicates (RFC 3708: a retransmission that was received twice was unnecessary).
    fn count(&mut self, signs: &AckReport, mss: u64) {
        let (Some((bytes, end)), Some(before), Some(repeated)) =
            (signs.duplicate, self.before, &mut self.repeated)
        else {
            return;
        };
        if end > before.una {
            *repeated = repeated.saturating_sub(bytes.div_ceil(mss));
        }
    }

    /// Whether all retransmissions were received twice.
    pub fn all_spurious(&self) -> bool {
        self.repeated == Some(0)
    }

    /// RFC 3522 section 3.2 (Eifel): whether the ACK responds to what was sent before the first retransmission.
    fn answers_original(&self, tsecr: u32) -> bool {
        self.first_repeat
            .is_some_and(|first| tsecr != 0 && (tsecr.wrapping_sub(first) as i32) < 0)
    }
}

impl Sender {
    /// Prepares for an undo: a loss is about to reduce the window.
    pub(crate) fn begin_undo(&mut self) {
        if self.board.any_retransmitted() {
            // The ACK of an older retransmission could be mistaken for one of the data sent before this loss.
            return self.undo.forget();
        }
        self.undo.begin(&self.window, self.una);
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
            // If nothing was retransmitted, nothing was lost.
            State::Recovery => {
                let untouched = self.undo.repeated.is_none() && self.una >= self.recover;
                original || untouched || self.undo.all_spurious()
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
