//! Adaptive modulation and coding: the channel quality is computed from the SNR, and the scheme from the channel quality.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bler::{block_error, ratio};
use crate::{McsTable, TransportBlocks};

/// How the scheme is chosen from the SNR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Amc {
    /// Shannon's bound with a gap that corresponds to a bit error rate of 1e-5 (Piro et al. 2011).
    #[default]
    Shannon,
    /// The highest scheme whose transport block fails with a probability of at most 10 %.
    ErrorModel,
}

/// The bit error rate of the Shannon gap (5G-LENA).
const BIT_ERROR_RATE: f64 = 1e-5;
/// Acceptable error rate of transport blocks (TS 38.214 section 5.2.2.1).
const BLOCK_ERROR_RATE: f64 = 0.1;

impl Amc {
    /// The channel quality indicator for this SNR, 0 (out of range) to 15. The error model uses blocks of `symbols` symbols.
    pub fn cqi(self, table: McsTable, snr_db: f64, blocks: &TransportBlocks, symbols: u32) -> u8 {
        match self {
            Self::Shannon => shannon_cqi(table, snr_db),
            Self::ErrorModel => {
                let passes = |mcs: &usize| {
                    let block = blocks.get(*mcs, symbols);
                    block_error(table.scheme(*mcs), snr_db, block) <= BLOCK_ERROR_RATE
                };
                let highest = (0..=table.highest()).rev().find(passes);
                highest.map_or(0, |mcs| cqi_of_mcs(table, mcs))
            }
        }
    }
}

/// The highest quality whose efficiency is below log2(1 + SNR/gap), with a gap of -ln(5 BER)/1.5. Efficiencies are in hundredths, as in 5G-LENA.
pub fn shannon_cqi(table: McsTable, snr_db: f64) -> u8 {
    let gap = -libm::log(5.0 * BIT_ERROR_RATE) / 1.5;
    let hundredths = 100.0 * libm::log2(1.0 + ratio(snr_db) / gap);
    let below = |quality: &&crate::Scheme| f64::from(quality.efficiency_hundredths()) < hundredths;
    table.qualities().iter().take_while(below).count() as u8
}

/// The scheme for a quality: the highest scheme whose efficiency is not above it, otherwise the lowest scheme.
pub fn mcs_of_cqi(table: McsTable, cqi: u8) -> usize {
    let Some(quality) = usize::from(cqi)
        .checked_sub(1)
        .and_then(|place| table.qualities().get(place))
    else {
        return 0;
    };
    let most = quality.efficiency_hundredths();
    let fits = |scheme: &crate::Scheme| scheme.efficiency_hundredths() <= most;
    table.schemes().iter().rposition(fits).unwrap_or(0)
}

