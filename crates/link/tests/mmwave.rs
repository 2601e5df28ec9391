//! The 60 GHz generator compared with the published statistics of the measured traces (Srivastava, Fund and Panwar 2020).

use bloatlab_link::{Disk, RateVariation};
use bloatlab_units::{Rate, Streams};
use serde_json::{Value, json};

const SEEDS: u64 = 200;

/// The samples of `seconds` seconds in Mbit/s.
fn samples(document: Value, seconds: f64, interval: f64, seed: u64) -> Vec<f64> {
    let mut how: RateVariation = serde_json::from_value(document).expect("a variation");
    let rng = Streams::new(seed).stream("vary/bottleneck/rate");
    let loaded = how.load(&Disk).expect("in range");
    let mut source = loaded.source(Rate(1), rng).expect("a rate");
    let count = (seconds / interval).round() as usize;
    let changes: Vec<_> = (0..count).map(|_| source.next()).collect();
    assert_eq!(changes[1].at, (interval * 1e9) as u64);
    changes.iter().map(|change| change.value * 1e-6).collect()
}

/// Lengths of the dips below 2000 Mbit/s, in samples.
fn dips(samples: &[f64]) -> Vec<usize> {
    let runs = samples.chunk_by(|a, b| (*a < 2000.0) == (*b < 2000.0));
    runs.filter(|run| run[0] < 2000.0)
        .map(<[f64]>::len)
        .collect()
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    values.iter().sum::<f64>() / values.len() as f64
}

struct Published {
    preset: &'static str,
    interval: f64,
    seconds: f64,
    mean: f64,
    median: f64,
    least: f64,
    most: f64,
    dips: f64,
    dip: f64,
    share: f64,
}

/// mmwave-aqm: length, means, median and range; dips below 2000 Mbit/s with their mean length and their share of the time.
#[rustfmt::skip]
const PUBLISHED: [Published; 4] = [
    Published { preset: "sl", interval: 0.30, seconds: 126.6, mean: 2905.0, median: 2956.0, least: 2310.0, most: 3080.0, dips: 0.0, dip: 0.0, share: 0.0 },
    Published { preset: "sb", interval: 0.30, seconds: 133.1, mean: 2726.0, median: 3013.0, least: 962.0, most: 3080.0, dips: 7.0, dip: 1.4, share: 0.075 },
    Published { preset: "lb", interval: 0.30, seconds: 120.5, mean: 2520.0, median: 2887.0, least: 385.0, most: 3080.0, dips: 6.0, dip: 5.0, share: 0.250 },
    Published { preset: "mobb", interval: 0.25, seconds: 110.6, mean: 2961.0, median: 2969.0, least: 0.0, most: 3850.0, dips: 12.0, dip: 0.6, share: 0.064 },
];

#[test]
fn the_presets_have_the_published_statistics() {
    for p in PUBLISHED {
        let runs: Vec<Vec<f64>> = (0..SEEDS)
            .map(|seed| {
                let how = json!({ "kind": "mmwave", "preset": p.preset });
                samples(how, p.seconds, p.interval, seed)
            })
            .collect();
        let of_mean = mean(runs.iter().flatten().copied());
        let mut all: Vec<f64> = runs.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        let median = all[all.len() / 2];
        let every: Vec<Vec<usize>> = runs.iter().map(|run| dips(run)).collect();
        let count = mean(every.iter().map(|d| d.len() as f64));
        let length = mean(every.iter().flatten().map(|&n| n as f64 * p.interval));
        let share = mean(all.iter().map(|&r| f64::from(u8::from(r < 2000.0))));
        let near = |what: &str, ours: f64, published: f64| {
            let preset = p.preset;
            assert!(
                (ours - published).abs() <= 0.05 * published,
                "{preset} {what}: {ours}, published {published}"
            );
        };
        near("mean", of_mean, p.mean);
        near("median", median, p.median);
        assert_eq!((all[0], all[all.len() - 1]), (p.least, p.most));
        if p.dips == 0.0 {
            assert_eq!(count, 0.0);
            continue;
        }
        near("dips", count, p.dips);
        near("length of a dip", length, p.dip);
        near("share below 2000", share, p.share);
    }
}

#[test]
fn long_blockages_reach_the_lowest_rate_within_two_minutes() {
    let reaches = |seed: &u64| {
        let how = json!({ "kind": "mmwave", "preset": "lb" });
        samples(how, 120.0, 0.3, *seed).contains(&385.0)
    };
    let count = (0..SEEDS).filter(reaches).count() as u64;
    assert!(count * 100 >= SEEDS * 95, "{count} of {SEEDS} runs");
}

