//! Rates from a file, line by line.

mod lines;

use bloatlab_units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AtEnd, Files, Quantity, Timeline, file};
use lines::{pieces, resolved};

/// Rates from a file: a rate and its interval a line, or an instant and the rate from then on.
///
/// `rate_interval` is `2310,0.31`: a rate, a comma, seconds. `time_rate` is `12.0 315.0`: seconds and the rate from then on, apart by tab, space or comma; the
/// first instant is the start of the run, and the last line lasts as long as the one before it. The last three switches are quirks of the player of the
/// 60 GHz traces of Srivastava, Fund and Panwar (2020).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file; a relative path starts at the working directory.
    pub file: String,
    /// How its lines are written.
    #[serde(default)]
    pub format: Format,
    /// Unit of its rates.
    #[serde(default)]
    pub unit: Unit,
    /// What follows the last line.
    #[serde(default)]
    pub at_end: AtEnd,
    /// A rate of 0 is not set: the one before stays, as with a tc that refuses it. Otherwise it is an outage.
    #[serde(default)]
    pub zero_keeps_rate: bool,
    /// An interval loses its last character: 0.25 is 0.2. Only of `rate_interval`.
    #[serde(default)]
    pub interval_loses_digit: bool,
    /// A last line without a newline is skipped.
    #[serde(default)]
    pub skips_unfinished_line: bool,
    /// XXH3 (128 bits, hexadecimal) of the file. Filled in when the scenario is read; where it is given, another file is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// How the lines of a rate file are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Seen from the file: `time_rate` if there is no comma, or if the first of three or more numbers ascend.
    #[default]
    Auto,
    /// A rate and the seconds that it lasts.
    RateInterval,
    /// Seconds, and the rate from then on.
    TimeRate,
}

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
    /// bit/s in one.
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

    /// A rate of this many.
    pub(crate) fn rate(self, number: f64) -> Option<Rate> {
        let bits = number * self.bits();
        (0.0..=Rate::GREATEST.number())
            .contains(&bits)
            .then(|| Rate(bits.round() as u64))
    }
}

impl Params {
    /// A file that is read as it says, without quirks.
    pub fn new(file: String) -> Self {
        Self {
            file,
            format: Format::default(),
            unit: Unit::default(),
            at_end: AtEnd::default(),
            zero_keeps_rate: false,
            interval_loses_digit: false,
            skips_unfinished_line: false,
            digest: None,
        }
    }

    /// Reads the file and notes its digest.
    ///
    /// # Errors
    /// `parameter: file:line: reason`, in one line.
    pub fn read(&mut self, files: &dyn Files) -> Result<Timeline, String> {
        let (bytes, digest) = file::open(files, &self.file, self.digest.as_deref())?;
        let timeline = self.parse(&String::from_utf8_lossy(&bytes))?;
        self.digest = Some(digest);
        Ok(timeline)
    }

    /// The format of the file's text.
    pub(crate) fn resolved(&self, text: &str) -> Format {
        let lines: Vec<&str> = text.lines().collect();
        resolved(self.format, &lines)
    }

    /// The file's text as pieces.
    pub(crate) fn parse(&self, text: &str) -> Result<Timeline, String> {
        let file = &self.file;
        let pieces = pieces(self, text).map_err(|(line, why)| match line {
            Some(line) => format!("file: `{file}` line {line}: {why}"),
            None => format!("file: `{file}` {why}"),
        })?;
        Timeline::new(pieces, self.at_end).map_err(|why| format!("file: `{file}` {why}"))
    }
}
