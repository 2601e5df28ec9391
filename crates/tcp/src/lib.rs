//! TCP endpoints around a congestion control. They do no I/O: segments, timers and the current time come in, segments go out.

mod ack;
mod config;
mod endpoint;
mod loss;
mod marks;
mod offload;
mod pacing;
mod prr;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
pub mod segment;
mod sender;
mod transmit;
mod undo;

pub use config::{LossDetection, Pacing, ReceiveWindow, Reduction, TcpConfig, Timeout};
pub use endpoint::Endpoint;
pub use marks::EcnPlan;
pub use receiver::Receiver;
pub use rtt::RttEstimator;
pub use segment::Segment;
pub use sender::{Sender, SenderStats, State};
pub use transmit::{Buffer, Train};
