//! `12.0 315.0`: seconds and the rate from then on, separated by tab, space or comma.

use bloatlab_units::{Nanos, Rate, SECOND};

use super::number::{Unit, decimal, nanos};
use super::rules::{Reader, Rules, TraceFormat, Writer, Wrong};
use crate::timeline::Piece;

pub(super) const FORMAT: TraceFormat = TraceFormat {
    description: "Seconds, and the rate from then on.",
    example: "12.0 315.0",
    recognizes,
    reader: Reader::Rates(read),
    writer: Writer::Rates(write),
};

/// Whether the first number of each line is an instant. Only instants are separated from the rate by spaces, and rates do not increase all the time.
fn recognizes(lines: &[&str]) -> bool {
    let first = lines.first().map_or("", |line| line.trim());
    if !first.contains(',') {
        return first.split_whitespace().count() == 2;
    }
    let numbers: Option<Vec<f64>> = lines
        .iter()
        .map(|line| line.split(',').next()?.trim().parse().ok())
        .collect();
    numbers.is_some_and(|n| n.len() > 2 && n.windows(2).all(|pair| pair[0] < pair[1]))
}

fn read(rules: &Rules, lines: &[&str]) -> Result<Vec<Piece>, Wrong> {
    if rules.interval_loses_digit {
        let why = "has instants, not intervals; `interval_loses_digit` goes with `rate_interval`";
        return Err((None, why.to_owned()));
    }
    let mut pieces: Vec<Piece> = Vec::with_capacity(lines.len());
    let mut before: Option<Nanos> = None;
    for (place, line) in lines.iter().enumerate() {
        let wrong = |why: String| (Some(place), why);
        let mut words = line
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|word| !word.is_empty());
        let (Some(time), Some(rate), None) = (words.next(), words.next(), words.next()) else {
            return Err(wrong("must be seconds and a rate".to_owned()));
        };
        let at = nanos(time).map_err(wrong)?;
        if let (Some(before), Some(last)) = (before, pieces.last_mut()) {
            if at <= before {
                return Err(wrong("its time is not after the line before it".to_owned()));
            }
            last.span = at - before;
        }
        before = Some(at);
        let rate = rules.rate(rate).map_err(wrong)?;
        pieces.push(Piece { span: 0, rate });
    }
    match pieces[..] {
        [.., before, ref mut last] => last.span = before.span,
        _ => {
            let why = "has only one line, so how long its rate lasts is unknown";
            return Err((None, why.to_owned()));
        }
    }
    Ok(pieces)
}

/// The last line lasts as long as the one before it. If the last piece does not, it is written as two halves.
fn write(rates: &[(Nanos, Rate)], unit: Unit) -> String {
    let mut rates = rates.to_vec();
    if let [.., last] = rates[..] {
        let (span, rate) = last;
        let before = rates.len().checked_sub(2).map(|place| rates[place].0);
        if before != Some(span) && span > 1 {
            rates.pop();
            rates.extend([(span / 2, rate), (span - span / 2, rate)]);
        }
    }
    let (mut at, mut text) = (0, String::new());
    for (span, rate) in rates {
        text += &format!("{} {}\n", decimal(at, SECOND), unit.text(rate));
        at += span;
    }
    text
}
