//! Numbers in trace files: rates in a unit, and times in seconds.

use bloatlab_units::{Nanos, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// The latest instant and the longest interval, s.
const LONGEST: f64 = 1e6;

/// The unit of rates in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Unit {
    /// bit/s
    #[serde(rename = "bit/s")]
    Bit,
    /// kbit/s
    #[serde(rename = "kbit/s")]
    Kilobit,
    /// Mbit/s
    #[default]
    #[serde(rename = "Mbit/s")]
    Megabit,
    /// Gbit/s
    #[serde(rename = "Gbit/s")]
    Gigabit,
}

impl Unit {
    /// Its size in bit/s.
    pub fn bits(self) -> f64 {
        match self {
            Self::Bit => 1.0,
            Self::Kilobit => 1e3,
            Self::Megabit => 1e6,
            Self::Gigabit => 1e9,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bit => "bit/s",
            Self::Kilobit => "kbit/s",
            Self::Megabit => "Mbit/s",
            Self::Gigabit => "Gbit/s",
        }
    }

    /// A rate given in this unit.
    pub(super) fn rate(self, number: f64) -> Option<Rate> {
        let bits = number * self.bits();
        (0.0..=Rate::GREATEST.number())
            .contains(&bits)
            .then(|| Rate(bits.round() as u64))
    }

    /// A rate as a number in this unit.
    pub(super) fn text(self, rate: Rate) -> String {
        decimal(rate.0, self.bits() as u64)
    }
}

/// Seconds as ns.
pub(super) fn nanos(text: &str) -> Result<Nanos, String> {
    let seconds: Option<f64> = text.trim().parse().ok();
    match seconds.filter(|seconds| (0.0..=LONGEST).contains(seconds)) {
        Some(seconds) => Ok((seconds * 1e9).round() as Nanos),
        None => Err("the time must be a number of seconds from 0 to 1000000".to_owned()),
    }
}

/// A whole number of parts as an exact decimal fraction of the whole, which is a power of ten.
pub(super) fn decimal(value: u64, whole: u64) -> String {
    let (integer, fraction) = (value / whole, value % whole);
    if fraction == 0 {
        return integer.to_string();
    }
    let digits = whole.ilog10() as usize;
    let text = format!("{integer}.{fraction:0digits$}");
    text.trim_end_matches('0').to_owned()
}
