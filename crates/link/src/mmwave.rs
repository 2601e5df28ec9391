//! A 60 GHz link that people walk through.

mod recipe;

use bloatlab_units::{Duration, MILLISECOND, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::factory::{Factory, HOUR, between};
use crate::{Change, Source};
use recipe::{After, Blockage, Clear, Draw, Recipe};

/// The rate of a 60 GHz link with the statistics of measured links (Srivastava, Fund and Panwar 2020).
///
/// The rate is drawn for each sample: a clear level, sometimes a lower one, and while somebody blocks the path a much lower one, with a slow recovery
/// after it. The rate has no end. Only queues use the constant rate beside `vary`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What happens to the path.
    #[serde(default)]
    pub preset: Preset,
    /// Length of a sample, from 1 ms to 1 h. Absent: 300 ms, for `mobb` 250 ms. In some presets blockages are a number of samples, and grow with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Mean time from the beginning of a blockage (for `mobb`: from its end) to the next, from 1 s to 1 h. Absent: 17 s (`sb`), 18.5 s (`lb`), 8.5 s
    /// (`mobb`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Duration>,
    /// Standard deviation of that time, at most 1 h. Absent: 1.2 s, for `mobb` 4 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_deviation: Option<Duration>,
    /// Factor on all rates, from 0.001 to 1000.
    #[serde(default = "one")]
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub scale: f64,
    /// A rate of 0 leaves the previous one in force, as with a tc that refuses it. Otherwise it is an outage.
    #[serde(default)]
    pub zero_keeps_rate: bool,
}

/// What happens to a 60 GHz path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Static link: nothing happens.
    #[default]
    Sl,
    /// Short blockage: a person crosses the path now and then.
    Sb,
    /// Long blockage: a person stands in the path for some seconds.
    Lb,
    /// Mobility and blockage: the receiver walks, and people cross the path.
    Mobb,
}

fn one() -> f64 {
    1.0
}

impl Default for Params {
    fn default() -> Self {
        Self::of(Preset::default())
    }
}

impl Params {
    /// The parameters of a preset.
    pub fn of(preset: Preset) -> Self {
        Self {
            preset,
            interval: None,
            gap: None,
            gap_deviation: None,
            scale: 1.0,
            zero_keeps_rate: false,
        }
    }

    /// Length of a sample.
    pub fn interval(&self) -> Nanos {
        let own = self.preset.recipe().interval;
        self.interval.map_or(own, |interval| interval.0)
    }
}

impl Factory for Params {
    fn validate(&self) -> Result<(), String> {
        if let Some(interval) = self.interval {
            between("interval", interval, MILLISECOND, HOUR)?;
        }
        let blocked = self.preset.recipe().blockage.is_some();
        for (name, value, least) in [
            ("gap", self.gap, SECOND),
            ("gap_deviation", self.gap_deviation, 0),
        ] {
            let Some(value) = value else {
                continue;
            };
            if !blocked {
                return Err(format!("{name}: nothing blocks the path of `sl`"));
            }
            between(name, value, least, HOUR)?;
        }
        if (0.001..=1000.0).contains(&self.scale) {
            return Ok(());
        }
        let scale = self.scale;
        Err(format!(
            "scale: must be between 0.001 and 1000, not {scale}"
        ))
    }

    fn bounds(&self, _nominal: f64) -> (f64, f64) {
        let (least, most) = self.preset.recipe().bounds();
        (self.bits(least), self.bits(most))
    }

    fn source(&self, _nominal: f64, rng: Rng) -> Box<dyn Source> {
        Box::new(Mmwave::new(self.clone(), rng))
    }
}

impl Params {
    /// A level in Mbit/s as a scaled rate in bit/s.
    fn bits(&self, megabits: u64) -> f64 {
        (megabits * 1_000_000) as f64 * self.scale
    }
}

/// The state of the path.
#[derive(Clone, Copy)]
enum Phase {
    Clear,
    /// Blocked, with the level of the whole blockage if it has one.
    Blocked(Option<u64>),
    /// Recovering.
    After,
}

struct Mmwave {
    params: Params,
    recipe: Recipe,
    interval: Nanos,
    rng: Rng,
    sample: u64,
    /// The clear level, and the sample at which the next one is drawn.
    level: u64,
    level_until: u64,
    phase: Phase,
    /// The first sample after the blockage or the recovery.
    phase_until: u64,
    /// The first sample of the next blockage.
    next: u64,
    /// Number of blockages before the next one with a sample at the lowest level.
    until_lowest: u64,
    /// That sample.
    lowest_at: u64,
    /// The last level above 0, Mbit/s.
    before: u64,
    /// The current rate, Mbit/s.
    set: u64,
}

