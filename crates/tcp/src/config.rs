//! The settings of a TCP connection.

use bloatlab_cc::EcnFeedback;
use bloatlab_units::{Bytes, Duration, MILLISECOND, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SegmentationOffload;

/// How a sender detects that a segment is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossDetection {
    /// RACK-TLP (RFC 8985): by the time since a later segment was delivered.
    #[default]
    Rack,
    /// By three duplicate ACKs, or three SACKed segments above it (RFC 6675).
    Dupack,
}

/// How the window is reduced to `ssthresh` in recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// Proportional rate reduction (RFC 6937) in whole segments, as in Linux: a segment is sent as soon as a part of it is due.
    #[default]
    #[serde(alias = "TcpPrrRecovery")]
    Prr,
    /// Proportional rate reduction (RFC 6937) in bytes, as in ns-3: a segment is sent when all of it is due.
    PrrBytes,
    /// At once. Segments are sent again when the pipe has drained (RFC 6675).
    #[serde(alias = "TcpClassicRecovery")]
    Classic,
}

/// When segments are paced instead of sent back to back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// If the congestion control sets a pacing rate (BBR).
    #[default]
    Auto,
    /// Always. A congestion control without a pacing rate gets 2 cwnd/sRTT in slow start and 1.2 cwnd/sRTT after it, as in Linux.
    On,
    /// Never.
    Off,
}

/// How the retransmission timeout is computed from the RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Timeout {
    /// RFC 6298: sRTT plus four mean deviations, together at least `min_rto`. With a sample per ACK, deviations are forgotten within a fraction of a
    /// round trip (RFC 7323 appendix G). The RTT of a full buffer is then close to the timeout.
    Rfc6298,
    /// As in Linux: sRTT plus four times the largest mean deviation of the last round trip. The second term is at least `min_rto`.
    #[default]
    Linux,
}

/// How large the initial receive window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiveWindow {
    /// The whole receive buffer.
    #[default]
    Full,
    /// As in Linux since 6.10: half of the buffer, plus two segments per received segment, up to the share of payload in a segment's memory (1448 B
    /// of 2408). While it grows, every segment is acknowledged at once.
    Growing,
    /// As in Linux for an application that sets no buffer: like `growing`, but of a buffer of 128 KiB that becomes larger, at most the receive
    /// buffer, each time more arrives in a round trip than in any before.
    Autotuned,
}

