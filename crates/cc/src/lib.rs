//! Congestion controls, one file an algorithm. Sans-IO: a law sees what an ACK said and writes the [`Window`].

#[macro_use]
mod registry;
pub mod ack_aggregation;
pub mod base_delay;
pub mod delayed_ack;
mod feedback;
pub mod growth;
pub mod mark_share;
pub mod recent_min;
pub mod round_rtt;
pub mod slow_start;
pub mod windowed_max;

use bloatlab_units::Nanos;

pub use bloatlab_params::{Description, Parameter};
pub use feedback::EcnFeedback;
pub use registry::{Law, PythonParams};

// The laws: one line each, `Variant(file) = "name"`.
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

/// What a law steers. All in bytes; the TCP sender reads it after every call.
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
    /// Pacing rate in bytes per second; 0 when the law does not pace.
    pub pacing: u64,
    /// Bytes that pacing may let go together, where the host hands over several segments at once; below two segments each waits for its own time.
    pub quantum: u64,
}

impl Window {
    /// The window of a new connection.
    pub fn new(mss: u64, initial_segments: u64) -> Self {
        Self {
            cwnd: mss * initial_segments,
            ssthresh: u64::MAX / 4,
            mss,
            initial: mss * initial_segments,
            pacing: 0,
            quantum: 0,
        }
    }

    /// Below the slow-start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation). `interval` 0 means: no sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered over the interval.
    pub delivered: u64,
    /// The longer of the send and the ACK interval, ns.
    pub interval: Nanos,
    /// The connection's `delivered` count when the newest packet of this sample was sent.
    pub prior_delivered: u64,
    /// The sender had nothing to send at some point of the interval.
    pub app_limited: bool,
}

/// What one ACK told the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The instant.
    pub now: Nanos,
    /// Bytes newly acknowledged in sequence.
    pub acked: u64,
    /// Bytes newly delivered: acknowledged in sequence or by SACK, each counted once.
    pub delivered_now: u64,
    /// Most bytes by which it may open the window (RFC 3465's L); 0: what it acknowledged.
    pub most: u64,
    /// Bytes delivered since the connection began.
    pub delivered: u64,
    /// Bytes newly marked lost by this ACK.
    pub lost_now: u64,
    /// Bytes lost since the connection began.
    pub lost: u64,
    /// RTT sample of this ACK, ns; 0 when there is none.
    pub rtt: Nanos,
    /// One-way delay from sender to receiver that the timestamps give (RFC 7323), ns, a delayed ACK's wait included; 0 when there is none.
    pub one_way: Nanos,
    /// Smoothed RTT, ns (RFC 6298).
    pub srtt: Nanos,
    /// Smallest RTT of the connection so far, ns.
    pub min_rtt: Nanos,
    /// Bytes in flight before this ACK was processed.
    pub prior_in_flight: u64,
    /// Bytes in flight after it (RFC 6675's pipe).
    pub in_flight: u64,
    /// Stream offset up to which everything is acknowledged.
    pub una: u64,
    /// Stream offset of the next new byte to send.
    pub next: u64,
    /// The window, not the application or the receiver, limited the sender in the last round trip.
    pub cwnd_limited: bool,
    /// The sender is in loss recovery.
    pub in_recovery: bool,
    /// The ACK told of a mark: an ECN echo (RFC 3168), or counters that went up (RFC 9768).
    pub ecn_echo: bool,
    /// Payload bytes that this ACK newly says came marked: exact with the feedback of DCTCP and AccECN; else all that it delivers, if it carries an echo.
    pub marked_now: u64,
    /// The delivery-rate sample.
    pub rate: RateSample,
}

impl Ack {
    /// Bytes by which it may open the window.
    #[inline]
    pub fn credit(&self) -> u64 {
        // What SACKs delivered before this ACK opened no window then and must not now.
        let acked = self.acked.min(self.delivered_now);
        if self.most > 0 {
            acked.min(self.most)
        } else {
            acked
        }
    }
}

/// What made a sender enter recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A segment was found lost by duplicate ACKs, SACK or RACK.
    Loss,
    /// An ECN echo.
    Ecn,
    /// The retransmission timer fired.
    Timeout,
}

/// A congestion control.
///
/// `on_ack` runs on every ACK that delivers something, outside recovery; a law that [owns recovery](Self::owns_recovery) gets it in recovery as
/// well and its `cwnd` stands there; for every other law the sender reduces the window itself (PRR or at once) to `ssthresh`.
pub trait CongestionControl: Send {
    /// The connection is established.
    fn on_start(&mut self, _window: &mut Window, _now: Nanos) {}

    /// How long the handshake took, the first RTT sample; right after `on_start`, unless a SYN was repeated.
    fn on_handshake(&mut self, _window: &mut Window, _rtt: Nanos) {}

    /// An ACK came while data were outstanding, whatever the sender is doing; `on_congestion` and `on_ack` may follow. For laws that measure at all
    /// times.
    fn observe(&mut self, _window: &Window, _ack: &Ack) {}

    /// An ACK delivered data.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Congestion was signalled, at most once a round trip: set `window.ssthresh` (and not `cwnd`).
    fn on_congestion(&mut self, window: &mut Window, signal: Signal, ack: &Ack);

    /// Recovery is over; `cwnd` already is `ssthresh` unless the law owns recovery.
    fn on_recovered(&mut self, _window: &mut Window, _ack: &Ack) {}

    /// The retransmission timer fired; `on_congestion` with [`Signal::Timeout`] came just before (only at the first of a series); `cwnd` is one MSS.
    fn on_timeout(&mut self, _window: &mut Window, _now: Nanos) {}

    /// The last reduction was needless and is taken back: `cwnd` and `ssthresh` are at least what they were before it, unless the law owns recovery;
    /// `on_recovered` came just before if the recovery still went on.
    fn on_undo(&mut self, _window: &mut Window, _ack: &Ack) {}

    /// Sending resumes after an idle period longer than the RTO.
    fn on_idle_restart(&mut self, _window: &mut Window, _now: Nanos, _idle: Nanos) {}

    /// Whether [`on_send`](Self::on_send) does anything; asked once. A sender calls it only then, and may let several segments leave in one step
    /// otherwise.
    fn heeds_sends(&self) -> bool {
        false
    }

    /// A segment leaves; `in_flight` includes it. Called only if [`heeds_sends`](Self::heeds_sends).
    fn on_send(&mut self, _window: &mut Window, _now: Nanos, _in_flight: u64, _app_limited: bool) {}

    /// The ECN feedback that the law needs; it is negotiated whether the user asked for ECN or not, and then every packet of the connection is
    /// ECN-capable, also SYN, ACK and retransmission (RFC 8257 section 3.5, RFC 8311 section 4.3).
    fn needs_ecn(&self) -> EcnFeedback {
        EcnFeedback::Off
    }

    /// The law is scalable in the sense of RFC 9331: its packets say ECT(1), if the feedback it needs was agreed on.
    fn is_l4s(&self) -> bool {
        false
    }

    /// The handshake agreed on this feedback; `on_start` follows.
    fn on_negotiated(&mut self, _feedback: EcnFeedback) {}

    /// True for laws that lower `cwnd` for marks themselves, in `on_ack`; else a mark is an `on_congestion` and a reduction like a loss's. Asked once,
    /// after the handshake.
    fn answers_marks(&self) -> bool {
        false
    }

    /// True for laws that set `cwnd` themselves during recovery (BBR).
    fn owns_recovery(&self) -> bool {
        false
    }

    /// What the law evolved, for probes: (name, value).
    fn state(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
