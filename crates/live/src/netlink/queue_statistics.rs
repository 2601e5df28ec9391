//! What queue disciplines of the kernel report, by the names and in the units of ours.

use bloatlab_aqm::{TIN_STATISTICS, add_stats};
use netlink_packet_core::NlasIterator;

use super::attributes::attribute;
use super::{Handle, Qdisc};

/// One in the units of the kernel's probabilities: 16 bits for sfb, 32 for dualpi2, and 64 for pie.
const SFB_WHOLE: f64 = 65_535.0;
const DUALPI2_WHOLE: f64 = 4_294_967_296.0;
const PIE_WHOLE: f64 = 18_446_744_073_709_551_616.0;
const MICROSECOND: f64 = 1e-6;

/// How a value is stored.
#[derive(Clone, Copy)]
enum Form {
    U32,
    I32,
    U64,
}

/// A value in the structure that a queue discipline reports.
#[derive(Clone, Copy)]
struct Field {
    name: &'static str,
    offset: usize,
    form: Form,
    /// What one stands for.
    unit: f64,
}

/// A number of 32 bits.
const fn number(name: &'static str, offset: usize) -> Field {
    scaled(name, offset, 1.0)
}

/// A number of 32 bits in this unit.
const fn scaled(name: &'static str, offset: usize, unit: f64) -> Field {
    let form = Form::U32;
    Field {
        name,
        offset,
        form,
        unit,
    }
}

/// A number of 64 bits in this unit.
const fn wide(name: &'static str, offset: usize, unit: f64) -> Field {
    let form = Form::U64;
    Field {
        name,
        offset,
        form,
        unit,
    }
}

/// `struct tc_codel_xstats`. Its `drop_next` is a span of time and ours an instant, so it is left out.
const CODEL: &[Field] = &[
    number("count", 4),
    number("lastcount", 8),
    scaled("ldelay", 12, MICROSECOND),
    number("drop_overlimit", 20),
    number("ecn_mark", 24),
    number("dropping", 28),
    number("ce_mark", 32),
];
/// `struct tc_fq_codel_xstats`, of which the queue discipline uses `qdisc_stats`.
const FQ_CODEL: &[Field] = &[
    number("drop_overlimit", 8),
    number("ecn_mark", 12),
    number("new_flow_count", 16),
    number("new_flows_len", 20),
    number("old_flows_len", 24),
    number("ce_mark", 28),
    number("memory_used", 32),
    number("drop_overmemory", 36),
];
/// `struct tc_pie_xstats`.
const PIE: &[Field] = &[
    wide("prob", 0, 1.0 / PIE_WHOLE),
    scaled("delay", 8, MICROSECOND),
    number("avg_dq_rate", 12),
    number("pkts_in", 20),
    number("dropped", 24),
    number("overlimit", 28),
    number("maxq", 32),
    number("ecn_mark", 36),
];
/// `struct tc_fq_pie_xstats`.
const FQ_PIE: &[Field] = &[
    number("pkts_in", 0),
    number("dropped", 4),
    number("overlimit", 8),
    number("overmemory", 12),
    number("ecn_mark", 16),
    number("new_flow_count", 20),
    number("new_flows_len", 24),
    number("old_flows_len", 28),
    number("memory_used", 32),
];
/// `struct tc_choke_xstats`, which begins as `struct tc_red_xstats`.
const CHOKE: &[Field] = &[
    number("early", 0),
    number("pdrop", 4),
    number("marked", 12),
    number("matched", 16),
];
/// `struct tc_sfb_xstats`.
const SFB: &[Field] = &[
    number("earlydrop", 0),
    number("penaltydrop", 4),
    number("bucketdrop", 8),
    number("queuedrop", 12),
    number("marked", 20),
    number("maxqlen", 24),
    scaled("maxprob", 28, 1.0 / SFB_WHOLE),
    scaled("avgprob", 32, 1.0 / SFB_WHOLE),
];
/// `struct tc_hhf_xstats`.
const HHF: &[Field] = &[
    number("drop_overlimit", 0),
    number("hh_overlimit", 4),
    number("hh_tot_count", 8),
    number("hh_cur_count", 12),
];
/// `struct tc_fq_qd_stats`. Its `flows` counts idle flows too, so it is left out.
const FQ: &[Field] = &[
    wide("throttled", 24, 1.0),
    wide("flows_plimit", 32, 1.0),
    wide("pkts_too_long", 40, 1.0),
    number("throttled_flows", 72),
    wide("ce_mark", 80, 1.0),
];
/// `struct tc_dualpi2_xstats`.
const DUALPI2: &[Field] = &[
    scaled("prob", 0, 1.0 / DUALPI2_WHOLE),
    scaled("delay_c", 4, MICROSECOND),
    scaled("delay_l", 8, MICROSECOND),
    number("pkts_in_c", 12),
    number("pkts_in_l", 16),
    number("maxq", 20),
    number("ecn_mark", 24),
    number("step_marks", 28),
    Field {
        name: "credit",
        offset: 32,
        form: Form::I32,
        unit: 1.0,
    },
];
/// `struct tc_sfqred_stats` in the options of sfq, a `struct tc_sfq_qopt_v1`.
const SFQ: &[Field] = &[
    number("prob_drop", 48),
    number("forced_drop", 52),
    number("prob_mark", 56),
    number("forced_mark", 60),
    number("prob_mark_head", 64),
    number("forced_mark_head", 68),
];
/// Where sfq's options have the upper threshold of RED, which is 0 without RED.
const SFQ_MAX: Field = number("qth_max", 36);

