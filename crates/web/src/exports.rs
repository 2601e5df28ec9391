//! What JavaScript sees.

use std::panic;
use std::sync::Once;

use bloatlab_record::Values;
use bloatlab_scenario::{Scenario, read_queue};
use wasm_bindgen::prelude::*;

use crate::document;
use crate::lab::{self, SeriesKind};
use crate::memory::Memory;

fn wrong(message: impl AsRef<str>) -> JsError {
    JsError::new(message.as_ref())
}

/// Turns a panic into an error of JavaScript with one line.
#[wasm_bindgen(start)]
pub fn start() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|panic| {
            let text = panic.to_string().replace('\n', " ");
            wasm_bindgen::throw_str(&format!("the engine failed: {text}"));
        }));
    });
}

/// JSON Schema of a scenario document.
#[wasm_bindgen]
pub fn schema() -> String {
    Scenario::json_schema().to_string()
}

/// `{"queues": [...], "congestion_controls": [...]}`: kind, aliases, summary, source, parameters.
#[wasm_bindgen]
pub fn algorithms() -> String {
    bloatlab_scenario::algorithms().to_string()
}

/// A list of `{scope, name, unit, formula, source, better}`.
#[wasm_bindgen]
pub fn metric_definitions() -> String {
    bloatlab_record::metric_definitions().to_string()
}

/// Version of the engine. Equal versions give equal results.
#[wasm_bindgen]
pub fn engine_version() -> String {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("BLOATLAB_SOURCES")).to_owned()
}

/// The document with every default filled in, aliases resolved, keys in order. Refuses what [`Lab`] refuses.
#[wasm_bindgen]
pub fn normalise(document: &str) -> Result<String, JsError> {
    document::normalise(document).map_err(wrong)
}

/// The tc commands that set a queue up on a network device. `queue` is a name, a tc text or a table, in JSON.
#[wasm_bindgen]
pub fn tc(queue: &str, device: &str) -> Result<Vec<String>, JsError> {
    let queue = read_queue(queue).map_err(wrong)?;
    queue.to_tc(device, false).map_err(wrong)
}

/// The milliseconds of a rate trace in the format of mahimahi: the `deliveries` of a rate of this kind. `name` is for the error.
#[wasm_bindgen]
pub fn deliveries(name: &str, text: &str) -> Result<Vec<u32>, JsError> {
    document::deliveries(name, text).map_err(wrong)
}

/// Runs a scenario at once, without events: faster than a [`Lab`]. Returns `{digest, metrics}` as JSON.
#[wasm_bindgen]
pub fn run(document: &str, seed: u64) -> Result<String, JsError> {
    document::run(document, seed, &Memory::default()).map_err(wrong)
}

/// A run that is stepped and changed while it lasts.
#[wasm_bindgen]
pub struct Lab(lab::Lab);

#[wasm_bindgen]
impl Lab {
    /// Builds the network of a scenario. No time has passed yet. With `packets`, every packet is kept for `pcap`.
    #[wasm_bindgen(constructor)]
    pub fn new(document: &str, seed: u64, packets: bool) -> Result<Lab, JsError> {
        let lab = lab::Lab::load(document, seed, packets, Memory::default());
        lab.map(Self).map_err(wrong)
    }

    /// As the constructor, with the files that the document names.
    pub fn with_files(
        document: &str,
        seed: u64,
        packets: bool,
        names: Vec<String>,
        contents: Vec<String>,
    ) -> Result<Lab, JsError> {
        let files = Memory::new(names, contents);
        let lab = lab::Lab::load(document, seed, packets, files);
        lab.map(Self).map_err(wrong)
    }

    /// Up to where everything has happened, in seconds.
    #[wasm_bindgen(getter)]
    pub fn now(&self) -> f64 {
        self.0.now()
    }

    /// When the run ends, in seconds.
    #[wasm_bindgen(getter)]
    pub fn duration(&self) -> f64 {
        self.0.duration()
    }

    /// The plan of the document with its changes, as JSON.
    pub fn plan(&self) -> Result<String, JsError> {
        self.0.plan().map_err(wrong)
    }

    /// The canonical document with the timeline so far, as JSON.
    pub fn document(&self) -> String {
        self.0.document()
    }

