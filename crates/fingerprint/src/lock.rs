//! Reads third-party crates from `Cargo.lock`.

use std::collections::{BTreeSet, HashMap, VecDeque};

/// A locked crate.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Package {
    pub name: String,
    pub version: String,
    /// Empty for crates without a checksum, such as those of the workspace.
    pub checksum: String,
}

/// The crates with these names and all crates that they depend on.
pub(crate) fn below(text: &str, names: BTreeSet<String>) -> Result<BTreeSet<Package>, String> {
    let locked = parse(text);
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, (package, _)) in locked.iter().enumerate() {
        by_name.entry(&package.name).or_default().push(place);
    }
    let mut waiting: VecDeque<String> = names.into_iter().collect();
    let mut found = BTreeSet::new();
    while let Some(wanted) = waiting.pop_front() {
        // `name`, or `name version` if there are several versions.
        let mut words = wanted.split_whitespace();
        let (name, version) = (words.next().unwrap_or_default(), words.next());
        let places = by_name.get(name);
        let places = places.ok_or_else(|| format!("Cargo.lock: has no package `{name}`"))?;
        for &place in places {
            let (package, dependencies) = &locked[place];
            let is_wanted = version.is_none_or(|version| version == package.version);
            if is_wanted && found.insert(package.clone()) {
                waiting.extend(dependencies.iter().cloned());
            }
        }
    }
    Ok(found)
}

/// All locked packages with their dependencies.
fn parse(text: &str) -> Vec<(Package, Vec<String>)> {
    let mut all: Vec<(Package, Vec<String>)> = Vec::new();
    for line in text.lines().map(str::trim) {
        if line == "[[package]]" {
            all.push(Default::default());
            continue;
        }
        let Some((package, dependencies)) = all.last_mut() else {
            continue;
        };
        match line.split_once(" = ") {
            Some(("name", value)) => package.name = value.trim_matches('"').to_owned(),
            Some(("version", value)) => package.version = value.trim_matches('"').to_owned(),
            Some(("checksum", value)) => package.checksum = value.trim_matches('"').to_owned(),
            Some(_) => {}
            None if line.starts_with('"') => {
                dependencies.push(line.trim_end_matches(',').trim_matches('"').to_owned());
            }
            None => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
version = 4

[[package]]
name = "a"
version = "1.0.0"
checksum = "aa"
dependencies = [
 "b 2.0.0",
 "c",
]

[[package]]
name = "b"
version = "1.0.0"

[[package]]
name = "b"
version = "2.0.0"

[[package]]
name = "c"
version = "3.0.0"

[[package]]
name = "d"
version = "4.0.0"
"#;

    #[test]
    fn dependencies_are_found_in_the_locked_version() {
        let found = below(LOCK, BTreeSet::from(["a".to_owned()])).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|p| (p.name.as_str(), p.version.as_str()))
            .collect();
        assert_eq!(found, [("a", "1.0.0"), ("b", "2.0.0"), ("c", "3.0.0")]);
        let missing = below(LOCK, BTreeSet::from(["e".to_owned()])).unwrap_err();
        assert_eq!(missing, "Cargo.lock: has no package `e`");
    }
}
