//! Errors in documents. Messages of serde are translated into words that a user knows.

use std::fmt;

use bloatlab_units::{shown, suggestion};

/// An error in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// Path of the key, such as `flows[0].tcp.mss`; `document` for the whole.
    pub path: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl ScenarioError {
    pub(crate) fn new(path: impl AsRef<str>, message: impl AsRef<str>) -> Self {
        Self {
            path: shown(path.as_ref(), LONGEST_PATH),
            message: shown(message.as_ref(), LONGEST_MESSAGE),
        }
    }
}

/// Most characters of a path and of a message that are shown. Both may quote the document.
const LONGEST_PATH: usize = 400;
const LONGEST_MESSAGE: usize = 2000;

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl std::error::Error for ScenarioError {}

/// `; did you mean ...? (allowed: ...)` for an unknown name.
pub(crate) fn suggest(name: &str, known: &[&str]) -> String {
    // Names of ns-3 are accepted, but not suggested.
    let ours: Vec<&str> = known
        .iter()
        .copied()
        .filter(|k| !k.starts_with(|c: char| c.is_uppercase()))
        .collect();
    let near = suggestion(name, ours.iter().copied());
    if ours.is_empty() {
        return " (none is allowed here)".to_owned();
    }
    const SHOWN: usize = 40;
    let more = if ours.len() > SHOWN { ", ..." } else { "" };
    format!(
        "{near} (allowed: {}{more})",
        ours[..ours.len().min(SHOWN)].join(", ")
    )
}

/// The kind of an error of serde.
pub(crate) enum Complaint<'a> {
    /// An unknown key.
    UnknownKey(&'a str),
    /// A required key is missing.
    MissingKey(&'a str),
    /// Anything else.
    Other,
}

/// The kind of an error, from serde's message.
pub(crate) fn complaint(message: &str) -> Complaint<'_> {
    if let Some((name, _)) = unknown(message, "field") {
        return Complaint::UnknownKey(name);
    }
    match message
        .strip_prefix("missing field `")
        .and_then(|rest| rest.strip_suffix('`'))
    {
        Some(name) => Complaint::MissingKey(name),
        None => Complaint::Other,
    }
}

/// Translates a message of serde.
pub(crate) fn translate(message: &str) -> String {
    if let Some((name, expected)) = unknown(message, "field") {
        return format!("unknown key{}", suggest(name, &quoted(expected)));
    }
    if let Some((name, expected)) = unknown(message, "variant") {
        return format!("unknown value `{name}`{}", suggest(name, &quoted(expected)));
    }
    if message.starts_with("missing field `") {
        return "is required".to_owned();
    }
    if message.starts_with("duplicate field `") {
        return "is given twice".to_owned();
    }
    for prefix in ["invalid type: ", "invalid value: "] {
        if let Some((got, expected)) = message
            .strip_prefix(prefix)
            .and_then(|rest| rest.rsplit_once(", expected "))
        {
            return format!("must be {}, not {}", expectation(expected), found(got));
        }
    }
    if let Some((got, expected)) = message
        .strip_prefix("invalid length ")
        .and_then(|rest| rest.split_once(", expected "))
    {
        return format!("must be {}, not of length {got}", expectation(expected));
    }
    message.to_owned()
}

/// The name in ``unknown field `name`, expected ...``, and what was expected.
fn unknown<'a>(message: &'a str, what: &str) -> Option<(&'a str, &'a str)> {
    message
        .strip_prefix("unknown ")?
        .strip_prefix(what)?
        .strip_prefix(" `")?
        .split_once("`, ")
}

/// The names between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn expectation(expected: &str) -> String {
    // The list that congestion controls add says more than the type.
    let allowed = expected
        .split_once(" (allowed: ")
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    if let Some(allowed) = allowed {
        return allowed.to_owned();
    }
    match expected {
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "f64" => "a number".to_owned(),
        "a sequence" => "a list".to_owned(),
        "an array of length 2" | "a tuple of size 2" => "a list of two whole numbers".to_owned(),
        "string or map" | "variant identifier" | "string only" => "a string".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other if other.contains("tagged enum") => "a table with a `kind`".to_owned(),
        other => other.to_owned(),
    }
}

fn found(got: &str) -> String {
    match got {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        other => {
            for kind in ["integer `", "floating point `", "boolean `"] {
                if let Some(value) = other
                    .strip_prefix(kind)
                    .and_then(|rest| rest.strip_suffix('`'))
                {
                    return value.to_owned();
                }
            }
            other.strip_prefix("string ").unwrap_or(other).to_owned()
        }
    }
}
