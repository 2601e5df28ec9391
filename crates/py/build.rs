//! Computes the version of the engine from everything that decides results, so that runs of different versions are never mixed up.

use std::env;
use std::path::PathBuf;

use bloatlab_fingerprint::Engine;

fn main() -> Result<(), String> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    Engine::simulator(&own.join("../.."))?.pass_to_cargo()
}
