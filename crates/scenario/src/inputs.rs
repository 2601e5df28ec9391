//! The contents of the files of a scenario. Each file is read once.

use std::collections::HashMap;

use bloatlab_link::{Files, LoadedRate, ReadOnce};
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
    pub fn read(scenario: &mut Scenario, files: &dyn Files) -> Result<Self, ScenarioError> {
        let files = &ReadOnce::new(files);
        let mut rates = HashMap::new();
        for (path, rate) in scenario.rate_variations() {
            let loaded = registered(&path, rate.load(files))?;
            rates.insert(path, loaded);
        }
        let cell = scenario.cell.as_mut();
        let channels = cell.map_or(Ok(Vec::new()), |cell| cell.radio.load(files));
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
