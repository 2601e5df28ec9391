//! The length of a packet on the wire: the overhead of the link technology, and its framing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link technology, as named in tc-cake(8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "tc-cake(8) explains each")]
pub enum Link {
    Raw,
    Conservative,
    Ethernet,
    Docsis,
    PppoePtm,
    BridgedPtm,
    PppoaVcmux,
    PppoaLlc,
    PppoeVcmux,
    PppoeLlcsnap,
    BridgedVcmux,
    BridgedLlcsnap,
    IpoaVcmux,
    IpoaLlcsnap,
}

/// How a link divides packets into its transmission units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "tc-cake(8) explains each")]
pub enum Framing {
    Noatm,
    Atm,
    Ptm,
}

impl Link {
    /// tc-cake(8): overhead, smallest size and framing.
    fn values(self) -> (i64, i64, Framing) {
        match self {
            Self::Raw => (0, 0, Framing::Noatm),
            Self::Conservative => (48, 0, Framing::Atm),
            Self::Ethernet => (38, 84, Framing::Noatm),
            Self::Docsis => (18, 64, Framing::Noatm),
            Self::PppoePtm => (30, 0, Framing::Ptm),
            Self::BridgedPtm => (22, 0, Framing::Ptm),
            Self::PppoaVcmux => (10, 0, Framing::Atm),
            Self::PppoaLlc => (14, 0, Framing::Atm),
            Self::PppoeVcmux => (32, 0, Framing::Atm),
            Self::PppoeLlcsnap => (40, 0, Framing::Atm),
            Self::BridgedVcmux => (24, 0, Framing::Atm),
            Self::BridgedLlcsnap => (32, 0, Framing::Atm),
            Self::IpoaVcmux => (8, 0, Framing::Atm),
            Self::IpoaLlcsnap => (16, 0, Framing::Atm),
        }
    }
}

/// Computes the length of a packet on the wire from its size.
#[derive(Clone, Copy, Debug)]
pub struct Overhead {
    /// Bytes to add, minus those of the link layer that the size includes.
    add: i64,
    /// Smallest length of a packet; at least 0.
    mpu: i64,
    framing: Framing,
}

impl Overhead {
    /// Creates the overhead of a link. Values that are given replace those of the link; VLAN tags are added.
    ///
    /// `header` is the number of link-layer bytes that a packet's size includes. As in tc-cake(8), the overhead is added to the IP packet if any
    /// overhead is given, and to the reported size without one or with `raw`.
    pub fn new(
        link: Option<Link>,
        overhead: Option<i32>,
        vlan_tags: u32,
        mpu: Option<u32>,
        framing: Option<Framing>,
        header: u32,
    ) -> Self {
        let (own, least, cut) = link.unwrap_or(Link::Raw).values();
        let any = link.is_some() || overhead.is_some() || vlan_tags > 0;
        let from_ip = any && link != Some(Link::Raw);
        let taken_off = if from_ip { i64::from(header) } else { 0 };
        Self {
            // IEEE 802.1Q: four bytes per tag.
            add: overhead.map_or(own, i64::from) + 4 * i64::from(vlan_tags) - taken_off,
            mpu: mpu.map_or(least, i64::from),
            framing: framing.unwrap_or(cut),
        }
    }

    /// Length on the wire of a packet of this size.
    #[inline]
    pub fn adjust(&self, size: u32) -> u32 {
        let length = (i64::from(size) + self.add).max(self.mpu) as u32;
        match self.framing {
            Framing::Noatm => length,
            // ITU-T I.363.5: cells of 53 bytes carry 48 bytes each, and the last cell is padded.
            Framing::Atm => length.div_ceil(48) * 53,
            // IEEE 802.3 clause 61.3: 64b/65b coding, one byte for every 64 bytes or part of them.
            Framing::Ptm => length + length.div_ceil(64),
        }
    }
}
