//! The parameters of a bearer's radio link control.

use bloatlab_units::{Bytes, Duration, MILLISECOND, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AmReceiver, AmTransmitter, Framing, Receiver, Transmitter, UmReceiver, UmTransmitter};

/// Radio link control of a bearer.
///
/// The defaults depend on the framing: usual values of 5G networks, or those of ns-3's LTE entities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum RlcParams {
    /// Unacknowledged mode: segments SDUs and does not retransmit.
    Um(UmParams),
    /// Acknowledged mode: retransmits what was lost.
    Am(AmParams),
}

impl Default for RlcParams {
    fn default() -> Self {
        Self::Um(UmParams::default())
    }
}

/// Unacknowledged mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UmParams {
    /// How SDUs are packed into transport blocks.
    pub framing: Framing,
    /// Bits of a sequence number: 6 or 12. If absent, 12. The lena framing has 10.
    #[schemars(extend("enum" = [6, 12, null]))]
    pub sn_bits: Option<u8>,
    /// How long a receiver waits for missing data, up to 200 ms. If absent, 35 ms (t-Reassembly), or 100 ms in the lena framing (t-Reordering).
    pub t_reassembly: Option<Duration>,
}

/// Acknowledged mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AmParams {
    /// How SDUs are packed into transport blocks.
    pub framing: Framing,
    /// Bits of a sequence number: 12 or 18. If absent, 18. The lena framing has 10.
    #[schemars(extend("enum" = [12, 18, null]))]
    pub sn_bits: Option<u8>,
    /// How long a receiver waits for missing data before it reports it, up to 200 ms. If absent, 35 ms (t-Reassembly), or 10 ms in the lena framing
    /// (t-Reordering).
    pub t_reassembly: Option<Duration>,
    /// How long a transmitter waits for the response to a poll, 1 ms to 4 s. If absent, 45 ms (lena 20 ms).
    pub t_poll_retransmit: Option<Duration>,
    /// Shortest time between two status reports, up to 2.4 s. If absent, 10 ms.
    pub t_status_prohibit: Option<Duration>,
    /// Number of PDUs with new data after which the transmitter polls; 0: never for this reason. If absent, 64 (lena 1).
    #[schemars(range(max = 65_536))]
    pub poll_pdu: Option<u32>,
    /// New bytes after which the transmitter polls, up to 40 MB; 0B: never for this reason. If absent, 500 kB (lena 50 B).
    pub poll_byte: Option<Bytes>,
    /// Number of retransmissions of one SDU after which the radio link has failed. If absent, 8 (lena 5).
    #[schemars(range(min = 1, max = 32))]
    pub max_retx_threshold: Option<u32>,
}

/// Unacknowledged mode with all defaults filled in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Um {
    pub framing: Framing,
    pub sn_bits: u8,
    /// Size of the window, in sequence numbers.
    pub window: u64,
    pub t_reassembly: Nanos,
}

/// Acknowledged mode with all defaults filled in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Am {
    pub framing: Framing,
    pub sn_bits: u8,
    /// Size of the window, in sequence numbers.
    pub window: u64,
    pub t_reassembly: Nanos,
    pub t_poll_retransmit: Nanos,
    pub t_status_prohibit: Nanos,
    pub poll_pdu: u32,
    pub poll_byte: u64,
    pub max_retx: u32,
}

/// Bits of a sequence number in the lena framing, in both modes (TS 36.322 section 6.2.3.3).
const LENA_BITS: u8 = 10;

/// Half of the numbers: TS 38.322 section 7.2, and TS 36.322 section 7.2 for 10 bits.
fn window(sn_bits: u8) -> u64 {
    1 << (sn_bits - 1)
}

fn bits(given: Option<u8>, framing: Framing, allowed: [u8; 2]) -> Result<(), String> {
    match (given, framing) {
        (None, _) => Ok(()),
        (Some(given), Framing::Nr) if allowed.contains(&given) => Ok(()),
        (Some(given), Framing::Nr) => Err(format!(
            "sn_bits: must be {} or {}, not {given}",
            allowed[0], allowed[1]
        )),
        (Some(LENA_BITS), Framing::Lena) => Ok(()),
        (Some(given), Framing::Lena) => Err(format!(
            "sn_bits: must be {LENA_BITS} in the lena framing, not {given}"
        )),
    }
}

