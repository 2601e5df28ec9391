//! A rate over time in memory, as consecutive pieces.

use std::sync::Arc;

use bloatlab_units::{NEVER, Nanos, Rate, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::factory::Factory;
use crate::{Change, Source};

/// Longest length of a pass.
const LONGEST: Nanos = 1_000_000_000 * SECOND;

/// What follows the last piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// The first piece.
    #[default]
    Loop,
    /// The last rate remains.
    Hold,
}

/// A rate that holds for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// How long it holds.
    pub span: Nanos,
    /// The rate; `None` keeps the previous one.
    pub rate: Option<Rate>,
}

/// Consecutive pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    pieces: Arc<[Piece]>,
    at_end: AtEnd,
}

impl Timeline {
    /// A timeline of these pieces.
    ///
    /// # Errors
    /// All pieces are empty, or none of them sets a rate.
    pub fn new(pieces: Vec<Piece>, at_end: AtEnd) -> Result<Self, String> {
        if pieces.iter().all(|piece| piece.span == 0) {
            return Err("holds no time".to_owned());
        }
        if !pieces.iter().any(|p| p.span > 0 && p.rate.is_some()) {
            return Err("never sets a rate".to_owned());
        }
        // Neither an instant of a pass nor a sum of two overflows.
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
    /// Mean number of changes per second; 0 if the last rate remains.
    fn changes_per_second(&self) -> f64 {
        match self.at_end {
            AtEnd::Loop => self.pieces.len() as f64 / (self.span() as f64 * 1e-9),
            AtEnd::Hold => 0.0,
        }
    }

    fn validate(&self) -> Result<(), String> {
        Ok(())
    }

    fn bounds(&self, nominal: f64) -> (f64, f64) {
        let rates = self.pieces.iter().map(|piece| match piece.rate {
            Some(rate) => rate.0 as f64,
            // Until a piece sets a rate, the constant rate holds.
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
    /// When the piece at `place` begins.
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
