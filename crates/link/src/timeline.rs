//! A rate over time in memory: pieces that follow each other.

use std::sync::Arc;

use bloatlab_units::{NEVER, Nanos, Rate, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::factory::Factory;
use crate::{Change, Source};

/// The longest pass.
const LONGEST: Nanos = 1_000_000_000 * SECOND;

/// What follows the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// It begins anew.
    #[default]
    Loop,
    /// The last rate stays.
    Hold,
}

/// A rate for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// How long.
    pub span: Nanos,
    /// The rate; `None`: the one before stays.
    pub rate: Option<Rate>,
}

/// Pieces that follow each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    pieces: Arc<[Piece]>,
    at_end: AtEnd,
}

impl Timeline {
    /// From its pieces.
    ///
    /// # Errors
    /// There is none that lasts, or none that sets a rate.
    pub fn new(pieces: Vec<Piece>, at_end: AtEnd) -> Result<Self, String> {
        if pieces.iter().all(|piece| piece.span == 0) {
            return Err("holds no time".to_owned());
        }
        if !pieces.iter().any(|p| p.span > 0 && p.rate.is_some()) {
            return Err("never sets a rate".to_owned());
        }
        // No instant of a pass overflows, nor does any sum of two.
        let span = pieces
            .iter()
            .map(|piece| u128::from(piece.span))
            .sum::<u128>();
        if span > u128::from(LONGEST) {
            let most = LONGEST / SECOND;
            return Err(format!("lasts longer than {most} s"));
        }
        let pieces = pieces.into();
        Ok(Self { pieces, at_end })
    }

    /// How often a second the rate changes, in the mean; 0 if it stays as it is in the end.
    pub(crate) fn changes_per_second(&self) -> f64 {
        match self.at_end {
            AtEnd::Loop => self.pieces.len() as f64 / (self.span() as f64 * 1e-9),
            AtEnd::Hold => 0.0,
        }
    }

    /// The pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The length of one pass.
    pub fn span(&self) -> Nanos {
        self.pieces.iter().map(|piece| piece.span).sum()
    }
}

impl Factory for Timeline {
    fn validate(&self) -> Result<(), String> {
        Ok(())
    }

    fn bounds(&self, nominal: f64) -> (f64, f64) {
        let rates = self.pieces.iter().map(|piece| match piece.rate {
            Some(rate) => rate.0 as f64,
            // Before the first rate that is set the constant one stays.
            None => nominal,
        });
        rates.fold((f64::INFINITY, 0.0), |(least, most), rate| {
            (rate.min(least), rate.max(most))
        })
    }

    fn source(&self, _nominal: f64, _rng: Rng) -> Box<dyn Source> {
        Box::new(Play {
            timeline: self.clone(),
            place: 0,
            at: 0,
        })
    }
}

struct Play {
    timeline: Timeline,
    place: usize,
    /// Where the piece at `place` begins.
    at: Nanos,
}

impl Source for Play {
    fn next(&mut self) -> Change {
        loop {
            if self.place == self.timeline.pieces.len() {
                if self.timeline.at_end == AtEnd::Hold {
                    return Change::NONE;
                }
                self.place = 0;
            }
            let (piece, at) = (self.timeline.pieces[self.place], self.at);
            if at == NEVER {
                return Change::NONE;
            }
            self.place += 1;
            self.at = at.saturating_add(piece.span);
            if let (Some(rate), 1..) = (piece.rate, piece.span) {
                let value = rate.0 as f64;
                return Change { at, value };
            }
        }
    }
}
