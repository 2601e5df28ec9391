//! A value that jumps between states.

use bloatlab_units::{Duration, MICROSECOND, NEVER, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::factory::{Factory, HOUR, between};
use crate::{Change, Quantity, Source};

/// Largest number of states.
const MOST: usize = 1000;

/// A Markov chain in continuous time, which jumps between states. It begins in the first of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity")]
pub struct Params<Q> {
    /// The states.
    #[schemars(length(min = 2, max = 1000))]
    pub states: Vec<State<Q>>,
}

/// One state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity", inline)]
pub struct State<Q> {
    /// The value in this state.
    pub value: Q,
    /// Mean of the exponentially distributed time in this state, from 1 us to 1 h.
    pub dwell: Duration,
    /// Weights of the states that may follow: one for each state, 0 for this state. Absent: all others are equally likely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<f64>,
}

impl<Q: Quantity> Factory for Params<Q> {
    /// Mean number of changes per second; with weights, an upper bound.
    fn changes_per_second(&self) -> f64 {
        let dwells = || self.states.iter().map(|state| state.dwell.0 as f64 * 1e-9);
        let alike = self.states.iter().all(|state| state.to.is_empty());
        let dwell = match alike {
            true => dwells().sum::<f64>() / self.states.len() as f64,
            false => dwells().fold(f64::INFINITY, f64::min),
        };
        1.0 / dwell
    }

    fn validate(&self) -> Result<(), String> {
        let count = self.states.len();
        if !(2..=MOST).contains(&count) {
            return Err(format!("states: must be 2 to {MOST}, not {count}"));
        }
        for (place, state) in self.states.iter().enumerate() {
            let at = format!("states[{place}]");
            state.value.check(&format!("{at}.value"))?;
            between(&format!("{at}.dwell"), state.dwell, MICROSECOND, HOUR)?;
            if state.to.is_empty() {
                continue;
            }
            if state.to.len() != count {
                return Err(format!(
                    "{at}.to: must have a weight for each of the {count} states, not {}",
                    state.to.len()
                ));
            }
            if state.to.iter().any(|w| !(0.0..=1e9).contains(w)) {
                return Err(format!("{at}.to: weights must be from 0 to 1e9"));
            }
            if state.to[place] != 0.0 || state.to.iter().sum::<f64>() <= 0.0 {
                return Err(format!(
                    "{at}.to: must be 0 for the state itself, and above 0 for one of the others"
                ));
            }
        }
        Ok(())
    }

    fn bounds(&self, _nominal: f64) -> (f64, f64) {
        let values = self.states.iter().map(|state| state.value.number());
        values.fold((f64::INFINITY, 0.0), |(least, most), value| {
            (value.min(least), value.max(most))
        })
    }

    fn source(&self, _nominal: f64, rng: Rng) -> Box<dyn Source> {
        Box::new(Markov {
            states: self.states.clone(),
            rng,
            state: 0,
            at: 0,
        })
    }
}

struct Markov<Q> {
    states: Vec<State<Q>>,
    rng: Rng,
    state: usize,
    /// When it enters the next state.
    at: Nanos,
}

impl<Q: Quantity> Markov<Q> {
    /// The state that follows.
    fn draw(&mut self) -> usize {
        let to = &self.states[self.state].to;
        if to.is_empty() {
            let other = self.rng.below(self.states.len() as u64 - 1) as usize;
            return other + usize::from(other >= self.state);
        }
        let mut left = self.rng.uniform() * to.iter().sum::<f64>();
        let drawn = to.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        // Rounding errors may leave a remainder, which goes to the last possible state.
        let last = to.iter().rposition(|weight| *weight > 0.0);
        drawn.or(last).unwrap_or(self.state)
    }
}

impl<Q: Quantity> Source for Markov<Q> {
    fn next(&mut self) -> Change {
        let (at, state) = (self.at, &self.states[self.state]);
        if at >= NEVER - 1 {
            return Change::NONE;
        }
        let value = state.value.number();
        let dwell = self.rng.exponential(state.dwell.0 as f64);
        self.at = at.saturating_add((dwell as Nanos).max(1)).min(NEVER - 1);
        self.state = self.draw();
        Change { at, value }
    }
}
