//! Congestion controls, one file per algorithm. They do no I/O: an algorithm reads what an ACK reported and sets the [`Window`].

#[macro_use]
mod registry;
pub mod ack_aggregation;
pub mod base_delay;
mod constant;
pub mod delayed_ack;
pub mod elsewhere;
mod feedback;
pub mod growth;
pub mod jiffies;
pub mod mark_share;
pub mod recent_min;
pub mod round_rtt;
pub mod slow_start;
pub mod windowed_max;

use bloatlab_units::Nanos;

pub use bloatlab_params::{Description, Parameter};
pub use elsewhere::Elsewhere;
pub use feedback::EcnFeedback;
pub use registry::{Factory, PythonParams};

// The congestion controls: one line each, `Variant(file) = "name"`.
registry! {
    Reno(reno) = "reno",
    Newreno(newreno) = "newreno",
    Cubic(cubic) = "cubic",
    Bbr(bbr) = "bbr",
    Vegas(vegas) = "vegas",
    Westwood(westwood) = "westwood",
    Illinois(illinois) = "illinois",
    Veno(veno) = "veno",
    Yeah(yeah) = "yeah",
    Cdg(cdg) = "cdg",
    Lp(lp) = "lp",
    Ledbat(ledbat) = "ledbat",
    LedbatPlusPlus(ledbat_plus_plus) = "ledbat++",
    Nice(nice) = "nice",
    Dctcp(dctcp) = "dctcp",
    Prague(prague) = "prague",
    Scalable(scalable) = "scalable",
    Highspeed(highspeed) = "highspeed",
    Bic(bic) = "bic",
    Htcp(htcp) = "htcp",
    Hybla(hybla) = "hybla",
    Bbr3(bbr3) = "bbr3",
    Compound(compound) = "compound",
    Copa(copa) = "copa",
    Vivace(vivace) = "vivace",
    Fixed(fixed) = "fixed",
    FixedRate(fixed_rate) = "fixed_rate",
}

/// The slow-start threshold of a connection whose window was never reduced.
const NO_THRESHOLD: u64 = u64::MAX / 4;

/// What a congestion control sets, in bytes. The TCP sender reads it after every call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, bytes. At least one MSS.
    pub cwnd: u64,
    /// Slow-start threshold, bytes.
    pub ssthresh: u64,
    /// Sender's maximum segment size, bytes of payload.
    pub mss: u64,
    /// Initial window, bytes (RFC 6928: 10 MSS).
    pub initial: u64,
    /// Pacing rate in bytes per second; 0 if the congestion control does not pace.
    pub pacing: u64,
    /// Bytes that pacing may release in one burst, for hosts that hand over several segments at once. Below two segments, every segment waits for its
    /// own time.
    pub quantum: u64,
}

impl Window {
    /// The window of a new connection.
    pub fn new(mss: u64, initial_segments: u64) -> Self {
        Self {
            cwnd: mss * initial_segments,
            ssthresh: NO_THRESHOLD,
            mss,
            initial: mss * initial_segments,
            pacing: 0,
            quantum: 0,
        }
    }

    /// Whether the window has never been reduced.
    pub fn has_no_threshold(&self) -> bool {
        self.ssthresh == NO_THRESHOLD
    }

    /// Whether the window is below the slow-start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation). If `interval` is 0, there is no sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered over the interval.
    pub delivered: u64,
    /// The longer of the send interval and the ACK interval, ns.
    pub interval: Nanos,
    /// The connection's `delivered` count when the newest packet of this sample was sent.
    pub prior_delivered: u64,
    /// The sender had nothing to send at some time in the interval.
    pub app_limited: bool,
}

/// What one ACK reported to the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// When the ACK arrived.
    pub now: Nanos,
    /// Bytes newly acknowledged in sequence.
    pub acked: u64,
    /// Bytes newly delivered: acknowledged in sequence or by SACK, each byte counted once.
    pub delivered_now: u64,
    /// The most bytes by which this ACK may grow the window (RFC 3465's L); 0: as many as it acknowledged.
    pub most: u64,
    /// Bytes delivered since the connection began.
    pub delivered: u64,
    /// Bytes newly marked lost by this ACK.
    pub lost_now: u64,
    /// Bytes lost since the connection began.
    pub lost: u64,
    /// RTT sample of this ACK, ns; 0 when there is none.
    pub rtt: Nanos,
    /// One-way delay from sender to receiver, from the timestamps (RFC 7323), ns. It includes the delay of a delayed ACK. 0 when there is none.
    pub one_way: Nanos,
    /// Smoothed RTT, ns (RFC 6298).
    pub srtt: Nanos,
    /// Smallest RTT of the connection so far, ns.
    pub min_rtt: Nanos,
    /// Bytes in flight before this ACK was processed.
    pub prior_in_flight: u64,
    /// Bytes in flight after this ACK was processed (RFC 6675's pipe).
    pub in_flight: u64,
    /// Stream offset up to which everything is acknowledged.
    pub una: u64,
    /// Stream offset of the next new byte to send.
    pub next: u64,
    /// In the last round trip the window limited the sender, not the application or the receiver.
    pub cwnd_limited: bool,
    /// The sender is in loss recovery.
    pub in_recovery: bool,
    /// Data beyond a hole is acknowledged, and no loss is being repaired: segments may have overtaken others (Linux's state Disorder).
    /// [`CongestionControl::observe`] sees the state before this ACK.
    pub disordered: bool,
    /// The ACK reported a mark: an ECN echo (RFC 3168), or counters that increased (RFC 9768).
    pub ecn_echo: bool,
    /// Payload bytes that this ACK newly reports as marked. With the feedback of DCTCP and AccECN the number is exact. Otherwise it is all that the
    /// ACK delivers, if the ACK carries an echo.
    pub marked_now: u64,
    /// The delivery-rate sample.
    pub rate: RateSample,
}

