//! The size of a resource block.

/// Symbols of a slot with the normal cyclic prefix (TS 38.211 table 4.3.2-1).
pub const SYMBOLS: u32 = 14;
/// Subcarriers of a resource block (TS 38.211 section 4.4.4.1).
pub const SUBCARRIERS: u32 = 12;