/// Settings of a TCP connection, equal at both ends. The defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TcpConfig {
    /// Maximum segment size: payload bytes of a full segment.
    #[schemars(range(min = 64, max = 65_000))]
    pub mss: u32,
    /// Number of segments per ACK (RFC 5681 section 4.2). 1 turns delayed ACKs off.
    #[schemars(range(min = 1, max = 64))]
    pub ack_every: u32,
    /// Longest delay of a delayed ACK.
    pub delayed_ack: Duration,
    /// A delayed ACK leaves at the first multiple of this time after its delay, as timers of Linux fire at ticks (`CONFIG_HZ`: 1 ms or 4 ms). A SYN is
    /// sent again at a multiple of 64 times this. Tail loss probes and RACK's timer are 2 ms later, at a tick. 0 is exact.
    pub ack_tick: Duration,
    /// Number of segments that are acknowledged at once before ACKs are delayed: at the start, after a duplicate, and after idle time of an RTO
    /// (Linux's quick ACKs: 16). If above 0, the first CE mark and CWR also cause ACKs at once.
    #[schemars(range(min = 0, max = 1000))]
    pub quick_acks: u32,
    /// Longest time for which ACKs that only report data beyond a hole are combined, at most 33 % of the RTT and 44 ACKs (SACK compression: 1 ms in
    /// Linux). The first three of each hole are sent at once. 0 turns it off.
    pub sack_compression: Duration,
    /// Initial window in segments (RFC 6928).
    #[schemars(range(min = 1, max = 1000))]
    pub initial_window: u32,
    /// A connection of a flow starts with the slow-start threshold that the earlier ones left (RFC 9040 section 6; Linux with
    /// `tcp_no_ssthresh_metrics_save=0`, the default before Linux 5.6).
    pub cached_ssthresh: bool,
    /// If true, an ACK grows the window by the bytes that it acknowledges, as on today's hosts (RFC 3465). If false, by at most one segment, so that
    /// delayed ACKs halve the growth (RFC 5681 section 3.1; ns-2, ns-3).
    pub byte_counting: bool,
    /// Bytes that the application may write beyond the last acknowledged byte.
    pub send_buffer: Bytes,
    /// The send buffer grows up to `send_buffer`, and counts memory, as on Linux for an application that sets no buffer. It holds the
    /// memory of two windows (BBR: three), at first of ten segments each (87,040 bytes for an MSS of 1448), and grows when the window has room. An
    /// offload buffer takes 960 bytes besides its payload.
    pub autotuned_send_buffer: bool,
    /// An application that always has data writes when a third of the send buffer is free, this much at a time, as on Linux. 0: it always keeps the
    /// buffer full.
    pub write_size: Bytes,
    /// Bytes that the receiver can hold. This limits the advertised window.
    pub receive_buffer: Bytes,
    /// The application reads when this much waits, as with Linux's `SO_RCVLOWAT`; at most half of the receive buffer. 0: it reads at once.
    pub read_size: Bytes,
    /// How much of the receive buffer is advertised initially.
    pub receive_window: ReceiveWindow,
    /// ECN and its feedback: `false`, `true` (RFC 3168: an echo until the sender has reduced), `dctcp` (RFC 8257: the echo follows the marks exactly)
    /// or `accecn` (RFC 9768: counters). `dctcp` and `prague` negotiate the feedback that they need themselves.
    pub ecn: EcnFeedback,
    /// A retransmitted SYN does not offer ECN any more, as with Linux's `tcp_ecn_fallback` (RFC 3168 section 6.1.1.1). AccECN is offered once more
    /// first (RFC 9768 section 3.1.4.1).
    pub ecn_fallback: bool,
    /// How the retransmission timeout is computed from the RTT.
    pub timeout: Timeout,
    /// Smallest retransmission timeout (1 s in RFC 6298; 200 ms in Linux). With `timeout` `linux`, the smallest difference between it and sRTT.
    pub min_rto: Duration,
    /// Retransmission timeout before the first RTT sample (RFC 6298: 1 s).
    pub initial_rto: Duration,
    /// How losses are detected.
    pub loss_detection: LossDetection,
    /// Send tail-loss probes (RFC 8985 section 7). Only with `rack`.
    pub tail_loss_probe: bool,
    /// Send a new segment for each that SACK reports before recovery begins (RFC 3042). If `false`, segments count as in flight until then, as in
    /// ns-2 with `singledup_ 0`.
    pub limited_transmit: bool,
    /// Detect spurious timeouts by sending new data before old data (F-RTO, RFC 5682).
    pub frto: bool,
    /// Undo a reduction when timestamps or duplicate reports show that nothing was lost (RFC 3522, RFC 3708, RFC 4015).
    pub undo: bool,
    /// How the window is reduced in recovery.
    pub recovery: Reduction,
    /// When segments are paced.
    pub pacing: Pacing,
    /// Largest number of segments in one buffer (Linux's name), for `segmentation_offload` and for bursts of pacing. Pacing sends bursts if the
    /// congestion control sets a burst size (`bbr` and `bbr3` 1 ms, `prague` 0.25 ms) or if `pacing` is `on` (1 ms). 1: every segment is paced
    /// separately.
    #[schemars(range(min = 1, max = 65_535))]
    pub gso_max_segs: u32,
    /// Buffers of `segmentation_offload` are larger between near hosts: by 64 KiB, halved each time the smallest RTT has another `2^n` microseconds
    /// (Linux's `tcp_tso_rtt_log`, since 5.18). 0: never in practice.
    #[schemars(range(min = 0, max = 31))]
    pub tso_rtt_log: u32,
    /// The sender hands segments over in buffers: as with Linux's TSO (`true`), or cut before the device (`"software"`, as Linux does for a device
    /// without TSO). A buffer holds what leaves in a millisecond, at most 64 KiB, and more between near hosts (`tso_rtt_log`). While it has sent within
    /// the last millisecond and ACKs arrive, the sender waits until the window has space for a whole buffer, for the rest of the buffer in which the
    /// application's data waits, or for a third of the window.
    pub segmentation_offload: SegmentationOffload,
    /// Segments that left in one buffer and arrive within a millisecond of each other are acknowledged once, up to 64 KiB, as if offload kept the
    /// buffer whole from host to host (Linux's GRO). An odd last segment then does not wait for its ACK.
    pub receive_offload: bool,
    /// On the host's own link (a link with `host = "device"`), hand over a buffer only while less than a limit of this connection waits there (Linux's
    /// TCP Small Queues). The limit is the larger of twice the memory of a buffer and what leaves in `2^-pacing_shift` seconds at the pacing rate;
    /// for retransmissions it is doubled. A sender with at most one unacknowledged buffer may always send.
    pub small_queues: bool,
    /// The limit of `small_queues` is never above this (Linux's `tcp_limit_output_bytes`: 4 MiB in Linux 7.2, 1 MiB in older versions).
    pub limit_output_bytes: Bytes,
    /// The limit of `small_queues` holds what leaves in `2^-pacing_shift` seconds: 10 is about 1 ms (Linux's `sk_pacing_shift`).
    #[schemars(range(min = 0, max = 31))]
    pub pacing_shift: u32,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            mss: 1448,
            ack_every: 2,
            delayed_ack: Duration(40 * MILLISECOND),
            ack_tick: Duration(0),
            quick_acks: 0,
            sack_compression: Duration(0),
            initial_window: 10,
            cached_ssthresh: false,
            byte_counting: true,
            send_buffer: Bytes(4_000_000),
            autotuned_send_buffer: false,
            write_size: Bytes(0),
            receive_buffer: Bytes(32_000_000),
            read_size: Bytes(0),
            receive_window: ReceiveWindow::Full,
            ecn: EcnFeedback::Off,
            ecn_fallback: true,
            timeout: Timeout::Linux,
            min_rto: Duration(200 * MILLISECOND),
            initial_rto: Duration(SECOND),
            loss_detection: LossDetection::Rack,
            tail_loss_probe: true,
            limited_transmit: true,
            frto: true,
            undo: true,
            recovery: Reduction::Prr,
            pacing: Pacing::Auto,
            gso_max_segs: 65_535,
            tso_rtt_log: 9,
            segmentation_offload: SegmentationOffload::Off,
            receive_offload: false,
            small_queues: true,
            limit_output_bytes: Bytes(4 << 20),
            pacing_shift: 10,
        }
    }
}