const TCA_CAKE_STATS_MEMORY_LIMIT: u16 = 3;
const TCA_CAKE_STATS_MEMORY_USED: u16 = 4;
const TCA_CAKE_STATS_TIN_STATS: u16 = 10;
/// The attributes of a tin (`TCA_CAKE_TIN_STATS_...`) in the order of the names of ours, and what one stands for. Linux's rates are in bytes.
const CAKE_TIN: [(u16, f64); 16] = [
    (12, 8.0), // THRESHOLD_RATE64
    (13, 1.0), // TARGET_US
    (14, 1.0), // INTERVAL_US
    (2, 1.0),  // SENT_PACKETS
    (3, 1.0),  // SENT_BYTES64
    (11, 1.0), // BACKLOG_BYTES
    (15, 1.0), // WAY_INDIRECT_HITS
    (16, 1.0), // WAY_MISSES
    (17, 1.0), // WAY_COLLISIONS
    (4, 1.0),  // DROPPED_PACKETS
    (8, 1.0),  // ECN_MARKED_PACKETS
    (6, 1.0),  // ACKS_DROPPED_PACKETS
    (21, 1.0), // SPARSE_FLOWS
    (22, 1.0), // BULK_FLOWS
    (23, 1.0), // UNRESPONSIVE_FLOWS
    (25, 1.0), // FLOW_QUANTUM
];
/// Statistics that cake reports only by tin, by their places in `CAKE_TIN`. The whole has their sums.
const CAKE_SUMS: [(&str, usize); 8] = [
    ("ecn_mark", 10),
    ("ack_drop", 11),
    ("way_inds", 6),
    ("way_miss", 7),
    ("way_cols", 8),
    ("sparse_flows", 12),
    ("bulk_flows", 13),
    ("unresponsive_flows", 14),
];

