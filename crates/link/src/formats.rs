//! Formats of trace files: one file and one line each.

mod number;
mod rules;

use serde::{Deserialize, Serialize};

use rules::{Reader, TraceFormat, Writer};

pub(crate) use mahimahi::checked as checked_milliseconds;
pub use number::Unit;
pub(crate) use rules::{Rules, Wrong};

/// Lines that a file of rates may have.
const MOST_LINES: usize = 10_000_000;

macro_rules! formats {
    ($($variant:ident($module:ident) = $name:literal),+ $(,)?) => {
        $(mod $module;)+

        /// A format of trace files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Format {
            $(
                #[doc = concat!("`", $name, "`.")]
                #[serde(rename = $name)]
                $variant,
            )+
        }

        impl Format {
            /// All formats.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            fn entry(self) -> &'static TraceFormat {
                match self {
                    $(Self::$variant => &$module::FORMAT,)+
                }
            }
        }
    };
}

// A file has the first format that recognizes it, so a format that recognizes every file is the last.
formats! {
    Mahimahi(mahimahi) = "mahimahi",
    TimeRate(time_rate) = "time_rate",
    RateInterval(rate_interval) = "rate_interval",
}

impl Format {
    /// What a line means, in one sentence.
    pub fn description(self) -> &'static str {
        self.entry().description
    }

    /// A line.
    pub fn example(self) -> &'static str {
        self.entry().example
    }

    /// Whether a file holds deliveries. Otherwise it holds rates.
    pub fn holds_deliveries(self) -> bool {
        matches!(self.entry().reader, Reader::Deliveries)
    }

    /// The format of a file with these lines.
    pub(crate) fn of(lines: &[&str]) -> Self {
        recognized(Self::ALL.iter().copied(), lines)
    }

    /// Formats of rates.
    pub(crate) fn of_rates() -> impl Iterator<Item = Self> {
        let all = Self::ALL.iter().copied();
        all.filter(|format| !format.holds_deliveries())
    }

    /// The text of a trace. `rates` and `deliveries` give the trace as this format needs it.
    pub(crate) fn text(
        self,
        unit: Unit,
        rates: impl FnOnce() -> Result<Vec<(u64, bloatlab_units::Rate)>, String>,
        deliveries: impl FnOnce() -> Result<Vec<u64>, String>,
    ) -> Result<String, String> {
        match self.entry().writer {
            Writer::Rates(write) => Ok(write(&rates()?, unit)),
            Writer::Deliveries(write) => write(&deliveries()?),
        }
    }
}

fn recognized(formats: impl Iterator<Item = Format>, lines: &[&str]) -> Format {
    let mut formats = formats.filter(|format| (format.entry().recognizes)(lines));
    formats.next().unwrap_or(Format::RateInterval)
}

/// The pieces that a file of rates holds, and its format: the given one, or that which it is recognized by.
pub(crate) fn pieces(
    rules: &Rules,
    format: Option<Format>,
    text: &str,
) -> Result<(Format, Vec<crate::Piece>), Wrong> {
    let mut lines: Vec<&str> = text.lines().collect();
    if rules.skips_unfinished_line && !text.ends_with('\n') {
        lines.pop();
    }
    if lines.is_empty() {
        return Err((None, "holds no line".to_owned()));
    }
    if lines.len() > MOST_LINES {
        return Err((None, format!("has more than {MOST_LINES} lines")));
    }
    let format = format.unwrap_or_else(|| recognized(Format::of_rates(), &lines));
    match format.entry().reader {
        Reader::Rates(read) => Ok((format, read(rules, &lines)?)),
        Reader::Deliveries => Err((None, "holds deliveries, not rates".to_owned())),
    }
}
