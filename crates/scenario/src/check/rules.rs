//! Rules that many keys share.

use std::fmt::Display;

use bloatlab_link::{DelayVariation, Quantity, Variation, gilbert_elliott, jitter};
use bloatlab_units::{Duration, Rate, SECOND};

use crate::path::split_name;
use crate::{Impairments, ScenarioError};

pub(crate) type Check = Result<(), ScenarioError>;

pub(crate) const HOUR: u64 = 3600 * SECOND;
pub(super) const DAY: u64 = 24 * HOUR;
/// Most flows of a scenario when every `count` is expanded.
pub(crate) const MAX_FLOWS: u64 = 100_000;
/// The highest identifier of a QoS flow: 6 bits (TS 37.324 section 6.3.4).
pub(super) const MAX_QFI: u32 = 63;

pub(crate) fn fail<T>(path: impl Display, message: impl Display) -> Result<T, ScenarioError> {
    Err(ScenarioError::new(path.to_string(), message.to_string()))
}

pub(crate) fn within<T: PartialOrd + Display>(
    path: impl Display,
    value: T,
    low: T,
    high: T,
) -> Check {
    if value >= low && value <= high {
        return Ok(());
    }
    fail(
        path,
        format!("must be between {low} and {high}, not {value}"),
    )
}

pub(crate) fn duration(path: impl Display, value: Duration, low: u64, high: u64) -> Check {
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

/// A duration as a user writes it, in whole hours or minutes if possible.
pub(crate) fn span(nanos: u64) -> String {
    for (scale, unit) in [(HOUR, "h"), (60 * SECOND, "min"), (SECOND, "s")] {
        let whole = nanos / scale;
        if whole * scale == nanos && (whole > 0 || unit == "s") {
            return format!("{whole}{unit}");
        }
    }
    Duration(nanos).to_string()
}

pub(crate) fn delay(path: impl Display, value: Duration) -> Check {
    duration(path, value, 0, HOUR)
}

pub(crate) fn rate(path: impl Display, value: Rate) -> Check {
    if (1_000..=10_000_000_000_000).contains(&value.0) {
        return Ok(());
    }
    fail(
        path,
        format!("must be between 1kbit/s and 10Tbit/s, not {value}"),
    )
}

pub(super) fn loss(path: impl Display, value: f64) -> Check {
    if (0.0..1.0).contains(&value) {
        return Ok(());
    }
    fail(
        path,
        format!("must be a probability of at least 0 and below 1, not {value}"),
    )
}

/// Turns the error of a registry, `parameter: reason`, into an error with the path of the parameter.
pub(crate) fn registered<T>(path: &str, verdict: Result<T, String>) -> Result<T, ScenarioError> {
    verdict.or_else(|message| match split_name(&message) {
        Some((parameter, rest)) => fail(format!("{path}.{parameter}"), rest),
        None => fail(path, message),
    })
}

/// Checks how a value varies.
pub(super) fn vary<Q: Quantity>(path: impl Display, value: Option<&Variation<Q>>) -> Check {
    value.map_or(Ok(()), |value| {
        registered(&path.to_string(), value.validate())
    })
}

/// Checks how a delay varies.
pub(super) fn vary_delay(path: impl Display, value: Option<&DelayVariation>) -> Check {
    value.map_or(Ok(()), |value| {
        registered(&path.to_string(), value.validate())
    })
}

pub(super) fn burst(path: &str, value: Option<&gilbert_elliott::Params>) -> Check {
    value.map_or(Ok(()), |value| registered(path, value.validate()))
}

pub(super) fn jittery(path: &str, value: Option<&jitter::Params>) -> Check {
    value.map_or(Ok(()), |value| registered(path, value.validate()))
}

pub(super) fn impairments(path: &str, value: &Impairments) -> Check {
    burst(
        &format!("{path}.gilbert_elliott"),
        value.gilbert_elliott.as_ref(),
    )?;
    loss(format!("{path}.corrupt"), value.corrupt)?;
    within(format!("{path}.duplicate"), value.duplicate, 0.0, 1.0)?;
    jittery(&format!("{path}.jitter"), value.jitter.as_ref())
}

pub(super) fn device(
    path: &str,
    (shaper, device_packets): (bool, u32),
    overhead: u32,
    header: u32,
) -> Check {
    if shaper && device_packets > 0 {
        return fail(
            format!("{path}.device_packets"),
            "a shaper has no device; use 0".to_owned(),
        );
    }
    within(
        format!("{path}.device_packets"),
        device_packets,
        0,
        1_000_000,
    )?;
    within(format!("{path}.overhead"), overhead, 0, 65_535)?;
    within(format!("{path}.header"), header, 0, 255)
}
