//! The simulator in a browser: what `web/` calls. Times are seconds of the run.
//!
//! [`Lab`] and [`run`] are plain Rust, so that tests need no browser; `exports` hands them to JavaScript.

mod columns;
mod exports;
mod lab;
mod memory;
mod names;

pub use columns::{Column, Values};
pub use lab::{Lab, SeriesKind, run};
pub use memory::Memory;
