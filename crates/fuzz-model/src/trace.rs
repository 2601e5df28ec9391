//! Target for traces: any file, in any format and with any options, is either refused with a message of one line, or replayed, written and
//! read back.

use std::path::PathBuf;

use bloatlab_link::rate_file::Choice;
use bloatlab_link::tracefile::{Format, Reading, TraceFile, Unit};
use bloatlab_link::{Disk, Quantity, RateVariation};
use bloatlab_radio::channel;
use bloatlab_units::{Duration, MILLISECOND, Rate, SECOND, Streams};
use serde_json::json;

use crate::choices::Choices;

const UNITS: [Unit; 4] = [Unit::Bit, Unit::Kilobit, Unit::Megabit, Unit::Gigabit];
/// Maximum number of packets that a link sends by the trace, and the time at which it stops.
const PACKETS: usize = 200;
const HORIZON: u64 = 100 * SECOND;
/// Maximum number of intervals over which deliveries are counted.
const INTERVALS: u64 = 20_000;
/// Times and spans that a file may have.
const LONGEST: u64 = 1_000_000 * SECOND;

/// Reads bytes as a trace file. The first bytes choose the format and the options.
///
/// # Panics
/// If a reader panics, or if a written trace is not read back.
pub fn trace(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let how = Reading {
        format: (choices.below(Format::ALL.len() + 1).checked_sub(1)).map(|i| Format::ALL[i]),
        unit: *choices.one_of(&UNITS),
        zero_keeps_rate: choices.once_in(4),
        interval_loses_digit: choices.once_in(4),
        skips_unfinished_line: choices.once_in(4),
    };
    let interval = Duration(choices.whole(MILLISECOND, 1_000 * SECOND));
    let ends = *choices.one_of(&["loop", "hold"]);
    let file = File::new(choices.rest());
    recording(&file);
    let trace = match TraceFile::read(&Disk, file.name(), &how) {
        Ok(trace) => trace,
        Err(why) => return one_line(&why),
    };
    // Long enough that counting does not dominate.
    let interval = Duration(interval.0.max(trace.span() / INTERVALS));
    replay(&file, &how, ends);
    let info = match trace.info(None, interval) {
        Ok(info) => info,
        Err(why) => return one_line(&why),
    };
    let numbers = [info.seconds, info.mean, info.median, info.least, info.most];
    assert!(
        numbers.iter().all(|n| n.is_finite() && *n >= 0.0),
        "{info:?}"
    );
    assert!(
        info.share_below <= 1.0 && info.least <= info.most,
        "{info:?}"
    );
    for &format in Format::ALL {
        written(&trace, format, how.unit, interval);
    }
}

/// Checks that a trace that is written in a format is read back.
fn written(trace: &TraceFile, format: Format, unit: Unit, interval: Duration) {
    let text = match trace.text(format, unit, interval) {
        Ok(text) => text,
        Err(why) => return one_line(&why),
    };
    let how = Reading {
        format: Some(format),
        unit,
        ..Reading::default()
    };
    let rates = trace
        .rates(interval)
        .expect("as many intervals as were written");
    let file = File::new(text.as_bytes());
    let again = match TraceFile::read(&Disk, file.name(), &how) {
        Ok(again) => again,
        // The trace exceeds the maximum length or number of lines of a file.
        Err(why) => {
            let short = trace.span() <= LONGEST && rates.len() > 1;
            let in_time = rates
                .iter()
                .all(|(span, rate)| *span > 0 && *rate <= Rate::GREATEST);
            assert!(
                !short || !in_time || format.holds_deliveries(),
                "{why}: {text:?}"
            );
            return;
        }
    };
    match format {
        Format::TimeRate => assert!(trace.span() - again.span() <= 1, "{text:?}"),
        _ if format.holds_deliveries() => {
            let back = again.text(format, unit, interval);
            assert_eq!(back.as_ref(), Ok(&text));
        }
        _ => assert_eq!(again.rates(interval).as_ref(), Ok(&rates), "{text:?}"),
    }
}

/// Sends packets over a link that follows the trace.
fn replay(file: &File, how: &Reading, ends: &str) {
    let mut document = match how.format {
        Some(format) if format.holds_deliveries() => json!({ "kind": "mahimahi" }),
        format => {
            json!({
                "kind": "file", "format": Choice(format), "unit": how.unit, "at_end": ends,
                "zero_keeps_rate": how.zero_keeps_rate,
                "interval_loses_digit": how.interval_loses_digit,
                "skips_unfinished_line": how.skips_unfinished_line,
            })
        }
    };
    document["file"] = json!(file.name());
    let mut variation: RateVariation = serde_json::from_value(document).expect("a variation");
    let loaded = match variation.load(&Disk) {
        Ok(loaded) => loaded,
        Err(why) => return one_line(&why),
    };
    let nominal = Rate(10_000_000);
    let rng = Streams::new(1).stream("trace");
    let mut link = loaded.carrier(nominal, &rng, HORIZON);
    let mut now = 0;
    for packet in 0..PACKETS {
        let end = link.transmit(now, 1 + packet as u64 * 301 % 65_535);
        assert!(end >= now, "{end} is before {now}");
        // The run is over.
        if end > HORIZON {
            break;
        }
        now = end;
    }
}

/// The same file as the recording of a signal-to-noise ratio.
fn recording(file: &File) {
    let mut params = channel::trace::Params {
        file: Some(file.name().to_owned()),
        ..Default::default()
    };
    if let Err(why) = params.read(&Disk) {
        one_line(&why);
    }
}

fn one_line(why: &str) {
    assert!(
        !why.is_empty() && !why.contains(['\n', '\r']),
        "one line: {why:?}"
    );
}

/// A temporary file that is removed when its owner is dropped.
struct File(PathBuf);

impl File {
    fn new(bytes: &[u8]) -> Self {
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bloatlab-fuzz-{}-{number}", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, bytes).expect("a file in the temporary directory");
        Self(file)
    }

    fn name(&self) -> &str {
        self.0.to_str().expect("a name that is text")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // A file that cannot be removed does not fail the test.
        let _ = std::fs::remove_file(&self.0);
    }
}
