//! The size of transport blocks: how many bytes a slot carries, by the standard or by 5G-LENA.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Scheme;
use crate::numerology::{SUBCARRIERS, SYMBOLS};

/// How resource blocks and transport blocks are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Rule {
    /// TS 38.214 section 5.1.3.2, and the channels of TS 38.101.
    #[default]
    #[serde(rename = "3gpp")]
    ThreeGpp,
    /// 5G-LENA 2: one of twelve subcarriers for references, and code rates in hundredths.
    #[serde(rename = "lena")]
    Lena,
}

/// Everything that determines the size of a transport block, except the scheme and the number of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The rule by which it is computed.
    pub rule: Rule,
    /// Number of resource blocks.
    pub resource_blocks: u32,
    /// Number of layers of spatial multiplexing, at least 1.
    pub layers: u32,
    /// Number of resource elements for demodulation references in a resource block of the slot (for `3gpp`; `lena` has its own share).
    pub dmrs: u32,
    /// Number of further resource elements without data in a resource block of the slot: `xOverhead`, 0, 6, 12 or 18 (for `3gpp`).
    pub overhead: u32,
}

impl Shape {
    /// A shape with one layer, 12 resource elements of references (type 1 in one symbol, without data beside them), and no further overhead.
    pub fn new(rule: Rule, resource_blocks: u32) -> Self {
        Self {
            rule,
            resource_blocks,
            layers: 1,
            dmrs: 12,
            overhead: 0,
        }
    }

    /// The transport block in this many symbols.
    pub fn transport_block(&self, scheme: Scheme, symbols: u32) -> TransportBlock {
        match self.rule {
            Rule::ThreeGpp => self.standard(scheme, symbols),
            Rule::Lena => self.lena(scheme, symbols),
        }
    }

    /// TS 38.214 section 5.1.3.2. `N_info` is multiplied by 2048, so that it is an integer.
    fn standard(&self, scheme: Scheme, symbols: u32) -> TransportBlock {
        // In a block of few symbols, at most half of the elements are references, because type 1 uses one of two groups of every second subcarrier.
        let all = SUBCARRIERS * symbols;
        let elements = all
            .saturating_sub(self.dmrs.min(all / 2))
            .saturating_sub(self.overhead)
            .min(156);
        let elements = u64::from(elements) * u64::from(self.resource_blocks);
        let per_element = scheme.rate_2048 * scheme.modulation_order * self.layers;
        let information = elements * u64::from(per_element);
        if information == 0 {
            return TransportBlock::default();
        }
        if information <= 3824 * 2048 {
            let whole = information / 2048;
            let power = whole.max(1).ilog2().saturating_sub(6).max(3);
            let quantized = (whole >> power << power).max(24);
            let place = SMALL.partition_point(|&bits| u64::from(bits) < quantized);
            return TransportBlock {
                bytes: u32::from(SMALL[place]) / 8,
                code_blocks: 1,
            };
        }
        // Step 4: round to the nearest multiple of 2^n, halves up.
        let information = information - 24 * 2048;
        let power = (information / 2048).ilog2() - 5;
        let half = 1 << (power + 10);
        let quantized = ((information + half) >> (power + 11) << power).max(3840);
        let blocks = if scheme.rate_2048 <= 512 {
            (quantized + 24).div_ceil(3816)
        } else if quantized > 8424 {
            (quantized + 24).div_ceil(8424)
        } else {
            1
        };
        let bytes = blocks * (quantized + 24).div_ceil(8 * blocks) - 3;
        TransportBlock {
            bytes: bytes as u32,
            code_blocks: blocks as u32,
        }
    }

    /// 5G-LENA 2: 11 of 12 subcarriers carry data; 3 bytes of checksum for the block, or for each full code block.
    fn lena(&self, scheme: Scheme, symbols: u32) -> TransportBlock {
        let data = u64::from((SUBCARRIERS - 1) * self.resource_blocks * symbols);
        let bits_hundredths = data
            * u64::from(scheme.modulation_order * scheme.rate_hundredths())
            * u64::from(self.layers);
        let payload = bits_hundredths / 800;
        let bits = payload * 8;
        let rate = scheme.rate_hundredths();
        // TS 38.212 section 7.2.2: base graph 2 for small blocks or low code rates.
        let is_second_graph = bits <= 292 || rate <= 25 || (bits <= 3824 && rate <= 67);
        let code_block = if is_second_graph { 480 } else { 1056 };
        let mut bytes = payload.saturating_sub(3);
        if bytes > code_block {
            bytes = payload - 3 * (bytes / code_block);
        }
        TransportBlock {
            bytes: bytes as u32,
            code_blocks: bytes.div_ceil(code_block) as u32,
        }
    }
}

/// A transport block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransportBlock {
    /// Its size in bytes.
    pub bytes: u32,
    /// Number of code blocks.
    pub code_blocks: u32,
}

/// Transport blocks of one shape, by scheme and number of symbols. Computed once, because they are needed in every slot.
#[derive(Clone, Debug)]
pub struct TransportBlocks {
    blocks: Vec<[TransportBlock; SYMBOLS as usize + 1]>,
}

impl TransportBlocks {
    /// Computes the blocks of these schemes.
    pub fn new(shape: Shape, schemes: &[Scheme]) -> Self {
        let row = |scheme: &Scheme| {
            std::array::from_fn(|symbols| shape.transport_block(*scheme, symbols as u32))
        };
        Self {
            blocks: schemes.iter().map(row).collect(),
        }
    }

