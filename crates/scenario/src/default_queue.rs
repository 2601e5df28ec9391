//! Default queues.

use bloatlab_aqm::QueueConfig;
use bloatlab_units::Limit;

/// A FIFO queue of this many packets.
pub(crate) fn fifo(packets: u64) -> QueueConfig {
    QueueConfig::Fifo(bloatlab_aqm::fifo::Params {
        limit: Limit::Packets(packets),
        ..Default::default()
    })
}

/// A queue without a limit.
pub(crate) fn infinite() -> QueueConfig {
    QueueConfig::Infinite(Default::default())
}

/// The default queue: a FIFO of 1000 packets, the transmit queue length of Ethernet devices in Linux.
pub(crate) fn default_queue() -> QueueConfig {
    fifo(1000)
}