/// Names and values.
pub type Statistics = Vec<(&'static str, f64)>;

/// The statistics of the queue discipline that is attached to `parent`. A shaper also has those of the queue inside it.
pub fn statistics_below(qdiscs: &[Qdisc], parent: Handle) -> Statistics {
    let Some(queue) = qdiscs.iter().find(|queue| queue.parent == parent) else {
        return Statistics::new();
    };
    let mut all = queue.statistics();
    if ["htb", "tbf"].contains(&queue.kind.as_str()) {
        let inside = qdiscs.iter().map(|inner| inner.parent);
        for class in inside.filter(|class| class.major == queue.handle.major && class.minor != 0) {
            add_stats(&mut all, statistics_below(qdiscs, class));
        }
    }
    all
}

impl Qdisc {
    /// What it counted, and its state, by the names and in the units of our queue disciplines.
    pub fn statistics(&self) -> Statistics {
        let reported = &self.reported[..];
        let mut all = match self.kind.as_str() {
            "codel" => self.with_drop_count(read(reported, CODEL)),
            "fq_codel" => self.with_drop_count(read(reported, FQ_CODEL)),
            "pie" => read(reported, PIE),
            "fq_pie" => read(reported, FQ_PIE),
            "red" | "choke" => read(reported, CHOKE),
            "sfb" => read(reported, SFB),
            "hhf" => read(reported, HHF),
            "fq" => read(reported, FQ),
            "dualpi2" => read(reported, DUALPI2),
            "cake" => cake(reported),
            "sfq" if SFQ_MAX.read(&self.options).is_some_and(|max| max > 0.0) => {
                read(&self.options, SFQ)
            }
            "tbf" => vec![("drops", self.counters.drops as f64)],
            _ => Vec::new(),
        };
        if ["red", "choke", "sfb", "htb", "tbf"].contains(&self.kind.as_str()) {
            all.push(("overlimits", self.counters.overlimits as f64));
        }
        all
    }

    /// Adds the drops of the algorithm, which are those that no limit caused.
    fn with_drop_count(&self, mut all: Statistics) -> Statistics {
        let overlimit = all.iter().find(|(name, _)| *name == "drop_overlimit");
        if let Some(&(_, overlimit)) = overlimit {
            all.push(("drop_count", self.counters.drops as f64 - overlimit));
        }
        all
    }
}

impl Field {
    /// Its value; `None` in a structure that ends before it, such as that of an older kernel.
    fn read(&self, bytes: &[u8]) -> Option<f64> {
        let bytes = bytes.get(self.offset..)?;
        let value = match self.form {
            Form::U32 => f64::from(u32::from_ne_bytes(*bytes.first_chunk()?)),
            Form::I32 => f64::from(i32::from_ne_bytes(*bytes.first_chunk()?)),
            Form::U64 => u64::from_ne_bytes(*bytes.first_chunk()?) as f64,
        };
        Some(value * self.unit)
    }
}

fn read(bytes: &[u8], fields: &[Field]) -> Statistics {
    let values = fields.iter();
    values
        .filter_map(|field| Some((field.name, field.read(bytes)?)))
        .collect()
}

/// cake reports attributes, and within them a list of tins.
fn cake(reported: &[u8]) -> Statistics {
    let mut all = Statistics::new();
    for (name, kind) in [
        ("memory_used", TCA_CAKE_STATS_MEMORY_USED),
        ("memory_limit", TCA_CAKE_STATS_MEMORY_LIMIT),
    ] {
        all.extend(find(reported, kind).map(|value| (name, value)));
    }
    let tins = attribute(reported, TCA_CAKE_STATS_TIN_STATS).unwrap_or_default();
    let tins: Vec<_> = NlasIterator::new(&tins[..])
        .flatten()
        .map(|tin| CAKE_TIN.map(|(kind, unit)| find(tin.value(), kind).unwrap_or(0.0) * unit))
        .collect();
    for (name, place) in CAKE_SUMS {
        all.push((name, tins.iter().map(|tin| tin[place]).sum()));
    }
    for (names, values) in TIN_STATISTICS.iter().zip(tins) {
        all.extend(names.iter().copied().zip(values));
    }
    all
}

/// The number in an attribute, of 32 or 64 bits.
fn find(bytes: &[u8], kind: u16) -> Option<f64> {
    let found = attribute(bytes, kind)?;
    let form = if found.len() < 8 {
        Form::U32
    } else {
        Form::U64
    };
    let field = Field {
        form,
        ..number("", 0)
    };
    field.read(&found)
}

#[cfg(test)]
mod tests {
    use crate::netlink::TrafficCounters;

    use super::*;

    fn qdisc(kind: &str, reported: &[u32]) -> Qdisc {
        Qdisc {
            kind: kind.into(),
            handle: Handle::new(10, 0),
            parent: Handle::new(1, 1),
            counters: TrafficCounters {
                drops: 9,
                overlimits: 5,
                ..TrafficCounters::default()
            },
            options: Vec::new(),
            reported: reported
                .iter()
                .flat_map(|word| word.to_ne_bytes())
                .collect(),
        }
    }

    fn value(statistics: &Statistics, name: &str) -> Option<f64> {
        let found = statistics.iter().find(|(known, _)| *known == name);
        found.map(|&(_, value)| value)
    }

    #[test]
    fn values_have_our_units() {
        let sfb = qdisc("sfb", &[1, 2, 3, 4, 0, 6, 7, 65_535, 0]).statistics();
        assert_eq!(value(&sfb, "bucketdrop"), Some(3.0));
        assert_eq!(value(&sfb, "maxprob"), Some(1.0));
        assert_eq!(value(&sfb, "overlimits"), Some(5.0));
        let codel = qdisc("codel", &[1514, 2, 1, 5000, 0, 4, 3, 1, 0]).statistics();
        assert_eq!(value(&codel, "ldelay"), Some(0.005));
        // Of nine drops, four were over the limit.
        assert_eq!(value(&codel, "drop_count"), Some(5.0));
        // A half of 2^64, in the order of bytes of this machine.
        let half = (1_u64 << 63).to_ne_bytes();
        let (low, high) = half.split_at(4);
        let words = [low, high].map(|part| u32::from_ne_bytes(part.try_into().unwrap()));
        let pie = qdisc("pie", &[words[0], words[1], 15_000, 0, 0, 70, 8, 0, 60, 2]).statistics();
        assert_eq!(value(&pie, "prob"), Some(0.5));
        assert_eq!(value(&pie, "delay"), Some(0.015));
        assert_eq!(value(&pie, "ecn_mark"), Some(2.0));
    }

    #[test]
    fn an_older_kernel_reports_less() {
        let fq_codel = qdisc("fq_codel", &[0, 1514, 4, 3, 10, 1, 2]).statistics();
        assert_eq!(value(&fq_codel, "new_flow_count"), Some(10.0));
        assert_eq!(value(&fq_codel, "memory_used"), None);
        assert_eq!(qdisc("pie", &[]).statistics(), []);
        assert_eq!(qdisc("cake", &[1]).statistics().len(), CAKE_SUMS.len());
    }

    #[test]
    fn cake_has_the_sums_of_its_tins() {
        let attribute = |kind: u16, value: &[u8]| {
            let length = 4 + value.len() as u16;
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat()
        };
        let tin = |number: u16, marks: u32| {
            let marks = attribute(8, &marks.to_ne_bytes());
            let rate = attribute(12, &1_250_000_u64.to_ne_bytes());
            attribute(number, &[marks, rate].concat())
        };
        let tins = [tin(1, 3), tin(2, 4)].concat();
        let reported = [
            attribute(TCA_CAKE_STATS_MEMORY_USED, &1000_u32.to_ne_bytes()),
            attribute(TCA_CAKE_STATS_TIN_STATS, &tins),
        ];
        let mut cake = qdisc("cake", &[]);
        cake.reported = reported.concat();
        let statistics = cake.statistics();
        assert_eq!(value(&statistics, "memory_used"), Some(1000.0));
        assert_eq!(value(&statistics, "ecn_mark"), Some(7.0));
        assert_eq!(value(&statistics, "tin1_ecn_mark"), Some(4.0));
        assert_eq!(value(&statistics, "tin0_threshold_rate"), Some(1e7));
        assert_eq!(value(&statistics, "tin2_ecn_mark"), None);
    }

    #[test]
    fn a_shaper_has_the_statistics_of_its_queue() {
        let mut tbf = qdisc("tbf", &[]);
        let mut inner = qdisc("pie", &[0; 10]);
        (tbf.handle, inner.parent) = (Handle::new(16, 0), Handle::new(16, 1));
        let all = statistics_below(&[inner.clone(), tbf.clone()], tbf.parent);
        assert_eq!(value(&all, "drops"), Some(9.0));
        assert_eq!(value(&all, "maxq"), Some(0.0));
        // drr divides the link among its classes, so their statistics are not added.
        tbf.kind = "drr".into();
        assert_eq!(statistics_below(&[inner, tbf.clone()], tbf.parent), []);
        assert_eq!(statistics_below(&[tbf], Handle::new(2, 1)), []);
    }

    #[test]
    fn sfq_reports_what_red_did_in_it() {
        let mut options = vec![0; 18];
        options[12] = 5;
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut sfq = qdisc("sfq", &[]);
        sfq.options = bytes(&options);
        assert_eq!(sfq.statistics(), []);
        options[9] = 60_000;
        sfq.options = bytes(&options);
        assert_eq!(value(&sfq.statistics(), "prob_drop"), Some(5.0));
    }
}
