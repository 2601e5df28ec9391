//! Files of the run in the host's folder.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow_ipc::writer::FileWriter;
use bloatlab_outcome::Outcome;
use bloatlab_record::{metrics_of, tables, write_pcap};
use serde_json::json;

use crate::system::FOLDER;

/// Bytes that are written at once.
const BUFFER: usize = 64 << 10;
/// Messages about the progress of a run, at most.
const STEPS: u64 = 100;

fn path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

/// The text of a file.
pub fn read(name: &str) -> io::Result<String> {
    fs::read_to_string(path(name))
}

/// Writes a text file.
pub fn text(name: &str, text: &str) -> io::Result<()> {
    fs::write(path(name), text)
}

/// Says how far the run is.
pub struct Progress {
    duration: u64,
    step: u64,
}

impl Progress {
    /// For a run of this length in ns.
    pub fn new(duration: u64) -> Self {
        Self { duration, step: 0 }
    }

    /// The run has come to this instant.
    pub fn tell(&mut self, now: u64) {
        let step = now.saturating_mul(STEPS) / self.duration.max(1);
        if step > self.step {
            self.step = step;
            // The run does not depend on it.
            let _ = text("progress", &format!("{}", step as f64 / STEPS as f64));
        }
    }
}

/// Writes the packets at the senders of data as a pcap file.
pub fn packets(outcome: &Outcome) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::with_capacity(BUFFER, File::create(path("packets.pcap"))?);
    write_pcap(outcome, None, &mut file)?;
    Ok(file.flush()?)
}

/// Writes the outcome of a run: every table as an Arrow file, the metrics, and last the header.
pub fn outcome(outcome: &Outcome, nanoseconds: u64) -> Result<(), Box<dyn Error>> {
    let mut names = Vec::new();
    for (name, batch) in tables(outcome)? {
        let file = File::create(path(&format!("{name}.arrow")))?;
        let buffered = BufWriter::with_capacity(BUFFER, file);
        let mut writer = FileWriter::try_new(buffered, &batch.schema())?;
        writer.write(&batch)?;
        writer.finish()?;
        writer.into_inner()?.flush()?;
        names.push(name);
    }
    text("metrics.json", &metrics_of(outcome).to_string())?;
    let header = json!({
        "digest": outcome.digest(),
        "events": outcome.events,
        "suspect": outcome.suspect,
        "tables": names,
        "nanoseconds": nanoseconds,
        "code": null,
    });
    Ok(text("outcome.json", &header.to_string())?)
}
