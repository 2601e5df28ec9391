//! Writes the outcome of a run as Arrow tables, as CSV and as JSON, and its packets as a pcap file.

mod capture;
mod columns;
mod csv;
mod metrics;
mod tables;

pub use capture::{CaptureError, write_pcap};
pub use columns::{Column, Values, columns};
pub use csv::csv;
pub use metrics::{metric_definitions, metrics_of};
pub use tables::{series_rows, tables};
