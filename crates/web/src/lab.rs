//! A run that is stepped and changed while it lasts.

use std::sync::LazyLock;

use arrow_array::RecordBatch;
use bloatlab_outcome::{Outcome, Series};
use bloatlab_record::{Column, columns, csv, tables, write_pcap};
use bloatlab_scenario::{Limits, Plan, PlanBoxKind, Scenario};
use bloatlab_sim::{Band, Control, LinkEvent, NoPlugins, PacketRun, Session};
use bloatlab_units::{Nanos, SECOND};
use serde_json::json;

use crate::document::{limits, load, refusal, result};
use crate::memory::Memory;
use crate::names::Names;

/// Most events at links that are kept between two calls of [`Lab::take_events`]. They take 4 MB.
const MOST_EVENTS: usize = 1 << 17;

/// Most runs of packets in order that [`Lab::contents`] gives. They take 80 kB.
const MOST_RUNS: usize = 4000;

/// Nobody cancels a run: JavaScript runs it piece by piece.
static CONTROL: LazyLock<Control> = LazyLock::new(Control::default);

/// One of the series of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesKind {
    /// Samples of flows.
    Flows,
    /// Samples of links.
    Links,
    /// Replies of probes.
    Probes,
}

impl SeriesKind {
    /// The series of this name.
    ///
    /// # Errors
    /// The names that exist.
    pub fn named(name: &str) -> Result<Self, String> {
        Ok(match name {
            "flows" => Self::Flows,
            "links" => Self::Links,
            "probes" => Self::Probes,
            _ => {
                return Err(format!(
                    "series: must be flows, links or probes, not `{name}`"
                ));
            }
        })
    }
}

/// The state of a run.
enum Run {
    /// It can go on.
    Live(Box<Session<'static>>),
    /// It has ended.
    Ended(Box<Outcome>, String),
    /// It failed, for this reason.
    Failed(String),
}

/// A run that can be stepped and changed.
pub struct Lab {
    run: Run,
    scenario: Scenario,
    files: Memory,
    limits: Limits,
    names: Names,
    /// Index of each box of the plan among the links.
    links: Vec<Option<u32>>,
    /// Rows that were taken of each series.
    taken: [usize; 3],
    left_out: u64,
    now: Nanos,
}

impl Lab {
    /// Builds the network of a scenario. No time has passed yet. With `packets`, every packet is kept for [`pcap`](Self::pcap).
    ///
    /// # Errors
    /// What is wrong with the document, or why the run is too dear, as `path: message`.
    pub fn load(document: &str, seed: u64, packets: bool, files: Memory) -> Result<Self, String> {
        let limits = limits(packets);
        let checked = load(document, &files, &limits)?;
        let names = Names::of(&checked.plan);
        let links = link_indices(&checked.plan);
        let session = Session::watched(
            checked.plan,
            seed,
            packets,
            MOST_EVENTS,
            &NoPlugins,
            &CONTROL,
        );
        let session = session.map_err(|error| error.to_string())?;
        Ok(Self {
            run: Run::Live(Box::new(session)),
            scenario: checked.scenario,
            files,
            limits,
            names,
            links,
            taken: [0; 3],
            left_out: 0,
            now: 0,
        })
    }

    /// Up to where everything has happened, in seconds.
    pub fn now(&self) -> f64 {
        self.now as f64 / SECOND as f64
    }

    /// When the run ends, in seconds.
    pub fn duration(&self) -> f64 {
        self.scenario.duration.0 as f64 / SECOND as f64
    }

    /// The plan of the document with its changes, as JSON.
    pub fn plan(&self) -> Result<String, String> {
        let view = Scenario::plan_view(&self.document()).map_err(|error| refusal(&error))?;
        Ok(json!(view).to_string())
    }

    /// The canonical document with the timeline so far, as JSON.
    pub fn document(&self) -> String {
        self.scenario.to_canonical_json()
    }

    /// Runs up to a time in seconds, at most to the end.
    ///
    /// # Errors
    /// A run that stalls, or one that has failed.
    pub fn advance(&mut self, to: f64) -> Result<(), String> {
        let end = self.scenario.duration.0;
        // A negative time, and what is no number, becomes 0.
        let to = ((to * SECOND as f64).round() as Nanos).min(end);
        match &mut self.run {
            Run::Live(session) => match session.advance(to) {
                Ok(_) => self.now = session.now(),
                Err(error) => {
                    self.run = Run::Failed(error.to_string());
                    return Err(error.to_string());
                }
            },
            Run::Ended(..) => {}
            Run::Failed(why) => return Err(why.clone()),
        }
        Ok(())
    }

