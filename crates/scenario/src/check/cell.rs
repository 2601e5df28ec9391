//! Rules of a cell and its bearers.

use std::collections::HashMap;

use bloatlab_aqm::QueueConfig;
use bloatlab_radio::sizing::l4span;
use bloatlab_units::Bytes;

use super::name::name;
use super::parameters::{MAX_LIMIT_BYTES, queue};
use super::rules::{Check, MAX_QFI, delay, device, fail, rate, registered, within};
use crate::{Bearer, CellNetwork, Sdap};

/// Data radio bearers of a UE (TS 38.331, maxDRB).
const MAX_BEARERS: usize = 29;

/// Checks a cell.
pub(super) fn check(c: &CellNetwork) -> Check {
    for (path, r, d, overhead) in [
        ("cell.wire", c.wire.rate, c.wire.delay, c.wire.overhead),
        (
            "cell.backhaul",
            c.backhaul.rate,
            c.backhaul.delay,
            c.backhaul.overhead,
        ),
    ] {
        rate(format!("{path}.rate"), r)?;
        delay(format!("{path}.delay"), d)?;
        device(path, (false, 0), overhead, 0)?;
    }
    queue("cell.backhaul.queue", &c.backhaul.queue)?;
    buffered("cell.", Some(&c.queue), Some(c.buffer))?;
    buffered("cell.uplink_", Some(&c.uplink_queue), Some(c.uplink_buffer))?;
    above_rlc("cell", c.sdap.as_ref(), c.marking.as_ref())?;
    if let Some(pacer) = &c.backhaul.pacer {
        registered("cell.backhaul.pacer", pacer.validate())?;
        if c.sdap.is_none() && c.bearers.is_empty() {
            return fail(
                "cell.backhaul.pacer",
                "keeps the queue of SDAP short, so it needs `cell.sdap`",
            );
        }
        let bare = |bearer: &Bearer| c.sdap.is_none() && bearer.sdap.is_none();
        if let Some(place) = c.bearers.iter().position(bare) {
            return fail(
                format!("cell.bearers[{place}].sdap"),
                "is required, because `cell.backhaul.pacer` keeps its queue short; give it, or `cell.sdap`",
            );
        }
    }
    bearers(c)?;
    registered("cell.radio", c.radio.validate())
}

/// Checks the keys `queue` and `buffer` with this prefix.
fn buffered(path: &str, q: Option<&QueueConfig>, buffer: Option<Bytes>) -> Check {
    if let Some(q) = q {
        queue(&format!("{path}queue"), q)?;
    }
    let most = Bytes(MAX_LIMIT_BYTES);
    buffer.map_or(Ok(()), |value| {
        within(format!("{path}buffer"), value, Bytes(1), most)
    })
}

/// Checks the queue in SDAP and the marking.
fn above_rlc(path: &str, sdap: Option<&Sdap>, marking: Option<&l4span::Params>) -> Check {
    if let Some(sdap) = sdap {
        queue(&format!("{path}.sdap.queue"), &sdap.queue)?;
        registered(&format!("{path}.sdap.sizing"), sdap.sizing.validate())?;
    }
    marking.map_or(Ok(()), |marking| {
        registered(&format!("{path}.marking"), marking.validate())
    })
}

fn bearers(c: &CellNetwork) -> Check {
    let count = c.bearers.len();
    if count > MAX_BEARERS {
        let why = format!("has {count} bearers; at most {MAX_BEARERS} are allowed");
        return fail("cell.bearers", why);
    }
    let mut names = HashMap::new();
    let mut flows = HashMap::new();
    for (place, bearer) in c.bearers.iter().enumerate() {
        let path = format!("cell.bearers[{place}]");
        name(format!("{path}.name"), &bearer.name)?;
        if bearer.name == "up" || bearer.name.ends_with("_up") {
            let why = format!(
                "must not be `up` or end in `_up`, because uplinks are named so; it is `{}`",
                bearer.name
            );
            return fail(format!("{path}.name"), why);
        }
        if let Some(first) = names.insert(&bearer.name, place) {
            let why = format!("`{}` is already the name of bearers[{first}]", bearer.name);
            return fail(format!("{path}.name"), why);
        }
        if place > 0 && bearer.qfi.is_empty() {
            let why = "must name at least one QoS flow; only the first bearer, the default one, may name none";
            return fail(format!("{path}.qfi"), why);
        }
        for (index, &qfi) in bearer.qfi.iter().enumerate() {
            let path = format!("{path}.qfi[{index}]");
            within(&path, qfi, 0, MAX_QFI)?;
            if let Some(other) = flows.insert(qfi, place) {
                let why = format!("{qfi} is already on bearers[{other}]");
                return fail(path, why);
            }
        }
        registered(&path, bearer.channel().validate())?;
        if let Some(rlc) = &bearer.rlc {
            registered(&format!("{path}.rlc"), rlc.validate())?;
        }
        if let Some(pdcp) = &bearer.pdcp {
            registered(&format!("{path}.pdcp"), pdcp.validate())?;
        }
        buffered(&format!("{path}."), bearer.queue.as_ref(), bearer.buffer)?;
        let up = bearer.uplink_queue.as_ref();
        buffered(&format!("{path}.uplink_"), up, bearer.uplink_buffer)?;
        above_rlc(&path, bearer.sdap.as_ref(), bearer.marking.as_ref())?;
    }
    Ok(())
}
