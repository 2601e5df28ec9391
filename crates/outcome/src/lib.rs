//! The result of a run of any engine: metric definitions, histograms, means over time, series and packet events.

mod histogram;
mod lengths;
mod link_stats;
mod loss_events;
pub mod metrics;
mod network;
mod packet_event;
mod result;
mod sheet;
mod time_mean;
mod units;

pub use histogram::{Bin, Histogram};
pub use lengths::Lengths;
pub use link_stats::{Interval, LinkAtEnd, LinkStats};
pub use loss_events::{LossEvents, NOT_GREEDY};
pub use metrics::{Better, Metric, MetricId};
pub use network::{Candidate, Flows};
pub use packet_event::{HOST, PacketEvent, Protocol, Step};
pub use result::{
    Count, Distribution, FlowInfo, Handshake, LinkInfo, Outcome, ProbeInfo, Series, Value,
};
pub use sheet::Sheet;
pub use time_mean::{TimeMean, TimeSpread};
pub use units::{MS, mbps, mean_ms};
