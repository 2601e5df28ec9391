//! Ranges and rules that types cannot express. Every error names the key, the given value and the allowed values.

mod cell;
mod files;
mod flow;
mod name;
mod parameters;
pub(crate) mod rules;

use std::collections::HashMap;

use bloatlab_link::Files;

use self::name::name;
use self::parameters::{cca, copies, queue};
pub(crate) use self::rules::{Check, MAX_FLOWS, fail, registered, span};
use self::rules::{DAY, delay, device, impairments, jittery, loss, rate, vary, vary_delay, within};
use crate::{BoxSpec, Dumbbell, ParkingLot, Scenario};

/// Checks everything except the paths of flows and the contents of files. Without `files`, nothing of files is checked.
pub(crate) fn scenario(s: &Scenario, files: Option<&dyn Files>) -> Check {
    name("name", &s.name)?;
    files.map_or(Ok(()), |files| files::check(s, files))?;
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
                "gives {samples} samples over {}; at most 10000000 are allowed; use a longer interval",
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
                "none of `dumbbell`, `parking_lot`, `cell` and `boxes` is given; give exactly one",
            );
        }
        [_] => {}
        [first, second, ..] => {
            let why = format!(
                "`{first}` is given, too; give exactly one of `dumbbell`, `parking_lot`, `cell` and `boxes`"
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
        return fail("flows", "is empty; give at least one flow");
    }
    let mut total = 0;
    for (i, f) in s.flows.iter().enumerate() {
        flow::check(s, &format!("flows[{i}]"), f)?;
        // This check is slow, so equal congestion controls in a row are checked once.
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
                format!("makes {total} flows in all; at most {MAX_FLOWS} are allowed"),
            );
        }
    }
    Ok(())
}

fn dumbbell(d: &Dumbbell) -> Check {
    rate("dumbbell.rate", d.rate)?;
    delay("dumbbell.rtt", d.rtt)?;
    within("dumbbell.forward_share", d.forward_share, 0.0, 1.0)?;
    queue("dumbbell.queue", &d.queue)?;
    loss("dumbbell.loss", d.loss)?;
    if d.vary.reverse_rate.is_some() && d.reverse_rate.is_none() {
        let why = "needs a rate in the reverse direction; give `dumbbell.reverse_rate`";
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
    device(
        "dumbbell",
        (d.shaper, d.device_packets),
        d.overhead,
        d.header,
    )
}

fn parking_lot(p: &ParkingLot) -> Check {
    within("parking_lot.hops", p.hops, 2, 64)?;
    rate("parking_lot.rate", p.rate)?;
    delay("parking_lot.hop_delay", p.hop_delay)?;
    queue("parking_lot.queue", &p.queue)?;
    if let Some(value) = p.reverse_rate {
        rate("parking_lot.reverse_rate", value)?;
    }
    device(
        "parking_lot",
        (p.shaper, p.device_packets),
        p.overhead,
        p.header,
    )
}

fn boxes(specs: &[BoxSpec]) -> Check {
    let mut seen = HashMap::new();
    for (i, spec) in specs.iter().enumerate() {
        let path = format!("boxes[{i}]");
        name(format!("{path}.name"), spec.name())?;
        if let Some(first) = seen.insert(spec.name(), i) {
            return fail(
                format!("{path}.name"),
                format!("`{}` is already the name of boxes[{first}]", spec.name()),
            );
        }
        match spec {
            BoxSpec::Link(link) => {
                rate(format!("{path}.rate"), link.rate)?;
                delay(format!("{path}.delay"), link.delay)?;
                vary_delay(format!("{path}.vary.delay"), link.vary.delay.as_ref())?;
                queue(&format!("{path}.queue"), &link.queue)?;
                device(
                    &path,
                    (link.shaper, link.device_packets),
                    link.overhead,
                    link.header,
                )?;
            }
            BoxSpec::Delay(given) => {
                delay(format!("{path}.delay"), given.delay)?;
                vary_delay(format!("{path}.vary"), given.vary.as_ref())?;
                jittery(&format!("{path}.jitter"), given.jitter.as_ref())?;
            }
            BoxSpec::Impairment(impairment) => {
                registered(&path, impairment.params().validate())?;
            }
        }
    }
    Ok(())
}
