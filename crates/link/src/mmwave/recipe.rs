//! The numbers of the presets: a fit to the published statistics of the four measured traces. Rates in Mbit/s.

use bloatlab_units::{MILLISECOND, Nanos, Rng, SECOND};

use super::Preset;

/// The level below the clear levels: MCS 8 of 802.11ad.
pub(super) const LOWER: u64 = 2310;

/// In the measured traces, the rate never falls to less than a sixth from one sample to the next (2310 to 385 Mbit/s), except to 0.
pub(super) const DEEPEST: u64 = 6;

/// How a preset's samples are drawn.
#[derive(Clone)]
pub(super) struct Recipe {
    /// Length of a sample.
    pub interval: Nanos,
    pub clear: Clear,
    pub blockage: Option<Blockage>,
}

/// The level while nothing blocks the path.
#[derive(Clone, Copy)]
pub(super) enum Clear {
    /// U(2850, 3080), drawn once per this number of samples. A sample is at `LOWER` with this probability.
    Held { lower: f64, samples: u64 },
    /// Drawn by [`walking`], for 6 to 17 samples.
    Walking,
}

/// When and for how long the path is blocked, and by how much.
#[derive(Clone)]
pub(super) struct Blockage {
    /// Mean and standard deviation of the time to the next blockage, ns.
    pub gap: Nanos,
    pub gap_deviation: Nanos,
    /// That time counts from the end of a blockage, not from its beginning.
    pub gap_from_end: bool,
    pub length: Length,
    pub level: Draw,
    /// One of this number of consecutive blockages has a sample at this level, which must be among those of `level`.
    pub lowest: Option<(u64, u64)>,
    pub after: After,
}

/// How long a blockage lasts.
#[derive(Clone, Copy)]
pub(super) enum Length {
    /// A number of samples in this range.
    Samples(u64, u64),
    /// A number of samples with these weights.
    Drawn(Weighted),
    /// A time in this range, as whole samples.
    Time(Nanos, Nanos),
}

/// The recovery after a blockage: a time at `LOWER`, with this probability.
#[derive(Clone, Copy)]
pub(super) struct After {
    pub chance: f64,
    pub time: Nanos,
}

