//! What the settings of a TCP connection are on a Linux host.

use bloatlab_cc::EcnFeedback;
use bloatlab_units::{MICROSECOND, MILLISECOND};

use crate::receiver::FIRST_RECEIVE_BUFFER;
use crate::{
    LossDetection, Pacing, ReceiveWindow, Reduction, SegmentationOffload, TcpConfig, Timeout,
};

/// IPv4 and TCP header with timestamps: the MTU minus the MSS.
const HEADERS: u32 = 52;
/// Memory that Linux counts for a full segment, and the payload in it.
const SEGMENT_MEMORY: u64 = 2408;
const SEGMENT_PAYLOAD: u64 = 1448;
/// Linux's default of the second value of `tcp_wmem`. It makes the buffer larger as soon as a connection is open.
const FIRST_SEND_BUFFER: u64 = 16_384;

/// The settings of a Linux host that give its connections those of a [`TcpConfig`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LinuxSettings {
    /// Keys and values, for the network namespace of the host.
    pub sysctls: Vec<(&'static str, String)>,
    /// Congestion control of connections whose program chooses none; `None`: the kernel's default.
    pub congestion_control: Option<String>,
    /// Segmentation offload (TSO and GSO) of the network device.
    pub tso: bool,
    /// Receive offload (GRO) of the network device.
    pub gro: bool,
    /// MTU of the network device.
    pub mtu: u32,
    /// Largest number of segments in one buffer of the network device.
    pub gso_max_segs: u32,
}

impl Default for LinuxSettings {
    /// No sysctls, and a network device of Linux's defaults without offload.
    fn default() -> Self {
        Self {
            sysctls: Vec::new(),
            congestion_control: None,
            tso: false,
            gro: false,
            mtu: 1500,
            gso_max_segs: 65_535,
        }
    }
}

impl TcpConfig {
    /// The commands that give the connections of a Linux host these settings. `device` is the network device that they use.
    ///
    /// # Errors
    /// `key: reason` for a setting that Linux does not have.
    pub fn linux_commands(&self, device: &str) -> Result<Vec<String>, String> {
        let settings = self.linux()?;
        let quoted = |value: String| match value.contains(' ') {
            true => format!("'{value}'"),
            false => value,
        };
        let mut commands: Vec<String> = settings
            .sysctls
            .into_iter()
            .map(|(key, value)| format!("sysctl -w {key}={}", quoted(value)))
            .collect();
        let switch = |on| if on { "on" } else { "off" };
        commands.push(format!(
            "ethtool -K {device} tso {tso} gso {tso} gro {gro}",
            tso = switch(settings.tso),
            gro = switch(settings.gro),
        ));
        let usual = LinuxSettings::default();
        if settings.mtu != usual.mtu {
            commands.push(format!("ip link set dev {device} mtu {}", settings.mtu));
        }
        if settings.gso_max_segs != usual.gso_max_segs {
            let most = settings.gso_max_segs;
            commands.push(format!("ip link set dev {device} gso_max_segs {most}"));
        }
        Ok(commands)
    }

    /// What these settings are on a Linux host.
    ///
    /// # Errors
    /// `key: reason` for a setting that Linux does not have.
    pub fn linux(&self) -> Result<LinuxSettings, String> {
        self.check_linux(&Self::default())?;
        let ecn = match self.ecn {
            EcnFeedback::Off => 0,
            // DCTCP's feedback comes with the congestion control.
            EcnFeedback::Classic | EcnFeedback::Dctcp => 1,
            EcnFeedback::Accurate => 3,
        };
        let [send, receive] = [self.send_buffer.0, self.receive_memory()];
        let first_to_send = if self.autotuned_send_buffer {
            send.min(FIRST_SEND_BUFFER)
        } else {
            send
        };
        let first_to_receive = match self.receive_window {
            ReceiveWindow::Autotuned => receive.min(FIRST_RECEIVE_BUFFER),
            ReceiveWindow::Full | ReceiveWindow::Growing => receive,
        };
        let flag = |on: bool| u8::from(on).to_string();
        let is_rack = self.loss_detection == LossDetection::Rack;
        let mut settings = LinuxSettings {
            sysctls: vec![
                ("net.ipv4.tcp_sack", flag(true)),
                ("net.ipv4.tcp_dsack", flag(true)),
                ("net.ipv4.tcp_timestamps", flag(true)),
                ("net.ipv4.tcp_window_scaling", flag(true)),
                ("net.ipv4.tcp_ecn", ecn.to_string()),
                ("net.ipv4.tcp_ecn_fallback", flag(self.ecn_fallback)),
                ("net.ipv4.tcp_recovery", flag(is_rack)),
                (
                    "net.ipv4.tcp_early_retrans",
                    if self.tail_loss_probe { "3" } else { "0" }.to_owned(),
                ),
                (
                    "net.ipv4.tcp_frto",
                    if self.frto { "2" } else { "0" }.to_owned(),
                ),
                (
                    "net.ipv4.tcp_rto_min_us",
                    (self.min_rto.0 / MICROSECOND).to_string(),
                ),
                (
                    "net.ipv4.tcp_limit_output_bytes",
                    self.limit_output_bytes.0.to_string(),
                ),
                ("net.ipv4.tcp_wmem", format!("4096 {first_to_send} {send}")),
                (
                    "net.ipv4.tcp_rmem",
                    format!("4096 {first_to_receive} {receive}"),
                ),
            ],
            congestion_control: None,
            tso: self.segmentation_offload == SegmentationOffload::On,
            gro: self.receive_offload,
            mtu: self.mss + HEADERS,
            gso_max_segs: self.gso_max_segs,
        };
        if self.cached_ssthresh {
            let keys = [
                "net.ipv4.tcp_no_metrics_save",
                "net.ipv4.tcp_no_ssthresh_metrics_save",
            ];
            let keys = keys.map(|key| (key, flag(false)));
            settings.sysctls.extend(keys);
        }
        if self.tso_rtt_log != Self::default().tso_rtt_log {
            let log = self.tso_rtt_log.to_string();
            settings.sysctls.push(("net.ipv4.tcp_tso_rtt_log", log));
        }
        if self.sack_compression.0 > 0 {
            let delay = self.sack_compression.0.to_string();
            let key = "net.ipv4.tcp_comp_sack_delay_ns";
            settings.sysctls.push((key, delay));
        }
        Ok(settings)
    }

