//! The result of a run, as columns from which `record` makes tables.

use xxhash_rust::xxh3::Xxh3;

use crate::histogram::Histogram;
use crate::metrics::MetricId;
use crate::packet_event::PacketEvent;

/// A metric's value for a flow, link or probe (its index), or for the network (0).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// Index of the entity.
    pub entity: u32,
    /// Which metric.
    pub metric: MetricId,
    /// The value.
    pub value: f64,
}

/// Columns sampled over time. NaN stands for a value that does not exist.
#[derive(Clone, Debug, Default)]
pub struct Series {
    instants: Vec<Instant>,
    /// Indices of flows, links or probes, to which the instants refer.
    entities: Vec<u32>,
    rows: usize,
    /// The sampled quantities: (column name, values).
    pub columns: Vec<(&'static str, Vec<f64>)>,
}

/// The rows of one instant: those of `entities[from..from + rows]`.
#[derive(Clone, Copy, Debug)]
struct Instant {
    /// Seconds since the start.
    time: f64,
    from: u32,
    rows: u32,
}

impl Series {
    /// An empty series of quantities with these names.
    pub fn new(names: &[&'static str]) -> Self {
        Self {
            columns: names.iter().map(|&n| (n, Vec::new())).collect(),
            ..Self::default()
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether nothing was sampled.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The time of each row, in seconds since the start.
    pub fn times(&self) -> impl Iterator<Item = f64> + '_ {
        let rows = |instant: &Instant| std::iter::repeat_n(instant.time, instant.rows as usize);
        self.instants.iter().flat_map(rows)
    }

    /// The index of the flow, link or probe of each row.
    pub fn entities(&self) -> impl Iterator<Item = u32> + '_ {
        self.instants
            .iter()
            .flat_map(|instant| self.entities_at(instant))
            .copied()
    }

    /// The last `count` rows, newest first: the time in seconds, the entity and the values of each.
    pub fn last_rows(&self, count: usize) -> impl Iterator<Item = (f64, u32, Vec<f64>)> + '_ {
        let newest = self.instants.iter().rev();
        let keys = newest.flat_map(|instant| {
            let entities = self.entities_at(instant).iter().rev();
            entities.map(|&entity| (instant.time, entity))
        });
        let values = |row: usize| self.columns.iter().map(move |(_, column)| column[row]);
        let rows = keys.zip((0..self.rows).rev()).take(count);
        rows.map(move |((time, entity), row)| (time, entity, values(row).collect()))
    }

    fn entities_at(&self, instant: &Instant) -> &[u32] {
        &self.entities[instant.from as usize..][..instant.rows as usize]
    }

    /// Adds the rows of one instant, column by column.
    pub fn extend<const N: usize>(&mut self, time: f64, rows: &[(u32, [f64; N])]) {
        debug_assert_eq!(N, self.columns.len());
        let entities = rows.iter().map(|&(entity, _)| entity);
        let repeats = self.instants.last().filter(|last| {
            let before = self.entities_at(last).iter().copied();
            before.eq(entities.clone())
        });
        // Most instants sample the same entities as the previous one, so they share its list.
        let from = repeats.map_or(self.entities.len() as u32, |last| last.from);
        if repeats.is_none() {
            self.entities.extend(entities);
        }
        self.instants.push(Instant {
            time,
            from,
            rows: rows.len() as u32,
        });
        if self.columns[0].1.capacity() - self.rows < rows.len() {
            self.grow(rows.len());
        }
        self.rows += rows.len();
        for (index, (_, column)) in self.columns.iter_mut().enumerate() {
            column.extend(rows.iter().map(|(_, row)| row[index]));
        }
    }

    /// Reserves space for `rows` and for an eighth of the present length. Doubling could leave half of the memory unused.
    #[cold]
    fn grow(&mut self, rows: usize) {
        let more = rows + self.rows / 8 + 64;
        for (_, column) in &mut self.columns {
            column.reserve_exact(more);
        }
    }
}

/// A histogram of a flow, link or probe.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// `flow`, `link`, `probe` or `network`.
    pub scope: &'static str,
    /// Index of the entity.
    pub entity: u32,
    /// `rtt`, `sojourn`, `one_way_delay`, `fetch_time`, `lateness` (counted in ns) or `queue_packets` (weighted by ns).
    pub quantity: &'static str,
    /// The counts.
    pub histogram: Histogram,
}

