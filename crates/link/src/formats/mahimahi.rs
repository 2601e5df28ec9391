//! `12`: the millisecond of a delivery of 1500 bytes.

use bloatlab_units::{MILLISECOND, Nanos};

use super::rules::{Reader, TraceFormat, Writer, Wrong};

/// Deliveries that a trace may have.
const MOST: usize = 10_000_000;

pub(super) const FORMAT: TraceFormat = TraceFormat {
    description: "The millisecond of a delivery of 1500 bytes.",
    example: "12",
    recognizes,
    reader: Reader::Deliveries,
    writer: Writer::Deliveries(write),
};

/// Whether the first line is one number.
fn recognizes(lines: &[&str]) -> bool {
    let first = lines.first().map_or("", |line| line.trim());
    !first.is_empty() && !first.contains([',', ' ', '\t'])
}

/// Refuses milliseconds that are no trace.
pub(crate) fn checked(
    values: impl Iterator<Item = Result<u32, String>>,
) -> Result<Vec<u32>, Wrong> {
    let mut milliseconds: Vec<u32> = Vec::new();
    for (place, value) in values.enumerate() {
        let value = value.map_err(|why| (Some(place), why))?;
        if milliseconds.last().is_some_and(|last| *last > value) {
            let why = "must not be earlier than the delivery before it";
            return Err((Some(place), why.to_owned()));
        }
        if place >= MOST {
            return Err((None, format!("has more than {MOST} deliveries")));
        }
        milliseconds.push(value);
    }
    match milliseconds.last() {
        None => Err((None, "holds no delivery".to_owned())),
        Some(0) => Err((
            None,
            "must end after 0 ms, where it starts again".to_owned(),
        )),
        Some(_) => Ok(milliseconds),
    }
}

/// Instants are rounded up to milliseconds.
fn write(instants: &[Nanos]) -> Result<String, String> {
    if instants.last().is_none_or(|last| *last == 0) {
        let why = "carries no 1500 bytes, and a trace of deliveries must have one";
        return Err(why.to_owned());
    }
    let milliseconds = instants.iter().map(|at| at.div_ceil(MILLISECOND));
    Ok(milliseconds.map(|at| format!("{at}\n")).collect())
}
