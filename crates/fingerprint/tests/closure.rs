//! The fingerprint covers everything that cargo builds into the engine, and changes with every change of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bloatlab_fingerprint::Engine;
use serde_json::Value;

const ROOT: &str = "bloatlab-py";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

/// Dependencies as cargo resolves them: the workspace crates below the root, and the third-party crates below those.
fn resolved() -> (BTreeSet<String>, BTreeSet<(String, String)>) {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let members: BTreeSet<String> = list(&metadata["workspace_members"])
        .iter()
        .map(|id| text(id).to_owned())
        .collect();
    let packages: BTreeMap<String, (String, String)> = list(&metadata["packages"])
        .iter()
        .map(|p| {
            (
                text(&p["id"]).to_owned(),
                (text(&p["name"]).to_owned(), text(&p["version"]).to_owned()),
            )
        })
        .collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]).to_owned(), node))
        .collect();
    let root = packages
        .iter()
        .find(|(_, (name, _))| name == ROOT)
        .expect("the root")
        .0
        .clone();
    let (mut own, mut others) = (BTreeSet::new(), BTreeSet::new());
    let mut waiting = vec![root.clone()];
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let (name, version) = packages[&id].clone();
        if members.contains(&id) {
            own.insert(name);
        } else {
            others.insert((name, version));
        }
        for dependency in list(&nodes[&id]["deps"]) {
            let is_normal = list(&dependency["dep_kinds"])
                .iter()
                .any(|kind| kind["kind"].is_null());
            let to = text(&dependency["pkg"]).to_owned();
            // The bindings to Python do not change results.
            if is_normal && (id != root || members.contains(&to)) {
                waiting.push(to);
            }
        }
    }
    (own, others)
}

#[test]
fn the_closure_equals_that_of_cargo() {
    let engine = Engine::read(&workspace(), ROOT, &[]).unwrap();
    let (own, others) = resolved();
    let members: BTreeSet<String> = engine.members().map(str::to_owned).collect();
    assert_eq!(members, own);
    assert!(members.contains("bloatlab-radio") && members.contains("bloatlab-params"));
    let packages: BTreeSet<(String, String)> = engine
        .packages()
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .collect();
    // The lock file also has dependencies of other platforms and of build scripts.
    let missing: Vec<_> = others.difference(&packages).collect();
    assert!(missing.is_empty(), "{missing:?}");
    for name in ["libm", "rand_core", "rand_pcg", "serde_json"] {
        assert!(
            packages.iter().any(|(package, _)| package == name),
            "{name}"
        );
    }
}

/// A source may include a file from any folder, but only files below `src` are hashed.
#[test]
fn every_included_file_is_hashed() {
    let engine = Engine::read(&workspace(), ROOT, &[]).unwrap();
    let files: BTreeSet<PathBuf> = engine
        .files()
        .unwrap()
        .iter()
        .map(|file| file.canonicalize().unwrap())
        .collect();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "rs"))
    {
        let source = fs::read_to_string(file).unwrap();
        for name in ["include_str!(", "include_bytes!(", "include!("] {
            for (at, _) in source.match_indices(name) {
                let named = source[at + name.len()..]
                    .split('"')
                    .nth(1)
                    .expect("a file's name");
                let included = file.parent().unwrap().join(named).canonicalize().unwrap();
                assert!(
                    files.contains(&included),
                    "{} includes {named}",
                    file.display()
                );
            }
        }
    }
}

/// A workspace of two crates and one locked dependency, in a temporary folder.
struct Small(PathBuf);

impl Small {
    fn new(name: &str) -> Self {
        let small =
            Self(std::env::temp_dir().join(format!("bloatlab-{name}-{}", std::process::id())));
        small.write(
            "Cargo.lock",
            "[[package]]\nname = \"libm\"\nversion = \"0.2.1\"\n",
        );
        small.write(
            "crates/top/Cargo.toml",
            "[package]\nname = \"top\"\n[dependencies]\nbase.workspace = true\n",
        );
        small.write("crates/top/src/lib.rs", "");
        small.write("crates/top/src/glue.rs", "");
        small.write(
            "crates/base/Cargo.toml",
            "[package]\nname = \"base\"\n[dependencies]\nlibm = \"0.2\"\n",
        );
        small.write("crates/base/src/lib.rs", "");
        small.write("crates/base/src/deep/table.csv", "1,2");
        small.write("crates/other/Cargo.toml", "[package]\nname = \"other\"\n");
        small.write("crates/other/src/lib.rs", "");
        small
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn fingerprint(&self) -> u64 {
        Engine::read(&self.0, "top", &["glue.rs"])
            .unwrap()
            .fingerprint()
            .unwrap()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_change_of_sources_or_dependencies_changes_the_fingerprint() {
    let small = Small::new("fingerprint");
    let mut seen = BTreeSet::from([small.fingerprint()]);
    for (file, text) in [
        ("crates/base/src/lib.rs", "// changed"),
        ("crates/base/src/deep/table.csv", "1,3"),
        ("crates/base/src/new.bin", ""),
        ("crates/top/src/lib.rs", "// changed"),
        (
            "crates/base/Cargo.toml",
            "[package]\nname = \"base\"\n[dependencies]\nlibm = { version = \"0.2\", features = [] }\n",
        ),
        (
            "Cargo.lock",
            "[[package]]\nname = \"libm\"\nversion = \"0.2.2\"\n",
        ),
    ] {
        small.write(file, text);
        assert!(seen.insert(small.fingerprint()), "{file}");
    }
    let before = small.fingerprint();
    small.write("crates/other/src/lib.rs", "// changed");
    small.write("crates/top/src/glue.rs", "// changed");
    assert_eq!(small.fingerprint(), before);
}