/// Levels or lengths and their weights, which sum to 1.
#[derive(Clone, Copy)]
pub(super) struct Weighted(&'static [(u64, f64)]);

/// When the level of a blockage is drawn.
#[derive(Clone)]
pub(super) enum Draw {
    /// At its beginning.
    Once(Weighted),
    /// For each sample, from the second list with this probability.
    EachSample {
        usual: Weighted,
        rare: Option<(f64, Weighted)>,
    },
}

impl Weighted {
    pub fn draw(self, rng: &mut Rng) -> u64 {
        let mut left = rng.uniform();
        let drawn = self.0.iter().find(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        // Rounding errors may leave a remainder, which goes to the last one.
        drawn.or(self.0.last()).map_or(0, |(level, _)| *level)
    }

    fn bounds(self) -> (u64, u64) {
        let levels = self.0.iter().map(|(level, _)| *level);
        levels.fold((u64::MAX, 0), |(least, most), level| {
            (least.min(level), most.max(level))
        })
    }
}

impl Blockage {
    /// A length in samples.
    pub fn length(&self, interval: Nanos, rng: &mut Rng) -> u64 {
        let [low, high] = match self.length {
            Length::Samples(low, high) => [low, high],
            Length::Time(low, high) => {
                [low, high].map(|time| ((time + interval / 2) / interval).max(1))
            }
            Length::Drawn(lengths) => return lengths.draw(rng),
        };
        low + rng.below(high - low + 1)
    }

    /// The level of the sample after one at this level.
    pub fn draw(&self, before: u64, rng: &mut Rng) -> u64 {
        loop {
            let drawn = match &self.level {
                Draw::Once(levels) => levels.draw(rng),
                Draw::EachSample { usual, rare } => match rare {
                    Some((chance, rare)) if rng.chance(*chance) => rare.draw(rng),
                    _ => usual.draw(rng),
                },
            };
            if drawn == 0 || drawn * DEEPEST >= before {
                return drawn;
            }
        }
    }
}

impl Recipe {
    /// The least and the greatest level.
    pub fn bounds(&self) -> (u64, u64) {
        let clear = match self.clear {
            Clear::Held { .. } => (LOWER, 3080),
            Clear::Walking => (LOWER, 3850),
        };
        let Some(blockage) = &self.blockage else {
            return clear;
        };
        let blocked = match &blockage.level {
            Draw::Once(levels) => levels.bounds(),
            Draw::EachSample { usual, rare } => {
                let usual = usual.bounds();
                let rare = rare.map_or(usual, |(_, rare)| rare.bounds());
                (usual.0.min(rare.0), usual.1.max(rare.1))
            }
        };
        (clear.0.min(blocked.0), clear.1.max(blocked.1))
    }
}

/// The clear level of a receiver that walks: 28 % at `LOWER`, else 35 % U(2850, 3100) and 65 % U(3600, 3850).
pub(super) fn walking(rng: &mut Rng) -> u64 {
    if rng.chance(0.28) {
        LOWER
    } else if rng.chance(0.35) {
        2850 + rng.below(3100 - 2850 + 1)
    } else {
        3600 + rng.below(3850 - 3600 + 1)
    }
}

impl Preset {
    pub(super) fn recipe(self) -> Recipe {
        let recovers = After {
            chance: 1.0,
            time: 3 * SECOND,
        };
        let held = |lower| Clear::Held { lower, samples: 10 };
        match self {
            Self::Sl => Recipe {
                interval: 300 * MILLISECOND,
                clear: held(0.058),
                blockage: None,
            },
            Self::Sb => Recipe {
                interval: 300 * MILLISECOND,
                clear: held(0.04),
                blockage: Some(Blockage {
                    // The trace has 7 in 133.1 s: one every 13 to 17 s after 20 s, and none in the last 21 s. They are spread evenly here.
                    gap: 17 * SECOND,
                    gap_deviation: 1200 * MILLISECOND,
                    gap_from_end: false,
                    length: Length::Samples(2, 7),
                    level: Draw::Once(Weighted(&[(962, 0.5), (1155, 0.5)])),
                    lowest: None,
                    after: recovers,
                }),
            },
            Self::Lb => Recipe {
                interval: 300 * MILLISECOND,
                clear: held(0.04),
                blockage: Some(Blockage {
                    gap: 18_500 * MILLISECOND,
                    gap_deviation: 1200 * MILLISECOND,
                    gap_from_end: false,
                    // The trace has five of 4.9 to 7.3 s. One of them was interrupted, so they count as six of 1.2 to 7.3 s.
                    length: Length::Time(2700 * MILLISECOND, 7300 * MILLISECOND),
                    level: Draw::EachSample {
                        usual: Weighted(&[(1540, 0.25), (1770, 0.25), (1896, 0.25), (1925, 0.25)]),
                        rare: Some((
                            0.15,
                            Weighted(&[(962, 0.3), (1155, 0.4), (770, 0.25), (385, 0.05)]),
                        )),
                    },
                    // In the trace, one of the blockages of two minutes has a sample at 385, which gives a long queue its peak. By the weights
                    // alone, every second run has none.
                    lowest: Some((5, 385)),
                    after: recovers,
                }),
            },
            Self::Mobb => Recipe {
                interval: 250 * MILLISECOND,
                clear: Clear::Walking,
                blockage: Some(Blockage {
                    gap: 8500 * MILLISECOND,
                    gap_deviation: 4 * SECOND,
                    gap_from_end: true,
                    length: Length::Drawn(Weighted(&[(1, 0.3), (2, 0.25), (3, 0.25), (4, 0.2)])),
                    level: Draw::EachSample {
                        usual: Weighted(&[
                            (1540, 0.15),
                            (1155, 0.45),
                            (962, 0.25),
                            (385, 0.08),
                            (0, 0.07),
                        ]),
                        rare: None,
                    },
                    lowest: None,
                    after: After {
                        chance: 0.4,
                        time: 3 * SECOND,
                    },
                }),
            },
        }
    }
}
