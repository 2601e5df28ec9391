//! Slots, symbols and resource blocks.

use bloatlab_units::{MILLISECOND, Nanos};

use crate::Rule;

/// Symbols of a slot with the normal cyclic prefix (TS 38.211 table 4.3.2-1).
pub const SYMBOLS: u32 = 14;
/// Subcarriers of a resource block (TS 38.211 section 4.4.4.1).
pub const SUBCARRIERS: u32 = 12;
/// Where the second frequency range begins, Hz (TS 38.104 table 5.1-1). Frequencies from 7.125 GHz up to this use the tables of the first range.
pub const FR2_BEGINS: f64 = 24.25e9;

/// A numerology, 0 to 4: subcarriers are 15 kHz x 2^mu apart, and slots last 1 ms/2^mu (TS 38.211 tables 4.2-1 and 4.3.2-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numerology(u8);

impl Numerology {
    /// The numerology mu.
    ///
    /// # Errors
    /// If mu is above 4.
    pub fn new(mu: u8) -> Result<Self, String> {
        if mu > 4 {
            return Err(format!("numerology: must be at most 4, not {mu}"));
        }
        Ok(Self(mu))
    }

    /// The value mu.
    pub fn mu(self) -> u8 {
        self.0
    }

    /// Subcarrier spacing, Hz.
    pub fn subcarrier_spacing(self) -> u64 {
        15_000 << self.0
    }

    /// Duration of a slot.
    pub fn slot(self) -> Nanos {
        MILLISECOND >> self.0
    }

    /// Number of slots in a subframe of 1 ms.
    pub fn slots_per_subframe(self) -> u64 {
        1 << self.0
    }

    /// Number of slots in a frame of 10 ms.
    pub fn slots_per_frame(self) -> u64 {
        10 << self.0
    }

    /// Duration of a symbol including its cyclic prefix: a 14th of a slot, rounded down as in ns-3. 14 symbols may therefore end some nanoseconds
    /// before the slot does. In TS 38.211 section 5.3.1, the first symbol of every half subframe is 0.52 us longer.
    pub fn symbol(self) -> Nanos {
        self.slot() / Nanos::from(SYMBOLS)
    }

    /// Number of resource blocks in a channel.
    ///
    /// # Arguments
    /// `bandwidth` in Hz; `frequency` of the carrier in Hz, which determines the frequency range (for `3gpp`).
    ///
    /// # Errors
    /// `bandwidth: reason` if the standard has no such channel, or not even one block fits.
    pub fn resource_blocks(
        self,
        rule: Rule,
        bandwidth: u64,
        frequency: f64,
    ) -> Result<u32, String> {
        match rule {
            Rule::Lena => {
                // 5G-LENA: 96 % of the band, in whole blocks.
                let block = u64::from(SUBCARRIERS) * self.subcarrier_spacing();
                match bandwidth / 25 * 24 / block {
                    0 => Err(format!(
                        "bandwidth: holds no resource block of numerology {}",
                        self.0
                    )),
                    blocks => u32::try_from(blocks).map_err(|_| "bandwidth: too large".to_owned()),
                }
            }
            Rule::ThreeGpp => self.standard_blocks(bandwidth, frequency),
        }
    }

    fn standard_blocks(self, bandwidth: u64, frequency: f64) -> Result<u32, String> {
        let (name, table, first): (_, &[Row], u8) = if frequency < FR2_BEGINS {
            ("frequency range 1", &FR1, 0)
        } else {
            ("frequency range 2", &FR2, 2)
        };
        let column = usize::from(self.0.wrapping_sub(first));
        let channels = || {
            table
                .iter()
                .filter_map(|(mhz, blocks)| Some((*mhz, *blocks.get(column)?)))
                .filter(|(_, blocks)| *blocks > 0)
        };
        let found = channels().find(|(mhz, _)| u64::from(*mhz) * 1_000_000 == bandwidth);
        if let Some((_, blocks)) = found {
            return Ok(blocks);
        }
        let known: Vec<String> = channels().map(|(mhz, _)| mhz.to_string()).collect();
        if known.is_empty() {
            return Err(format!("numerology: {} is not used in {name}", self.0));
        }
        Err(format!(
            "bandwidth: no channel of {} MHz with numerology {} in {name} (allowed: {} MHz)",
            bandwidth as f64 / 1e6,
            self.0,
            known.join(", ")
        ))
    }
}

/// The width of a channel in MHz and its number of blocks by numerology; 0 if it does not exist.
type Row = (u32, [u32; 3]);

