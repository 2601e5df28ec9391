//! Traces: reads, makes, describes and writes their files.

mod info;

use bloatlab_units::{Duration, MILLISECOND, NEVER, Nanos, Rate, Streams};
use serde::Deserialize;

use crate::carrier::WORK;
pub use crate::formats::{Format, Unit};
use crate::rate_file::{self, Choice};
use crate::{DELIVERY_BYTES, Files, LoadedRate, Piece, RateVariation, ReadOnce, file, mahimahi};
pub use info::{Dip, Info};

/// Most pieces or deliveries that are made.
const MOST: usize = 10_000_000;

/// How a file is read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reading {
    /// The format; absent: recognized from the file.
    pub format: Option<Format>,
    /// Unit of its rates.
    pub unit: Unit,
    /// As in [`rate_file::Params`].
    pub zero_keeps_rate: bool,
    /// As in [`rate_file::Params`].
    pub interval_loses_digit: bool,
    /// As in [`rate_file::Params`].
    pub skips_unfinished_line: bool,
}

/// A trace in memory: one pass.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceFile {
    /// The format of its file, or the format that suits it.
    pub format: Format,
    content: Content,
}

#[derive(Clone, Debug, PartialEq)]
enum Content {
    /// Consecutive rates with their spans, which are above 0.
    Rates(Vec<(Nanos, Rate)>),
    /// Instants of deliveries, and the length.
    Deliveries(Vec<Nanos>, Nanos),
}

impl TraceFile {
    /// Reads a file.
    ///
    /// # Errors
    /// One line: the file, the line and the reason.
    pub fn read(files: &dyn Files, name: &str, how: &Reading) -> Result<Self, String> {
        let plain = |why: String| {
            why.strip_prefix("file: ")
                .map_or(why.clone(), str::to_owned)
        };
        let files = &ReadOnce::new(files);
        let bytes = file::open(files, name, None).map_err(plain)?.0;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        let recognized = || Format::of(&lines).holds_deliveries();
        if how.format.map_or_else(recognized, Format::holds_deliveries) {
            let quirks =
                how.zero_keeps_rate || how.interval_loses_digit || how.skips_unfinished_line;
            if quirks {
                return Err(format!(
                    "`{name}` is a trace of deliveries, to which the quirks of rate files do not apply"
                ));
            }
            let mut params = mahimahi::Params {
                file: Some(name.to_owned()),
                ..Default::default()
            };
            let trace = params.read(files).map_err(plain)?;
            let deliveries: Vec<Nanos> = trace.milliseconds().map(|at| at * MILLISECOND).collect();
            let span = deliveries.last().copied().unwrap_or_default();
            return Ok(Self {
                format: Format::Mahimahi,
                content: Content::Deliveries(deliveries, span),
            });
        }
        let params = rate_file::Params {
            format: Choice(how.format),
            unit: how.unit,
            zero_keeps_rate: how.zero_keeps_rate,
            interval_loses_digit: how.interval_loses_digit,
            skips_unfinished_line: how.skips_unfinished_line,
            ..rate_file::Params::new(name.to_owned())
        };
        let (format, timeline) = params.parse(&text).map_err(plain)?;
        let content = Content::Rates(rates(name, timeline.pieces())?);
        Ok(Self { format, content })
    }

    /// Makes a trace of this length with a generator. The random numbers are those of the bottleneck of a dumbbell in a run with this seed.
    ///
    /// # Errors
    /// One line: a parameter and what is wrong with it.
    pub fn make(
        files: &dyn Files,
        how: &mut RateVariation,
        nominal: Rate,
        seed: u64,
        duration: Duration,
    ) -> Result<Self, String> {
        let until = duration.0;
        if until == 0 {
            return Err("duration: must be above 0s".to_owned());
        }
        let too_long = || {
            format!(
                "duration: a trace of {duration} has more than {MOST} lines; make a shorter one"
            )
        };
        let loaded = how.load(files)?;
        let rng = Streams::new(seed).stream("vary/bottleneck/rate");
        if let Some(mut deliveries) = loaded.deliveries(nominal, rng.clone()) {
            let mut instants = Vec::new();
            let mut at = deliveries.next();
            while at <= until && at < NEVER {
                instants.push(at);
                if instants.len() > MOST {
                    return Err(too_long());
                }
                at = deliveries.next();
            }
            return Ok(Self {
                format: Format::Mahimahi,
                content: Content::Deliveries(instants, until),
            });
        }
        Ok(Self {
            format: Format::RateInterval,
            content: Content::Rates(trajectory(&loaded, nominal, rng, until).ok_or_else(too_long)?),
        })
    }

