//! The parameters of a cell.

use bloatlab_link::Files;
use bloatlab_units::{Frequency, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::allocate::{Access, Policy};
use super::bearer::BearerParams;
use super::grid::Grid;
use super::pattern::{Duplex, Pattern};
use super::timing::{DECODING, DOWN_AHEAD, UP_AHEAD};
use super::uplink::ASKING;
use crate::channel::{Band, ChannelParams, Interferer, Loaded};
use crate::pdcp::PdcpParams;
use crate::rlc::RlcParams;
use crate::{Amc, McsTable, Numerology, Rule, SYMBOLS};

/// Largest number of UEs in a cell.
const MOST_UES: usize = 256;
/// Largest number of other base stations.
const MOST_INTERFERERS: usize = 64;

/// Hybrid ARQ with incremental redundancy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HarqParams {
    /// Number of blocks of a UE that may be in flight in each direction.
    #[schemars(range(min = 1, max = 32))]
    pub processes: u32,
    /// Number of times that a failed block is retransmitted. After that, HARQ gives up what it carried.
    #[schemars(range(min = 0, max = 7))]
    pub retransmissions: u32,
    /// Number of slots from a block to its retransmission.
    #[schemars(range(min = 3, max = 8))]
    pub slots: u32,
}

impl Default for HarqParams {
    fn default() -> Self {
        // 5G-LENA.
        Self {
            processes: 20,
            retransmissions: 3,
            slots: 5,
        }
    }
}

/// A 5G cell: one base station, its carrier and its UEs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CellParams {
    /// Carrier frequency.
    #[schemars(extend("x-minimum" = "400MHz", "x-maximum" = "100GHz"))]
    pub frequency: Frequency,
    /// Width of the carrier.
    #[schemars(extend("x-minimum" = "1MHz", "x-maximum" = "2GHz"))]
    pub bandwidth: Frequency,
    /// Subcarriers are 15 kHz x 2^numerology apart, and a slot lasts 1 ms/2^numerology.
    #[schemars(range(min = 0, max = 4))]
    pub numerology: u8,
    /// How resource blocks and transport blocks are computed: `3gpp` (TS 38.214, TS 38.101) or `lena` (5G-LENA 2).
    pub rule: Rule,
    /// Whether both directions share the carrier (`tdd`, according to `pattern`) or have separate carriers (`fdd`).
    pub duplex: Duplex,
    /// The repeating slots of TDD: D downlink, U uplink, F flexible, S special (downlink, gap, uplink).
    #[schemars(length(min = 1, max = 40))]
    pub pattern: String,
    /// Whether a slot is shared by symbols (`tdma`) or by groups of resource blocks (`ofdma`).
    pub access: Access,
    /// Which UE is served first: `round_robin`, `proportional_fair` or `max_rate`.
    pub scheduler: Policy,
    /// Table of modulation and coding schemes of TS 38.214: 1 (64QAM), 2 (256QAM) or 3 (low rates).
    pub mcs_table: McsTable,
    /// How the scheme is chosen from the SNR.
    pub amc: Amc,
    /// A fixed scheme for both directions: its index in `mcs_table`, at most 28 in tables 1 and 3 and 27 in table 2. If absent, `amc` chooses the
    /// scheme. Whether a block fails still depends on the SNR.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 28))]
    pub mcs: Option<u8>,
    /// Number of layers of spatial multiplexing.
    #[schemars(range(min = 1, max = 4))]
    pub layers: u32,
    /// Number of slots from measuring the channel to scheduling by it.
    #[schemars(range(min = 1, max = 100))]
    pub cqi_delay: u64,
    /// Whether UEs sound the channel: one symbol of a slot per UE, every 80 slots or, with more UEs, every 160 or 320.
    pub sounding: bool,
    /// The slot within the period in which the first UE sounds the channel.
    #[schemars(range(min = 0, max = 319))]
    pub sounding_offset: u64,
    /// Hybrid ARQ.
    pub harq: HarqParams,
    /// Radio link control of every bearer, in both directions.
    pub rlc: RlcParams,
    /// Packet data convergence of every bearer, in both directions.
    pub pdcp: PdcpParams,
    /// Transmit power of the base station, dBm.
    #[schemars(range(min = -30.0, max = 80.0))]
    pub gnb_power: f64,
    /// Transmit power of a UE, dBm. The uplink of a computed channel is weaker than the downlink by the difference to the base station's power. A
    /// given SNR applies to both directions.
    #[schemars(range(min = -30.0, max = 80.0))]
    pub ue_power: f64,
    /// The UEs, each given by its channel: a fixed SNR, one computed from the UE's movement, or a recorded one.
    #[schemars(length(min = 1, max = 256))]
    pub ues: Vec<ChannelParams>,
    /// Other base stations on the same carrier, at most 64, which disturb the downlink. They need UEs whose channel is computed (`kind = "scenario"`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub interferers: Vec<Interferer>,
}

