//! Reductions taken back: signs that what was sent again had not been lost, and F-RTO, which looks for them after a timeout (RFC 5682).

use bloatlab_cc::{Ack, Window};
use bloatlab_units::Nanos;

use crate::TcpConfig;
use crate::sender::{Sender, State};

/// What one ACK says, besides what the laws are told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signs {
    /// It tells of a mark.
    pub echo: bool,
    /// Bytes that it reports as come twice, and the end of their range (RFC 2883).
    pub duplicate: Option<(u64, u64)>,
    /// It delivers something that was sent only once, and whose ACK the timeout has waited for.
    pub original: bool,
    /// Its SACK blocks deliver something.
    pub sacked: bool,
    /// The time stamp that it echoes.
    pub tsecr: u32,
}

/// A reduction that may yet be taken back.
#[derive(Clone, Copy, Debug)]
struct Before {
    cwnd: u64,
    ssthresh: u64,
    una: u64,
}

/// The signs gathered since the last reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    enabled: bool,
    use_frto: bool,
    before: Option<Before>,
    /// Segments sent again and not reported as duplicates; none before the first.
    repeated: Option<u64>,
    /// Time stamp of the first of them.
    first_repeat: Option<u32>,
    /// A timeout is being examined.
    frto: bool,
    /// When its timer was started: what had left by then should have been acknowledged since. Linux takes all that was sent before the timeout,
    /// and so for spurious one that a lost repetition caused while new data was still under way.
    pub waited_since: Nanos,
    /// New data goes before what counts as lost (RFC 5682 section 2.1, step 2b).
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

    /// A loss is about to reduce this window.
    fn begin(&mut self, window: &Window, una: u64) {
        self.forget();
        if self.enabled {
            self.before = Some(Before {
                cwnd: window.cwnd,
                ssthresh: window.ssthresh,
                una,
            });
        }
    }

    /// What was before is past: a reduction for another reason.
    pub fn forget(&mut self) {
        self.before = None;
        self.repeated = None;
        self.first_repeat = None;
        self.frto = false;
        self.sends_new = false;
    }

    /// A timeout fires; Linux examines it unless it ends a fast recovery.
    pub fn on_timeout(&mut self, state: State, started: Nanos) {
        self.waited_since = started;
        self.frto = self.use_frto && state != State::Recovery;
        self.sends_new = false;
    }

    /// A segment leaves again, with this time stamp.
    pub fn on_repeat(&mut self, tsval: u32) {
        self.repeated = Some(self.repeated.unwrap_or(0) + 1);
        self.first_repeat.get_or_insert(tsval);
    }

    /// Counts the duplicates reported (RFC 3708: each repetition that came twice was needless).
    fn count(&mut self, signs: &Signs, mss: u64) {
        let (Some((bytes, end)), Some(before), Some(repeated)) =
            (signs.duplicate, self.before, &mut self.repeated)
        else {
            return;
        };
        if end > before.una {
            *repeated = repeated.saturating_sub(bytes.div_ceil(mss));
        }
    }

    /// Every repetition came twice.
    pub fn all_needless(&self) -> bool {
        self.repeated == Some(0)
    }

    /// RFC 3522 section 3.2 (Eifel): the ACK answers what was sent before the first repetition.
    fn answers_original(&self, tsecr: u32) -> bool {
        self.first_repeat
            .is_some_and(|first| tsecr != 0 && (tsecr.wrapping_sub(first) as i32) < 0)
    }
}

impl Sender {
    /// A loss is about to reduce the window.
    pub(crate) fn begin_undo(&mut self) {
        if self.board.repeats() {
            // The answer to an older repetition would pass for one to what was sent before this loss.
            return self.undo.forget();
        }
        self.undo.begin(&self.window, self.una);
    }

    /// Takes the last reduction back if this ACK shows that it was needless; what the ACK made look lost is then not.
    #[inline]
    pub(crate) fn look_for_undo(&mut self, ack: &mut Ack, signs: &Signs) {
        self.undo.sends_new = false;
        if self.undo.before.is_some() || self.undo.frto {
            self.examine(ack, signs);
        }
    }

    #[cold]
    fn examine(&mut self, ack: &mut Ack, signs: &Signs) {
        self.undo.count(signs, self.window.mss);
        let original = ack.acked > 0 && self.undo.answers_original(signs.tsecr);
        let needless = match self.state {
            State::Cwr => false,
            State::Open => self.undo.all_needless(),
            // What nothing was sent again for was not lost either.
            State::Recovery => {
                let untouched = self.undo.repeated.is_none() && self.una >= self.recover;
                original || untouched || self.undo.all_needless()
            }
            State::Loss => original || (ack.acked > 0 && self.undo.all_needless()),
        };
        if needless && self.undo.before.is_some() {
            self.take_back(ack);
        } else if self.state == State::Loss && self.undo.frto {
            self.frto(ack, signs);
        }
    }

    /// RFC 5682 section 3.1, with SACK, as in Linux.
    fn frto(&mut self, ack: &mut Ack, signs: &Signs) {
        if signs.original && self.undo.before.is_some() {
            // Step 3b: what was never sent again arrives: the timeout was spurious.
            self.take_back(ack);
        } else if self.next > self.recover {
            // Step 3a: the new data came, and the old did not.
            self.undo.frto &= !signs.sacked;
        } else if ack.acked > 0 && self.una < self.recover {
            // Step 2b: two new segments, if there are any, instead of what may not be lost.
            let fresh = self.next < self.limit && self.next < self.edge;
            self.recover = self.next;
            self.undo.frto = fresh;
            self.undo.sends_new = fresh;
        }
    }

    /// RFC 4015 sections 3.2 and 3.3, as in Linux: the window is as before, and nothing counts as lost that was not sent again.
    fn take_back(&mut self, ack: &mut Ack) {
        let Some(before) = self.undo.before else {
            return;
        };
        self.stats.undone += 1;
        self.undo.forget();
        self.board.take_back_losses();
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
