//! The ACK filter: drops a queued pure ACK once a later one of its flow makes it redundant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::slab::{Chain, NONE, Slab};
use crate::{Packet, PureAck};

/// Which redundant ACKs are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "tc-cake(8) and the parameter explain each")]
pub enum AckFilter {
    Disabled,
    Enabled,
    Aggressive,
}

/// Whether `a` is before `b`, where both wrap at 2^32 (RFC 9293 section 3.4).
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// The SACK blocks that are present.
fn blocks(ack: &PureAck) -> impl Iterator<Item = (u32, u32)> + Clone {
    ack.sack.into_iter().filter(|(start, end)| start != end)
}

/// Whether one block is inside another.
fn within(inner: (u32, u32), outer: (u32, u32)) -> bool {
    !before(inner.0, outer.0) && !before(outer.1, inner.1)
}

/// Number of selectively acknowledged bytes.
fn sacked(ack: &PureAck) -> u64 {
    blocks(ack)
        .map(|(start, end)| u64::from(end.wrapping_sub(start)))
        .sum()
}

/// RFC 2883 section 4: whether the first block reports a duplicate, which is acknowledged already or inside the second block.
fn reports_duplicate(ack: &PureAck) -> bool {
    let mut all = blocks(ack);
    let Some(first) = all.next() else {
        return false;
    };
    before(first.0, ack.number) || all.next().is_some_and(|second| within(first, second))
}

/// Whether `older` tells the sender nothing that the later ACK `newer` does not tell.
pub fn superseded(older: &PureAck, newer: &PureAck) -> bool {
    let ordered = !before(newer.number, older.number)
        && !before(newer.tsval, older.tsval)
        && !before(newer.tsecr, older.tsecr);
    // arXiv 1804.07617 section III-D: changes of the ECN flags must reach the sender.
    if !ordered || newer.ecn_flags != older.ecn_flags || reports_duplicate(older) {
        return false;
    }
    let known = |block: (u32, u32)| {
        !before(newer.number, block.1) || blocks(newer).any(|outer| within(block, outer))
    };
    // Equal ACKs are duplicate ACKs, whose number indicates losses.
    let says_more = before(older.number, newer.number) || sacked(newer) > sacked(older);
    says_more && blocks(older).all(known)
}

impl AckFilter {
    /// Removes and returns the ACK nearest to the head that the packet at the tail makes redundant.
    ///
    /// The filter keeps two ACKs besides the newest. The aggressive filter keeps none, if the newest directly follows.
    pub fn filter<P: Packet>(self, slab: &mut Slab<P>, chain: &mut Chain) -> Option<P> {
        if self == Self::Disabled {
            return None;
        }
        let newest = slab.back(chain)?;
        let (flow, newer) = (newest.flow(), newest.pure_ack()?);
        let mut found = None;
        let (mut previous, mut place) = (NONE, slab.first(chain));
        while let Some((packet, next)) = slab.at(place).filter(|(_, next)| *next != NONE) {
            let older = packet.pure_ack().filter(|_| packet.flow() == flow);
            if older.is_some_and(|older| superseded(&older, &newer)) {
                let adjacent = slab.at(next).is_some_and(|(_, beyond)| beyond == NONE);
                match found {
                    Some((previous, place)) => return Some(slab.take(chain, previous, place)),
                    None if adjacent && self == Self::Aggressive => {
                        return Some(slab.take(chain, previous, place));
                    }
                    None => found = Some((previous, place)),
                }
            }
            (previous, place) = (place, next);
        }
        None
    }
}
