//! Strict priority: packets are assigned to bands by code point, and a band is served only while all bands before it are empty.

use bloatlab_units::{NEVER, Nanos, Streams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tc::{Form, Word};
use crate::{Band, Context, Factory, Packet, Qdisc, QueueConfig, Sink, Slot, Tc, inner};

/// Strict priority: packets are assigned to bands by code point, and a band is served only while the bands before it have nothing to send.
///
/// Each band has its own queue of any kind. A packet of a prioritised call waits for at most one packet of bulk data. Use it for a few marked flows
/// whose rate is limited elsewhere. It does not protect a band from those before it: one greedy flow with high priority starves all others.
///
/// Without a `priomap`, band 0 gets the code points 32 and above (CS4 to CS7, AF4x, VA, EF), band 2 those below best effort (CS1, LE), and band 1 all
/// others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of bands. With two bands, band 1 also gets the packets of band 2.
    #[schemars(range(min = 2, max = 16))]
    pub bands: u32,
    /// As in Linux: the band of each of the 16 priorities, which Linux takes from three bits of the TOS byte. If empty, bands are chosen by code
    /// point.
    pub priomap: Vec<u32>,
    /// The queue of each band, unless `queues` is given.
    pub queue: Box<QueueConfig>,
    /// The queues of the bands, first band first. If empty, all bands use `queue`.
    #[serde(deserialize_with = "inner::list")]
    pub queues: Vec<QueueConfig>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // tc-prio(8).
            bands: 3,
            priomap: Vec::new(),
            queue: Box::new(inner::default()),
            queues: Vec::new(),
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["prio", "PrioQueueDisc"];
    const SOURCE: &'static str = "tc-prio(8); code points of RFC 2474, RFC 4594 and RFC 8622";
    const TC: &'static [Tc] = &[Tc {
        name: "prio",
        words: &[
            Word::same("bands", Form::Decimal(i32::MIN as i64, i32::MAX as i64)),
            Word::same("priomap", Form::Integers(PRIORITIES)),
            Word::new("", "queues", Form::Leaves("bands", "queue")),
        ],
        required: &[],
        // tc-prio(8): Linux's default map.
        presets: &[("priomap", "[1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1]")],
    }];

    fn check(&self) -> Result<(), String> {
        if !self.priomap.is_empty() && self.priomap.len() != PRIORITIES {
            let given = self.priomap.len();
            return Err(format!(
                "priomap: has {given} bands, but must have {PRIORITIES}: one for each priority"
            ));
        }
        if let Some(band) = self.priomap.iter().find(|&&band| band >= self.bands) {
            let bands = self.bands;
            return Err(format!(
                "priomap: band {band} does not exist: there are {bands} bands, from 0 on"
            ));
        }
        if !self.queues.is_empty() && self.queues.len() != self.bands as usize {
            let (given, bands) = (self.queues.len(), self.bands);
            return Err(format!(
                "queues: has {given} queues, but must have {bands}: one for each band"
            ));
        }
        inner::check("queue", &self.queue)?;
        let mut queues = self.queues.iter().enumerate();
        queues.try_for_each(|(band, queue)| inner::check(&format!("queues[{band}]"), queue))
    }

    fn build<P: Packet>(&self, mut context: Context) -> Box<dyn Qdisc<P>> {
        let mut band_of = [0; 64];
        for (dscp, band) in (0_u8..).zip(&mut band_of) {
            *band = match self.priomap.get(usize::from(linux_priority(dscp))) {
                Some(band) => *band as u8,
                None => class(dscp).min(self.bands as u8 - 1),
            };
        }
        let mut bands = Vec::with_capacity(self.bands as usize);
        for band in 0..self.bands as usize {
            // A separate random stream for each band.
            let rng = Streams::new(context.rng.bits()).stream("band");
            let context = Context {
                rng,
                ..context.clone()
            };
            let queue = self.queues.get(band).unwrap_or(&self.queue);
            bands.push(inner::build(queue, context));
        }
        Box::new(Priority { band_of, bands })
    }
}

/// Linux's priorities (TC_PRIO_MAX + 1).
const PRIORITIES: usize = 16;

/// The band of a code point if the user gives no map.
fn class(dscp: u8) -> u8 {
    match dscp {
        // RFC 2474 section 4.2.2: the three high bits are a precedence. RFC 4594: interactive traffic uses CS4 and above.
        32.. => 0,
        // RFC 3662 and RFC 8622: lower effort.
        1 | 8 => 2,
        _ => 1,
    }
}

/// tc-prio(8): the priority that Linux assigns by the TOS bits of RFC 1349, which are the three low bits of the code point.
fn linux_priority(dscp: u8) -> u8 {
    match dscp & 0b111 {
        // Minimum delay and maximum throughput: interactive bulk. Minimum delay alone: interactive.
        0b110 | 0b111 => 4,
        0b100 | 0b101 => 6,
        // Maximum throughput: bulk.
        0b010 | 0b011 => 2,
        // Reliability, or no bits: best effort.
        _ => 0,
    }
}

struct Priority<P> {
    band_of: [u8; 64],
    bands: Vec<Box<dyn Qdisc<P>>>,
}

impl<P: Packet> Qdisc<P> for Priority<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, sink: &mut dyn Sink<P>) {
        let band = self.band_of[usize::from(packet.dscp() & 63)];
        self.bands[usize::from(band)].enqueue(now, packet, sink);
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        let mut bands = self.bands.iter_mut();
        bands.find_map(|band| band.dequeue(now, sink))
    }

    fn is_work_conserving(&self) -> bool {
        self.bands.iter().all(|band| band.is_work_conserving())
    }

    fn packets(&self) -> u64 {
        self.bands.iter().map(|band| band.packets()).sum()
    }

    fn bytes(&self) -> u64 {
        self.bands.iter().map(|band| band.bytes()).sum()
    }

    /// A band for each band of each inner queue.
    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        let mut first = 0;
        for inner in &self.bands {
            inner.contents(&mut |slot, packet| {
                let band = first + slot.band;
                visit(Slot { band, ..slot }, packet);
            });
            first += inner.bands().len() as u32;
        }
    }

    fn bands(&self) -> Vec<Band> {
        let mut all = Vec::new();
        for (number, inner) in self.bands.iter().enumerate() {
            all.extend(inner.bands().into_iter().map(|band| {
                let name = format!("band {number} {}", band.name);
                Band::new(name.trim_end(), band.queues)
            }));
        }
        all
    }

    fn next_wake(&self) -> Option<Nanos> {
        self.bands.iter().filter_map(|band| band.next_wake()).min()
    }

    fn wake(&mut self, now: Nanos) {
        for band in &mut self.bands {
            if band.next_wake().unwrap_or(NEVER) <= now {
                band.wake(now);
            }
        }
    }

    /// The statistics of all bands. Values of the same name are added.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let mut stats = Vec::new();
        for band in &self.bands {
            inner::add_stats(&mut stats, band.stats());
        }
        stats
    }
}
