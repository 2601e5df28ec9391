//! The total size of the files that a document names. The size of each file is checked when it is read.

use bloatlab_link::{Files, RateVariation};
use bloatlab_units::Bytes;

use super::rules::{Check, fail};
use crate::{BoxSpec, Scenario};

/// Bytes of all files, each counted as often as it is named. In memory they take up to eight times as much.
const MOST_BYTES: u64 = 1_000_000_000;

/// Refuses a document whose files are too large in all.
pub(super) fn check(s: &Scenario, source: &dyn Files) -> Check {
    let mut total = 0_u64;
    for (path, file) in files(s) {
        // A file that cannot be read is refused later, when it is read.
        let length = source.length(file).unwrap_or(0);
        total = total.saturating_add(length);
        if total > MOST_BYTES {
            let [total, most] = [total, MOST_BYTES].map(Bytes);
            let why =
                format!("makes {total} of files in this scenario; at most {most} are allowed");
            return fail(path, why);
        }
    }
    Ok(())
}

/// The files, with their paths in the document.
fn files<'a>(s: &'a Scenario) -> Vec<(String, &'a str)> {
    let mut found = Vec::new();
    let mut note =
        |path: String, file: Option<&'a str>| found.extend(file.map(|file| (path, file)));
    if let Some(d) = &s.dumbbell {
        for (key, rate) in [
            ("rate", &d.vary.rate),
            ("reverse_rate", &d.vary.reverse_rate),
        ] {
            let file = rate.as_ref().and_then(RateVariation::file);
            note(format!("dumbbell.vary.{key}.file"), file);
        }
    }
    for (place, spec) in s.boxes.iter().enumerate() {
        if let BoxSpec::Link(link) = spec {
            let file = link.vary.rate.as_ref().and_then(RateVariation::file);
            note(format!("boxes[{place}].vary.rate.file"), file);
        }
    }
    let ues = s.cell.iter().flat_map(|cell| &cell.radio.ues);
    for (place, ue) in ues.enumerate() {
        note(format!("cell.radio.ues[{place}].file"), ue.file());
    }
    found
}
