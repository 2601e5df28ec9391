//! Ranges and rules that types cannot express. Every refusal names the key, the value and what is allowed.

mod cell;
mod files;
mod flow;
mod name;
mod parameters;

use std::collections::HashMap;
use std::fmt::Display;

use bloatlab_link::{DelayVariation, Files, Quantity, Variation, gilbert_elliott, jitter};
use bloatlab_units::{Duration, Rate, SECOND};

use self::name::name;
use self::parameters::{MAX_LIMIT_BYTES, cca, copies, queue};
use crate::read::split_name;
use crate::{BoxSpec, Dumbbell, Impairments, ParkingLot, Scenario, ScenarioError};

pub(crate) type Check = Result<(), ScenarioError>;

const HOUR: u64 = 3600 * SECOND;
const DAY: u64 = 24 * HOUR;
/// Flows that a scenario may have when every `count` is expanded.
pub(crate) const MAX_FLOWS: u64 = 100_000;
/// The highest identifier of a QoS flow: 6 bits (TS 37.324 section 6.3.4).
const MAX_QFI: u32 = 63;

pub(crate) fn fail<T>(path: impl Display, message: impl Display) -> Result<T, ScenarioError> {
    Err(ScenarioError::new(path.to_string(), message.to_string()))
}

fn within<T: PartialOrd + Display>(path: impl Display, value: T, low: T, high: T) -> Check {
    if value >= low && value <= high {
        return Ok(());
    }
    fail(
        path,
        format!("must be between {low} and {high}, not {value}"),
    )
}

fn duration(path: impl Display, value: Duration, low: u64, high: u64) -> Check {
    if (low..=high).contains(&value.0) {
        return Ok(());
    }
    fail(
        path,
        format!(
            "must be between {} and {}, not {}",
            span(low),
            span(high),
            span(value.0)
        ),
    )
}

/// A duration as a user writes it, in hours and minutes where they are whole.
pub(crate) fn span(nanos: u64) -> String {
    for (scale, unit) in [(HOUR, "h"), (60 * SECOND, "min"), (SECOND, "s")] {
        let whole = nanos / scale;
        if whole * scale == nanos && (whole > 0 || unit == "s") {
            return format!("{whole}{unit}");
        }
    }
    Duration(nanos).to_string()
}

fn delay(path: impl Display, value: Duration) -> Check {
    duration(path, value, 0, HOUR)
}

fn rate(path: impl Display, value: Rate) -> Check {
    if (1_000..=10_000_000_000_000).contains(&value.0) {
        return Ok(());
    }
    fail(
        path,
        format!("must be between 1kbit/s and 10Tbit/s, not {value}"),
    )
}

fn loss(path: impl Display, value: f64) -> Check {
    if (0.0..1.0).contains(&value) {
        return Ok(());
    }
    fail(
        path,
        format!("must be a probability of at least 0 and below 1, not {value}"),
    )
}

/// A registry's own verdict; its message starts with the parameter's name.
pub(crate) fn registered<T>(path: &str, verdict: Result<T, String>) -> Result<T, ScenarioError> {
    verdict.or_else(|message| match split_name(&message) {
        Some((parameter, rest)) => fail(format!("{path}.{parameter}"), rest),
        None => fail(path, message),
    })
}

/// Checks how a value varies.
fn vary<Q: Quantity>(path: impl Display, value: Option<&Variation<Q>>) -> Check {
    value.map_or(Ok(()), |value| {
        registered(&path.to_string(), value.validate())
    })
}

/// Checks how a delay varies.
fn vary_delay(path: impl Display, value: Option<&DelayVariation>) -> Check {
    value.map_or(Ok(()), |value| {
        registered(&path.to_string(), value.validate())
    })
}

fn burst(path: &str, value: Option<&gilbert_elliott::Params>) -> Check {
    value.map_or(Ok(()), |value| registered(path, value.validate()))
}

fn jittery(path: &str, value: Option<&jitter::Params>) -> Check {
    value.map_or(Ok(()), |value| registered(path, value.validate()))
}

