//! The congestion state of a sender.

/// The sender's congestion state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No congestion.
    Open,
    /// Reducing the window after an ECN echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}
