//! Files that a scenario names come from the caller, and each is read once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use bloatlab_scenario::{Files, Limits, Scenario};
use serde_json::{Value, json};

/// Files in memory, with the number of times each was read.
#[derive(Default)]
struct Memory {
    files: BTreeMap<String, String>,
    read: RefCell<BTreeMap<String, usize>>,
}

impl Memory {
    fn with(name: &str, text: &str) -> Self {
        let mut memory = Self::default();
        memory.files.insert(name.to_owned(), text.to_owned());
        memory
    }
}

impl Files for Memory {
    fn length(&self, file: &str) -> Option<u64> {
        self.files.get(file).map(|text| text.len() as u64)
    }

    fn read(&self, file: &str) -> Result<Arc<[u8]>, String> {
        *self.read.borrow_mut().entry(file.to_owned()).or_default() += 1;
        let text = self.files.get(file);
        let text = text.ok_or("is not in memory")?;
        Ok(Arc::from(text.as_bytes()))
    }
}

/// Two links that follow one trace.
fn two_links() -> Value {
    let link = |name: &str| json!({ "kind": "link", "name": name, "rate": "12Mbit/s", "vary": { "rate": { "kind": "mahimahi", "file": "lte" } } });
    json!({
        "duration": "1s",
        "boxes": [link("first"), link("second"), { "kind": "delay", "name": "back", "delay": "10ms" }],
        "flows": [{ "path": ["first", "second"], "return_path": ["back"] }]
    })
}

#[test]
fn a_file_is_read_once_however_often_it_is_named() {
    let memory = Memory::with("lte", "1\n4\n9\n");
    let checked = Scenario::load(&two_links().to_string(), &memory, &Limits::default());
    let checked = checked.expect("a valid document");
    assert_eq!(memory.read.borrow()["lte"], 1);
    // Both places keep the digest, so the stored document refuses a different file.
    let canonical = checked.scenario.to_canonical_json();
    assert_eq!(canonical.matches("digest").count(), 2);
    let other = Memory::with("lte", "1\n4\n");
    let refused = Scenario::load(&canonical, &other, &Limits::default());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "boxes[0].vary.rate.digest: `lte` is another file now; remove `digest` to take it as it is"
    );
}

#[test]
fn a_missing_file_is_refused_with_its_key() {
    let refused = Scenario::load(
        &two_links().to_string(),
        &Memory::default(),
        &Limits::default(),
    );
    assert_eq!(
        refused.unwrap_err().to_string(),
        "boxes[0].vary.rate.file: `lte` is not in memory"
    );
}

#[test]
fn a_channel_is_read_from_the_same_files() {
    let document = json!({
        "duration": "1s",
        "cell": { "radio": { "ues": [{ "kind": "trace", "file": "snr" }] } },
        "flows": [{}]
    });
    let memory = Memory::with("snr", "0 20\n1 10\n");
    Scenario::load(&document.to_string(), &memory, &Limits::default()).expect("a valid document");
    assert_eq!(memory.read.borrow()["snr"], 1);
}
