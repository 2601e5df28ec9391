//! Queues that nobody chose.

use bloatlab_aqm::QueueConfig;
use bloatlab_units::Limit;

/// A FIFO queue of this many packets.
pub(crate) fn fifo(packets: u64) -> QueueConfig {
    QueueConfig::Fifo(bloatlab_aqm::fifo::Params {
        limit: Limit::Packets(packets),
        ..Default::default()
    })
}

/// A queue without a limit of its own.
pub(crate) fn infinite() -> QueueConfig {
    QueueConfig::Infinite(Default::default())
}

/// The default of queues nobody chose: 1000 packets, the transmit queue length of Linux's Ethernet devices.
pub(crate) fn default_queue() -> QueueConfig {
    fifo(1000)
}
