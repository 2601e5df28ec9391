//! The files of a scenario, held in memory.

use std::collections::HashMap;
use std::sync::Arc;

use bloatlab_link::Files;

/// Files by name. A browser has no others.
#[derive(Default)]
pub struct Memory(HashMap<String, Arc<[u8]>>);

impl Memory {
    /// Files with these names and contents.
    pub fn new(names: Vec<String>, contents: Vec<String>) -> Self {
        let contents = contents.into_iter().map(|text| text.into_bytes().into());
        Self(names.into_iter().zip(contents).collect())
    }
}

impl Files for Memory {
    fn length(&self, file: &str) -> Option<u64> {
        self.0.get(file).map(|bytes| bytes.len() as u64)
    }

    fn read(&self, file: &str) -> Result<Arc<[u8]>, String> {
        let found = self.0.get(file).cloned();
        found.ok_or_else(|| {
            String::from("no such file in the browser; write the values into the scenario, or run it on the command line with `bloatlab simulate`")
        })
    }
}
