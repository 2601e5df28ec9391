//! `2310,0.31`: a rate, a comma, and the seconds that it lasts.

use bloatlab_units::{Nanos, Rate, SECOND};

use super::number::{Unit, decimal, nanos};
use super::rules::{Reader, Rules, TraceFormat, Writer, Wrong};
use crate::timeline::Piece;

pub(super) const FORMAT: TraceFormat = TraceFormat {
    description: "A rate and the seconds that it lasts.",
    example: "2310,0.31",
    recognizes: |_| true,
    reader: Reader::Rates(read),
    writer: Writer::Rates(write),
};

fn read(rules: &Rules, lines: &[&str]) -> Result<Vec<Piece>, Wrong> {
    let numbered = lines.iter().enumerate();
    numbered
        .map(|(place, line)| piece(rules, line).map_err(|why| (Some(place), why)))
        .collect()
}

fn piece(rules: &Rules, line: &str) -> Result<Piece, String> {
    let Some((rate, interval)) = line.split_once(',') else {
        return Err("must be a rate, a comma and seconds".to_owned());
    };
    let mut interval = interval.trim();
    if rules.interval_loses_digit {
        let last = interval.chars().next_back().map_or(0, char::len_utf8);
        interval = &interval[..interval.len() - last];
    }
    let span = nanos(interval)?;
    // Without its last digit an interval may be 0.
    if span == 0 && !rules.interval_loses_digit {
        return Err("the interval must be above 0 s".to_owned());
    }
    let rate = rules.rate(rate)?;
    Ok(Piece { span, rate })
}

fn write(rates: &[(Nanos, Rate)], unit: Unit) -> String {
    let lines = rates.iter();
    lines
        .map(|&(span, rate)| format!("{},{}\n", unit.text(rate), decimal(span, SECOND)))
        .collect()
}
