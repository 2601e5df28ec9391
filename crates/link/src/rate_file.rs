//! Rates from a file, line by line.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::formats::{Format, Rules, Unit, pieces};
use crate::{AtEnd, Files, Timeline, file};

/// Rates from a file: on each line a rate and its interval, or an instant and the rate from then on.
///
/// `rate_interval` is `2310,0.31`: a rate, a comma, seconds. `time_rate` is `12.0 315.0`: seconds and the rate from then on, separated by tab, space
/// or comma. The first instant is the start of the run, and the last line lasts as long as the one before it. The last three switches reproduce
/// quirks of the player of the 60 GHz traces of Srivastava, Fund and Panwar (2020).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file; a relative path starts at the working directory.
    pub file: String,
    /// How its lines are written.
    #[serde(default)]
    pub format: Choice,
    /// Unit of its rates.
    #[serde(default)]
    pub unit: Unit,
    /// What follows the last line.
    #[serde(default)]
    pub at_end: AtEnd,
    /// A rate of 0 leaves the previous one in force, as with a tc that refuses it. Otherwise it is an outage.
    #[serde(default)]
    pub zero_keeps_rate: bool,
    /// An interval loses its last character: 0.25 becomes 0.2. Only for `rate_interval`.
    #[serde(default)]
    pub interval_loses_digit: bool,
    /// A last line without a newline is skipped.
    #[serde(default)]
    pub skips_unfinished_line: bool,
    /// XXH3 (128 bits, hexadecimal) of the file. Filled in when the scenario is read; where it is given, another file is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The format of a rate file: one of the formats of rates, or `auto`, which recognizes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice(pub Option<Format>);

const AUTO: &str = "auto";

impl Choice {
    fn name(self) -> &'static str {
        self.0.map_or(AUTO, Format::name)
    }

    /// Everything that may be chosen.
    fn all() -> Vec<Self> {
        let mut formats: Vec<Format> = Format::of_rates().collect();
        formats.sort_by_key(|format| format.name());
        let formats = formats.into_iter().map(|format| Self(Some(format)));
        std::iter::once(Self(None)).chain(formats).collect()
    }
}

impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = String::deserialize(deserializer)?;
        let all = Self::all();
        let found = all.iter().find(|choice| choice.name() == given);
        found.copied().ok_or_else(|| {
            let names: Vec<String> = all.iter().map(|c| format!("`{}`", c.name())).collect();
            let names = names.join(", ");
            D::Error::custom(format!(
                "unknown variant `{given}`, expected one of {names}"
            ))
        })
    }
}

impl JsonSchema for Choice {
    fn schema_name() -> Cow<'static, str> {
        "Format".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let choices: Vec<Schema> = Self::all()
            .into_iter()
            .map(|choice| {
                let description = choice.0.map_or(
                    "Recognized from the file: `time_rate` if its first line has no comma, or if the first numbers of three or more lines increase.",
                    Format::description,
                );
                json_schema!({ "description": description, "type": "string", "const": choice.name() })
            })
            .collect();
        json_schema!({ "description": "How the lines of a rate file are written.", "oneOf": choices })
    }
}

impl Params {
    /// A file whose format is recognized, read without quirks.
    pub fn new(file: String) -> Self {
        Self {
            file,
            format: Choice::default(),
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
        let (_, timeline) = self.parse(&String::from_utf8_lossy(&bytes))?;
        self.digest = Some(digest);
        Ok(timeline)
    }

    /// The format and the pieces of the file's text.
    pub(crate) fn parse(&self, text: &str) -> Result<(Format, Timeline), String> {
        let file = &self.file;
        let rules = Rules {
            unit: self.unit,
            zero_keeps_rate: self.zero_keeps_rate,
            interval_loses_digit: self.interval_loses_digit,
            skips_unfinished_line: self.skips_unfinished_line,
        };
        let (format, pieces) =
            pieces(&rules, self.format.0, text).map_err(|(place, why)| match place {
                Some(place) => format!("file: `{file}` line {}: {why}", place + 1),
                None => format!("file: `{file}` {why}"),
            })?;
        let timeline = Timeline::new(pieces, self.at_end);
        let timeline = timeline.map_err(|why| format!("file: `{file}` {why}"))?;
        Ok((format, timeline))
    }
}
