//! A signal-to-noise ratio from a recording.

use std::sync::Arc;

use bloatlab_link::{Files, file};
use bloatlab_units::{NEVER, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest number of samples in a trace.
const MOST: usize = 10_000_000;
/// Largest absolute value of a sample, dB.
const LARGEST: f64 = 200.0;

/// The SNR of a recording: lines with a time in seconds and a value in dB. Each value holds until the next line. After the last line, the recording
/// repeats, or the last value holds.
///
/// The first value also holds before its time. Empty lines and text after `#` are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file. A relative path starts at the working directory. Give either this or `samples`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The recording itself: pairs of seconds, ascending, and dB. Give either this or `file`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000_000))]
    pub samples: Vec<[f64; 2]>,
    /// Length of one pass in seconds, after which the recording repeats. If absent, the last value holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001, max = 1e6))]
    pub repeat_s: Option<f64>,
    /// XXH3 (128 bits, hexadecimal) of the file. It is filled in when the scenario is read. If it is given, a file with another digest is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A recording in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    samples: Arc<[(Nanos, f64)]>,
    /// Length of one pass.
    period: Nanos,
}

impl Params {
    /// Reads the file, if any, and records its digest.
    ///
    /// # Errors
    /// `parameter: file:line: reason`, in one line.
    pub fn read(&mut self, files: &dyn Files) -> Result<Trace, String> {
        let Some(file) = &self.file else {
            if self.digest.is_some() {
                return Err("digest: goes with `file`".to_owned());
            }
            let samples = self.samples.iter().map(|[time, value]| Ok((*time, *value)));
            let place = |place| format!("samples[{place}]");
            return self.trace("samples", samples.enumerate(), place);
        };
        if !self.samples.is_empty() {
            return Err("samples: give either `file` or `samples`".to_owned());
        }
        let (bytes, digest) = file::open(files, file, self.digest.as_deref())?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().enumerate().filter_map(|(place, line)| {
            let line = line.split('#').next().unwrap_or_default().trim();
            (!line.is_empty()).then(|| (place, sample(line)))
        });
        let place = |place: usize| format!("file: {file}:{}", place + 1);
        let trace = self.trace(&format!("file: {file}"), lines, place)?;
        self.digest = Some(digest);
        Ok(trace)
    }

    fn trace(
        &self,
        all: &str,
        values: impl Iterator<Item = (usize, Result<(f64, f64), String>)>,
        name: impl Fn(usize) -> String,
    ) -> Result<Trace, String> {
        let mut samples: Vec<(Nanos, f64)> = Vec::new();
        for (place, value) in values {
            let wrong = |why: String| format!("{}: {why}", name(place));
            let (time, value) = value.map_err(wrong)?;
            if !(0.0..=1e6).contains(&time) {
                return Err(wrong("time must be between 0 and 1e6 s".to_owned()));
            }
            if value.is_nan() || value.abs() > LARGEST {
                let why = format!("SNR must be between -{LARGEST} and {LARGEST} dB");
                return Err(wrong(why));
            }
            let time = libm::round(time * 1e9) as Nanos;
            if samples.last().is_some_and(|(last, _)| *last >= time) {
                return Err(wrong("time must be later than the one before".to_owned()));
            }
            if samples.len() == MOST {
                return Err(format!("{all}: has more than {MOST} samples"));
            }
            samples.push((time, value));
        }
        let Some((last, _)) = samples.last() else {
            return Err(format!("{all}: holds no sample"));
        };
        let period = match self.repeat_s {
            None => NEVER,
            Some(period) if (0.001..=1e6).contains(&period) => libm::round(period * 1e9) as Nanos,
            Some(period) => {
                return Err(format!(
                    "repeat_s: must be between 0.001 and 1e6, not {period}"
                ));
            }
        };
        if period <= *last {
            return Err(format!(
                "repeat_s: must be later than the last sample, at {} s",
                *last as f64 * 1e-9
            ));
        }
        Ok(Trace {
            samples: samples.into(),
            period,
        })
    }
}

/// Parses `time snr_db`.
fn sample(line: &str) -> Result<(f64, f64), String> {
    let mut cells = line
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|cell| !cell.is_empty());
    let (time, value, more) = (cells.next(), cells.next(), cells.next());
    match (time.map(str::parse), value.map(str::parse), more) {
        (Some(Ok(time)), Some(Ok(value)), None) => Ok((time, value)),
        _ => Err("must be a time in seconds and an SNR in dB".to_owned()),
    }
}

