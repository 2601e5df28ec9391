//! Which names are allowed. Names appear in tables, pages, file names and on terminals.

use std::fmt::Display;

use bloatlab_units::is_hidden;

use super::rules::{Check, fail};

/// Most characters of a name.
const LONGEST: usize = 64;

/// Checks a name: of a scenario, a flow, a host, a box or a bearer.
pub(super) fn name(path: impl Display, value: &str) -> Check {
    let length = value.chars().count();
    let wrong = if !(1..=LONGEST).contains(&length) {
        format!("must have 1 to {LONGEST} characters, not {length}")
    } else if let Some(hidden) = value.chars().find(|&c| is_hidden(c)) {
        let code = u32::from(hidden);
        format!(
            "must not contain control characters, line breaks or marks of text direction; it contains U+{code:04X}"
        )
    } else if value.trim() != value {
        format!("must not begin or end with a space: `{value}`")
    } else {
        return Ok(());
    };
    fail(path, wrong)
}