/// Packets of one box over the whole run: those that entered, were made in it, left, were dropped, or are still inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets that entered.
    pub arrivals: u64,
    /// Packets that went on.
    pub departures: u64,
    /// Packets discarded.
    pub drops: u64,
    /// Copies made.
    pub duplicates: u64,
    /// Packets inside at the end.
    pub held: u64,
}

/// A flow of the run.
#[derive(Clone, Debug)]
pub struct FlowInfo {
    /// Its name.
    pub name: String,
    /// Its congestion control; empty over UDP.
    pub cca: String,
    /// Kind of traffic.
    pub traffic: &'static str,
    /// Seconds.
    pub start: f64,
    /// Seconds.
    pub stop: f64,
    /// Propagation both ways, ms.
    pub base_rtt: f64,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// What a connection negotiates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handshake {
    /// Window-scale shift (RFC 7323).
    pub window_scale: u32,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// A link of the run.
#[derive(Clone, Debug)]
pub struct LinkInfo {
    /// Its name.
    pub name: String,
    /// Mbit/s.
    pub rate: f64,
    /// Propagation, ms.
    pub delay: f64,
    /// Kind of queue.
    pub queue: &'static str,
    /// For a bearer of a cell: its UE, counted from 0, and whether it is the uplink.
    pub bearer: Option<(u32, bool)>,
}

/// A ping or a client that fetches pages.
#[derive(Clone, Debug)]
pub struct ProbeInfo {
    /// Its name.
    pub name: String,
    /// Time between two requests, ms.
    pub interval: f64,
    /// Bytes of a request packet, or of a page.
    pub size: u64,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Flows of data.
    pub flows: Vec<FlowInfo>,
    /// Links.
    pub links: Vec<LinkInfo>,
    /// Probes.
    pub probes: Vec<ProbeInfo>,
    /// Sampled flows.
    pub flow_series: Series,
    /// Sampled links.
    pub link_series: Series,
    /// Every reply of every probe.
    pub probe_series: Series,
    /// Metrics of flows.
    pub flow_metrics: Vec<Value>,
    /// Metrics of links.
    pub link_metrics: Vec<Value>,
    /// Metrics of probes.
    pub probe_metrics: Vec<Value>,
    /// Metrics of the network.
    pub network_metrics: Vec<Value>,
    /// What the queue disciplines report, by tc's names: (link, name, value).
    pub queue_stats: Vec<(u32, &'static str, f64)>,
    /// Histograms.
    pub distributions: Vec<Distribution>,
    /// The packet log, if it was asked for.
    pub packets: Vec<PacketEvent>,
    /// Packets through every box over the whole run, with the box's name.
    pub counts: Vec<(String, Count)>,
    /// Names of the plan's flows, by the index that packets carry.
    pub flow_names: Vec<String>,
    /// What each plan flow's connections negotiate in their SYNs.
    pub handshakes: Vec<Handshake>,
    /// Events processed.
    pub events: u64,
    /// Why the engine doubts its own measurement. Never in virtual time.
    pub suspect: Option<String>,
}

impl Outcome {
    /// A digest of all metrics, samples and histograms. It is equal for equal (scenario, seed, engine).
    pub fn digest(&self) -> String {
        let mut hash = Xxh3::new();
        let mut value = |v: f64| hash.update(&v.to_bits().to_le_bytes());
        for series in [&self.flow_series, &self.link_series, &self.probe_series] {
            series.times().for_each(&mut value);
            series.entities().for_each(|v| value(f64::from(v)));
            for (name, column) in &series.columns {
                // If no rate varies, this column is empty.
                if *name == "rate_mbps" && column.iter().all(|v| v.is_nan()) {
                    continue;
                }
                // All NaNs count as equal, whatever their bits.
                column
                    .iter()
                    .for_each(|&v| value(if v.is_nan() { f64::NAN } else { v }));
            }
        }
        for metrics in [
            &self.flow_metrics,
            &self.link_metrics,
            &self.probe_metrics,
            &self.network_metrics,
        ] {
            metrics.iter().for_each(|m| value(m.value));
        }
        self.queue_stats.iter().for_each(|&(_, _, v)| value(v));
        for distribution in &self.distributions {
            for bin in distribution.histogram.bins() {
                value(bin.lower as f64);
                value(bin.weight as f64);
            }
        }
        value(self.events as f64);
        format!("{:032x}", hash.digest128())
    }
}