fn between(name: &str, given: Option<Duration>, low: Nanos, high: Nanos) -> Result<(), String> {
    let Some(given) = given.filter(|given| !(low..=high).contains(&given.0)) else {
        return Ok(());
    };
    let (low, high) = (Duration(low), Duration(high));
    Err(format!(
        "{name}: {given} is out of range (allowed: {low} to {high})"
    ))
}

fn time(given: Option<Duration>, framing: Framing, nr: Nanos, lena: Nanos) -> Nanos {
    let absent = match framing {
        Framing::Nr => nr,
        Framing::Lena => lena,
    };
    given.map_or(absent * MILLISECOND, |given| given.0)
}

impl UmParams {
    fn validate(&self) -> Result<(), String> {
        bits(self.sn_bits, self.framing, [6, 12])?;
        between("t_reassembly", self.t_reassembly, 0, 200 * MILLISECOND)
    }

    pub(crate) fn settled(&self) -> Um {
        let sn_bits = match self.framing {
            Framing::Nr => self.sn_bits.unwrap_or(12),
            Framing::Lena => LENA_BITS,
        };
        Um {
            framing: self.framing,
            sn_bits,
            window: window(sn_bits),
            t_reassembly: time(self.t_reassembly, self.framing, 35, 100),
        }
    }
}

impl AmParams {
    fn validate(&self) -> Result<(), String> {
        bits(self.sn_bits, self.framing, [12, 18])?;
        // TS 38.331, RLC-Config: the largest value of each list.
        between("t_reassembly", self.t_reassembly, 0, 200 * MILLISECOND)?;
        let poll = self.t_poll_retransmit;
        between("t_poll_retransmit", poll, MILLISECOND, 4000 * MILLISECOND)?;
        let prohibit = self.t_status_prohibit;
        between("t_status_prohibit", prohibit, 0, 2400 * MILLISECOND)?;
        if let Some(pdus) = self.poll_pdu.filter(|&pdus| pdus > 65_536) {
            return Err(format!(
                "poll_pdu: {pdus} is out of range (allowed: 0 to 65536)"
            ));
        }
        if let Some(bytes) = self.poll_byte.filter(|bytes| bytes.0 > 40_000_000) {
            return Err(format!(
                "poll_byte: {bytes} is out of range (allowed: 0B to 40MB)"
            ));
        }
        match self.max_retx_threshold {
            Some(times) if !(1..=32).contains(&times) => Err(format!(
                "max_retx_threshold: {times} is out of range (allowed: 1 to 32)"
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn settled(&self) -> Am {
        let nr = self.framing == Framing::Nr;
        let sn_bits = if nr {
            self.sn_bits.unwrap_or(18)
        } else {
            LENA_BITS
        };
        Am {
            framing: self.framing,
            sn_bits,
            window: window(sn_bits),
            t_reassembly: time(self.t_reassembly, self.framing, 35, 10),
            t_poll_retransmit: time(self.t_poll_retransmit, self.framing, 45, 20),
            t_status_prohibit: time(self.t_status_prohibit, self.framing, 10, 10),
            poll_pdu: self.poll_pdu.unwrap_or(if nr { 64 } else { 1 }),
            poll_byte: self
                .poll_byte
                .map_or(if nr { 500_000 } else { 50 }, |b| b.0),
            max_retx: self.max_retx_threshold.unwrap_or(if nr { 8 } else { 5 }),
        }
    }
}

impl RlcParams {
    /// Checks the values. An error starts with the parameter's name.
    pub fn validate(&self) -> Result<(), String> {
        match self {
            Self::Um(um) => um.validate(),
            Self::Am(am) => am.validate(),
        }
    }

    /// How SDUs are packed into transport blocks.
    pub fn framing(&self) -> Framing {
        match self {
            Self::Um(um) => um.framing,
            Self::Am(am) => am.framing,
        }
    }

    /// Creates the sending side.
    pub fn transmitter<T: Copy>(&self) -> Transmitter<T> {
        match self {
            Self::Um(um) => Transmitter::Um(UmTransmitter::new(um)),
            Self::Am(am) => Transmitter::Am(Box::new(AmTransmitter::new(am))),
        }
    }

    /// Creates the receiving side.
    pub fn receiver<T: Copy>(&self) -> Receiver<T> {
        match self {
            Self::Um(um) => Receiver::Um(UmReceiver::new(um)),
            Self::Am(am) => Receiver::Am(AmReceiver::new(am)),
        }
    }
}
