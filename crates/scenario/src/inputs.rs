//! The contents of the files of a scenario. Each file is read once.

use std::collections::HashMap;

use bloatlab_link::{Disk, Files, LoadedRate, RateSource, ReadOnce, steps};
use bloatlab_radio::channel::Loaded;

use crate::check::registered;
use crate::{Scenario, ScenarioError};

/// The rates and channels of a scenario, with the contents of their files.
pub(crate) struct Inputs {
    /// Rates that vary, by their path in the document.
    rates: HashMap<String, LoadedRate>,
    /// The channels of a cell's UEs.
    pub channels: Vec<Loaded>,
}

impl Inputs {
    /// Reads the files that a scenario names, and notes their digests in it.
    ///
    /// Without `files` no file is read: a rate from a file keeps its constant value, and there are no channels.
    pub fn read(scenario: &mut Scenario, files: Option<&dyn Files>) -> Result<Self, ScenarioError> {
        let source = ReadOnce::new(files.unwrap_or(&Disk));
        let mut rates = HashMap::new();
        for (path, rate) in scenario.rate_variations() {
            let loaded = match files {
                None if rate.file().is_some() => Ok(unchanging()),
                _ => rate.load(&source),
            };
            let loaded = registered(&path, loaded)?;
            rates.insert(path, loaded);
        }
        let channels = match (&mut scenario.cell, files) {
            (Some(cell), Some(_)) => cell.radio.load(&source),
            _ => Ok(Vec::new()),
        };
        Ok(Self {
            rates,
            channels: registered("cell.radio", channels)?,
        })
    }

    /// Takes the rate at a path of the document, if it varies.
    pub fn rate(&mut self, path: &str) -> Option<LoadedRate> {
        self.rates.remove(path)
    }
}

/// A rate that varies, but keeps its constant value.
fn unchanging() -> LoadedRate {
    LoadedRate::Source(RateSource::Steps(steps::Params { steps: Vec::new() }))
}
