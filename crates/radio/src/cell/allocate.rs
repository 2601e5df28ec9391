//! Who gets what of a slot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a slot is cut into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Symbols: a UE has the whole band for some of them.
    #[default]
    Tdma,
    /// Resource block groups: a UE has some of them for all symbols.
    Ofdma,
}

/// Who is served first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// UEs take turns, unit by unit.
    #[default]
    RoundRobin,
    /// Who has the highest rate for what it got lately.
    ProportionalFair,
    /// Who has the highest rate.
    MaxRate,
}

/// A UE that wants a part of the slot.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its number.
    pub ue: usize,
    /// Its modulation and coding scheme.
    pub mcs: usize,
    /// Bytes that it needs.
    pub need: u32,
    /// Bytes a slot that it got lately.
    pub average: f64,
    /// Whether something for others waits with it, a report or a request, which no policy may hold back for good.
    pub is_urgent: bool,
    /// Units it gets.
    pub units: u32,
    satisfied: bool,
}

impl Candidate {
    /// One that has nothing yet.
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

    /// It gets another unit.
    fn serve(&mut self, bytes: &mut dyn FnMut(usize, u32) -> u32) {
        self.units += 1;
        self.satisfied = bytes(self.mcs, self.units) >= self.need;
    }
}

/// Gives the units of a slot to the candidates: each as few as hold what it needs, and one at a time to whose turn it is. `bytes` is what so many units
/// of a scheme hold. In round robin the first candidate is the first to be served.
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
    // Who takes turns is not held back.
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

/// The fewest units that hold this much, at most `units`.
fn fewest(mcs: usize, need: u32, units: u32, bytes: &mut dyn FnMut(usize, u32) -> u32) -> u32 {
    // What units hold grows with them.
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

/// Who gets the next unit.
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
    // The first of equals, in the order of the candidates, so that who was served last has no part in it.
    for place in (0..count).filter(|&place| !candidates[place].satisfied) {
        let candidate = &candidates[place];
        let rate = f64::from(bytes(candidate.mcs, 1));
        let weight = match policy {
            Policy::ProportionalFair => {
                // What it gets of this slot counts already.
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

/// Resource blocks of a group (TS 38.214 table 5.1.2.2.1-1, configuration 1).
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

    /// 100 bytes a unit at scheme 1, 200 at scheme 2.
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
    fn what_others_wait_for_gets_a_unit_under_any_policy() {
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
        // Equal averages and what this slot gives: each unit of the better channel weighs twice and counts twice.
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
