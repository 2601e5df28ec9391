//! The version of the engine: a hash of everything that decides its results.
//!
//! A stored run belongs to the version of the engine that made it. So the hash includes the files of every workspace crate in the dependency
//! closure, and the versions of the third-party crates below them. Both lists are read from the manifests and from `Cargo.lock`.

mod lock;
mod manifest;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use lock::Package;
use manifest::Manifest;
use xxhash_rust::xxh3::Xxh3;

/// The sources and dependencies that decide the results of an engine.
#[derive(Debug)]
pub struct Engine {
    workspace: PathBuf,
    /// Workspace crates in the dependency closure, by name.
    members: BTreeMap<String, Manifest>,
    /// Third-party crates below them.
    packages: BTreeSet<Package>,
    /// Files of the root crate that do not change results.
    glue: Vec<PathBuf>,
}

/// Files of the extension module that do not change results: lists of algorithms, modules, and functions that make no run.
const GLUE: [&str; 4] = ["catalogue.rs", "lib.rs", "tc.rs", "trace.rs"];

impl Engine {
    /// The engine of the extension module, in this workspace. Other builds of the simulator give the same results, so they have the same version.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn simulator(workspace: &Path) -> Result<Self, String> {
        Self::read(workspace, "bloatlab-py", &GLUE)
    }

    /// Passes the fingerprint to the crate whose build script calls this, as `BLOATLAB_SOURCES`.
    ///
    /// # Errors
    /// As [`files`](Self::files).
    pub fn pass_to_cargo(&self) -> Result<(), String> {
        for path in self.watched() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
        let hash = self.fingerprint()? >> 16;
        println!("cargo:rustc-env=BLOATLAB_SOURCES={hash:012x}");
        Ok(())
    }

    /// Reads the workspace in a folder. The `glue` files of the root crate and its direct third-party dependencies are left out.
    ///
    /// # Errors
    /// A file that cannot be read, or a dependency that `Cargo.lock` does not have.
    pub fn read(workspace: &Path, root: &str, glue: &[&str]) -> Result<Self, String> {
        let manifests = manifest::of_workspace(workspace)?;
        let mut members = BTreeMap::new();
        let mut direct = BTreeSet::new();
        let mut waiting = VecDeque::from([root.to_owned()]);
        while let Some(name) = waiting.pop_front() {
            if members.contains_key(&name) {
                continue;
            }
            let found = manifests.get(&name);
            let found = found.ok_or_else(|| format!("{name}: is no crate of the workspace"))?;
            for dependency in found.dependencies() {
                if manifests.contains_key(dependency) {
                    waiting.push_back(dependency.to_owned());
                } else if name != root {
                    direct.insert(dependency.to_owned());
                }
            }
            members.insert(name, found.clone());
        }
        let source = members[root].folder.join("src");
        let glue = glue.iter().map(|file| source.join(file)).collect();
        let packages = lock::below(&text(&workspace.join("Cargo.lock"))?, direct)?;
        Ok(Self {
            workspace: workspace.to_owned(),
            members,
            packages,
            glue,
        })
    }

    /// Names of the workspace crates in the fingerprint.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// Names and versions of the third-party crates in the fingerprint.
    pub fn packages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.packages
            .iter()
            .map(|package| (package.name.as_str(), package.version.as_str()))
    }

    /// Paths that a build must watch. A change below any of them may change the fingerprint.
    pub fn watched(&self) -> Vec<PathBuf> {
        let members = self.members.values();
        let own = members.flat_map(|m| [m.folder.join("src"), m.folder.join("Cargo.toml")]);
        own.chain([self.workspace.join("Cargo.lock")]).collect()
    }

    /// All files in the fingerprint, sources and data.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, String> {
        let mut found = Vec::new();
        for member in self.members.values() {
            gather(&member.folder.join("src"), &mut found)?;
        }
        found.retain(|file| !self.glue.contains(file));
        found.sort();
        Ok(found)
    }

    /// The hash over names and contents of files, dependencies as the manifests write them, and locked versions.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn fingerprint(&self) -> Result<u64, String> {
        let mut hash = Hash::default();
        for file in self.files()? {
            let name = file.strip_prefix(&self.workspace).unwrap_or(&file);
            let steps = name.components().map(|step| step.as_os_str());
            steps.for_each(|step| hash.add(step.as_encoded_bytes()));
            hash.add(&fs::read(&file).map_err(|why| format!("{}: {why}", file.display()))?);
        }
        for (name, member) in &self.members {
            hash.add(name.as_bytes());
            member
                .lines
                .iter()
                .for_each(|line| hash.add(line.as_bytes()));
        }
        for package in &self.packages {
            let Package {
                name,
                version,
                checksum,
            } = package;
            for part in [name, version, checksum] {
                hash.add(part.as_bytes());
            }
        }
        Ok(hash.0.digest())
    }
}

/// XXH3 over parts. The length of each part is included, so moving a byte from one part to the next changes the hash.
#[derive(Default)]
struct Hash(Xxh3);

impl Hash {
    fn add(&mut self, part: &[u8]) {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
    }
}

fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))
}

fn gather(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let wrong = |why: std::io::Error| format!("{}: {why}", folder.display());
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.is_dir() {
            gather(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}