impl Mmwave {
    fn new(params: Params, rng: Rng) -> Self {
        let mut source = Self {
            recipe: params.preset.recipe(),
            interval: params.interval(),
            params,
            rng,
            sample: 0,
            level: 0,
            level_until: 0,
            phase: Phase::Clear,
            phase_until: 0,
            next: u64::MAX,
            until_lowest: 0,
            lowest_at: u64::MAX,
            before: 0,
            set: 0,
        };
        source.next = source.gap(0);
        if let Some((every, _)) = source.lowest() {
            source.until_lowest = source.rng.below(every);
        }
        source
    }

    /// How many blockages have one sample at the lowest level, and that level.
    fn lowest(&self) -> Option<(u64, u64)> {
        self.recipe.blockage.as_ref()?.lowest
    }

    /// Places the sample at the lowest level in one of several blockages. It is never the first sample, because a rate falls to at most a sixth.
    fn place_lowest(&mut self) {
        let Some((every, _)) = self.lowest() else {
            return;
        };
        let rest = self.phase_until - self.sample - 1;
        if self.until_lowest == 0 && rest > 0 {
            self.lowest_at = self.sample + 1 + self.rng.below(rest);
        }
        self.until_lowest = self.until_lowest.checked_sub(1).unwrap_or(every - 1);
    }

    /// A time as a whole number of samples.
    fn samples(&self, time: f64) -> u64 {
        (time / self.interval as f64).round() as u64
    }

    /// Draws the first sample of the next blockage, a gap after this sample. At least one clear sample precedes it.
    fn gap(&mut self, from: u64) -> u64 {
        let Some(blockage) = &self.recipe.blockage else {
            return u64::MAX;
        };
        let mean = self.params.gap.map_or(blockage.gap, |gap| gap.0);
        let deviation = self.params.gap_deviation;
        let deviation = deviation.map_or(blockage.gap_deviation, |gap| gap.0);
        let time = mean as f64 + self.rng.normal(deviation as f64);
        from + self.samples(time.max(0.0)).max(1)
    }

    /// Changes the state if it changes at this sample.
    fn turn(&mut self) {
        let Some(blockage) = self.recipe.blockage.clone() else {
            return;
        };
        if self.sample == self.phase_until {
            self.phase = match self.phase {
                Phase::Blocked(_) => {
                    let After { chance, time } = blockage.after;
                    if blockage.gap_from_end {
                        self.next = self.gap(self.sample);
                    } else {
                        self.next = self.next.max(self.sample + 1);
                    }
                    if self.rng.chance(chance) {
                        self.phase_until = self.sample + self.samples(time as f64);
                        Phase::After
                    } else {
                        Phase::Clear
                    }
                }
                Phase::Clear | Phase::After => Phase::Clear,
            };
        }
        if self.sample == self.next {
            self.phase_until = self.sample + blockage.length(self.interval, &mut self.rng);
            if !blockage.gap_from_end {
                self.next = self.gap(self.sample);
            }
            let whole = match &blockage.level {
                Draw::Once(levels) => Some(levels.draw(&mut self.rng)),
                Draw::EachSample { .. } => None,
            };
            self.phase = Phase::Blocked(whole);
            self.place_lowest();
        }
    }

    /// The clear level of this sample.
    fn clear(&mut self) -> u64 {
        match self.recipe.clear {
            Clear::Held { lower, samples } => {
                if self.sample == self.level_until {
                    self.level_until += samples;
                    self.level = 2850 + self.rng.below(3080 - 2850 + 1);
                }
                if self.rng.chance(lower) {
                    recipe::LOWER
                } else {
                    self.level
                }
            }
            Clear::Walking => {
                if self.sample == self.level_until {
                    self.level_until += 6 + self.rng.below(17 - 6 + 1);
                    self.level = recipe::walking(&mut self.rng);
                }
                self.level
            }
        }
    }

    /// The rate of this sample, Mbit/s.
    fn rate(&mut self) -> u64 {
        self.turn();
        // Drawn in every state, so that the clear level also changes during a blockage.
        let clear = self.clear();
        match self.phase {
            Phase::Clear => clear,
            Phase::After => recipe::LOWER,
            Phase::Blocked(Some(level)) => level,
            Phase::Blocked(None) => match &self.recipe.blockage {
                Some(Blockage {
                    lowest: Some((_, level)),
                    ..
                }) if self.sample == self.lowest_at => *level,
                Some(blockage) => blockage.draw(self.before, &mut self.rng),
                None => clear,
            },
        }
    }
}

impl Source for Mmwave {
    fn next(&mut self) -> Change {
        let at = self.sample * self.interval;
        let drawn = self.rate();
        if drawn > 0 {
            self.before = drawn;
        }
        if drawn > 0 || !self.params.zero_keeps_rate {
            self.set = drawn;
        }
        self.sample += 1;
        Change {
            at,
            value: self.params.bits(self.set),
        }
    }
}