fn impairments(path: &str, value: &Impairments) -> Check {
    burst(
        &format!("{path}.gilbert_elliott"),
        value.gilbert_elliott.as_ref(),
    )?;
    loss(format!("{path}.corrupt"), value.corrupt)?;
    within(format!("{path}.duplicate"), value.duplicate, 0.0, 1.0)?;
    jittery(&format!("{path}.jitter"), value.jitter.as_ref())
}

/// Checks everything that needs no path through the network. What files hold is checked where they are read.
pub(crate) fn scenario(s: &Scenario, files: &dyn Files) -> Check {
    name("name", &s.name)?;
    files::check(s, files)?;
    if s.duration.0 == 0 || s.duration.0 > DAY {
        return fail(
            "duration",
            format!(
                "must be above 0s and at most 24h, not {}",
                span(s.duration.0)
            ),
        );
    }
    if s.sample_interval.0 == 0 || s.sample_interval.0 > DAY {
        return fail(
            "sample_interval",
            format!(
                "must be above 0s and at most 24h, not {}",
                s.sample_interval
            ),
        );
    }
    let samples = s.duration.0 / s.sample_interval.0;
    if samples > 10_000_000 {
        return fail(
            "sample_interval",
            format!(
                "gives {samples} samples over {}; at most 10000000 are taken",
                s.duration
            ),
        );
    }
    if s.warmup >= s.duration {
        return fail(
            "warmup",
            format!(
                "must be below the duration of {}, not {}",
                s.duration, s.warmup
            ),
        );
    }
    let given: Vec<&str> = [
        ("dumbbell", s.dumbbell.is_some()),
        ("parking_lot", s.parking_lot.is_some()),
        ("cell", s.cell.is_some()),
        ("boxes", !s.boxes.is_empty()),
    ]
    .iter()
    .filter_map(|(key, is_given)| is_given.then_some(*key))
    .collect();
    match given[..] {
        [] => {
            return fail(
                "dumbbell",
                "give exactly one of `dumbbell`, `parking_lot`, `cell` and `boxes`; there is none",
            );
        }
        [_] => {}
        [first, second, ..] => {
            let why = format!(
                "give exactly one of `dumbbell`, `parking_lot`, `cell` and `boxes`; `{first}` is there already"
            );
            return fail(second, why);
        }
    }
    if let Some(d) = &s.dumbbell {
        dumbbell(d)?;
    }
    if let Some(p) = &s.parking_lot {
        parking_lot(p)?;
    }
    if let Some(c) = &s.cell {
        cell::check(c)?;
    }
    boxes(&s.boxes)?;
    if s.flows.is_empty() {
        return fail("flows", "there must be at least one flow");
    }
    let mut total = 0;
    for (i, f) in s.flows.iter().enumerate() {
        flow::check(s, &format!("flows[{i}]"), f)?;
        // A registry derives its ranges from the schema at every call: not again for each of many flows alike.
        if i == 0 || s.flows[i - 1].cca != f.cca {
            cca(&format!("flows[{i}].cca"), &f.cca)?;
        }
        if f.count > 1 {
            copies(&format!("flows[{i}].cca"), &f.cca, f.count)?;
        }
        total += u64::from(f.count);
        if total > MAX_FLOWS {
            return fail(
                format!("flows[{i}].count"),
                format!("brings the scenario to {total} flows; at most {MAX_FLOWS} are allowed"),
            );
        }
    }
    Ok(())
}

fn device(path: &str, device_packets: u32, overhead: u32, header: u32) -> Check {
    within(
        format!("{path}.device_packets"),
        device_packets,
        0,
        1_000_000,
    )?;
    within(format!("{path}.overhead"), overhead, 0, 65_535)?;
    within(format!("{path}.header"), header, 0, 255)
}