/// The highest quality whose efficiency is not above that of a scheme. Schemes are rounded down to this grid.
fn cqi_of_mcs(table: McsTable, mcs: usize) -> u8 {
    let most = table.scheme(mcs).efficiency_hundredths();
    let fits = |quality: &&crate::Scheme| quality.efficiency_hundredths() <= most;
    table.qualities().iter().take_while(fits).count() as u8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Rule, Shape, test_data};

    const TABLES: [McsTable; 3] = [McsTable::One, McsTable::Two, McsTable::Three];

    fn blocks(table: McsTable) -> TransportBlocks {
        TransportBlocks::new(Shape::new(Rule::Lena, 133), table.schemes())
    }

    fn mcs(amc: Amc, snr_db: f64) -> usize {
        let table = McsTable::One;
        mcs_of_cqi(table, amc.cqi(table, snr_db, &blocks(table), 12))
    }

    #[test]
    fn schemes_of_the_experiment() {
        // radio.md: MCS 28 needs 24.8 dB (24.81). At 6 km, with 9.8 dB, Shannon's MCS is 8 and that of the error model is 13.
        assert_eq!(mcs(Amc::Shannon, 89.0), 28);
        assert_eq!(mcs(Amc::Shannon, 24.82), 28);
        assert_eq!(mcs(Amc::Shannon, 24.80), 26);
        assert_eq!(mcs(Amc::Shannon, 9.8), 8);
        assert_eq!(mcs(Amc::ErrorModel, 9.8), 13);
        assert_eq!(mcs(Amc::ErrorModel, 89.0), 28);
    }

    #[test]
    fn only_schemes_of_the_grid_occur() {
        let grid = [0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24, 26, 28];
        for amc in [Amc::Shannon, Amc::ErrorModel] {
            let mut seen: Vec<usize> = (-300..=400)
                .map(|snr| mcs(amc, f64::from(snr) * 0.1))
                .collect();
            assert!(seen.is_sorted(), "{amc:?}");
            seen.dedup();
            assert_eq!(seen, grid, "{amc:?}");
        }
    }

    #[test]
    fn thresholds_of_the_error_model_by_hand() {
        // Three of 5G-LENA's thresholds: 8.59 dB for MCS 13, 17.89 dB for 24, 23.77 dB for 28.
        for (scheme, below, threshold) in [(13, 11, 8.59), (24, 22, 17.89), (28, 26, 23.77)] {
            assert_eq!(mcs(Amc::ErrorModel, threshold + 0.02), scheme);
            assert_eq!(mcs(Amc::ErrorModel, threshold - 0.02), below);
        }
    }

    #[test]
    fn all_rows_of_the_table() {
        let Some(file) = test_data::table("lena_cqi_mcs_thresholds_t1.csv") else {
            return;
        };
        let table = McsTable::One;
        let blocks = blocks(table);
        for row in &file.rows {
            let number = |name: &str| row[file.column(name)].parse::<f64>().unwrap();
            let cqi = number("cqi") as u8;
            let used = number("mcs_used") as usize;
            assert_eq!(mcs_of_cqi(table, cqi), used, "{row:?}");
            let quality = table.qualities()[usize::from(cqi) - 1];
            let hundredths = f64::from(quality.efficiency_hundredths()) / 100.0;
            assert_eq!(number("se_cqi"), hundredths);
            assert_eq!(number("qm"), f64::from(table.scheme(used).modulation_order));
            assert_eq!(
                number("r_x1024") * 2.0,
                f64::from(table.scheme(used).rate_2048)
            );
            assert_eq!(
                number("tb_bytes_12sym_133prb"),
                f64::from(blocks.get(used, 12).bytes)
            );
            // The file has hundredths of a dB.
            let threshold = number("shannon_amc_snr_min_db");
            assert_eq!(shannon_cqi(table, threshold + 0.006), cqi, "{row:?}");
            assert_eq!(shannon_cqi(table, threshold - 0.006), cqi - 1, "{row:?}");
            let threshold = number("errormodel_amc_snr_at_tbler10_db");
            let error = |snr| block_error(table.scheme(used), snr, blocks.get(used, 12));
            assert!(error(threshold - 0.006) > 0.1, "{row:?}");
            assert!(error(threshold + 0.006) < 0.1, "{row:?}");
            assert_eq!(mcs(Amc::ErrorModel, threshold + 0.006), used, "{row:?}");
            assert_ne!(
                mcs(Amc::ErrorModel, threshold - 0.006),
                used.max(1),
                "{row:?}"
            );
        }
        assert_eq!(file.rows.len(), 15);
    }

    #[test]
    fn no_signal_is_out_of_range() {
        for table in TABLES {
            for amc in [Amc::Shannon, Amc::ErrorModel] {
                assert_eq!(amc.cqi(table, -60.0, &blocks(table), 12), 0);
                assert_eq!(amc.cqi(table, 80.0, &blocks(table), 12), 15);
            }
            assert_eq!(mcs_of_cqi(table, 0), 0);
            assert_eq!(mcs_of_cqi(table, 15), table.highest());
        }
    }

    proptest! {
        #[test]
        fn more_signal_never_gives_less(table in 0_usize..3, snr in -20.0_f64..50.0, more in 0.0_f64..20.0) {
            let table = TABLES[table];
            let blocks = blocks(table);
            for amc in [Amc::Shannon, Amc::ErrorModel] {
                let cqi = |snr| amc.cqi(table, snr, &blocks, 12);
                prop_assert!(cqi(snr + more) >= cqi(snr), "{:?}", amc);
                prop_assert!(mcs_of_cqi(table, cqi(snr + more)) >= mcs_of_cqi(table, cqi(snr)));
            }
        }
    }
}
