//! The numbers of the presets: a fit to the published statistics of the four measured traces. Rates in Mbit/s.

use bloatlab_units::{MILLISECOND, Nanos, Rng, SECOND};

use super::Preset;

/// The level below the clear ones: 802.11ad's MCS 8.
pub(super) const LOWER: u64 = 2310;

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
    /// U(2850, 3080), drawn anew every so many samples; a sample is at `LOWER` with this probability.
    Held { lower: f64, samples: u64 },
    /// As [`walking`] draws it, for 6 to 17 samples.
    Walking,
}

/// When the path is blocked, how long and how badly.
#[derive(Clone)]
pub(super) struct Blockage {
    /// Mean and standard deviation of the time to the next, ns.
    pub gap: Nanos,
    pub gap_deviation: Nanos,
    /// That time counts from the end of a blockage, not from its beginning.
    pub gap_from_end: bool,
    pub length: Length,
    pub level: Draw,
    pub after: After,
}

/// How long a blockage lasts.
#[derive(Clone, Copy)]
pub(super) enum Length {
    /// From so many samples to so many.
    Samples(u64, u64),
    /// From such a time to such a time, in whole samples.
    Time(Nanos, Nanos),
}

/// What follows a blockage: so long at `LOWER`, with this probability.
#[derive(Clone, Copy)]
pub(super) struct After {
    pub chance: f64,
    pub time: Nanos,
}

/// Levels and their weights, which sum to 1.
#[derive(Clone, Copy)]
pub(super) struct Levels(&'static [(u64, f64)]);

/// When the level of a blockage is drawn.
#[derive(Clone)]
pub(super) enum Draw {
    /// At its beginning.
    Once(Levels),
    /// For each sample, from the second list with this probability.
    EachSample {
        usual: Levels,
        rare: Option<(f64, Levels)>,
    },
}

impl Levels {
    pub fn draw(self, rng: &mut Rng) -> u64 {
        let mut left = rng.uniform();
        let drawn = self.0.iter().find(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        // Weights that sum to a little less than 1 leave the last one.
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
    /// The least and the greatest length in samples.
    pub fn samples(&self, interval: Nanos) -> [u64; 2] {
        match self.length {
            Length::Samples(low, high) => [low, high],
            Length::Time(low, high) => {
                [low, high].map(|time| ((time + interval / 2) / interval).max(1))
            }
        }
    }

    /// The level of one sample.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        match &self.level {
            Draw::Once(levels) => levels.draw(rng),
            Draw::EachSample { usual, rare } => match rare {
                Some((chance, rare)) if rng.chance(*chance) => rare.draw(rng),
                _ => usual.draw(rng),
            },
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

/// The level of somebody who walks: 28 % at `LOWER`, else 35 % U(2850, 3100) and 65 % U(3600, 3850).
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
                    gap: 15 * SECOND,
                    gap_deviation: 1200 * MILLISECOND,
                    gap_from_end: false,
                    length: Length::Samples(2, 7),
                    level: Draw::Once(Levels(&[(962, 0.5), (1155, 0.5)])),
                    after: recovers,
                }),
            },
            Self::Lb => Recipe {
                interval: 300 * MILLISECOND,
                clear: held(0.04),
                blockage: Some(Blockage {
                    gap: 20_500 * MILLISECOND,
                    gap_deviation: 1200 * MILLISECOND,
                    gap_from_end: false,
                    length: Length::Time(4800 * MILLISECOND, 7300 * MILLISECOND),
                    level: Draw::EachSample {
                        usual: Levels(&[(1540, 0.25), (1770, 0.25), (1896, 0.25), (1925, 0.25)]),
                        rare: Some((
                            0.15,
                            Levels(&[(962, 0.3), (1155, 0.4), (770, 0.25), (385, 0.05)]),
                        )),
                    },
                    after: recovers,
                }),
            },
            Self::Mobb => Recipe {
                interval: 250 * MILLISECOND,
                clear: Clear::Walking,
                blockage: Some(Blockage {
                    gap: 9 * SECOND,
                    gap_deviation: 4 * SECOND,
                    gap_from_end: true,
                    length: Length::Samples(1, 4),
                    level: Draw::EachSample {
                        usual: Levels(&[
                            (1540, 0.15),
                            (1155, 0.45),
                            (962, 0.25),
                            (385, 0.08),
                            (0, 0.07),
                        ]),
                        rare: None,
                    },
                    after: After {
                        chance: 0.4,
                        time: 3 * SECOND,
                    },
                }),
            },
        }
    }
}