    /// Makes a change now: an entry of a timeline without `at`, in JSON. It comes before the entries that are still to come.
    ///
    /// # Errors
    /// A change that is refused; nothing is changed then.
    pub fn apply(&mut self, change: &str) -> Result<(), String> {
        let Run::Live(session) = &mut self.run else {
            return Err(match &self.run {
                Run::Failed(why) => why.clone(),
                _ => String::from("the run has ended; start it again to change it"),
            });
        };
        let checked = self
            .scenario
            .with_change(change, self.now, &self.files, &self.limits);
        let checked = checked.map_err(|error| refusal(&error))?;
        let names = Names::of(&checked.plan);
        let changed = session.change(checked.plan.timeline);
        changed.map_err(|error| error.to_string())?;
        self.names = names;
        self.scenario = checked.scenario;
        Ok(())
    }

    fn series(&self, kind: SeriesKind) -> Option<&Series> {
        Some(match (&self.run, kind) {
            (Run::Live(session), SeriesKind::Flows) => session.flow_series(),
            (Run::Live(session), SeriesKind::Links) => session.link_series(),
            (Run::Live(session), SeriesKind::Probes) => session.probe_series(),
            (Run::Ended(outcome, _), SeriesKind::Flows) => &outcome.flow_series,
            (Run::Ended(outcome, _), SeriesKind::Links) => &outcome.link_series,
            (Run::Ended(outcome, _), SeriesKind::Probes) => &outcome.probe_series,
            (Run::Failed(_), _) => return None,
        })
    }

    /// The rows of a series since the last call, one after the other: time in seconds, index of the entity, then the columns. NaN stands for a value that
    /// does not exist.
    pub fn take_rows(&mut self, kind: SeriesKind) -> Vec<f64> {
        let taken = self.taken[kind as usize];
        let Some(series) = self.series(kind) else {
            return Vec::new();
        };
        let count = series.len() - taken;
        let newest: Vec<_> = series.last_rows(count).collect();
        let mut rows = Vec::with_capacity(count * (series.columns.len() + 2));
        for (time, entity, values) in newest.into_iter().rev() {
            rows.extend([time, f64::from(entity)]);
            rows.extend(values);
        }
        self.taken[kind as usize] += count;
        rows
    }

    /// Names of the columns of a row. The second is that of the entity.
    pub fn columns(&self, kind: SeriesKind) -> Vec<String> {
        let columns = self.series(kind).map(|series| &series.columns);
        let columns = columns.into_iter().flatten().map(|(name, _)| *name);
        let first = ["time_s", "entity"].into_iter();
        first.chain(columns).map(String::from).collect()
    }

    /// Names of the entities of a series, by index. A change can add some at the end.
    pub fn entities(&self, kind: SeriesKind) -> &[String] {
        match kind {
            SeriesKind::Flows => &self.names.flows,
            SeriesKind::Links => &self.names.links,
            SeriesKind::Probes => &self.names.probes,
        }
    }

    /// Names of all flows, by the index in events and contents. Flows that the timeline adds come after the others.
    pub fn flow_names(&self) -> &[String] {
        &self.names.all
    }

    /// What happened at links since the last call, at most the latest `most` events. Six numbers for each: time in seconds, kind
    /// ([`LinkStep`](bloatlab_sim::LinkStep)), index of the link or -1, index of the flow, bytes, 1 if the packet carries CE.
    pub fn take_events(&mut self, most: usize) -> Vec<f64> {
        let Run::Live(session) = &mut self.run else {
            return Vec::new();
        };
        let (events, left_out) = session.take_link_events(most);
        self.left_out = left_out;
        let numbers = |event: &LinkEvent| {
            let link = self.links.get(event.place as usize).copied().flatten();
            [
                event.at as f64 / SECOND as f64,
                f64::from(event.step as u8),
                link.map_or(-1.0, f64::from),
                f64::from(event.flow),
                f64::from(event.bytes),
                f64::from(u8::from(event.has_ce)),
            ]
        };
        events.iter().flat_map(numbers).collect()
    }

    /// How many events the last call of [`take_events`](Self::take_events) left out.
    pub fn events_left_out(&self) -> u64 {
        self.left_out
    }