#[test]
fn blockages_have_the_shape_of_the_recipe() {
    let long = |preset: &str, interval: f64| {
        samples(
            json!({ "kind": "mmwave", "preset": preset }),
            20_000.0,
            interval,
            7,
        )
    };
    let of = |samples: &[f64]| -> (usize, usize) {
        let mut dips = dips(samples);
        // The end of the run may cut off the last one.
        dips.pop();
        (*dips.iter().min().unwrap(), *dips.iter().max().unwrap())
    };
    let sb = long("sb", 0.3);
    assert_eq!(of(&sb), (2, 7));
    // One level per blockage, then 3 s at 2310.
    for (place, pair) in sb.windows(2).enumerate() {
        if pair[0] < 2000.0 {
            assert!(pair[0] == 962.0 || pair[0] == 1155.0);
            assert!(pair[1] == pair[0] || pair[1] == 2310.0);
        }
        if pair[0] < 2000.0 && pair[1] == 2310.0 {
            let after = &sb[place + 1..(place + 11).min(sb.len())];
            assert!(after.iter().all(|&rate| rate == 2310.0));
        }
    }
    assert_eq!(of(&long("lb", 0.3)), (9, 24));
    let mobb = long("mobb", 0.25);
    // Two gaps of less than half a sample are one sample apart.
    assert_eq!(of(&mobb), (1, 4));
    assert!(mobb.contains(&0.0));
    assert!(
        !mobb
            .iter()
            .any(|&rate| (3100.5..3599.5).contains(&rate) || rate > 3850.0)
    );
    // A fall is to at least a sixth, or to 0.
    let above: Vec<f64> = mobb.into_iter().filter(|&rate| rate > 0.0).collect();
    assert!(above.contains(&385.0));
    assert!(above.windows(2).all(|pair| 6.0 * pair[1] >= pair[0]));
}

#[test]
fn user_settings_replace_the_preset() {
    let read = |document: Value| {
        serde_json::from_value::<RateVariation>(document)
            .expect("a variation")
            .load(&Disk)
    };
    let scaled = json!({ "kind": "mmwave", "preset": "mobb", "scale": 0.5, "interval": "100ms" });
    let half = samples(scaled.clone(), 100.0, 0.1, 3);
    let whole = samples(
        json!({ "kind": "mmwave", "preset": "mobb", "interval": "100ms" }),
        100.0,
        0.1,
        3,
    );
    assert!(half.iter().zip(&whole).all(|(a, b)| *a == b / 2.0));
    assert_eq!(
        read(scaled).expect("in range").greatest(Rate(1)),
        Rate(1_925_000_000)
    );
    let rare = samples(
        json!({ "kind": "mmwave", "preset": "sb", "gap": "100s", "gap_deviation": "0s" }),
        990.0,
        0.3,
        3,
    );
    assert_eq!(dips(&rare).len(), 9);
    let refused = |document: Value| read(document).expect_err("refused");
    assert_eq!(
        refused(json!({ "kind": "mmwave", "gap": "3s" })),
        "gap: nothing blocks the path of `sl`"
    );
    assert_eq!(
        refused(json!({ "kind": "mmwave", "preset": "sb", "gap": "3ms" })),
        "gap: must be between 1s and 3600s, not 3ms"
    );
    assert_eq!(
        refused(json!({ "kind": "mmwave", "scale": 0 })),
        "scale: must be between 0.001 and 1000, not 0"
    );
    assert_eq!(
        refused(json!({ "kind": "mmwave", "interval": "2h" })),
        "interval: must be between 1ms and 3600s, not 7200s"
    );
}

#[test]
fn a_rate_of_zero_may_keep_the_previous_rate() {
    let walking = |keeps: bool| {
        let how = json!({ "kind": "mmwave", "preset": "mobb", "zero_keeps_rate": keeps });
        samples(how, 2000.0, 0.25, 3)
    };
    let (drawn, kept) = (walking(false), walking(true));
    assert!(drawn.contains(&0.0));
    let mut before = 0.0;
    for (drawn, kept) in drawn.into_iter().zip(kept) {
        before = if drawn > 0.0 { drawn } else { before };
        assert_eq!(kept, before);
    }
}
