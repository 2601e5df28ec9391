//! Finds measured traces. They have no free licence, so they are not in the repository.

use std::path::{Path, PathBuf};

/// `BLOATLAB_TRACES`, or `shared/traces` beside the repository. If they are missing, prints a message and returns `None`.
pub fn traces() -> Option<PathBuf> {
    let named = std::env::var_os("BLOATLAB_TRACES").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let found = named.or_else(|| {
        beside
            .map(|folder| folder.join("shared/traces"))
            .find(|folder| folder.is_dir())
    });
    if found.is_none() {
        println!("skipped: measured traces are not at hand (BLOATLAB_TRACES names their folder)");
    }
    found
}