impl Default for CellParams {
    fn default() -> Self {
        Self {
            frequency: Frequency(3_500_000_000),
            bandwidth: Frequency(50_000_000),
            numerology: 1,
            rule: Rule::ThreeGpp,
            duplex: Duplex::Tdd,
            pattern: "F".to_owned(),
            access: Access::Tdma,
            scheduler: Policy::RoundRobin,
            mcs_table: McsTable::One,
            amc: Amc::Shannon,
            mcs: None,
            layers: 1,
            cqi_delay: 4,
            sounding: true,
            sounding_offset: 0,
            harq: HarqParams::default(),
            rlc: RlcParams::default(),
            pdcp: PdcpParams::default(),
            gnb_power: 43.0,
            ue_power: 23.0,
            ues: vec![ChannelParams::default()],
            interferers: Vec::new(),
        }
    }
}

fn within<T: PartialOrd + std::fmt::Display>(
    name: &str,
    value: T,
    low: T,
    high: T,
) -> Result<(), String> {
    if value >= low && value <= high {
        return Ok(());
    }
    Err(format!(
        "{name}: must be between {low} and {high}, not {value}"
    ))
}

impl CellParams {
    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        within(
            "frequency",
            self.frequency,
            Frequency(400_000_000),
            Frequency(100_000_000_000),
        )?;
        within(
            "bandwidth",
            self.bandwidth,
            Frequency(1_000_000),
            Frequency(2_000_000_000),
        )?;
        self.resource_blocks()?;
        self.slots()?;
        self.check_mcs()?;
        within("layers", self.layers, 1, 4)?;
        within("cqi_delay", self.cqi_delay, 1, 100)?;
        within("sounding_offset", self.sounding_offset, 0, 319)?;
        within("harq.processes", self.harq.processes, 1, 32)?;
        within("harq.retransmissions", self.harq.retransmissions, 0, 7)?;
        within("harq.slots", self.harq.slots, 3, 8)?;
        within("gnb_power", self.gnb_power, -30.0, 80.0)?;
        within("ue_power", self.ue_power, -30.0, 80.0)?;
        self.rlc.validate().map_err(|why| format!("rlc.{why}"))?;
        self.pdcp.validate().map_err(|why| format!("pdcp.{why}"))?;
        within("number of ues", self.ues.len(), 1, MOST_UES)?;
        for (place, ue) in self.ues.iter().enumerate() {
            ue.validate()
                .and_then(|()| ue.check_carrier(self.ghz()))
                .map_err(|why| format!("ues[{place}].{why}"))?;
        }
        self.check_interferers()
    }

    fn check_mcs(&self) -> Result<(), String> {
        let highest = self.mcs_table.highest();
        match self.mcs() {
            Some(mcs) if mcs > highest => Err(format!(
                "mcs: must be between 0 and {highest} with mcs_table = {}, not {mcs}",
                self.mcs_table as u8 + 1
            )),
            _ => Ok(()),
        }
    }

    fn check_interferers(&self) -> Result<(), String> {
        let count = self.interferers.len();
        within("number of interferers", count, 0, MOST_INTERFERERS)?;
        for (place, interferer) in self.interferers.iter().enumerate() {
            interferer
                .validate()
                .map_err(|why| format!("interferers[{place}].{why}"))?;
        }
        let is_given = |ue: &ChannelParams| !matches!(ue, ChannelParams::Scenario(_));
        match self.ues.iter().position(is_given) {
            Some(place) if count > 0 => Err(format!(
                "interferers: need UEs whose channel is computed, but the SNR of ues[{place}] is given; use kind = \"scenario\" there"
            )),
            _ => Ok(()),
        }
    }

    /// The fixed scheme, if there is one.
    pub(crate) fn mcs(&self) -> Option<usize> {
        self.mcs.map(usize::from)
    }

    /// The bearer of a UE whose bearers are not configured.
    pub fn bearer(&self) -> BearerParams {
        BearerParams {
            rlc: self.rlc.clone(),
            pdcp: self.pdcp.clone(),
            ..BearerParams::default()
        }
    }

    /// The carrier frequency, GHz.
    fn ghz(&self) -> f64 {
        self.frequency.0 as f64 * 1e-9
    }

    /// What the channels of its UEs must know about it.
    pub(crate) fn band(&self) -> Result<Band, String> {
        Ok(Band {
            resource_blocks: self.resource_blocks()?,
            subcarrier_spacing: self.numerology()?.subcarrier_spacing(),
            ghz: self.ghz(),
            power_dbm: self.gnb_power,
        })
    }

    /// The pattern of its slots.
    pub(crate) fn slots(&self) -> Result<Pattern, String> {
        Pattern::new(self.duplex, &self.pattern)
    }

    /// Reads the files that channels name, and records their digests.
    ///
    /// # Errors
    /// `ues[index].parameter: reason`.
    pub fn load(&mut self, files: &dyn Files) -> Result<Vec<Loaded>, String> {
        let ues = self.ues.iter_mut().enumerate();
        let load = |(place, ue): (usize, &mut ChannelParams)| {
            ue.load(files).map_err(|why| format!("ues[{place}].{why}"))
        };
        ues.map(load).collect()
    }

    /// Duration of a slot.
    ///
    /// # Errors
    /// If the numerology is out of range.
    pub fn slot(&self) -> Result<Nanos, String> {
        Ok(self.numerology()?.slot())
    }

    /// The numerology.
    pub(crate) fn numerology(&self) -> Result<Numerology, String> {
        Numerology::new(self.numerology)
    }

    /// Number of resource blocks of the carrier.
    pub fn resource_blocks(&self) -> Result<u32, String> {
        self.numerology()?
            .resource_blocks(self.rule, self.bandwidth.0, self.frequency.0 as f64)
    }

    /// The capacity of parts of its slots.
    pub(crate) fn grid(&self) -> Result<Grid, String> {
        Ok(Grid::new(
            self.rule,
            self.mcs_table,
            self.access,
            self.resource_blocks()?,
            self.layers,
        ))
    }

    /// The highest rate, in bit/s, of a UE with the best channel and alone in the cell: downlink, then uplink. With a fixed scheme, the rate of that
    /// scheme.
    pub fn peak_rates(&self) -> Result<[u64; 2], String> {
        let (grid, slots) = (self.grid()?, self.slots()?);
        let mcs = self.mcs().unwrap_or(self.mcs_table.highest());
        let slots_per_second = 1000.0 * self.numerology()?.slots_per_subframe() as f64;
        let bytes = |symbols: u32| grid.whole().get(mcs, symbols).bytes;
        Ok([
            slots.mean(|room| bytes(room.down + room.shared)),
            slots.mean(|room| bytes(room.up + room.shared)),
        ]
        .map(|bytes| (bytes * 8.0 * slots_per_second) as u64))
    }

    /// The smallest latency of a small packet in an empty cell, by direction: on average half a slot until the next one begins, the delay from
    /// filling or asking to sending, and decoding.
    pub fn latencies(&self) -> Result<[Nanos; 2], String> {
        let numerology = self.numerology()?;
        let (slot, symbol) = (numerology.slot(), numerology.symbol());
        Ok([
            slot / 2 + DOWN_AHEAD * slot + 2 * symbol + DECODING,
            slot / 2 + (ASKING + UP_AHEAD) * slot + Nanos::from(SYMBOLS - 1) * symbol,
        ])
    }

    /// The period of sounding, and the first UE's slot in it.
    pub(crate) fn sounding(&self) -> Option<(u64, u64)> {
        let ues = self.ues.len() as u64;
        // 5G-LENA starts with 80 slots. TS 38.331 lists the larger values.
        let period = [80, 160, 320]
            .into_iter()
            .find(|&period| period >= ues)
            .unwrap_or(320);
        self.sounding
            .then_some((period, self.sounding_offset % period))
    }

    /// Difference between the SNRs of uplink and downlink, dB.
    pub(crate) fn uplink_offset(&self) -> f64 {
        self.ue_power - self.gnb_power
    }
}
