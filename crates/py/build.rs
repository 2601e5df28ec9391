//! Names the engine by the sources that decide its results, so that a stored run is never mistaken for another engine's.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Crates whose code reaches a result.
const DECIDE: [&str; 8] = [
    "units", "aqm", "cc", "tcp", "link", "scenario", "sim", "record",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn main() {
    let crates = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("..");
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for name in DECIDE {
        let folder = crates.join(name).join("src");
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        sources(&folder, &mut files);
        files.sort();
        for file in files {
            for byte in fs::read(&file).unwrap_or_default() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    println!("cargo:rustc-env=BLOATLAB_SOURCES={:012x}", hash >> 16);
}
