//! What a user sets on a TCP connection.

use bloatlab_cc::EcnFeedback;
use bloatlab_units::{Bytes, Duration, MILLISECOND, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a sender finds out that a segment is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossDetection {
    /// RACK-TLP (RFC 8985): time since a later segment was delivered.
    #[default]
    Rack,
    /// Three duplicate ACKs or SACKed segments above (RFC 6675).
    Dupack,
}

/// How the window falls to `ssthresh` in recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// Proportional rate reduction (RFC 6937).
    #[default]
    #[serde(alias = "TcpPrrRecovery")]
    Prr,
    /// At once; the pipe is refilled as it drains (RFC 6675).
    #[serde(alias = "TcpClassicRecovery")]
    Classic,
}

/// When segments are spaced out instead of sent back to back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// If the congestion control asks for it (BBR).
    #[default]
    Auto,
    /// Always; a law that names no rate gets 2 cwnd/sRTT in slow start and 1.2 cwnd/sRTT after it, as in Linux.
    On,
    /// Never.
    Off,
}

/// How the retransmission timeout follows the RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Timeout {
    /// RFC 6298: sRTT and four mean deviations, together `min_rto` at least. With a sample for every ACK deviations are forgotten within a
    /// fraction of a round trip (RFC 7323 appendix G), so that a full buffer's RTT is close to the timeout.
    Rfc6298,
    /// As Linux: sRTT and four times the largest mean deviation of the last round trip, which counts `min_rto` at least.
    #[default]
    Linux,
}

/// How much the receiver offers at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiveWindow {
    /// The whole buffer.
    #[default]
    Full,
    /// As Linux since 6.10: half of the buffer, then two segments more with each that comes, up to the share of a segment's memory that is
    /// payload (1448 B of 2408); as long as it grows, every segment is acknowledged at once.
    Growing,
}

/// A TCP connection's settings, alike at both ends. Defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TcpConfig {
    /// Maximum segment size: payload bytes of a full segment.
    #[schemars(range(min = 64, max = 65_000))]
    pub mss: u32,
    /// Segments received per ACK sent (RFC 5681 section 4.2; 1 turns delayed ACKs off).
    #[schemars(range(min = 1, max = 64))]
    pub ack_every: u32,
    /// Longest wait of a delayed ACK.
    pub delayed_ack: Duration,
    /// Segments acknowledged at once after the start, after a duplicate and after a silence of an RTO, before ACKs are delayed (Linux's
    /// quick ACKs: 16); above 0 the first CE mark and CWR hasten ACKs too.
    #[schemars(range(min = 0, max = 1000))]
    pub quick_acks: u32,
    /// Initial window in segments (RFC 6928).
    #[schemars(range(min = 1, max = 1000))]
    pub initial_window: u32,
    /// ACKs open the window by the bytes that they acknowledge, as hosts of today do (RFC 3465); else by a segment each at most, so that delayed ACKs
    /// halve its growth (RFC 5681 section 3.1; ns-2, ns-3).
    pub byte_counting: bool,
    /// Bytes the application may write ahead of the last acknowledged byte.
    pub send_buffer: Bytes,
    /// Bytes the receiver holds; bounds the advertised window.
    pub receive_buffer: Bytes,
    /// How much of that is offered at first.
    pub receive_window: ReceiveWindow,
    /// ECN and how marks are told: `false`, `true` (RFC 3168: an echo until the sender has reduced), `dctcp` (RFC 8257: the echo follows the marks
    /// exactly), `accecn` (RFC 9768: counters). `dctcp` and `prague` negotiate what they need by themselves.
    pub ecn: EcnFeedback,
    /// A repeated SYN withdraws the offer of ECN, as Linux's `tcp_ecn_fallback` (RFC 3168 section 6.1.1.1); that of `accecn` is made once more first
    /// (RFC 9768 section 3.1.4.1).
    pub ecn_fallback: bool,
    /// How the retransmission timeout follows the RTT.
    pub timeout: Timeout,
    /// Smallest retransmission timeout (1 s in RFC 6298; 200 ms in Linux), or with `timeout` `linux` how far above sRTT it lies at least.
    pub min_rto: Duration,
    /// Retransmission timeout before the first RTT sample (RFC 6298: 1 s).
    pub initial_rto: Duration,
    /// How losses are found.
    pub loss_detection: LossDetection,
    /// Tail-loss probe (RFC 8985 section 7); only with `rack`.
    pub tail_loss_probe: bool,
    /// Look for signs that a timeout was needless, sending new data before old (F-RTO, RFC 5682).
    pub frto: bool,
    /// Take a reduction back when time stamps or duplicate reports show that nothing was lost (RFC 3522, RFC 3708, RFC 4015).
    pub undo: bool,
    /// How the window falls in recovery.
    pub recovery: Reduction,
    /// Pacing.
    pub pacing: Pacing,
    /// Most segments that leave as one buffer (Linux's name): of `segmentation_offload`, and of what pacing lets go together where the law names a burst
    /// (`bbr` and `bbr3` 1 ms, `prague` 0.25 ms) or `pacing` is `on` (1 ms); 1: each waits for its own time.
    #[schemars(range(min = 1, max = 65_535))]
    pub gso_max_segs: u32,
    /// The sender hands segments over in buffers, as Linux's TSO: of what leaves in a millisecond, 64 KiB at most and as much between hosts that are less
    /// than half a millisecond apart; while it has sent within a millisecond and ACKs come, it waits for room for a whole one or a third of its window.
    pub segmentation_offload: bool,
    /// Segments that left together and arrive within a millisecond of each other are acknowledged once, up to 64 KiB of them, as where offload keeps a buffer
    /// whole from host to host (Linux's GRO): no last one of an odd number waits for its ACK.
    pub receive_offload: bool,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            mss: 1448,
            ack_every: 2,
            delayed_ack: Duration(40 * MILLISECOND),
            quick_acks: 0,
            initial_window: 10,
            byte_counting: true,
            send_buffer: Bytes(4_000_000),
            receive_buffer: Bytes(32_000_000),
            receive_window: ReceiveWindow::Full,
            ecn: EcnFeedback::Off,
            ecn_fallback: true,
            timeout: Timeout::Linux,
            min_rto: Duration(200 * MILLISECOND),
            initial_rto: Duration(SECOND),
            loss_detection: LossDetection::Rack,
            tail_loss_probe: true,
            frto: true,
            undo: true,
            recovery: Reduction::Prr,
            pacing: Pacing::Auto,
            gso_max_segs: 65_535,
            segmentation_offload: false,
            receive_offload: false,
        }
    }
}