    /// What the queue of a link holds now: 1 if the order is known, otherwise 0, then five numbers for each run of packets: band, queue, index of the
    /// flow, 1 if they carry CE, and how many they are. The runs of a queue start with the packets that leave first. If there are too many runs, their
    /// order is not given, and each run has all such packets of its queue.
    pub fn contents(&self, link: usize) -> Vec<u32> {
        let Some(contents) =
            self.at_link(link, |session, number| session.contents(number, MOST_RUNS))
        else {
            return Vec::new();
        };
        let numbers = |run: &PacketRun| {
            [
                run.band,
                run.queue,
                run.flow,
                u32::from(run.has_ce),
                run.packets,
            ]
        };
        let runs = contents.runs.iter().flat_map(numbers);
        std::iter::once(u32::from(contents.in_order))
            .chain(runs)
            .collect()
    }

    /// The bands of the queue of a link: `[{name, queues}, ...]` as JSON.
    pub fn bands(&self, link: usize) -> String {
        let bands = self.at_link(link, |session, number| Some(session.bands(number)));
        let view = |band: Band| json!({ "name": band.name, "queues": band.queues });
        let views: Vec<_> = bands.into_iter().flatten().map(view).collect();
        json!(views).to_string()
    }

    /// Asks the run for something about a link. None after its end.
    fn at_link<T>(&self, link: usize, ask: impl FnOnce(&Session, usize) -> Option<T>) -> Option<T> {
        let Run::Live(session) = &self.run else {
            return None;
        };
        let number = self
            .links
            .iter()
            .position(|found| *found == Some(link as u32))?;
        ask(session, number)
    }

    /// Runs to the end. Returns `{digest, metrics}` as JSON.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub fn finish(&mut self) -> Result<String, String> {
        self.advance(self.duration())?;
        let failed = || Run::Failed(String::from("the run could not be ended"));
        self.run = match std::mem::replace(&mut self.run, failed()) {
            Run::Live(session) => match session.finish() {
                Ok(outcome) => {
                    let digest = outcome.digest();
                    Run::Ended(Box::new(outcome), digest)
                }
                Err(error) => Run::Failed(error.to_string()),
            },
            other => other,
        };
        self.now = self.scenario.duration.0;
        self.ended()
            .map(|(outcome, digest)| result(outcome, digest))
    }

    fn ended(&self) -> Result<(&Outcome, &str), String> {
        match &self.run {
            Run::Ended(outcome, digest) => Ok((outcome, digest)),
            Run::Failed(why) => Err(why.clone()),
            Run::Live(_) => Err(String::from("the run has not ended; finish it first")),
        }
    }

    fn outcome(&self) -> Result<&Outcome, String> {
        self.ended().map(|(outcome, _)| outcome)
    }

    /// The hash of all tables.
    ///
    /// # Errors
    /// A run that has not ended.
    pub fn digest(&self) -> Result<String, String> {
        self.ended().map(|(_, digest)| digest.to_owned())
    }

    /// A table as CSV.
    ///
    /// # Errors
    /// A run that has not ended, or a table that it does not have.
    pub fn table_csv(&self, name: &str) -> Result<String, String> {
        self.table(name).map(|table| csv(&table))
    }

    /// The columns of a table.
    ///
    /// # Errors
    /// As [`table_csv`](Self::table_csv).
    pub fn table_columns(&self, name: &str) -> Result<Vec<Column>, String> {
        self.table(name).map(|table| columns(&table))
    }

    fn table(&self, name: &str) -> Result<RecordBatch, String> {
        let tables = tables(self.outcome()?).map_err(|why| why.to_string())?;
        let found = tables.iter().find(|(known, _)| *known == name);
        let (_, table) = found.ok_or_else(|| {
            let known: Vec<&str> = tables.iter().map(|(known, _)| *known).collect();
            let known = known.join(", ");
            format!("table: must be one of {known}, not `{name}`")
        })?;
        Ok(table.clone())
    }

    /// The packets as a pcap file: as sent and received by the senders of data.
    ///
    /// # Errors
    /// A run that has not ended, or that did not keep its packets.
    pub fn pcap(&self) -> Result<Vec<u8>, String> {
        let mut file = Vec::new();
        write_pcap(self.outcome()?, None, &mut file).map_err(|why| why.to_string())?;
        Ok(file)
    }
}

fn link_indices(plan: &Plan) -> Vec<Option<u32>> {
    let mut count = 0..;
    let boxes = plan.boxes.iter();
    boxes
        .map(|item| match item.kind {
            PlanBoxKind::Link(_) => count.next(),
            _ => None,
        })
        .collect()
}
