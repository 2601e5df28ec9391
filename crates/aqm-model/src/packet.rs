//! The packets of the model: an identity, and the fields that a queue may read.

use bloatlab_aqm::{Ecn, Packet, PureAck};
use bloatlab_units::Nanos;

/// A packet with an identity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelPacket {
    pub(crate) id: u64,
    pub(crate) flow: u32,
    pub(crate) size: u32,
    pub(crate) ecn: Ecn,
    pub(crate) ack: Option<Ack>,
    pub(crate) enqueued_at: Nanos,
}

/// The fields of a pure ACK that vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ack {
    pub number: u32,
    pub has_sack: bool,
    pub ecn_flags: u8,
}

impl Packet for ModelPacket {
    fn size(&self) -> u32 {
        self.size
    }

    fn flow(&self) -> u64 {
        // Some identities need more than 32 bits. All are distinct.
        u64::from(self.flow) | u64::from(self.flow & 1) << 40
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }

    fn enqueued_at(&self) -> Nanos {
        self.enqueued_at
    }

    fn set_enqueued_at(&mut self, now: Nanos) {
        self.enqueued_at = now;
    }

    /// All packets of a flow have the same DSCP; otherwise the flow might be reordered.
    fn dscp(&self) -> u8 {
        (self.flow.wrapping_mul(11) % 64) as u8
    }

    /// True for two of three packets other than ACKs.
    fn follows(&self) -> bool {
        self.ack.is_none() && !self.id.is_multiple_of(3)
    }

    fn has_more(&self) -> bool {
        self.ack.is_none() && !(self.id + 1).is_multiple_of(3)
    }

    fn pure_ack(&self) -> Option<PureAck> {
        self.ack.map(|ack| PureAck {
            number: ack.number,
            sack: if ack.has_sack {
                let edge = ack.number.wrapping_add(1448);
                [(edge, edge.wrapping_add(1448)), (0, 0), (0, 0)]
            } else {
                Default::default()
            },
            ecn_flags: ack.ecn_flags,
            tsval: self.id as u32,
            tsecr: self.id as u32,
        })
    }
}
