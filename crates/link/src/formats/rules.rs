//! What a format of trace files is, and the rules by which its lines are read.

use bloatlab_units::{Nanos, Rate};

use super::number::Unit;
use crate::timeline::Piece;

/// The number of a line, counted from 0, and what is wrong with it. Without a number, the whole file is wrong.
pub(crate) type Wrong = (Option<usize>, String);

/// How the numbers of a file of rates are read.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// Unit of the rates.
    pub unit: Unit,
    /// A rate of 0 leaves the previous one in force.
    pub zero_keeps_rate: bool,
    /// The last character of an interval is ignored.
    pub interval_loses_digit: bool,
    /// A last line without a newline is ignored.
    pub skips_unfinished_line: bool,
}

impl Rules {
    /// The rate that a line sets, if it sets one.
    pub fn rate(&self, text: &str) -> Result<Option<Rate>, String> {
        let unit = self.unit;
        let rate = text.trim().parse().ok().and_then(|n| unit.rate(n));
        let Some(rate) = rate else {
            let most = 1e13 / unit.bits();
            let unit = unit.name();
            return Err(format!("the rate must be a number from 0 to {most} {unit}"));
        };
        Ok((rate.0 > 0 || !self.zero_keeps_rate).then_some(rate))
    }
}

/// A format of trace files.
pub(super) struct TraceFormat {
    /// What a line means, in one sentence.
    pub description: &'static str,
    /// A line.
    pub example: &'static str,
    /// Whether a file with these lines has this format.
    pub recognizes: fn(&[&str]) -> bool,
    pub reader: Reader,
    pub writer: Writer,
}

/// How the lines are read.
pub(super) enum Reader {
    /// As rates.
    Rates(fn(&Rules, &[&str]) -> Result<Vec<Piece>, Wrong>),
    /// As deliveries, by the generator `mahimahi`.
    Deliveries,
}

/// How a trace is written.
pub(super) enum Writer {
    /// From rates with their spans.
    Rates(fn(&[(Nanos, Rate)], Unit) -> String),
    /// From the instants of deliveries.
    Deliveries(fn(&[Nanos]) -> Result<String, String>),
}