impl Ack {
    /// Bytes by which this ACK may grow the window.
    #[inline]
    pub fn credit(&self) -> u64 {
        // Bytes that earlier SACKs delivered do not grow the window again.
        if self.most > 0 {
            self.delivered_now.min(self.most)
        } else {
            self.delivered_now
        }
    }
}

/// Why a sender entered recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A segment was detected as lost by duplicate ACKs, SACK or RACK.
    Loss,
    /// An ECN echo.
    Ecn,
    /// The retransmission timer fired.
    Timeout,
}

/// A congestion control.
///
/// `on_ack` runs on every ACK outside recovery that delivers something. A congestion control that [owns recovery](Self::owns_recovery) also gets the
/// ACKs in recovery, and its `cwnd` is used there. For all others the sender itself reduces the window to `ssthresh` (by PRR or at once).
pub trait CongestionControl: Send {
    /// The connection is established.
    fn on_start(&mut self, _window: &mut Window, _now: Nanos) {}

    /// The duration of the handshake, which is the first RTT sample. Called right after `on_start`, unless a SYN was retransmitted.
    fn on_handshake(&mut self, _window: &mut Window, _rtt: Nanos) {}

    /// An ACK arrived while data were outstanding, in any state of the sender. `on_congestion` and `on_ack` may follow. For congestion controls that
    /// measure at all times.
    fn observe(&mut self, _window: &Window, _ack: &Ack) {}

    /// An ACK delivered data.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Congestion was signalled, at most once per round trip. Must set `window.ssthresh`, and not `cwnd`.
    fn on_congestion(&mut self, window: &mut Window, signal: Signal, ack: &Ack);

    /// Recovery has ended. `cwnd` already equals `ssthresh`, unless the congestion control owns recovery.
    fn on_recovered(&mut self, _window: &mut Window, _ack: &Ack) {}

    /// The retransmission timer fired, and `cwnd` is one MSS. Before the first of several timeouts, `on_congestion` is called with
    /// [`Signal::Timeout`].
    fn on_timeout(&mut self, _window: &mut Window, _now: Nanos) {}

    /// The last reduction was unnecessary and is undone. `cwnd` and `ssthresh` are at least what they were before it, unless the congestion control
    /// owns recovery. If recovery was still in progress, `on_recovered` was called just before.
    fn on_undo(&mut self, _window: &mut Window, _ack: &Ack) {}

    /// Sending resumes after an idle period longer than the RTO.
    fn on_idle_restart(&mut self, _window: &mut Window, _now: Nanos, _idle: Nanos) {}

    /// Whether [`on_send`](Self::on_send) does anything. Asked once. If it returns false, the sender does not call `on_send` and may send several
    /// segments in one step.
    fn observes_sends(&self) -> bool {
        false
    }

    /// A segment is sent; `in_flight` includes it. Called only if [`observes_sends`](Self::observes_sends) returns true.
    fn on_send(&mut self, _window: &mut Window, _now: Nanos, _in_flight: u64, _app_limited: bool) {}

    /// The ECN feedback that the congestion control needs. It is negotiated whether or not the user asked for ECN. Every packet of the connection is
    /// then ECN-capable, including SYN, ACK and retransmissions (RFC 8257 section 3.5, RFC 8311 section 4.3).
    fn needs_ecn(&self) -> EcnFeedback {
        EcnFeedback::Off
    }

    /// Whether the congestion control is scalable in the sense of RFC 9331. Its packets then carry ECT(1), if the feedback it needs was negotiated.
    fn is_l4s(&self) -> bool {
        false
    }

    /// The handshake negotiated this feedback. `on_start` follows.
    fn on_negotiated(&mut self, _feedback: EcnFeedback) {}

    /// Whether the congestion control itself lowers `cwnd` for marks, in `on_ack`. Otherwise a mark calls `on_congestion` and reduces the window as a
    /// loss does. Asked once, after the handshake.
    fn responds_to_marks(&self) -> bool {
        false
    }

    /// Whether the congestion control itself sets `cwnd` during recovery (BBR).
    fn owns_recovery(&self) -> bool {
        false
    }

    /// Number of windows for which a send buffer that grows has memory (Linux).
    fn send_buffer_windows(&self) -> u64 {
        2
    }

    /// Internal state for probes, as (name, value).
    fn state(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
