//! Modulation and coding schemes, and channel quality indicators.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A modulation with a code rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Code rate multiplied by 2048, because the tables contain halves of 1/1024.
    pub modulation_order: u32,
    /// Code rate x 2048: the tables have halves of 1/1024.
    pub rate_2048: u32,
}

impl Scheme {
    /// Information bits per coded bit.
    pub fn code_rate(self) -> f64 {
        f64::from(self.rate_2048) / 2048.0
    }

    /// Information bits per modulation symbol.
    pub fn efficiency(self) -> f64 {
        f64::from(self.modulation_order) * self.code_rate()
    }

    /// The code rate in hundredths, rounded to nearest, as in 5G-LENA's tables. Those have 0.77 for 797/1024 = 0.778 with 256QAM, which is one
    /// hundredth too low.
    pub fn rate_hundredths(self) -> u32 {
        match (self.modulation_order, self.rate_2048) {
            (8, 1594) => 77,
            (_, rate) => (rate * 200 + 2048) / 4096,
        }
    }

    /// The efficiency in hundredths, rounded to nearest, as in 5G-LENA's tables.
    pub fn efficiency_hundredths(self) -> u32 {
        (self.modulation_order * self.rate_2048 * 200 + 2048) / 4096
    }
}

/// Which tables of schemes and channel quality of the standard a cell uses: 1 up to 64QAM, 2 up to 256QAM, 3 with low code rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McsTable {
    /// `qam64`: TS 38.214 tables 5.1.3.1-1 and 5.2.2.1-2.
    #[default]
    One,
    /// `qam256`: TS 38.214 tables 5.1.3.1-2 and 5.2.2.1-3.
    Two,
    /// `qam64LowSE`: TS 38.214 tables 5.1.3.1-3 and 5.2.2.1-4.
    Three,
}

impl McsTable {
    /// The schemes by MCS index.
    pub fn schemes(self) -> &'static [Scheme] {
        match self {
            Self::One => &MCS_1,
            Self::Two => &MCS_2,
            Self::Three => &MCS_3,
        }
    }

    /// The scheme of an MCS. Above the highest MCS, the highest scheme.
    pub fn scheme(self, mcs: usize) -> Scheme {
        let schemes = self.schemes();
        schemes[mcs.min(schemes.len() - 1)]
    }

    /// The highest MCS.
    pub fn highest(self) -> usize {
        self.schemes().len() - 1
    }

    /// The schemes of CQI 1 to 15; CQI 0 is out of range.
    pub fn qualities(self) -> &'static [Scheme] {
        match self {
            Self::One => &CQI_1,
            Self::Two => &CQI_2,
            Self::Three => &CQI_3,
        }
    }
}

impl Serialize for McsTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8 + 1)
    }
}

impl<'de> Deserialize<'de> for McsTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            1 => Ok(Self::One),
            2 => Ok(Self::Two),
            3 => Ok(Self::Three),
            other => Err(serde::de::Error::custom(format!(
                "must be 1, 2 or 3, not {other}"
            ))),
        }
    }
}

impl JsonSchema for McsTable {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "McsTable".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer",
            "minimum": 1,
            "maximum": 3,
            "description": "tables of TS 38.214: 1 up to 64QAM, 2 up to 256QAM, 3 with low code rates",
        })
    }
}

/// Pairs of modulation order and code rate x 2048.
const fn schemes<const N: usize>(pairs: [(u32, u32); N]) -> [Scheme; N] {
    let mut table = [Scheme {
        modulation_order: 0,
        rate_2048: 0,
    }; N];
    let mut place = 0;
    while place < N {
        table[place] = Scheme {
            modulation_order: pairs[place].0,
            rate_2048: pairs[place].1,
        };
        place += 1;
    }
    table
}

/// TS 38.214 table 5.1.3.1-1.
const MCS_1: [Scheme; 29] = schemes([
    (2, 240),
    (2, 314),
    (2, 386),
    (2, 502),
    (2, 616),
    (2, 758),
    (2, 898),
    (2, 1052),
    (2, 1204),
    (2, 1358),
    (4, 680),
    (4, 756),
    (4, 868),
    (4, 980),
    (4, 1106),
    (4, 1232),
    (4, 1316),
    (6, 876),
    (6, 932),
    (6, 1034),
    (6, 1134),
    (6, 1232),
    (6, 1332),
    (6, 1438),
    (6, 1544),
    (6, 1644),
    (6, 1746),
    (6, 1820),
    (6, 1896),
]);

/// TS 38.214 table 5.1.3.1-2.
const MCS_2: [Scheme; 28] = schemes([
    (2, 240),
    (2, 386),
    (2, 616),
    (2, 898),
    (2, 1204),
    (4, 756),
    (4, 868),
    (4, 980),
    (4, 1106),
    (4, 1232),
    (4, 1316),
    (6, 932),
    (6, 1034),
    (6, 1134),
    (6, 1232),
    (6, 1332),
    (6, 1438),
    (6, 1544),
    (6, 1644),
    (6, 1746),
    (8, 1365),
    (8, 1422),
    (8, 1508),
    (8, 1594),
    (8, 1682),
    (8, 1770),
    (8, 1833),
    (8, 1896),
]);