    /// Length of one pass.
    pub fn span(&self) -> Nanos {
        match &self.content {
            Content::Rates(rates) => rates.iter().map(|(span, _)| span).sum(),
            Content::Deliveries(_, span) => *span,
        }
    }

    /// Number of lines or deliveries.
    pub fn entries(&self) -> usize {
        match &self.content {
            Content::Rates(rates) => rates.len(),
            Content::Deliveries(instants, _) => instants.len(),
        }
    }

    /// Spans and rates. Deliveries are counted over intervals of this length, which include their end.
    ///
    /// # Errors
    /// The interval is so short that the trace has too many of them.
    pub fn rates(&self, interval: Duration) -> Result<Vec<(Nanos, Rate)>, String> {
        match &self.content {
            Content::Rates(rates) => Ok(rates.clone()),
            Content::Deliveries(instants, span) => {
                let length = interval.0.max(1);
                let count = span.div_ceil(length);
                if count > MOST as u64 {
                    let least = Duration(span.div_ceil(MOST as u64));
                    return Err(format!(
                        "interval: {interval} makes {count} intervals of this trace; at most {MOST} are counted: give at least {least}"
                    ));
                }
                Ok(counted(instants, *span, length))
            }
        }
    }

    /// The text of a file in this format. Deliveries are counted over intervals of this length if the format holds rates.
    ///
    /// # Errors
    /// The format cannot express the trace.
    pub fn text(&self, format: Format, unit: Unit, interval: Duration) -> Result<String, String> {
        let deliveries = || match &self.content {
            Content::Rates(rates) => earned(rates),
            Content::Deliveries(instants, _) => Ok(instants.clone()),
        };
        format.text(unit, || self.rates(interval), deliveries)
    }
}

/// The rates up to an instant, or `None` if there are too many.
fn trajectory(
    loaded: &LoadedRate,
    nominal: Rate,
    rng: bloatlab_units::Rng,
    until: Nanos,
) -> Option<Vec<(Nanos, Rate)>> {
    let mut rates = Vec::new();
    let (mut at, mut rate) = (0, nominal);
    let mut source = loaded.source(nominal, rng)?;
    while at < until {
        let change = source.next();
        let end = change.at.min(until);
        if end > at {
            rates.push((end - at, rate));
        }
        if rates.len() > MOST {
            return None;
        }
        at = end;
        rate = Rate(change.value.round() as u64);
    }
    Some(rates)
}

/// The pieces as rates with their spans.
fn rates(name: &str, pieces: &[Piece]) -> Result<Vec<(Nanos, Rate)>, String> {
    let mut rate = None;
    let mut rates = Vec::with_capacity(pieces.len());
    for piece in pieces.iter().filter(|piece| piece.span > 0) {
        rate = piece.rate.or(rate);
        let Some(rate) = rate else {
            return Err(format!(
                "`{name}` begins with a rate of 0, and there is no previous rate to keep"
            ));
        };
        rates.push((piece.span, rate));
    }
    Ok(rates)
}

/// Counts deliveries over the intervals (0, interval], (interval, 2 interval] and so on. The first one also counts those at 0.
fn counted(instants: &[Nanos], span: Nanos, interval: Nanos) -> Vec<(Nanos, Rate)> {
    let mut rates = Vec::new();
    let (mut begin, mut place) = (0, 0);
    while begin < span {
        let end = (begin + interval).min(span);
        let count = instants[place..].partition_point(|at| *at <= end);
        place += count;
        let work = count as u128 * u128::from(DELIVERY_BYTES) * 8_000_000_000;
        let length = u128::from(end - begin);
        rates.push((end - begin, Rate(((work + length / 2) / length) as u64)));
        begin = end;
    }
    rates
}

/// Instants at which a rate has provided the bits of whole deliveries. Remainders are carried on, so that rounding errors do not accumulate.
fn earned(rates: &[(Nanos, Rate)]) -> Result<Vec<Nanos>, String> {
    let delivery = u128::from(DELIVERY_BYTES) * WORK;
    let (mut at, mut earned, mut instants) = (0, 0_u128, Vec::new());
    for &(span, rate) in rates {
        let (rate, before) = (u128::from(rate.0), earned);
        earned += rate * u128::from(span);
        let mut due = delivery;
        while due <= earned {
            instants.push(at + (due - before).div_ceil(rate) as Nanos);
            if instants.len() > MOST {
                return Err(format!("takes more than {MOST} deliveries"));
            }
            due += delivery;
        }
        earned -= due - delivery;
        at += span;
    }
    Ok(instants)
}