/// TS 38.101-1 table 5.3.2-1: 15, 30 and 60 kHz.
const FR1: [Row; 15] = [
    (5, [25, 11, 0]),
    (10, [52, 24, 11]),
    (15, [79, 38, 18]),
    (20, [106, 51, 24]),
    (25, [133, 65, 31]),
    (30, [160, 78, 38]),
    (35, [188, 92, 44]),
    (40, [216, 106, 51]),
    (45, [242, 119, 58]),
    (50, [270, 133, 65]),
    (60, [0, 162, 79]),
    (70, [0, 189, 93]),
    (80, [0, 217, 107]),
    (90, [0, 245, 121]),
    (100, [0, 273, 135]),
];

/// TS 38.101-2 table 5.3.2-1: 60 and 120 kHz.
const FR2: [Row; 4] = [
    (50, [66, 32, 0]),
    (100, [132, 66, 0]),
    (200, [264, 132, 0]),
    (400, [0, 264, 0]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data;

    const MHZ: u64 = 1_000_000;

    fn numerology(mu: u8) -> Numerology {
        Numerology::new(mu).unwrap()
    }

    #[test]
    fn times_follow_the_subcarrier_spacing() {
        let slots = [1_000_000, 500_000, 250_000, 125_000, 62_500];
        for (mu, slot) in (0..).zip(slots) {
            let numerology = numerology(mu);
            assert_eq!(numerology.slot(), slot);
            assert_eq!(
                numerology.slot() * numerology.slots_per_subframe(),
                MILLISECOND
            );
            assert_eq!(
                numerology.slot() * numerology.slots_per_frame(),
                10 * MILLISECOND
            );
        }
        // radio.md: 35,714 ns at mu = 1.
        assert_eq!(numerology(1).symbol(), 35_714);
        assert_eq!(numerology(3).subcarrier_spacing(), 120_000);
        assert!(Numerology::new(5).unwrap_err().contains("at most 4"));
    }

    #[test]
    fn blocks_by_both_rules() {
        let blocks = |rule, mhz: u64, mu, frequency| {
            numerology(mu).resource_blocks(rule, mhz * MHZ, frequency)
        };
        assert_eq!(blocks(Rule::Lena, 50, 1, 6e9), Ok(133));
        assert_eq!(blocks(Rule::Lena, 100, 1, 6e9), Ok(266));
        assert_eq!(blocks(Rule::ThreeGpp, 100, 1, 6e9), Ok(273));
        assert_eq!(blocks(Rule::ThreeGpp, 100, 2, 6e9), Ok(135));
        assert_eq!(blocks(Rule::ThreeGpp, 100, 2, 28e9), Ok(132));
        assert_eq!(blocks(Rule::ThreeGpp, 400, 3, 28e9), Ok(264));
        assert!(blocks(Rule::Lena, 0, 1, 6e9).is_err());
    }

    #[test]
    fn a_channel_that_is_not_there_is_refused_with_those_that_are() {
        let refused = |mhz: u64, mu, frequency| {
            let blocks = numerology(mu).resource_blocks(Rule::ThreeGpp, mhz * MHZ, frequency);
            blocks.unwrap_err()
        };
        assert!(refused(55, 2, 28e9).ends_with("(allowed: 50, 100, 200 MHz)"));
        assert!(refused(100, 0, 3e9).contains("no channel of 100 MHz with numerology 0"));
        assert!(refused(50, 3, 3e9).contains("numerology: 3 is not used in frequency range 1"));
        assert!(refused(50, 4, 28e9).contains("numerology: 4 is not used in frequency range 2"));
        assert!(refused(50, 1, 28e9).contains("numerology: 1 is not used in frequency range 2"));
    }

    #[test]
    fn tables_are_those_of_the_files() {
        for (file, frequency) in [("prb_fr1_38101-1.csv", 3e9), ("prb_fr2_38101-2.csv", 28e9)] {
            let Some(table) = test_data::table(file) else {
                continue;
            };
            for row in &table.rows {
                let mhz: u64 = row[0].parse().unwrap();
                for (name, cell) in table.header.iter().zip(row).skip(1) {
                    let mu = (name[3..].parse::<u64>().unwrap() / 15).ilog2() as u8;
                    let expected = cell.parse::<u32>().ok();
                    let found =
                        numerology(mu).resource_blocks(Rule::ThreeGpp, mhz * MHZ, frequency);
                    assert_eq!(found.ok(), expected, "{mhz} MHz, mu {mu}");
                }
            }
        }
    }
}
