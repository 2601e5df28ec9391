//! TCP endpoints round a congestion control. Sans-IO: segments, timers and the instant come in, segments go out.

mod config;

pub use config::{LossDetection, Pacing, Reduction, TcpConfig};
