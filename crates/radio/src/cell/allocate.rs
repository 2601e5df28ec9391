//! The allocation of a slot to UEs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The units into which a slot is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Symbols: a UE gets the whole band for some symbols.
    #[default]
    Tdma,
    /// Resource block groups: a UE gets some groups for all symbols.
    Ofdma,
}

/// Which UE is served first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// UEs take turns, one unit at a time.
    #[default]
    RoundRobin,
    /// The UE with the highest rate relative to what it got recently.
    ProportionalFair,
    /// The UE with the highest rate.
    MaxRate,
}

/// A UE that needs a part of the slot.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Number of the UE.
    pub ue: usize,
    /// Modulation and coding scheme of the UE.
    pub mcs: usize,
    /// Bytes that it needs.
    pub need: u32,
    /// Mean number of bytes per slot that it got recently.
    pub average: f64,
    /// Whether something that others wait for waits with it, such as a report or a request. No policy may delay that indefinitely.
    pub is_urgent: bool,
    /// Number of units that it gets.
    pub units: u32,
    satisfied: bool,
}

impl Candidate {
    /// Creates a candidate that has no units yet.
    pub fn new(ue: usize, mcs: usize, need: u32, average: f64) -> Self {
        Self {
            ue,
            mcs,
            need,
            average,
            is_urgent: false,
            units: 0,
            satisfied: false,
        }
    }

    /// Gives it one more unit.
    fn serve(&mut self, bytes: &mut dyn FnMut(usize, u32) -> u32) {
        self.units += 1;
        self.satisfied = bytes(self.mcs, self.units) >= self.need;
    }
}

/// Allocates the units of a slot to the candidates, one at a time, according to the policy. Each gets as few units as hold what it needs. `bytes`
/// returns how many bytes a number of units holds with a scheme. In round robin, the first candidate is served first.
pub fn allocate(
    policy: Policy,
    candidates: &mut [Candidate],
    units: u32,
    bytes: &mut dyn FnMut(usize, u32) -> u32,
) {
    if let [only] = candidates {
        only.units = fewest(only.mcs, only.need, units, bytes);
        return;
    }
    let mut left = units;
    // UEs that take turns are never delayed for long.
    if policy != Policy::RoundRobin {
        for candidate in candidates
            .iter_mut()
            .filter(|ue| ue.is_urgent)
            .take(units as usize)
        {
            candidate.serve(bytes);
            left -= 1;
        }
    }
    let mut turn = 0;
    for _ in 0..left {
        let Some(next) = choose(policy, candidates, turn, bytes) else {
            break;
        };
        candidates[next].serve(bytes);
        turn = next + 1;
    }
}

/// The fewest units that hold this many bytes, at most `units`.
fn fewest(mcs: usize, need: u32, units: u32, bytes: &mut dyn FnMut(usize, u32) -> u32) -> u32 {
    // The capacity grows with the number of units.
    let (mut low, mut high) = (1, units);
    if units == 0 || bytes(mcs, units) < need {
        return units;
    }
    while low < high {
        let middle = low.midpoint(high);
        if bytes(mcs, middle) >= need {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// Chooses the candidate for the next unit.
fn choose(
    policy: Policy,
    candidates: &[Candidate],
    turn: usize,
    bytes: &mut dyn FnMut(usize, u32) -> u32,
) -> Option<usize> {
    let count = candidates.len();
    let mut waiting = (0..count)
        .map(|step| (turn + step) % count)
        .filter(|&place| !candidates[place].satisfied);
    if policy == Policy::RoundRobin {
        return waiting.next();
    }
    let mut best: Option<(usize, f64)> = None;
    // Of equal candidates, the first in the list is chosen, so that the choice does not depend on who was served last.
    for place in (0..count).filter(|&place| !candidates[place].satisfied) {
        let candidate = &candidates[place];
        let rate = f64::from(bytes(candidate.mcs, 1));
        let weight = match policy {
            Policy::ProportionalFair => {
                // What it gets in this slot already counts.
                let got = f64::from(bytes(candidate.mcs, candidate.units));
                rate / (candidate.average + got).max(1.0)
            }
            _ => rate,
        };
        if best.is_none_or(|(_, most)| weight > most) {
            best = Some((place, weight));
        }
    }
    best.map(|(place, _)| place)
}

/// Number of resource blocks in a group (TS 38.214 table 5.1.2.2.1-1, configuration 1).
pub fn group_size(blocks: u32) -> u32 {
    match blocks {
        0..=36 => 2,
        37..=72 => 4,
        73..=144 => 8,
        _ => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 bytes per unit with scheme 1, 200 with scheme 2.
    fn bytes(mcs: usize, units: u32) -> u32 {
        100 * mcs as u32 * units
    }

    fn shares(policy: Policy, wants: &[(usize, u32, f64)], units: u32) -> Vec<u32> {
        let mut candidates: Vec<Candidate> = (0..)
            .zip(wants)
            .map(|(ue, &(mcs, need, average))| Candidate::new(ue, mcs, need, average))
            .collect();
        allocate(policy, &mut candidates, units, &mut bytes);
        candidates.iter().map(|candidate| candidate.units).collect()
    }

    #[test]
    fn one_ue_gets_the_fewest_that_hold_its_need() {
        for (need, units) in [(1, 1), (100, 1), (101, 2), (1150, 12), (99_999, 12)] {
            assert_eq!(
                shares(Policy::RoundRobin, &[(1, need, 0.0)], 12),
                [units],
                "{need}"
            );
        }
        assert_eq!(shares(Policy::MaxRate, &[(1, 100, 0.0)], 0), [0]);
    }

    #[test]
    fn round_robin_shares_evenly_and_gives_on_what_is_not_needed() {
        let greedy = 99_999;
        assert_eq!(
            shares(
                Policy::RoundRobin,
                &[(1, greedy, 0.0), (2, greedy, 0.0)],
                12
            ),
            [6, 6]
        );
        assert_eq!(
            shares(
                Policy::RoundRobin,
                &[(1, 150, 0.0), (1, greedy, 0.0), (1, greedy, 0.0)],
                12
            ),
            [2, 5, 5]
        );
    }

    #[test]
    fn max_rate_serves_the_best_channel_until_it_has_enough() {
        assert_eq!(
            shares(Policy::MaxRate, &[(1, 99_999, 0.0), (2, 900, 0.0)], 12),
            [7, 5]
        );
    }

    #[test]
    fn urgent_data_gets_a_unit_under_any_policy() {
        let mut candidates = [
            Candidate::new(0, 1, 4, 0.0),
            Candidate::new(1, 2, 99_999, 0.0),
        ];
        candidates[0].is_urgent = true;
        allocate(Policy::MaxRate, &mut candidates, 12, &mut bytes);
        assert_eq!(candidates.map(|ue| ue.units), [1, 11]);
    }

    #[test]
    fn proportional_fair_looks_at_what_each_got() {
        // Averages are equal, and what this slot gives counts. A unit of the better channel has twice the weight and twice the size.
        assert_eq!(
            shares(
                Policy::ProportionalFair,
                &[(1, 99_999, 0.0), (2, 99_999, 0.0)],
                12
            ),
            [6, 6]
        );
        let starved = shares(
            Policy::ProportionalFair,
            &[(1, 99_999, 1.0), (1, 99_999, 1e6)],
            12,
        );
        assert_eq!(starved, [12, 0]);
    }

    #[test]
    fn groups_are_those_of_the_standard() {
        assert_eq!(
            [36, 37, 72, 73, 133, 144, 145, 273].map(group_size),
            [2, 4, 4, 8, 8, 8, 16, 16]
        );
    }
}
