//! Reads dependencies from the `Cargo.toml` of a crate.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::text;

/// A crate of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub folder: PathBuf,
    /// The lines of its dependencies, without those of tests and build scripts.
    pub lines: Vec<String>,
}

impl Manifest {
    /// Names of its dependencies.
    pub fn dependencies(&self) -> impl Iterator<Item = &str> {
        let keys = self.lines.iter().filter_map(|line| line.split_once('='));
        keys.map(|(key, _)| key.trim().trim_end_matches(".workspace"))
    }
}

/// The manifests of `crates/*`, by name of the crate.
pub(crate) fn of_workspace(workspace: &Path) -> Result<BTreeMap<String, Manifest>, String> {
    let crates = workspace.join("crates");
    let folders = fs::read_dir(&crates).map_err(|why| format!("{}: {why}", crates.display()))?;
    let mut found = BTreeMap::new();
    for folder in folders.flatten().map(|entry| entry.path()) {
        let path = folder.join("Cargo.toml");
        if path.exists() {
            let (name, lines) = parse(&text(&path)?);
            let name = name.ok_or_else(|| format!("{}: names no package", path.display()))?;
            found.insert(name, Manifest { folder, lines });
        }
    }
    Ok(found)
}

/// The name of the package and the lines of its dependencies.
fn parse(text: &str) -> (Option<String>, Vec<String>) {
    let (mut name, mut lines, mut section) = (None, Vec::new(), "");
    for line in text.lines().map(str::trim) {
        if let Some(header) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            section = header;
        } else if line.is_empty() || line.starts_with('#') {
        } else if section == "package" {
            let value = line.strip_prefix("name").map(str::trim_start);
            let value = value.and_then(|rest| rest.strip_prefix('='));
            name = name.or(value.map(|value| value.trim().trim_matches('"').to_owned()));
        } else if section == "dependencies" || section.ends_with(".dependencies") {
            lines.push(line.to_owned());
        }
    }
    (name, lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_tests_and_builds_are_left_out() {
        let (name, lines) = parse(
            "[package]\nname = \"a\"\nversion = \"1\"\n\n[dependencies]\n# why\nb.workspace = true\nc = { version = \"1\" }\n\n\
             [target.'cfg(unix)'.dependencies]\nd = \"1\"\n\n[dev-dependencies]\ne = \"1\"\n\n[build-dependencies]\nf = \"1\"\n",
        );
        let manifest = Manifest {
            folder: PathBuf::new(),
            lines,
        };
        assert_eq!(name.as_deref(), Some("a"));
        assert_eq!(manifest.dependencies().collect::<Vec<_>>(), ["b", "c", "d"]);
    }
}
