//! TCP endpoints around a congestion control. They do no I/O: segments, timers and the current time come in, segments go out.

mod ack;
mod buffers;
mod cached;
mod config;
mod endpoint;
mod handshake;
mod linux;
mod loss;
mod marks;
mod offload;
mod pacing;
mod prr;
mod rack;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
pub mod segment;
mod sender;
mod small_queues;
mod state;
mod transmit;
mod undo;
mod undoing;

pub use config::{LossDetection, Pacing, ReceiveWindow, Reduction, TcpConfig, Timeout};
pub use endpoint::Endpoint;
pub use linux::LinuxSettings;
pub use marks::EcnPlan;
pub use receiver::Receiver;
pub use rtt::RttEstimator;
pub use segment::Segment;
pub use sender::{Sender, SenderStats};
pub use small_queues::SmallQueues;
pub use state::State;
pub use transmit::{Buffer, Train};
