//! Where a packet goes next.

/// Where a packet goes next: to a box, given by its kind and its index within that kind, or to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Link(u32),
    Delay(u32),
    /// A queue whose packets leave when the radio is ready.
    Gate(u32),
    /// A link that is a bearer of the cell.
    Bearer(u32),
    Host,
    ReorderingDelay(u32),
    Impairment(u32),
    /// A host that verifies checksums, at the end of a path that damages packets.
    CheckingHost,
}

impl Place {
    /// Whether packets leave it within the call in which they arrive.
    pub fn takes_no_time(self) -> bool {
        matches!(self, Self::Impairment(_))
    }
}