    /// Runs up to a time in seconds, at most to the end.
    pub fn advance(&mut self, to: f64) -> Result<(), JsError> {
        self.0.advance(to).map_err(wrong)
    }

    /// Makes a change now: an entry of a timeline without `at`, in JSON.
    pub fn apply(&mut self, change: &str) -> Result<(), JsError> {
        self.0.apply(change).map_err(wrong)
    }

    /// The rows of a series (`flows`, `links`, `probes`) since the last call: time in seconds, index of the entity, then the columns.
    pub fn take_rows(&mut self, series: &str) -> Result<Vec<f64>, JsError> {
        let kind = SeriesKind::named(series).map_err(wrong)?;
        Ok(self.0.take_rows(kind))
    }

    /// Names of the columns of a row.
    pub fn columns(&self, series: &str) -> Result<Vec<String>, JsError> {
        let kind = SeriesKind::named(series).map_err(wrong)?;
        Ok(self.0.columns(kind))
    }

    /// Names of the entities of a series, by index.
    pub fn entities(&self, series: &str) -> Result<Vec<String>, JsError> {
        let kind = SeriesKind::named(series).map_err(wrong)?;
        Ok(self.0.entities(kind).to_vec())
    }

    /// Names of all flows, by the index in events and contents.
    pub fn flow_names(&self) -> Vec<String> {
        self.0.flow_names().to_vec()
    }

    /// What happened at links since the last call, at most the latest `most` events. Six numbers for each: time in seconds, kind, index of the link or
    /// -1, index of the flow, bytes, 1 if the packet carries CE. Kinds: 0 enqueue, 1 dequeue, 2 drop by the queue, 3 mark, 4 delivery to the receiver
    /// of data, 5 loss elsewhere.
    pub fn take_events(&mut self, most: usize) -> Vec<f64> {
        self.0.take_events(most)
    }

    /// What the queue of a link holds now: 1 if the order is known, otherwise 0, then five numbers for each run of packets: band, queue, index of the
    /// flow, 1 if they carry CE, and how many they are.
    pub fn contents(&self, link: u32) -> Vec<u32> {
        self.0.contents(link as usize)
    }

    /// The bands of the queue of a link: `[{name, queues}, ...]` as JSON.
    pub fn bands(&self, link: u32) -> String {
        self.0.bands(link as usize)
    }

    /// Runs to the end. Returns `{digest, metrics}` as JSON.
    pub fn finish(&mut self) -> Result<String, JsError> {
        self.0.finish().map_err(wrong)
    }

    /// A table as CSV, after `finish`.
    pub fn table_csv(&self, name: &str) -> Result<String, JsError> {
        self.0.table_csv(name).map_err(wrong)
    }

    /// The columns of a table, after `finish`.
    pub fn table_columns(&self, name: &str) -> Result<Vec<Column>, JsError> {
        let columns = self.0.table_columns(name).map_err(wrong)?;
        Ok(columns.into_iter().map(Column).collect())
    }

    /// The packets as a pcap file, after `finish`.
    pub fn pcap(&self) -> Result<Vec<u8>, JsError> {
        self.0.pcap().map_err(wrong)
    }

    /// The hash of all tables, after `finish`.
    #[wasm_bindgen(getter)]
    pub fn digest(&self) -> Result<String, JsError> {
        self.0.digest().map_err(wrong)
    }
}

/// A column of a table.
#[wasm_bindgen]
pub struct Column(bloatlab_record::Column);

#[wasm_bindgen]
impl Column {
    /// Its name.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.0.name.clone()
    }

    /// `number`, `integer` or `text`.
    #[wasm_bindgen(getter)]
    pub fn kind(&self) -> String {
        let kind = match &self.0.values {
            Values::Numbers(_) => "number",
            Values::Integers(_) => "integer",
            Values::Texts(_) => "text",
        };
        String::from(kind)
    }

    /// The values of a column of numbers; NaN stands for a value that does not exist.
    pub fn numbers(&self) -> Vec<f64> {
        match &self.0.values {
            Values::Numbers(numbers) | Values::Integers(numbers) => numbers.clone(),
            Values::Texts(_) => Vec::new(),
        }
    }

    /// The values of a column of texts.
    pub fn texts(&self) -> Vec<String> {
        match &self.0.values {
            Values::Texts(texts) => texts.clone(),
            _ => Vec::new(),
        }
    }
}
