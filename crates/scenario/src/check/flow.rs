//! Rules of flows: times, paths, TCP settings and traffic.

use bloatlab_tcp::TcpConfig;
use bloatlab_units::{MILLISECOND, SECOND};

use super::name::name;
use super::rules::{Check, MAX_FLOWS, MAX_QFI, delay, duration, fail, within};
use crate::{Direction, Flow, ParkingLot, Scenario};

/// Boxes on one path of a flow.
const MAX_PATH: usize = 255;
/// RFC 7323 section 2.3: windows reach 1 GiB.
const MAX_BUFFER: u64 = 1 << 30;

/// Checks one flow; its congestion control is checked by the caller.
pub(super) fn check(s: &Scenario, path: &str, f: &Flow) -> Check {
    if let Some(value) = &f.name {
        name(format!("{path}.name"), value)?;
    }
    for (key, host) in [("source", &f.source), ("destination", &f.destination)] {
        if let Some(value) = host {
            name(format!("{path}.{key}"), value)?;
        }
    }
    within(format!("{path}.count"), u64::from(f.count), 1, MAX_FLOWS)?;
    times(s, path, f)?;
    place(s, path, f)?;
    tcp(&format!("{path}.tcp"), &f.tcp)?;
    f.traffic.check(&format!("{path}.traffic"), &f.tcp)
}

fn times(s: &Scenario, path: &str, f: &Flow) -> Check {
    if f.start >= s.duration {
        return fail(
            format!("{path}.start"),
            format!(
                "must be below the duration of {}, not {}",
                s.duration, f.start
            ),
        );
    }
    if let Some(stop) = f.stop.filter(|&stop| stop <= f.start) {
        let why = format!("must be after the start at {}, not {stop}", f.start);
        return fail(format!("{path}.stop"), why);
    }
    let end = f.stop.map_or(s.duration, |stop| stop.min(s.duration));
    let last = u128::from(f.start.0) + u128::from(f.start_interval.0) * u128::from(f.count - 1);
    if last >= u128::from(end.0) {
        let why = format!(
            "{} starts the last of {} flows at or after the end at {end}; use a shorter interval",
            f.start_interval, f.count
        );
        return fail(format!("{path}.start_interval"), why);
    }
    if last + u128::from(f.start_jitter.0) >= u128::from(end.0) {
        let why = format!(
            "{} may delay the start to or beyond the end at {end}; use a shorter jitter",
            f.start_jitter
        );
        return fail(format!("{path}.start_jitter"), why);
    }
    Ok(())
}

/// Checks the keys of a flow that depend on the network.
fn place(s: &Scenario, path: &str, f: &Flow) -> Check {
    let network = if s.dumbbell.is_some() {
        "dumbbell"
    } else if s.parking_lot.is_some() {
        "parking_lot"
    } else if s.cell.is_some() {
        "cell"
    } else {
        "boxes"
    };
    let keys = [
        ("rtt", "dumbbell", f.rtt.is_some()),
        ("hops", "parking_lot", f.hops.is_some()),
        ("ue", "cell", f.ue.is_some()),
        ("qfi", "cell", f.qfi.is_some()),
        ("path", "boxes", f.path.is_some()),
        ("return_path", "boxes", f.return_path.is_some()),
    ];
    for (key, owner, given) in keys {
        if given && owner != network {
            return fail(
                format!("{path}.{key}"),
                format!("is only allowed with `{owner}`; this scenario has `{network}`"),
            );
        }
    }
    if let Some(qfi) = f.qfi {
        within(format!("{path}.qfi"), qfi, 0, MAX_QFI)?;
    }
    if let Some(rtt) = f.rtt {
        delay(format!("{path}.rtt"), rtt)?;
    }
    if let (Some(hops), Some(lot)) = (f.hops, &s.parking_lot) {
        self::hops(path, hops, lot)?;
    }
    if network != "boxes" {
        return Ok(());
    }
    match &f.path {
        None => {
            return fail(
                format!("{path}.path"),
                "is required with `boxes`: the names of the boxes from sender to receiver",
            );
        }
        Some(names) if names.is_empty() => {
            return fail(format!("{path}.path"), "must name at least one box");
        }
        _ => {}
    }
    if f.direction == Direction::Reverse && f.return_path.as_ref().is_none_or(Vec::is_empty) {
        let why = "is required with `direction = \"reverse\"`: the names of the boxes that the data crosses";
        return fail(format!("{path}.return_path"), why);
    }
    for (key, names) in [("path", &f.path), ("return_path", &f.return_path)] {
        let length = names.as_ref().map_or(0, Vec::len);
        if length > MAX_PATH {
            return fail(
                format!("{path}.{key}"),
                format!("has {length} boxes; at most {MAX_PATH} are allowed"),
            );
        }
    }
    Ok(())
}

fn hops(path: &str, [first, last]: [u32; 2], lot: &ParkingLot) -> Check {
    if 1 <= first && first <= last && last <= lot.hops {
        return Ok(());
    }
    let most = lot.hops;
    let why =
        format!("must be [first, last] with 1 <= first <= last <= {most}, not [{first}, {last}]");
    fail(format!("{path}.hops"), why)
}

fn tcp(path: &str, t: &TcpConfig) -> Check {
    within(format!("{path}.mss"), t.mss, 64, 65_000)?;
    within(format!("{path}.ack_every"), t.ack_every, 1, 64)?;
    duration(format!("{path}.delayed_ack"), t.delayed_ack, 0, 10 * SECOND)?;
    duration(format!("{path}.ack_tick"), t.ack_tick, 0, SECOND)?;
    within(format!("{path}.quick_acks"), t.quick_acks, 0, 1000)?;
    duration(
        format!("{path}.sack_compression"),
        t.sack_compression,
        0,
        SECOND,
    )?;
    within(format!("{path}.initial_window"), t.initial_window, 1, 1000)?;
    for (key, value) in [
        ("send_buffer", t.send_buffer),
        ("receive_buffer", t.receive_buffer),
    ] {
        let low = 2 * u64::from(t.mss);
        if !(low..=MAX_BUFFER).contains(&value.0) {
            let why = format!("must be between {low}B (2 mss) and 1GiB, not {value}");
            return fail(format!("{path}.{key}"), why);
        }
    }
    for (key, value) in [("read_size", t.read_size), ("write_size", t.write_size)] {
        if value.0 > MAX_BUFFER {
            let why = format!("must be at most 1GiB, not {value}");
            return fail(format!("{path}.{key}"), why);
        }
    }
    within(format!("{path}.tso_rtt_log"), t.tso_rtt_log, 0, 31)?;
    duration(
        format!("{path}.min_rto"),
        t.min_rto,
        MILLISECOND,
        60 * SECOND,
    )?;
    duration(
        format!("{path}.initial_rto"),
        t.initial_rto,
        MILLISECOND,
        60 * SECOND,
    )?;
    if !(1..=MAX_BUFFER).contains(&t.limit_output_bytes.0) {
        let why = format!("must be between 1B and 1GiB, not {}", t.limit_output_bytes);
        return fail(format!("{path}.limit_output_bytes"), why);
    }
    within(format!("{path}.pacing_shift"), t.pacing_shift, 0, 31)
}