fn dumbbell(d: &Dumbbell) -> Check {
    rate("dumbbell.rate", d.rate)?;
    delay("dumbbell.rtt", d.rtt)?;
    within("dumbbell.forward_share", d.forward_share, 0.0, 1.0)?;
    queue("dumbbell.queue", &d.queue)?;
    loss("dumbbell.loss", d.loss)?;
    if d.vary.reverse_rate.is_some() && d.reverse_rate.is_none() {
        let why = "needs a way back with a rate: give `dumbbell.reverse_rate`";
        return fail("dumbbell.vary.reverse_rate", why);
    }
    vary_delay("dumbbell.vary.rtt", d.vary.rtt.as_ref())?;
    vary("dumbbell.vary.loss", d.vary.loss.as_ref())?;
    impairments("dumbbell.impair", &d.impair)?;
    impairments("dumbbell.reverse_impair", &d.reverse_impair)?;
    if let Some(value) = d.reverse_rate {
        rate("dumbbell.reverse_rate", value)?;
    }
    queue("dumbbell.reverse_queue", &d.reverse_queue)?;
    loss("dumbbell.reverse_loss", d.reverse_loss)?;
    if let Some(value) = d.access_rate {
        rate("dumbbell.access_rate", value)?;
    }
    device("dumbbell", d.device_packets, d.overhead, d.header)
}

fn parking_lot(p: &ParkingLot) -> Check {
    within("parking_lot.hops", p.hops, 2, 64)?;
    rate("parking_lot.rate", p.rate)?;
    delay("parking_lot.hop_delay", p.hop_delay)?;
    queue("parking_lot.queue", &p.queue)?;
    if let Some(value) = p.reverse_rate {
        rate("parking_lot.reverse_rate", value)?;
    }
    device("parking_lot", p.device_packets, p.overhead, p.header)
}

fn boxes(specs: &[BoxSpec]) -> Check {
    let mut seen = HashMap::new();
    for (i, spec) in specs.iter().enumerate() {
        let path = format!("boxes[{i}]");
        name(format!("{path}.name"), spec.name())?;
        if let Some(first) = seen.insert(spec.name(), i) {
            return fail(
                format!("{path}.name"),
                format!("`{}` is the name of boxes[{first}] already", spec.name()),
            );
        }
        match spec {
            BoxSpec::Link {
                rate: r,
                delay: d,
                vary: v,
                queue: q,
                device_packets,
                overhead,
                header,
                ..
            } => {
                rate(format!("{path}.rate"), *r)?;
                delay(format!("{path}.delay"), *d)?;
                vary_delay(format!("{path}.vary.delay"), v.delay.as_ref())?;
                queue(&format!("{path}.queue"), q)?;
                device(&path, *device_packets, *overhead, *header)?;
            }
            BoxSpec::Delay {
                delay: d,
                vary: v,
                jitter,
                ..
            } => {
                delay(format!("{path}.delay"), *d)?;
                vary_delay(format!("{path}.vary"), v.as_ref())?;
                jittery(&format!("{path}.jitter"), jitter.as_ref())?;
            }
            BoxSpec::Loss {
                probability,
                spacing,
                vary: v,
                gilbert_elliott,
                ..
            } => {
                loss(format!("{path}.probability"), *probability)?;
                vary(format!("{path}.vary"), v.as_ref())?;
                let burst_path = format!("{path}.gilbert_elliott");
                burst(&burst_path, gilbert_elliott.as_ref())?;
                let by_probability = *probability != 0.0 || v.is_some() || !spacing.is_default();
                if gilbert_elliott.is_some() && by_probability {
                    let why = "goes without `probability`, `spacing` and `vary`";
                    return fail(burst_path, why);
                }
            }
            BoxSpec::Corrupt {
                probability,
                vary: v,
                ..
            } => {
                loss(format!("{path}.probability"), *probability)?;
                vary(format!("{path}.vary"), v.as_ref())?;
            }
            BoxSpec::Duplicate {
                probability,
                vary: v,
                ..
            } => {
                within(format!("{path}.probability"), *probability, 0.0, 1.0)?;
                vary(format!("{path}.vary"), v.as_ref())?;
            }
        }
    }
    Ok(())
}
