//! The definitions of all metrics: name, unit, formula and source.

use std::ops::Deref;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither is better; the metric describes.
    None,
}

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name in tables and `--json`.
    pub name: &'static str,
    /// Its unit; empty when it has none.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// What is computed.
    pub formula: &'static str,
    /// Where it is defined.
    pub source: &'static str,
}

/// What a metric belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Scope {
    Flow,
    Link,
    Probe,
    Network,
}

/// A reference to a metric. It takes two bytes, because a run of many flows holds many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricId {
    scope: Scope,
    index: u8,
}

impl Deref for MetricId {
    type Target = Metric;

    fn deref(&self) -> &Metric {
        let all = [FLOW, LINK, PROBE, NETWORK][self.scope as usize];
        &all[usize::from(self.index)]
    }
}

macro_rules! metrics {
    ($(#[$doc:meta])* $all:ident $scope:ident { $($id:ident = $name:literal, $unit:literal, $better:ident, $formula:literal, $source:literal;)+ }) => {
        $(#[$doc])*
        pub const $all: &[Metric] = &[
            $(Metric { name: $name, unit: $unit, better: Better::$better, formula: $formula, source: $source }),+
        ];
        #[allow(non_camel_case_types, reason = "the names of the constants")]
        enum $scope { $($id),+ }
        $(#[doc = $formula] pub const $id: MetricId = MetricId { scope: Scope::$scope, index: $scope::$id as u8 };)+
    };
}

metrics! {
    /// Metrics of a flow. They are over its lifetime: from its start, or the end of the warm-up if that is later, to its stop, its completion or the end
    /// of the run. Metrics of packets are about its data direction.
    FLOW Flow {
        F_MEAN_THROUGHPUT_L4 = "mean_throughput_l4", "Mbit/s", Higher,
            "payload bytes that reached the receiving transport, in order or not, each once (of datagrams: copies count) / lifetime of the flow", "CCPerf";
        F_MEAN_THROUGHPUT_L7 = "mean_throughput_l7", "Mbit/s", Higher,
            "payload bytes read by the receiving application / lifetime of the flow; bytes that arrived before it and waited for a retransmission are included, so it may exceed the rate of a link over a short lifetime", "CCPerf";
        F_MEAN_SENDING_RATE_L4 = "mean_sending_rate_l4", "Mbit/s", None,
            "payload bytes sent, retransmissions included / lifetime", "CCPerf";
        F_MEAN_SENDING_RATE_L7 = "mean_sending_rate_l7", "Mbit/s", None,
            "bytes the application wrote to the socket / lifetime", "CCPerf";
        F_MEAN_DELIVERY_RATE_L4 = "mean_delivery_rate_l4", "Mbit/s", Higher,
            "mean over ACKs of the sender's delivery-rate samples", "draft-cheng-iccrg-delivery-rate-estimation";
        F_MEAN_SRTT_L4 = "mean_srtt_l4", "ms", Lower,
            "mean over the lifetime of the smoothed RTT, from its first sample on", "RFC 6298";
        F_MEAN_EST_QDELAY_L4 = "mean_est_qdelay_l4", "ms", Lower,
            "mean_srtt_l4 - two-way propagation delay", "CCPerf";
        F_MIN_RTT_L4 = "min_rtt_l4", "ms", None,
            "smallest RTT sample", "RFC 6298";
        F_P50_RTT_L4 = "p50_rtt_l4", "ms", Lower,
            "median of the RTT samples, one an ACK", "RFC 6298";
        F_P95_RTT_L4 = "p95_rtt_l4", "ms", Lower,
            "95th percentile of the RTT samples", "RFC 6298";
        F_P99_RTT_L4 = "p99_rtt_l4", "ms", Lower,
            "99th percentile of the RTT samples", "RFC 6298";
        F_MAX_RTT_L4 = "max_rtt_l4", "ms", Lower,
            "largest RTT sample", "RFC 6298";
        F_MEAN_CWND_L4 = "mean_cwnd_l4", "segments", None,
            "mean over the lifetime of the congestion window / MSS", "RFC 5681";
        F_MEAN_IN_FLIGHT_L4 = "mean_in_flight_l4", "segments", None,
            "mean over the lifetime of bytes sent, neither delivered nor judged lost / MSS", "RFC 6675";
        F_COV_IN_FLIGHT_L4 = "cov_in_flight_l4", "", Lower,
            "standard deviation over time of the bytes in flight / their mean, both from the first segment in flight on", "CCPerf";
        F_COV_THROUGHPUT_L4 = "cov_throughput_l4", "", Lower,
            "standard deviation / mean of the throughput per sample interval", "CCPerf";
        F_FLOW_COMPLETION_TIME_L4 = "flow_completion_time_l4", "s", Lower,
            "lifetime of the flow; stop - start if it is greedy", "CCPerf";
        F_FLOW_START_UP_TIME_L4 = "flow_start_up_time_l4", "ms", Lower,
            "time from the start of the flow to the first payload byte that the receiving application reads", "RFC 7928 section 2.2";
        F_MEAN_IDT_EWMA_L4 = "mean_idt_ewma_l4", "ms", None,
            "mean over time of the EWMA (1/8) of the time between departures", "CCPerf";
        F_MEAN_NETWORK_POWER_L4 = "mean_network_power_l4", "Mbit/s per s", Higher,
            "mean over sample intervals of throughput / sRTT", "Kleinrock 1979";
        F_MEAN_ONE_WAY_DELAY_L7 = "mean_one_way_delay_l7", "ms", Lower,
            "mean over bytes of the time from application write to application read, send buffer included", "CCPerf";
        F_MEAN_RECOVERY_TIME_L4 = "mean_recovery_time_l4", "ms", Lower,
            "mean length of the fast recoveries that ended", "CCPerf";
        F_TOTAL_RECOVERIES_L4 = "total_recoveries_l4", "", None,
            "fast recoveries begun", "RFC 6675";
        F_TOTAL_RETRANSMISSIONS_L4 = "total_retransmissions_l4", "", Lower,
            "segments sent again", "CCPerf";
        F_TOTAL_RTOS_L4 = "total_rtos_l4", "", Lower,
            "retransmission timeouts", "RFC 6298";
        F_HANDSHAKES_GIVEN_UP_L4 = "handshakes_given_up_l4", "", Lower,
            "connections whose SYN or SYN-ACK was sent again six times without an answer, in the whole run", "RFC 9293 section 3.8.3, RFC 4022 tcpAttemptFails";
        F_TOTAL_TAIL_LOSS_PROBES_L4 = "total_tail_loss_probes_l4", "", None,
            "tail-loss probes sent", "RFC 8985";
        F_TOTAL_ECN_REDUCTIONS_L4 = "total_ecn_reductions_l4", "", None,
            "window reductions after an ECN echo", "RFC 3168";
        F_TOTAL_UNDONE_REDUCTIONS_L4 = "total_undone_reductions_l4", "", None,
            "window reductions taken back, because nothing had been lost", "RFC 4015";
        F_MEAN_UTILITY_MPDF_L4 = "mean_utility_mpdf_l4", "1/(Mbit/s)", Higher,
            "mean over sample intervals of -1/throughput (minimum potential delay fairness)", "CCPerf";
        F_MEAN_UTILITY_PF_L4 = "mean_utility_pf_l4", "ln(Mbit/s)", Higher,
            "mean over sample intervals of ln(throughput) (proportional fairness)", "CCPerf";
        F_MEAN_UTILIZATION_BDP_L4 = "mean_utilization_bdp_l4", "", None,
            "mean bytes in flight on the wire / (bottleneck rate x base RTT)", "CCPerf";
        F_MEAN_UTILIZATION_BDP_MEASURED_L4 = "mean_utilization_bdp_measured_l4", "", None,
            "mean bytes in flight on the wire / (measured throughput x base RTT)", "CCPerf, the reading that gives the published value";
        F_MEAN_UTILIZATION_BW_L4 = "mean_utilization_bw_l4", "", Higher,
            "mean_throughput_l4 / bottleneck rate", "CCPerf";
        F_TX_PACKETS = "tx_packets", "packets", None,
            "packets of the data direction that the flow sent", "RFC 7928";
        F_RX_PACKETS = "rx_packets", "packets", Higher,
            "packets of the data direction that arrived", "RFC 7928";
        F_DROPPED_AQM = "dropped_aqm", "packets", Lower,
            "packets of the data direction that the algorithm of a queue dropped", "RFC 7928";
        F_DROPPED_OVERFLOW = "dropped_overflow", "packets", Lower,
            "packets of the data direction dropped because a queue was full", "RFC 7928";
        F_RESIDUE = "residue", "packets", Lower,
            "packets neither arrived nor dropped at the end, of those sent in the measured time or under way when it began", "RFC 7928";
        F_THROUGHPUT = "throughput", "Mbit/s", Higher,
            "bits of arrived IP packets / time from the first packet's departure to the last one's arrival; UDP", "ns-3 FlowMonitor";
        F_MEAN_DELAY = "mean_delay", "ms", Lower,
            "mean one-way delay of arrived packets; UDP", "ns-3 FlowMonitor";
        F_MEAN_JITTER = "mean_jitter", "ms", Lower,
            "mean difference between the delays of packets that arrived one after the other; UDP", "ns-3 FlowMonitor";
        F_DROPS_L4 = "drops_l4", "", Lower,
            "packets of the flow's data direction that boxes discarded", "RFC 7928";
        F_CHECKSUM_DISCARDS_L4 = "checksum_discards_l4", "", Lower,
            "packets of the flow's data direction that the receiver discarded by their checksum, where a box of the path damages packets", "RFC 9293";
        F_MARKS_L4 = "marks_l4", "", None,
            "packets of the flow's data direction that queues marked CE", "RFC 3168";
        F_MEAN_SOJOURN_L4 = "mean_sojourn_l4", "ms", Lower,
            "mean time of the flow's data packets in a queue, over every queue that each packet crosses", "RFC 8289";
        F_P50_SOJOURN_L4 = "p50_sojourn_l4", "ms", Lower,
            "median time of the flow's data packets in a queue, over every queue that each packet crosses", "RFC 8289";
        F_P95_SOJOURN_L4 = "p95_sojourn_l4", "ms", Lower,
            "95th percentile of the time of the flow's data packets in a queue", "RFC 8289";
        F_P99_SOJOURN_L4 = "p99_sojourn_l4", "ms", Lower,
            "99th percentile of the time of the flow's data packets in a queue", "RFC 8289";
        F_MEAN_ONE_WAY_DELAY_L4 = "mean_one_way_delay_l4", "ms", Lower,
            "mean time of a datagram from departure to arrival", "RFC 7679";
        F_P50_ONE_WAY_DELAY_L4 = "p50_one_way_delay_l4", "ms", Lower,
            "median time of a datagram from departure to arrival", "RFC 7679";
        F_P95_ONE_WAY_DELAY_L4 = "p95_one_way_delay_l4", "ms", Lower,
            "95th percentile of the time of a datagram from departure to arrival", "RFC 7679";
        F_P99_ONE_WAY_DELAY_L4 = "p99_one_way_delay_l4", "ms", Lower,
            "99th percentile of the time of a datagram from departure to arrival", "RFC 7679";
        F_MEAN_JITTER_L4 = "mean_jitter_l4", "ms", Lower,
            "interarrival jitter of the datagrams at the end", "RFC 3550 section 6.4.1";
        F_LOSS_RATE_L4 = "loss_rate_l4", "", Lower,
            "datagrams sent in the measured time and discarded on the way / datagrams sent", "RFC 7680";
    }
}

metrics! {
    /// Metrics of a link. They are about all packets that use it, in both directions of the flows, over the measured time, which is from the end of
    /// the warm-up to the end of the run. `goodput`, `goodput_share` and `flow_fairness` are about the flows whose data crosses it.
    LINK Link {
        L_MEAN_QUEUE_LENGTH = "mean_queue_length", "packets", Lower,
            "mean over time of the packets in the queue discipline", "RFC 7928";
        L_P95_QUEUE_LENGTH = "p95_queue_length", "packets", Lower,
            "95th percentile over time of the packets in the queue discipline", "RFC 7928";
        L_MAX_QUEUE_LENGTH = "max_queue_length", "packets", Lower,
            "most packets in the queue discipline", "RFC 7928";
        L_MEAN_QUEUE_BYTES = "mean_queue_bytes", "B", Lower,
            "mean over time of the bytes in the queue discipline", "RFC 7928";
        L_MAX_QUEUE_BYTES = "max_queue_bytes", "B", Lower,
            "most bytes in the queue discipline", "RFC 7928";
        L_MEAN_SOJOURN = "mean_sojourn", "ms", Lower,
            "mean time from entering to leaving the queue discipline", "RFC 8289";
        L_P50_SOJOURN = "p50_sojourn", "ms", Lower,
            "median time from entering to leaving the queue discipline", "RFC 8289";
        L_P95_SOJOURN = "p95_sojourn", "ms", Lower,
            "95th percentile of the time in the queue discipline", "RFC 8289";
        L_P99_SOJOURN = "p99_sojourn", "ms", Lower,
            "99th percentile of the time in the queue discipline", "RFC 8289";
        L_MAX_SOJOURN = "max_sojourn", "ms", Lower,
            "longest time in the queue discipline", "RFC 8289";
        L_ARRIVALS = "arrivals", "packets", None,
            "packets that reached the queue discipline", "RFC 7928";
        L_BACKLOG_PACKETS = "backlog_packets", "packets", None,
            "packets in the queue discipline at the end", "tc -s qdisc: backlog";
        L_BACKLOG_BYTES = "backlog_bytes", "B", None,
            "bytes in the queue discipline at the end", "tc -s qdisc: backlog";
        L_DROPS = "drops", "packets", Lower,
            "packets that the queue discipline discarded", "RFC 7928";
        L_LOSS_RATE = "loss_rate", "", Lower,
            "packets that arrived in the measured time and were dropped in it / arrivals", "RFC 7928";
        L_MARKS = "marks", "packets", None,
            "packets marked CE", "RFC 3168";
        L_MEAN_LOSS_INTERVAL = "mean_loss_interval", "ms", Higher,
            "mean time between two packets that the queue discipline discarded", "RFC 7928 section 2.3";
        L_LOSS_EVENTS = "loss_events", "", None,
            "loss events: drops and marks of greedy TCP flows' data, within one base RTT of the first", "RFC 5348 section 5.2";
        L_MEAN_LOSS_EVENT_SIZE = "mean_loss_event_size", "packets", Lower,
            "drops and marks of greedy TCP flows' data / loss_events", "RFC 7928 section 2.3";
        L_LOSS_SYNCHRONIZATION = "loss_synchronization", "", Lower,
            "mean over loss events of the share of the link's greedy TCP flows that are hit; none of fewer than two flows", "RFC 7928 section 2.4";
        L_THROUGHPUT = "throughput", "Mbit/s", Higher,
            "bits on the wire whose transmission ended / time; of a cell: whose slot began", "RFC 7928";
        L_UTILIZATION = "utilization", "", Higher,
            "time the transmitter is busy / time; of a rate that varies: bits sent / bits that could have been sent; of a cell: share of its symbols that the bearer used", "RFC 7928";
        L_GOODPUT = "goodput", "Mbit/s", Higher,
            "payload of the flows whose data crosses the link that reached their receivers, each byte once / measured time", "RFC 2647 section 3.17";
        L_GOODPUT_SHARE = "goodput_share", "", Higher,
            "goodput / mean rate of the link over the measured time", "RFC 2647 section 3.17";
        L_FLOW_FAIRNESS = "flow_fairness", "", Higher,
            "Jain's index (sum x)^2 / (n sum x^2) of mean_throughput_l4 of the flows whose data crosses the link; none of fewer than two flows", "Jain, Chiu and Hawe 1984";
    }
}

metrics! {
    /// Metrics of a probe: a ping, or a client that fetches pages.
    PROBE Probe {
        P_TRANSACTIONS = "transactions", "", None,
            "replies received, or pages fetched", "RFC 2681";
        P_LOST = "lost", "", Lower,
            "requests without a reply by the end of the run, or fetches that failed", "RFC 2681";
        P_MEAN_RTT = "mean_rtt", "ms", Lower,
            "mean time from request to reply, or of a page fetch", "RFC 2681";
        P_P50_RTT = "p50_rtt", "ms", Lower,
            "median time from request to reply, or of a page fetch", "RFC 2681";
        P_P95_RTT = "p95_rtt", "ms", Lower,
            "95th percentile of the time from request to reply, or of a page fetch", "RFC 2681";
        P_P99_RTT = "p99_rtt", "ms", Lower,
            "99th percentile of the time from request to reply, or of a page fetch", "RFC 2681";
        P_MAX_RTT = "max_rtt", "ms", Lower,
            "longest time from request to reply, or of a page fetch", "RFC 2681";
        P_SYN_RETRANSMISSIONS = "syn_retransmissions", "", Lower,
            "SYNs that a client which fetches pages sent again, because they or their answers were lost", "RFC 6298 section 5";
        P_LOST_SYNS = "connections_with_lost_syn", "", Lower,
            "connections of a client that fetches pages whose SYN was sent again", "RFC 6298 section 5";
        P_RTOS = "rtos", "", Lower,
            "retransmission timeouts of both ends of a page-fetching client's connections, handshakes apart", "RFC 6298";
    }
}

metrics! {
    /// Metrics of the network: of the flows whose data crosses its bottleneck. The bottleneck is the link with the lowest mean rate that data crosses,
    /// among equal rates the one with the longest mean queue. It is one direction of a path, so flows of the other direction are left out: their link
    /// has `goodput`, `goodput_share` and `flow_fairness`. All bearers of a cell in one direction are one bottleneck, because they divide its symbols.
    /// If data crosses no link, they are about all flows.
    NETWORK Network {
        N_AGG_THROUGHPUT = "agg_throughput", "Mbit/s", Higher,
            "payload of the flows across the bottleneck that arrived / time from the first flow's start to the last one's end, within the measured time", "CCPerf";
        N_CAPACITY_SHARE = "capacity_share", "", Higher,
            "payload of the flows across the bottleneck that arrived / bits that the bottleneck could have sent, over the whole measured time; what was in flight when it began counts, so a measured time of a few RTTs may give slightly more than 1", "CCPerf";
        N_JAIN_INDEX = "jain_index", "", Higher,
            "(sum x)^2 / (n sum x^2) of mean_throughput_l4 of the flows across the bottleneck, each over its own lifetime", "Jain, Chiu and Hawe 1984";
        N_MIN_MAX_RATIO = "min_max_ratio", "", Higher,
            "smallest / largest mean_throughput_l4 of a flow across the bottleneck", "CCPerf";
        N_UTILITY_PF = "utility_pf", "ln(Mbit/s)", Higher,
            "sum of ln x of mean_throughput_l4 of the flows across the bottleneck (proportional fairness)", "Kelly 1997";
        N_UTILITY_MPDF = "utility_mpdf", "1/(Mbit/s)", Higher,
            "sum of -1/x of mean_throughput_l4 of the flows across the bottleneck (minimum potential delay fairness)", "Massoulie and Roberts 1999";
        N_MEAN_SRTT = "mean_srtt", "ms", Lower,
            "mean of mean_srtt_l4 of the flows across the bottleneck", "CCPerf";
        N_POWER = "power", "Mbit/s per s", Higher,
            "agg_throughput / mean_srtt", "Kleinrock 1979";
        N_TOTAL_RETRANSMISSIONS = "total_retransmissions", "", Lower,
            "sum of total_retransmissions_l4 of the TCP flows across the bottleneck", "CCPerf";
        N_TOTAL_RTOS = "total_rtos", "", Lower,
            "sum of total_rtos_l4 of the TCP flows across the bottleneck", "CCPerf";
        N_P50_LATENESS = "p50_lateness", "ms", Lower,
            "in real time: median of (time at which a packet left the emulated network - time at which it was due)", "bloatlab";
        N_P99_LATENESS = "p99_lateness", "ms", Lower,
            "in real time: 99th percentile of (time at which a packet left the emulated network - time at which it was due)", "bloatlab";
        N_MAX_LATENESS = "max_lateness", "ms", Lower,
            "in real time: maximum of (time at which a packet left the emulated network - time at which it was due)", "bloatlab";
        N_DEVICE_DROPS = "device_drops", "", Lower,
            "in real time: packets that a device or socket of the emulated network dropped because it was full", "bloatlab";
        N_LINK_CPU = "link_cpu", "", Lower,
            "in real time: CPU time of the thread that is the emulated network / time; 1 is a whole core", "bloatlab";
        N_CPU_STEAL = "cpu_steal", "", Lower,
            "in real time: share of the CPU time that the host of a virtual machine took (steal in /proc/stat)", "bloatlab";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_within_a_scope() {
        for scope in [FLOW, LINK, PROBE, NETWORK] {
            let mut names: Vec<_> = scope.iter().map(|m| m.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), scope.len());
            assert!(
                scope
                    .iter()
                    .all(|m| !m.formula.is_empty() && !m.source.is_empty())
            );
        }
    }
}