    /// The block of an MCS in this many symbols, at most 14.
    #[inline]
    pub fn get(&self, mcs: usize, symbols: u32) -> TransportBlock {
        self.blocks[mcs][symbols as usize]
    }
}

/// TS 38.214 table 5.1.3.2-1, bits.
const SMALL: [u16; 93] = [
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184,
    192, 208, 224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528,
    552, 576, 608, 640, 672, 704, 736, 768, 808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192,
    1224, 1256, 1288, 1320, 1352, 1416, 1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088,
    2152, 2216, 2280, 2408, 2472, 2536, 2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496,
    3624, 3752, 3824,
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{McsTable, test_data};

    fn block(rule: Rule, mcs: usize, symbols: u32) -> TransportBlock {
        Shape::new(rule, 133).transport_block(McsTable::One.scheme(mcs), symbols)
    }

    #[test]
    fn lena_sizes_of_the_experiment() {
        // radio.md: 133 blocks and 12 symbols; 11 symbols besides the sounding signal.
        let sizes = [
            (0, 523),
            (2, 830),
            (8, 2583),
            (13, 4204),
            (26, 11_161),
            (28, 12_212),
        ];
        for (mcs, bytes) in sizes {
            assert_eq!(block(Rule::Lena, mcs, 12).bytes, bytes, "MCS {mcs}");
        }
        assert_eq!(block(Rule::Lena, 28, 11).bytes, 11_194);
        assert_eq!(block(Rule::Lena, 28, 12).code_blocks, 12);
    }

    #[test]
    fn standard_sizes_by_hand() {
        // MCS 0, 12 symbols: N_RE = 132 x 133 = 17,556; N_info = 17,556 x 2 x 120/1024 = 4114.7; n = floor(log2 4090.7) - 5 = 6;
        // N' = 64 round(63.92) = 4096; R <= 1/4: C = ceil(4120/3816) = 2; TBS = 16 ceil(4120/16) - 24 = 4104.
        let low = block(Rule::ThreeGpp, 0, 12);
        assert_eq!((low.bytes * 8, low.code_blocks), (4104, 2));
        // MCS 0, 3 symbols: N_info = 24 x 133 x 0.234375 = 748.1; n = 3; N' = 744; the next in the table is 768.
        assert_eq!(block(Rule::ThreeGpp, 0, 3).bytes * 8, 768);
        // MCS 28, 12 symbols: N_info = 17,556 x 5.5547 = 97,518; n = 11; N' = 2048 round(47.60) = 98,304; C = 12; 96 ceil(98,328/96) - 24 = 98,376.
        let high = block(Rule::ThreeGpp, 28, 12);
        assert_eq!((high.bytes * 8, high.code_blocks), (98_376, 12));
        assert_eq!(block(Rule::ThreeGpp, 28, 0), TransportBlock::default());
        // Six elements carry 1.4 bits, so the smallest block of the table is used.
        let tiny = Shape::new(Rule::ThreeGpp, 1);
        assert_eq!(tiny.transport_block(McsTable::One.scheme(0), 1).bytes, 3);
    }

    #[test]
    fn all_rows_of_the_table_by_both_rules() {
        let Some(table) = test_data::table("tb_50MHz_mu1_133prb.csv") else {
            return;
        };
        for row in &table.rows {
            let number = |name: &str| row[table.column(name)].parse::<u32>().unwrap();
            let schemes = [McsTable::One, McsTable::Two, McsTable::Three];
            let schemes = schemes[number("mcs_table") as usize - 1];
            let scheme = schemes.scheme(number("mcs") as usize);
            let of = |rule| Shape::new(rule, 133).transport_block(scheme, number("data_symbols"));
            let standard = of(Rule::ThreeGpp);
            assert_eq!(
                standard.bytes * 8,
                number("tbs38214_bits_dmrs12"),
                "{row:?}"
            );
            assert_eq!(standard.bytes, number("tbs38214_bytes"), "{row:?}");
            assert_eq!(standard.code_blocks, number("code_blocks"), "{row:?}");
            assert_eq!(of(Rule::Lena).bytes, number("lena_v2_tb_bytes"), "{row:?}");
        }
        assert_eq!(table.rows.len(), 741);
    }

    #[test]
    fn names_of_the_rules() {
        assert_eq!(serde_json::to_string(&Rule::ThreeGpp).unwrap(), "\"3gpp\"");
        assert_eq!(
            serde_json::from_str::<Rule>("\"lena\"").unwrap(),
            Rule::Lena
        );
    }

    proptest! {
        #[test]
        fn more_symbols_or_blocks_never_carry_less(
            resource_blocks in 1_u32..273, layers in 1_u32..4, mcs in 0_usize..28, symbols in 1_u32..13, table in 0_usize..3,
        ) {
            let table = [McsTable::One, McsTable::Two, McsTable::Three][table];
            let shape = Shape { layers, ..Shape::new(Rule::ThreeGpp, resource_blocks) };
            let scheme = table.scheme(mcs);
            let one = shape.transport_block(scheme, symbols);
            prop_assert!(shape.transport_block(scheme, symbols + 1).bytes >= one.bytes);
            let wider = Shape { resource_blocks: resource_blocks + 1, ..shape };
            prop_assert!(wider.transport_block(scheme, symbols).bytes >= one.bytes);
            // Whole bytes, and equal code blocks (TS 38.214 section 5.1.3.2).
            prop_assert_eq!((one.bytes + 3) % one.code_blocks.max(1), 0);
        }
    }
}
