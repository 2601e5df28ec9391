//! The lines of a rate file.

use bloatlab_units::{Nanos, Rate};

use super::{Format, Params};
use crate::timeline::Piece;

/// Lines that a file may have.
const MOST: usize = 10_000_000;
/// The latest instant and the longest interval, s.
const LONGEST: f64 = 1e6;

/// A line's number, counted from 1, and what is wrong with it; without one, with the whole.
type Wrong = (Option<usize>, String);

/// The pieces that a file's text says.
pub(crate) fn pieces(params: &Params, text: &str) -> Result<Vec<Piece>, Wrong> {
    let mut lines: Vec<&str> = text.lines().collect();
    if params.skips_unfinished_line && !text.ends_with('\n') {
        lines.pop();
    }
    if lines.is_empty() {
        return Err((None, "holds no line".to_owned()));
    }
    if lines.len() > MOST {
        return Err((None, format!("has more than {MOST} lines")));
    }
    match resolved(params.format, &lines) {
        Format::TimeRate => instants(params, &lines),
        _ => intervals(params, &lines),
    }
}

/// The format, seen from the lines if it is not given.
pub(super) fn resolved(format: Format, lines: &[&str]) -> Format {
    match format {
        Format::Auto if looks_like_instants(lines) => Format::TimeRate,
        Format::Auto => Format::RateInterval,
        given => given,
    }
}

/// Whether the first number of a line is an instant: nothing else is apart by spaces, and rates do not ascend all the way.
fn looks_like_instants(lines: &[&str]) -> bool {
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

fn intervals(params: &Params, lines: &[&str]) -> Result<Vec<Piece>, Wrong> {
    let piece = |line: &str| -> Result<Piece, String> {
        let Some((rate, interval)) = line.split_once(',') else {
            return Err("must be a rate, a comma and seconds".to_owned());
        };
        let mut interval = interval.trim();
        if params.interval_loses_digit {
            let last = interval.chars().next_back().map_or(0, char::len_utf8);
            interval = &interval[..interval.len() - last];
        }
        let span = nanos(interval)?;
        // What the quirk leaves of an interval may be nothing.
        if span == 0 && !params.interval_loses_digit {
            return Err("the interval must be above 0 s".to_owned());
        }
        let rate = set(params, rate)?;
        Ok(Piece { span, rate })
    };
    let numbered = lines.iter().enumerate();
    numbered
        .map(|(place, line)| piece(line).map_err(|why| (Some(place + 1), why)))
        .collect()
}

fn instants(params: &Params, lines: &[&str]) -> Result<Vec<Piece>, Wrong> {
    if params.interval_loses_digit {
        let why = "has instants, not intervals; `interval_loses_digit` goes with `rate_interval`";
        return Err((None, why.to_owned()));
    }
    let mut pieces: Vec<Piece> = Vec::with_capacity(lines.len());
    let mut before: Option<Nanos> = None;
    for (place, line) in lines.iter().enumerate() {
        let wrong = |why: String| (Some(place + 1), why);
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
        let rate = set(params, rate).map_err(wrong)?;
        pieces.push(Piece { span: 0, rate });
    }
    match pieces[..] {
        [.., before, ref mut last] => last.span = before.span,
        _ => {
            let why = "has one line only, so that nothing says how long it lasts";
            return Err((None, why.to_owned()));
        }
    }
    Ok(pieces)
}

/// The rate that a line sets, if it sets one.
fn set(params: &Params, text: &str) -> Result<Option<Rate>, String> {
    let unit = params.unit;
    let rate = text.trim().parse().ok().and_then(|n| unit.rate(n));
    let Some(rate) = rate else {
        let most = 1e13 / unit.bits();
        let unit = unit.name();
        return Err(format!("the rate must be a number from 0 to {most} {unit}"));
    };
    Ok((rate.0 > 0 || !params.zero_keeps_rate).then_some(rate))
}

/// Seconds as ns.
fn nanos(text: &str) -> Result<Nanos, String> {
    let seconds: Option<f64> = text.trim().parse().ok();
    match seconds.filter(|seconds| (0.0..=LONGEST).contains(seconds)) {
        Some(seconds) => Ok((seconds * 1e9).round() as Nanos),
        None => Err("the time must be a number of seconds from 0 to 1000000".to_owned()),
    }
}
