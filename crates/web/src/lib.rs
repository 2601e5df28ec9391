//! The simulator in a browser: what `web/` calls. Times are seconds of the run.
//!
//! [`Lab`] and [`run`] are plain Rust, so that tests need no browser; `exports` hands them to JavaScript.

mod document;
mod exports;
mod lab;
mod memory;
mod names;

pub use document::{deliveries, normalise, run};
pub use lab::{Lab, SeriesKind};
pub use memory::Memory;