/// TS 38.214 table 5.1.3.1-3.
const MCS_3: [Scheme; 29] = schemes([
    (2, 60),
    (2, 80),
    (2, 100),
    (2, 128),
    (2, 156),
    (2, 198),
    (2, 240),
    (2, 314),
    (2, 386),
    (2, 502),
    (2, 616),
    (2, 758),
    (2, 898),
    (2, 1052),
    (2, 1204),
    (4, 680),
    (4, 756),
    (4, 868),
    (4, 980),
    (4, 1106),
    (4, 1232),
    (6, 876),
    (6, 932),
    (6, 1034),
    (6, 1134),
    (6, 1232),
    (6, 1332),
    (6, 1438),
    (6, 1544),
]);

/// TS 38.214 table 5.2.2.1-2.
const CQI_1: [Scheme; 15] = schemes([
    (2, 156),
    (2, 240),
    (2, 386),
    (2, 616),
    (2, 898),
    (2, 1204),
    (4, 756),
    (4, 980),
    (4, 1232),
    (6, 932),
    (6, 1134),
    (6, 1332),
    (6, 1544),
    (6, 1746),
    (6, 1896),
]);

/// TS 38.214 table 5.2.2.1-3.
const CQI_2: [Scheme; 15] = schemes([
    (2, 156),
    (2, 386),
    (2, 898),
    (4, 756),
    (4, 980),
    (4, 1232),
    (6, 932),
    (6, 1134),
    (6, 1332),
    (6, 1544),
    (6, 1746),
    (8, 1422),
    (8, 1594),
    (8, 1770),
    (8, 1896),
]);

/// TS 38.214 table 5.2.2.1-4.
const CQI_3: [Scheme; 15] = schemes([
    (2, 60),
    (2, 100),
    (2, 156),
    (2, 240),
    (2, 386),
    (2, 616),
    (2, 898),
    (2, 1204),
    (4, 756),
    (4, 980),
    (4, 1232),
    (6, 932),
    (6, 1134),
    (6, 1332),
    (6, 1544),
]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data;

    const TABLES: [McsTable; 3] = [McsTable::One, McsTable::Two, McsTable::Three];

    #[test]
    fn efficiency_of_hand_picked_schemes() {
        let near = |scheme: Scheme, value: f64| (scheme.efficiency() - value).abs() < 5e-5;
        assert!(near(McsTable::One.scheme(0), 0.2344));
        assert!(near(McsTable::One.scheme(28), 5.5547));
        assert!(near(McsTable::Two.scheme(20), 5.3320));
        assert!(near(McsTable::Three.scheme(28), 4.5234));
        // radio.md: 948/1024 is 0.93 in 5G-LENA.
        assert_eq!(McsTable::One.scheme(28).rate_hundredths(), 93);
        assert_eq!(McsTable::One.scheme(0).efficiency_hundredths(), 23);
        assert_eq!(McsTable::Two.scheme(99), McsTable::Two.scheme(27));
    }

    #[test]
    fn every_quality_has_a_scheme_of_its_rate_except_the_lowest_of_table_1_and_2() {
        for table in TABLES {
            let lacking = table.qualities().iter().enumerate();
            let lacking: Vec<usize> = lacking
                .filter(|(_, quality)| !table.schemes().contains(quality))
                .map(|(place, _)| place + 1)
                .collect();
            let expected: &[usize] = match table {
                McsTable::Three => &[],
                McsTable::One | McsTable::Two => &[1],
            };
            assert_eq!(lacking, expected, "{table:?}");
        }
    }

    #[test]
    fn a_table_is_written_as_its_number() {
        for (table, text) in TABLES.into_iter().zip(["1", "2", "3"]) {
            assert_eq!(serde_json::to_string(&table).unwrap(), text);
            assert_eq!(serde_json::from_str::<McsTable>(text).unwrap(), table);
        }
        let why = serde_json::from_str::<McsTable>("4").unwrap_err();
        assert!(why.to_string().contains("must be 1, 2 or 3, not 4"));
    }

    #[test]
    fn tables_are_those_of_the_files() {
        for (number, table) in (1..).zip(TABLES) {
            let kinds = [("mcs", table.schemes()), ("cqi", table.qualities())];
            for (kind, ours) in kinds {
                let Some(file) = test_data::table(&format!("{kind}_table{number}_38214.csv"))
                else {
                    continue;
                };
                let rows: Vec<_> = file.rows.iter().filter(|row| !row[1].is_empty()).collect();
                assert_eq!(rows.len(), ours.len());
                for (row, scheme) in rows.into_iter().zip(ours) {
                    let number = |place: usize| row[place].parse::<f64>().unwrap();
                    assert_eq!(number(1), f64::from(scheme.modulation_order));
                    assert_eq!(number(2), f64::from(scheme.rate_2048) / 2.0);
                    assert!((number(3) - scheme.efficiency()).abs() < 5.1e-5, "{row:?}");
                }
            }
        }
    }
}
