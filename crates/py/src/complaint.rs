//! Error messages about plugins.

use pyo3::prelude::*;

/// One line with the error of a plugin and its place.
pub fn complaint(py: Python<'_>, class: &str, doing: &str, error: &PyErr) -> String {
    let kind = error
        .get_type(py)
        .name()
        .map_or_else(|_| String::from("error"), |n| n.to_string());
    let text = error.value(py).to_string();
    let line = error.traceback(py).and_then(|first| {
        let mut last = first.into_any();
        while let Ok(next) = last.getattr("tb_next")
            && !next.is_none()
        {
            last = next;
        }
        last.getattr("tb_lineno").ok()?.extract::<u32>().ok()
    });
    let at = line.map_or_else(String::new, |l| format!(" (line {l})"));
    format!(
        "{class}.{doing}: {kind}: {}{at}",
        text.lines().next().unwrap_or("")
    )
}
