//! Quantities with their units: read and written by the parsers of `bloatlab_units`.

use std::fmt::Display;
use std::str::FromStr;

use bloatlab_units::{Bytes, Duration, Frequency, Limit, ParseError, Rate, shown};
use pyo3::prelude::*;

use crate::errors::ScenarioError;

/// Characters of an error message that are shown.
const LONGEST_MESSAGE: usize = 400;

/// Reads a quantity. Returns its value as an integer, the unit of this integer, and the canonical text.
///
/// A kind is `duration`, `rate`, `bytes`, `frequency` or `limit`.
#[pyfunction]
pub fn read_quantity(kind: &str, text: &str) -> PyResult<(u64, &'static str, String)> {
    match kind {
        "duration" => read(text, |value: &Duration| (value.0, "ns")),
        "rate" => read(text, |value: &Rate| (value.0, "bit/s")),
        "bytes" => read(text, |value: &Bytes| (value.0, "B")),
        "frequency" => read(text, |value: &Frequency| (value.0, "Hz")),
        "limit" => read(text, |value: &Limit| match *value {
            Limit::Packets(count) => (count, "packets"),
            Limit::Bytes(count) => (count, "bytes"),
            Limit::Buffers(count) => (count, "buffers"),
        }),
        _ => Err(no_kind(kind, "duration, rate, bytes, frequency, limit")),
    }
}

/// Writes a quantity in its canonical text. The value is in the base unit of its kind: ns, bit/s, bytes or Hz.
#[pyfunction]
pub fn write_quantity(kind: &str, value: u64) -> PyResult<String> {
    match kind {
        "duration" => Ok(Duration(value).to_string()),
        "rate" => Ok(Rate(value).to_string()),
        "bytes" => Ok(Bytes(value).to_string()),
        "frequency" => Ok(Frequency(value).to_string()),
        _ => Err(no_kind(kind, "duration, rate, bytes, frequency")),
    }
}

fn read<Q: FromStr<Err = ParseError> + Display>(
    text: &str,
    value: impl Fn(&Q) -> (u64, &'static str),
) -> PyResult<(u64, &'static str, String)> {
    let quantity: Q = text.parse().map_err(|why: ParseError| {
        ScenarioError::new_err(shown(&why.to_string(), LONGEST_MESSAGE))
    })?;
    let (number, unit) = value(&quantity);
    Ok((number, unit, quantity.to_string()))
}

fn no_kind(kind: &str, allowed: &str) -> PyErr {
    let kind = shown(kind, LONGEST_MESSAGE);
    ScenarioError::new_err(format!(
        "unknown kind of quantity `{kind}` (allowed: {allowed})"
    ))
}
