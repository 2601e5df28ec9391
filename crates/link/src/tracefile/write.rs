//! Traces as text, in every format. Times are exact to the nanosecond where the format says seconds; milliseconds are rounded up, without adding up.

use std::fmt::Write as _;

use bloatlab_units::{Duration, MILLISECOND, Nanos, Rate, SECOND};

use super::{Content, Format, MOST, TraceFile};
use crate::DELIVERY_BYTES;
use crate::carrier::WORK;
use crate::rate_file::Unit;

impl TraceFile {
    /// The text of a file. Deliveries are counted over intervals of this length where rates are asked for.
    ///
    /// # Errors
    /// The format cannot hold it.
    pub fn text(&self, format: Format, unit: Unit, interval: Duration) -> Result<String, String> {
        match format {
            Format::RateInterval => Ok(self
                .rates(interval)?
                .into_iter()
                .map(|(span, rate)| format!("{},{}\n", number(rate, unit), decimal(span, SECOND)))
                .collect()),
            Format::TimeRate => Ok(instants(&self.rates(interval)?, unit)),
            Format::Mahimahi => {
                let milliseconds = match &self.content {
                    Content::Rates(rates) => deliveries(rates)?,
                    Content::Deliveries(instants, _) => {
                        instants.iter().map(|at| at.div_ceil(MILLISECOND)).collect()
                    }
                };
                if milliseconds.last().is_none_or(|last| *last == 0) {
                    let why = "carries no 1500 bytes, and a trace of deliveries must have one";
                    return Err(why.to_owned());
                }
                let lines = milliseconds.into_iter();
                Ok(lines.fold(String::new(), |mut text, at| {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "{at}");
                    text
                }))
            }
        }
    }
}

/// Lines of instants. The last lasts as long as the one before it, so the last piece is halved if it does not.
fn instants(rates: &[(Nanos, Rate)], unit: Unit) -> String {
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
        let _ = writeln!(text, "{} {}", decimal(at, SECOND), number(rate, unit));
        at += span;
    }
    text
}

/// Milliseconds at which whole deliveries have been earned.
fn deliveries(rates: &[(Nanos, Rate)]) -> Result<Vec<u64>, String> {
    let delivery = u128::from(DELIVERY_BYTES) * WORK;
    let (mut at, mut earned, mut milliseconds) = (0, 0_u128, Vec::new());
    for &(span, rate) in rates {
        let (rate, before) = (u128::from(rate.0), earned);
        earned += rate * u128::from(span);
        let mut due = delivery;
        while due <= earned {
            // The first instant at which that much has been earned.
            let into = (due - before).div_ceil(rate) as Nanos;
            milliseconds.push((at + into).div_ceil(MILLISECOND));
            if milliseconds.len() > MOST {
                return Err(format!("takes more than {MOST} deliveries"));
            }
            due += delivery;
        }
        earned -= due - delivery;
        at += span;
    }
    Ok(milliseconds)
}

/// A rate in a unit.
fn number(rate: Rate, unit: Unit) -> String {
    decimal(rate.0, unit.bits() as u64)
}

/// A whole number of parts as a decimal fraction of the whole, a power of ten, exactly.
fn decimal(value: u64, whole: u64) -> String {
    let (integer, fraction) = (value / whole, value % whole);
    if fraction == 0 {
        return integer.to_string();
    }
    let digits = whole.ilog10() as usize;
    let text = format!("{integer}.{fraction:0digits$}");
    text.trim_end_matches('0').to_owned()
}