    /// Memory of Linux's receive buffer. Linux counts the memory of a segment, we count what the window may reach.
    fn receive_memory(&self) -> u64 {
        match self.receive_window {
            ReceiveWindow::Growing | ReceiveWindow::Autotuned => self.receive_buffer.0,
            ReceiveWindow::Full => {
                (self.receive_buffer.0 * SEGMENT_MEMORY).div_ceil(SEGMENT_PAYLOAD)
            }
        }
    }

    /// Refuses settings that Linux does not have. Those that it fixes are allowed at Linux's value.
    fn check_linux(&self, defaults: &Self) -> Result<(), String> {
        let fixed = [
            (
                "ack_every",
                self.ack_every == defaults.ack_every,
                "Linux acknowledges every second segment; use 2",
            ),
            (
                "delayed_ack",
                self.delayed_ack == defaults.delayed_ack,
                "the least delay of Linux is fixed; use 40ms",
            ),
            (
                "ack_tick",
                [0, MILLISECOND].contains(&self.ack_tick.0),
                "the kernel has its own; use 1ms",
            ),
            (
                "quick_acks",
                [0, 16].contains(&self.quick_acks),
                "the number in Linux is fixed; use 16",
            ),
            (
                "initial_window",
                self.initial_window == defaults.initial_window,
                "in Linux the route has it (`ip route change ROUTE initcwnd N`); use 10 or set the route",
            ),
            (
                "byte_counting",
                self.byte_counting,
                "Linux always counts bytes; use true",
            ),
            (
                "timeout",
                self.timeout == Timeout::Linux,
                "Linux computes it in its own way; use linux",
            ),
            (
                "min_rto",
                self.min_rto.0.is_multiple_of(MICROSECOND),
                "Linux needs whole microseconds",
            ),
            (
                "initial_rto",
                self.initial_rto == defaults.initial_rto,
                "it is fixed in Linux; use 1s",
            ),
            (
                "undo",
                self.undo,
                "Linux always undoes spurious reductions; use true",
            ),
            (
                "limited_transmit",
                self.limited_transmit,
                "Linux always sends new segments on duplicate ACKs; use true",
            ),
            (
                "recovery",
                self.recovery == Reduction::Prr,
                "Linux always uses PRR; use prr",
            ),
            (
                "small_queues",
                self.small_queues,
                "Linux always has them; use true",
            ),
            (
                "pacing_shift",
                self.pacing_shift == defaults.pacing_shift,
                "a network driver sets it in Linux; use 10",
            ),
            (
                "pacing",
                self.pacing == Pacing::Auto,
                "Linux paces a connection if its algorithm asks for it or its device has the queue fq; use auto",
            ),
        ];
        match fixed.iter().find(|(_, is_same, _)| !is_same) {
            Some((key, _, why)) => Err(format!("{key}: {why}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use bloatlab_units::{Bytes, Duration};

    use super::*;

    #[test]
    fn the_settings_are_printed_as_commands() {
        let tcp = TcpConfig {
            mss: 1000,
            send_buffer: Bytes(1_000_000),
            receive_buffer: Bytes(1448),
            segmentation_offload: SegmentationOffload::On,
            gso_max_segs: 2,
            min_rto: Duration(50_000_000),
            frto: false,
            cached_ssthresh: true,
            tso_rtt_log: 0,
            sack_compression: Duration(500_000),
            ..TcpConfig::default()
        };
        let commands = tcp.linux_commands("eth0").unwrap();
        let start = commands.iter().position(|line| line.contains("frto"));
        assert_eq!(
            commands[start.unwrap()..],
            [
                "sysctl -w net.ipv4.tcp_frto=0",
                "sysctl -w net.ipv4.tcp_rto_min_us=50000",
                "sysctl -w net.ipv4.tcp_limit_output_bytes=4194304",
                "sysctl -w net.ipv4.tcp_wmem='4096 1000000 1000000'",
                "sysctl -w net.ipv4.tcp_rmem='4096 2408 2408'",
                "sysctl -w net.ipv4.tcp_no_metrics_save=0",
                "sysctl -w net.ipv4.tcp_no_ssthresh_metrics_save=0",
                "sysctl -w net.ipv4.tcp_tso_rtt_log=0",
                "sysctl -w net.ipv4.tcp_comp_sack_delay_ns=500000",
                "ethtool -K eth0 tso on gso on gro off",
                "ip link set dev eth0 mtu 1052",
                "ip link set dev eth0 gso_max_segs 2",
            ]
        );
        let usual = TcpConfig::default().linux_commands("eth0").unwrap();
        assert_eq!(usual.len(), 14, "{usual:?}");
    }
}
