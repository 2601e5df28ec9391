//! Undoing of reductions: signs that retransmitted data had not been lost, and F-RTO, which looks for them after a timeout (RFC 5682).

use bloatlab_cc::Window;
use bloatlab_units::Nanos;

use crate::TcpConfig;
use crate::state::State;

/// What an ACK reports as received twice (RFC 2883).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Duplicate {
    pub bytes: u64,
    /// End of its range.
    pub end: u64,
    /// A retransmission may be the cause: it was sent again, or is so old that this is not known, as in Linux.
    pub of_repeat: bool,
}

/// What one ACK reports, in addition to what the congestion control sees.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckReport {
    /// It reports a mark.
    pub echo: bool,
    pub duplicate: Option<Duplicate>,
    /// It delivers something that was sent only once, before the timer of the last timeout started.
    pub original: bool,
    /// Its SACK blocks deliver something.
    pub sacked: bool,
    /// The timestamp that it echoes.
    pub tsecr: u32,
}

/// The window before a reduction that may be undone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedWindow {
    pub cwnd: u64,
    pub ssthresh: u64,
    pub una: u64,
}

/// The signs collected since the last reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    pub enabled: bool,
    pub use_frto: bool,
    pub before: Option<SavedWindow>,
    /// Number of retransmitted segments that were not reported as duplicates, with those that were outstanding at the reduction; `None` before the
    /// first retransmission.
    pub repeated: Option<u64>,
    /// Timestamp of the oldest retransmission that may still be answered.
    pub first_repeat: Option<u32>,
    /// Whether F-RTO is examining a timeout.
    pub frto: bool,
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

    /// Saves the window that a loss is about to reduce, while this many retransmissions are outstanding.
    pub fn begin(&mut self, window: &Window, una: u64, outstanding: u64) {
        self.forget();
        self.repeated = (outstanding > 0).then_some(outstanding);
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
    pub fn count(&mut self, signs: &AckReport, mss: u64) {
        let (Some(duplicate), Some(before), Some(repeated)) =
            (signs.duplicate, self.before, &mut self.repeated)
        else {
            return;
        };
        if duplicate.of_repeat && duplicate.end > before.una {
            *repeated = repeated.saturating_sub(duplicate.bytes.div_ceil(mss));
        }
    }

    /// Whether all retransmissions were received twice.
    pub fn all_spurious(&self) -> bool {
        self.repeated == Some(0)
    }

    /// RFC 3522 section 3.2 (Eifel): whether the ACK responds to what was sent before the first retransmission.
    pub fn answers_original(&self, tsecr: u32) -> bool {
        self.first_repeat
            .is_some_and(|first| tsecr != 0 && (tsecr.wrapping_sub(first) as i32) < 0)
    }
}