/// The state of a recording that is played.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    trace: Trace,
    place: usize,
    pass: u64,
}

impl Player {
    pub(crate) fn new(trace: Trace) -> Self {
        Self {
            trace,
            place: 0,
            pass: 0,
        }
    }

    /// The value at a time, which never decreases from call to call.
    pub(crate) fn value(&mut self, now: Nanos) -> f64 {
        let pass = now / self.trace.period;
        let within = now % self.trace.period;
        if pass != self.pass {
            self.pass = pass;
            self.place = 0;
        }
        let samples = &self.trace.samples;
        while samples
            .get(self.place + 1)
            .is_some_and(|(at, _)| *at <= within)
        {
            self.place += 1;
        }
        samples[self.place].1
    }
}

#[cfg(test)]
mod tests {
    use bloatlab_link::Disk;
    use bloatlab_units::{MILLISECOND, SECOND};

    use super::*;

    fn of(samples: &[[f64; 2]], repeat_s: Option<f64>) -> Result<Trace, String> {
        let mut params = Params {
            samples: samples.to_vec(),
            repeat_s,
            ..Params::default()
        };
        params.read(&Disk)
    }

    #[test]
    fn values_hold_until_the_next_and_come_again() {
        let samples = [[0.5, 10.0], [1.0, 20.0], [1.5, -3.0]];
        let values = |repeat| {
            let mut player = Player::new(of(&samples, repeat).unwrap());
            let tenths = [0_u64, 5, 9, 10, 14, 15, 19, 20, 30, 36];
            tenths.map(|tenth| player.value(tenth * 100 * MILLISECOND))
        };
        assert_eq!(
            values(None),
            [10.0, 10.0, 10.0, 20.0, 20.0, -3.0, -3.0, -3.0, -3.0, -3.0]
        );
        assert_eq!(
            values(Some(2.0)),
            [10.0, 10.0, 10.0, 20.0, 20.0, -3.0, -3.0, 10.0, 20.0, -3.0]
        );
        let mut player = Player::new(of(&samples, Some(2.0)).unwrap());
        assert_eq!(player.value(100 * SECOND + 1_200 * MILLISECOND), 20.0);
    }

    #[test]
    fn a_file_is_read_and_a_bad_line_named() {
        let path = std::env::temp_dir().join(format!("bloatlab-snr-{}", std::process::id()));
        let file = path.to_str().unwrap().to_owned();
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let mut params = Params {
                file: Some(file.clone()),
                ..Params::default()
            };
            let trace = params.read(&Disk);
            trace.map(|trace| (trace, params.digest.unwrap()))
        };
        let (trace, digest) = read("# drive\n0 20\n\n0.5,18.5 # under a bridge\n").unwrap();
        assert_eq!(&*trace.samples, [(0, 20.0), (500 * MILLISECOND, 18.5)]);
        assert_eq!(digest.len(), 32);
        let refused = [
            (
                "0 20\n1 x\n",
                ":2: must be a time in seconds and an SNR in dB",
            ),
            ("0 20 3\n", ":1: must be a time"),
            (
                "\n1 20\n1 21\n",
                ":3: time must be later than the one before",
            ),
            ("-1 20\n", ":1: time must be between 0 and 1e6 s"),
            ("0 nan\n", ":1: SNR must be between -200 and 200 dB"),
            ("# nothing\n", ": holds no sample"),
        ];
        for (text, why) in refused {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(&format!("file: {file}{why}")), "{error}");
        }
        std::fs::write(&path, "0 1\n").unwrap();
        let mut other = Params {
            file: Some(file.clone()),
            digest: Some(digest),
            ..Params::default()
        };
        assert!(
            other
                .read(&Disk)
                .unwrap_err()
                .contains("is another file now")
        );
        std::fs::remove_file(&path).unwrap();
        assert!(other.read(&Disk).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn values_out_of_range_are_named() {
        assert!(
            of(&[[0.0, 1.0]], Some(0.0))
                .unwrap_err()
                .starts_with("repeat_s: must be between")
        );
        assert!(
            of(&[[3.0, 1.0]], Some(2.0))
                .unwrap_err()
                .contains("later than the last sample, at 3 s")
        );
        assert_eq!(of(&[], None).unwrap_err(), "samples: holds no sample");
        assert!(
            of(&[[0.0, 1e9]], None)
                .unwrap_err()
                .starts_with("samples[0]: SNR must")
        );
    }
}
