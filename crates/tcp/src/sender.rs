//! The sending half: what it knows of the connection, and its retransmission timer.

use bloatlab_cc::{Ack, CongestionControl, EcnFeedback, RateSample, Window};
use bloatlab_units::{NEVER, Nanos};

use crate::loss::{Highest, Rack};
use crate::marks::Tally;
use crate::offload::Offload;
use crate::pacing::PacingClock;
use crate::prr::Prr;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::undo::Undo;
use crate::{LossDetection, Pacing, TcpConfig};

/// What the sender is doing about congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is wrong.
    Open,
    /// The window is being reduced after an ECN echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// What a sender counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Segments with payload or FIN that left, retransmissions included.
    pub segments: u64,
    /// Payload bytes that left, retransmissions included.
    pub bytes: u64,
    /// Segments that left again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Tail-loss probes.
    pub probes: u64,
    /// Fast recoveries begun.
    pub recoveries: u64,
    /// Fast recoveries that ended, and their total length, ns.
    pub recovered: u64,
    /// See `recovered`.
    pub recovery_time: Nanos,
    /// Reductions after an ECN echo.
    pub ecn_reductions: u64,
    /// Reductions taken back, because nothing had been lost.
    pub undone: u64,
}

/// The sending half of a connection.
pub struct Sender {
    /// The window that the law steers.
    pub window: Window,
    /// RTT estimates.
    pub rtt: RttEstimator,
    /// Counters.
    pub stats: SenderStats,
    /// RTT that the last ACK gave, ns; 0 when it gave none.
    pub ack_rtt: Nanos,
    /// The last delivery-rate sample; `interval` 0 when there is none.
    pub rate: RateSample,
    pub(crate) cc: Box<dyn CongestionControl>,
    pub(crate) owns_recovery: bool,
    /// Fast paths may be taken; else every ACK and segment takes the slow one, with the same result.
    pub(crate) fast_paths: bool,
    /// Nothing is SACKed, lost, reordered, sent again, probed or marked, and the stream goes on: the next ACK may take the fast path, and segments
    /// may leave as a train. Whatever changes one of these clears it; [`Sender::update_fast_path`] sets it.
    pub(crate) fast_path: bool,
    /// Single segments matter to nobody: neither to the congestion control nor to pacing nor to offload.
    pub(crate) sends_trains: bool,
    pub(crate) una: u64,
    pub(crate) next: u64,
    /// Sequence number after the last byte that the application wrote.
    pub(crate) limit: u64,
    pub(crate) fin_wanted: bool,
    pub(crate) fin_sent: bool,
    /// Right edge of the peer's window.
    pub(crate) edge: u64,
    pub(crate) board: Scoreboard,
    pub(crate) state: State,
    pub(crate) recover: u64,
    pub(crate) recovery_began: Nanos,
    pub(crate) prr: Prr,
    pub(crate) rack: Rack,
    pub(crate) highest: Highest,
    pub(crate) use_rack: bool,
    pub(crate) use_probe: bool,
    pub(crate) pacing: PacingClock,
    pub(crate) offload: Offload,
    pub(crate) delivered: u64,
    pub(crate) delivered_at: Nanos,
    pub(crate) first_sent: Nanos,
    /// `delivered` at which the current application-limited phase is over; 0 when there is none.
    pub(crate) app_limited: u64,
    pub(crate) lost: u64,
    pub(crate) last_sent: Nanos,
    /// `next` when the window last held the sender back.
    pub(crate) limited_at: u64,
    /// Retransmission or probe timer.
    pub(crate) timer: Nanos,
    pub(crate) timer_is_probe: bool,
    pub(crate) reorder_timer: Nanos,
    pub(crate) probe_wanted: bool,
    /// `next` after the probe, and whether the probe repeated old data (RFC 8985 section 7.4).
    pub(crate) probe_end: u64,
    pub(crate) probe_repeated: bool,
    pub(crate) max_ack_delay: Nanos,
    /// Most bytes by which an ACK may open the window; 0: what it acknowledged.
    pub(crate) most: u64,
    pub(crate) feedback: EcnFeedback,
    /// The law lowers the window for marks itself.
    pub(crate) responds_to_marks: bool,
    pub(crate) tally: Tally,
    pub(crate) cwr_wanted: bool,
    pub(crate) undo: Undo,
}

