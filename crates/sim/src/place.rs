//! Where a packet goes next.

/// Where a packet goes next: a box, by kind and index among its kind, or the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Link(u32),
    Delay(u32),
    Loss(u32),
    /// A queue that is left when the radio is ready.
    Gate(u32),
    /// A link that is a bearer of the cell.
    Bearer(u32),
    Host,
    ReorderingDelay(u32),
    Corrupt(u32),
    Duplicate(u32),
    /// A host at the end of a path that damages packets: it looks at checksums.
    CheckingHost,
}

impl Place {
    /// Whether packets leave it within the call that brings them.
    pub fn takes_no_time(self) -> bool {
        matches!(self, Self::Loss(_) | Self::Corrupt(_) | Self::Duplicate(_))
    }
}
