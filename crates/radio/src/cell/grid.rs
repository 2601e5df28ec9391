//! The capacity of parts of a slot.

use super::allocate::{Access, group_size};
use crate::{McsTable, Rule, Shape, TransportBlock, TransportBlocks};

/// Transport blocks by scheme and number of units. Units are symbols of the whole band, or groups of resource blocks.
#[derive(Debug)]
pub struct Grid {
    access: Access,
    /// Indexed by the number of groups. With symbols as units, there is only the entry for all groups.
    groups: Vec<TransportBlocks>,
}

impl Grid {
    /// Creates the grid of a band with this many resource blocks.
    pub fn new(rule: Rule, table: McsTable, access: Access, blocks: u32, layers: u32) -> Self {
        let of = |blocks: u32| {
            let shape = Shape {
                layers,
                ..Shape::new(rule, blocks)
            };
            TransportBlocks::new(shape, table.schemes())
        };
        let groups = match access {
            Access::Tdma => vec![of(blocks)],
            Access::Ofdma => {
                let size = group_size(blocks);
                // The last group has the rest of the band.
                let count = blocks.div_ceil(size);
                (1..=count).map(|n| of((n * size).min(blocks))).collect()
            }
        };
        Self { access, groups }
    }

    /// Number of units in a slot with this many symbols for data.
    #[inline]
    pub fn units(&self, symbols: u32) -> u32 {
        match self.access {
            Access::Tdma => symbols,
            Access::Ofdma if symbols > 0 => self.groups.len() as u32,
            Access::Ofdma => 0,
        }
    }

    /// The block in this many units, in a slot with this many symbols for data.
    #[inline]
    pub fn block(&self, mcs: usize, units: u32, symbols: u32) -> TransportBlock {
        match self.access {
            Access::Tdma => self.groups[0].get(mcs, units),
            Access::Ofdma if units > 0 => self.groups[units as usize - 1].get(mcs, symbols),
            Access::Ofdma => TransportBlock::default(),
        }
    }

    /// Number of symbols from the start of the slot that the first `units` units take.
    #[inline]
    pub fn symbols(&self, units: u32, symbols: u32) -> u32 {
        match self.access {
            Access::Tdma => units,
            Access::Ofdma => symbols,
        }
    }

    /// The blocks of the whole band, by scheme and symbols.
    pub fn whole(&self) -> &TransportBlocks {
        &self.groups[self.groups.len() - 1]
    }
}