impl Sender {
    pub(crate) fn new(config: &TcpConfig, cc: Box<dyn CongestionControl>) -> Self {
        let mss = u64::from(config.mss);
        let offload = Offload::new(config);
        Self {
            window: Window::new(mss, u64::from(config.initial_window)),
            rtt: RttEstimator::new(config),
            stats: SenderStats::default(),
            ack_rtt: 0,
            rate: RateSample::default(),
            owns_recovery: cc.owns_recovery(),
            fast_paths: true,
            fast_path: false,
            sends_trains: !cc.observes_sends() && config.pacing != Pacing::On,
            cc,
            una: 0,
            next: 0,
            limit: 1,
            fin_wanted: false,
            fin_sent: false,
            edge: 0,
            board: Scoreboard::default(),
            state: State::Open,
            recover: 0,
            recovery_began: 0,
            prr: Prr::new(config.recovery),
            rack: Rack::default(),
            highest: Highest::default(),
            use_rack: config.loss_detection == LossDetection::Rack,
            use_probe: config.loss_detection == LossDetection::Rack && config.tail_loss_probe,
            pacing: PacingClock::new(config),
            offload,
            delivered: 0,
            delivered_at: 0,
            first_sent: 0,
            app_limited: 0,
            lost: 0,
            last_sent: 0,
            limited_at: 0,
            timer: NEVER,
            timer_is_probe: false,
            reorder_timer: NEVER,
            probe_wanted: false,
            probe_end: 0,
            probe_repeated: false,
            max_ack_delay: config.delayed_ack.0,
            most: if config.byte_counting { 0 } else { mss },
            feedback: EcnFeedback::Off,
            responds_to_marks: false,
            tally: Tally::new(),
            cwr_wanted: false,
            undo: Undo::new(config),
        }
    }

    /// The handshake agreed on this feedback.
    pub(crate) fn agree(&mut self, feedback: EcnFeedback) {
        self.feedback = feedback;
        self.cc.on_negotiated(feedback);
        self.responds_to_marks = self.cc.responds_to_marks();
    }

    /// Whether ECE and CWR mean what RFC 3168 says.
    #[inline]
    pub(crate) fn tells_cwr(&self) -> bool {
        matches!(self.feedback, EcnFeedback::Classic | EcnFeedback::Dctcp)
    }

    /// Whether the application has never had anything to send, and has not closed.
    #[inline]
    pub(crate) fn has_never_written(&self) -> bool {
        self.limit == 1 && !self.fin_wanted
    }

    /// What the sender is doing about congestion.
    pub fn state(&self) -> State {
        self.state
    }

    /// Bytes in flight: sent, neither delivered nor judged lost (RFC 6675's pipe).
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.board.pipe
    }

    /// Bytes delivered, by ACK or SACK.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// First sequence number not acknowledged (the SYN's is 0, the first byte's 1).
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// An ACK-less event as the laws see it.
    pub(crate) fn snapshot(&self, now: Nanos) -> Ack {
        Ack {
            now,
            delivered: self.delivered,
            lost: self.lost,
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min,
            prior_in_flight: self.board.pipe,
            in_flight: self.board.pipe,
            una: self.una,
            next: self.next,
            in_recovery: self.state != State::Open,
            ..Ack::default()
        }
    }

    /// RFC 6298 section 5.3 and RFC 8985 section 7.2: (re)start the timer, as a probe where one is allowed.
    #[inline(always)]
    pub(crate) fn arm_timer(&mut self, now: Nanos) {
        let rto = self.rtt.rto();
        self.timer_is_probe = self.use_probe
            && self.state == State::Open
            && self.board.sacked == 0
            && self.probe_end == 0
            && self.rtt.srtt > 0;
        let wait = if self.timer_is_probe {
            let extra = if self.board.len() == 1 {
                self.max_ack_delay
            } else {
                0
            };
            (2 * self.rtt.srtt + extra).min(rto)
        } else {
            rto
        };
        self.timer = now + wait;
    }
}
