//! Statistics: the totals, and those of each tin by its number.

use super::tin::Tin;

/// The names of the values of one tin.
macro_rules! names {
    ($($tin:literal),+) => {
        [$([
            concat!("tin", $tin, "_threshold_rate"),
            concat!("tin", $tin, "_target_us"),
            concat!("tin", $tin, "_interval_us"),
            concat!("tin", $tin, "_pkts"),
            concat!("tin", $tin, "_bytes"),
            concat!("tin", $tin, "_backlog"),
            concat!("tin", $tin, "_way_inds"),
            concat!("tin", $tin, "_way_miss"),
            concat!("tin", $tin, "_way_cols"),
            concat!("tin", $tin, "_drops"),
            concat!("tin", $tin, "_ecn_mark"),
            concat!("tin", $tin, "_ack_drop"),
            concat!("tin", $tin, "_sp_flows"),
            concat!("tin", $tin, "_bk_flows"),
            concat!("tin", $tin, "_un_flows"),
            concat!("tin", $tin, "_quantum"),
        ],)+]
    };
}

/// The names of the statistics of each tin. Names must live as long as the program, so those of every possible tin are written out.
pub const TIN_STATISTICS: [[&str; 16]; 8] = names!(0, 1, 2, 3, 4, 5, 6, 7);

/// The values of a tin, in the order of its names. Rates are in bits per second.
fn values(tin: &Tin) -> [f64; 16] {
    let counts = &tin.counts;
    [
        tin.settings.threshold.map_or(0.0, |rate| rate.0 as f64),
        tin.settings.controller.target as f64 * 1e-3,
        tin.settings.controller.interval as f64 * 1e-3,
        counts.pkts as f64,
        counts.bytes as f64,
        tin.backlog as f64,
        counts.way_inds as f64,
        counts.way_miss as f64,
        counts.way_cols as f64,
        (counts.controller.drop_count + counts.controller.drop_overlimit) as f64,
        counts.controller.ecn_mark as f64,
        counts.ack_drop as f64,
        tin.sparse_flows() as f64,
        f64::from(tin.bulk_flows),
        f64::from(tin.unresponsive_flows),
        f64::from(tin.settings.quantum),
    ]
}

/// All statistics. `memory_used` is the largest backlog so far.
pub(super) fn report(
    tins: &[Tin],
    memory_used: u64,
    memory_limit: u64,
) -> Vec<(&'static str, f64)> {
    let sum = |of: fn(&Tin) -> u64| tins.iter().map(of).sum::<u64>() as f64;
    let mut all = vec![
        ("memory_used", memory_used as f64),
        ("memory_limit", memory_limit as f64),
        ("drop_count", sum(|tin| tin.counts.controller.drop_count)),
        (
            "drop_overlimit",
            sum(|tin| tin.counts.controller.drop_overlimit),
        ),
        ("ecn_mark", sum(|tin| tin.counts.controller.ecn_mark)),
        ("ack_drop", sum(|tin| tin.counts.ack_drop)),
        ("way_inds", sum(|tin| tin.counts.way_inds)),
        ("way_miss", sum(|tin| tin.counts.way_miss)),
        ("way_cols", sum(|tin| tin.counts.way_cols)),
        ("sparse_flows", sum(|tin| tin.sparse_flows() as u64)),
        ("bulk_flows", sum(|tin| u64::from(tin.bulk_flows))),
        (
            "unresponsive_flows",
            sum(|tin| u64::from(tin.unresponsive_flows)),
        ),
    ];
    for (tin, names) in tins.iter().zip(&TIN_STATISTICS) {
        all.extend(names.iter().copied().zip(values(tin)));
    }
    all
}
