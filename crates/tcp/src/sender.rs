//! The sending half of a connection: its state and its retransmission timer.

use bloatlab_cc::{Ack, CongestionControl, EcnFeedback, RateSample, Window};
use bloatlab_units::{NEVER, Nanos};

use crate::marks::CounterReader;
use crate::offload::Offload;
use crate::pacing::PacingClock;
use crate::prr::Prr;
use crate::push::Push;
use crate::rack::{Highest, Rack};
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::send_buffer::SendBuffer;
use crate::state::State;
use crate::undo::Undo;
use crate::{LossDetection, Pacing, TcpConfig};

/// The counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Segments with payload or FIN that were sent, including retransmissions.
    pub segments: u64,
    /// Payload bytes that were sent, including retransmissions.
    pub bytes: u64,
    /// Segments that were retransmitted.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Tail-loss probes.
    pub probes: u64,
    /// Number of fast recoveries that began.
    pub recoveries: u64,
    /// Number of fast recoveries that ended, and their total duration, ns.
    pub recovered: u64,
    /// See `recovered`.
    pub recovery_time: Nanos,
    /// Reductions after an ECN echo.
    pub ecn_reductions: u64,
    /// Reductions that were undone because nothing had been lost.
    pub undone: u64,
}

/// The sending half of a connection.
pub struct Sender {
    /// The window that the congestion control sets.
    pub window: Window,
    /// RTT estimates.
    pub rtt: RttEstimator,
    /// Counters.
    pub stats: SenderStats,
    /// RTT sample of the last ACK, ns; 0 if it had none.
    pub ack_rtt: Nanos,
    /// The last delivery-rate sample. `interval` is 0 if there is none.
    pub rate: RateSample,
    pub(crate) cc: Box<dyn CongestionControl>,
    pub(crate) owns_recovery: bool,
    /// Whether fast paths may be taken. Otherwise every ACK and segment takes the slow path, with the same result.
    pub(crate) fast_paths: bool,
    /// Nothing is SACKed, lost, reordered, retransmitted, probed or marked, and the stream has not ended. The next ACK may then take the fast path,
    /// and segments may leave as a train. Whatever changes one of these conditions clears it; [`Sender::update_fast_path`] sets it.
    pub(crate) fast_path: bool,
    /// The congestion control, pacing and offload all ignore single segments.
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
    /// Number of segments that were reported as received twice.
    pub(crate) duplicates: u64,
    /// What the last ACK said of [`Ack::disordered`](bloatlab_cc::Ack::disordered).
    pub(crate) disordered: bool,
    pub(crate) recover: u64,
    pub(crate) recovery_began: Nanos,
    pub(crate) prr: Prr,
    pub(crate) rack: Rack,
    pub(crate) highest: Highest,
    pub(crate) use_rack: bool,
    pub(crate) limited_transmit: bool,
    pub(crate) use_probe: bool,
    pub(crate) pacing: PacingClock,
    pub(crate) offload: Offload,
    pub(crate) delivered: u64,
    pub(crate) delivered_at: Nanos,
    pub(crate) first_sent: Nanos,
    /// Value of `delivered` at which the current application-limited phase ends; 0 if there is none.
    pub(crate) app_limited: u64,
    pub(crate) lost: u64,
    pub(crate) last_sent: Nanos,
    /// `next` when the window last limited the sender.
    pub(crate) limited_at: u64,
    /// Retransmission or probe timer.
    pub(crate) timer: Nanos,
    pub(crate) timer_is_probe: bool,
    pub(crate) reorder_timer: Nanos,
    pub(crate) probe_wanted: bool,
    /// `next` after the probe, and whether the probe retransmitted old data (RFC 8985 section 7.4).
    pub(crate) probe_end: u64,
    pub(crate) probe_repeated: bool,
    /// The longest delay of an ACK that the probe timer allows for, and the tick of the host's timers; 0: exact.
    pub(crate) max_ack_delay: Nanos,
    pub(crate) tick: Nanos,
    /// The most bytes by which an ACK may grow the window; 0: as many as it acknowledged.
    pub(crate) most: u64,
    pub(crate) feedback: EcnFeedback,
    /// The congestion control itself lowers the window for marks.
    pub(crate) responds_to_marks: bool,
    pub(crate) counter_reader: CounterReader,
    pub(crate) cwr_wanted: bool,
    pub(crate) undo: Undo,
    pub(crate) push: Push,
    pub(crate) send_buffer: SendBuffer,
}

impl Sender {
    pub(crate) fn new(config: &TcpConfig, cc: Box<dyn CongestionControl>) -> Self {
        let mss = u64::from(config.mss);
        let offload = Offload::new(config);
        let send_buffer = SendBuffer::new(config, cc.send_buffer_windows());
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
            duplicates: 0,
            disordered: false,
            recover: 0,
            recovery_began: 0,
            prr: Prr::new(config.recovery),
            rack: Rack::default(),
            highest: Highest::default(),
            use_rack: config.loss_detection == LossDetection::Rack,
            limited_transmit: config.limited_transmit,
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
            // Linux allows for the smallest timeout.
            max_ack_delay: match config.ack_tick.0 {
                0 => config.delayed_ack.0,
                _ => config.min_rto.0,
            },
            tick: config.ack_tick.0,
            most: if config.byte_counting { 0 } else { mss },
            feedback: EcnFeedback::Off,
            responds_to_marks: false,
            counter_reader: CounterReader::new(),
            cwr_wanted: false,
            push: Push::default(),
            send_buffer,
            undo: Undo::new(config),
        }
    }

    /// The handshake negotiated this feedback.
    pub(crate) fn agree(&mut self, feedback: EcnFeedback) {
        self.feedback = feedback;
        self.cc.on_negotiated(feedback);
        self.responds_to_marks = self.cc.responds_to_marks();
    }

    /// Whether ECE and CWR have the meaning of RFC 3168.
    #[inline]
    pub(crate) fn uses_cwr(&self) -> bool {
        matches!(self.feedback, EcnFeedback::Classic | EcnFeedback::Dctcp)
    }

    /// Whether the application has never written and has not closed.
    #[inline]
    pub(crate) fn has_never_written(&self) -> bool {
        self.limit == 1 && !self.fin_wanted
    }

    /// The congestion state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Bytes in flight: sent, not delivered and not judged lost (RFC 6675's pipe).
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.board.pipe
    }

    /// Bytes delivered by ACK or SACK.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// First sequence number that is not acknowledged. The SYN has 0, the first byte has 1.
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The connection's state in the form of an ACK, for events without one.
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
            disordered: self.disordered,
            ..Ack::default()
        }
    }

    /// Bytes that take up the window. Without limited transmit, those that SACK reported do so until recovery begins.
    #[inline]
    pub(crate) fn in_window(&self) -> u64 {
        if self.limited_transmit || self.state != State::Open {
            self.board.pipe
        } else {
            self.board.pipe + u64::from(self.board.sacked) * self.window.mss
        }
    }
}
