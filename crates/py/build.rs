//! Computes the version of the engine from everything that decides results, so that runs of different versions are never mixed up.

use std::env;
use std::path::PathBuf;

use bloatlab_fingerprint::Engine;

/// Files of this crate that do not change results: lists of algorithms, modules, and functions that make no run.
const GLUE: [&str; 4] = ["catalogue.rs", "lib.rs", "tc.rs", "trace.rs"];

fn main() -> Result<(), String> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let engine = Engine::read(&own.join("../.."), "bloatlab-py", &GLUE)?;
    for path in engine.watched() {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    println!(
        "cargo:rustc-env=BLOATLAB_SOURCES={:012x}",
        engine.fingerprint()? >> 16
    );
    Ok(())
}
