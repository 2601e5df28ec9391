//! Writes the outcome of a run as Arrow tables, and its packets as a pcap file.

mod capture;
mod tables;

pub use capture::{CaptureError, write_pcap};
pub use tables::{metrics_by_entity, series_rows, tables};
