//! Tests of the model itself: a correct queue passes, and each fault is found and named.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use bloatlab_aqm::{DropReason, Ecn, Packet, Qdisc, Sink, Slot, mark};
use bloatlab_units::{Nanos, Streams};
use serde_json::json;

use crate::{Episode, EpisodeStats, ModelPacket};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    LosesPackets,
    GivesTwice,
    UnreportedDrop,
    DropsAndKeeps,
    NoTimeStamp,
    UnreportedMark,
    MarksTwice,
    MarksNotEct,
    Reorders,
    AboveLimit,
    MiscountsBytes,
    HidesPacket,
    ReversesContents,
    HoldsBack,
    NeverReleases,
    NotWorkConserving,
    WakesAtOnce,
    Starves,
    NotANumber,
    NotRepeatable,
}

/// A FIFO of 50 packets with one fault.
struct Faulty {
    fault: Fault,
    held: VecDeque<ModelPacket>,
    calls: u64,
    now: Nanos,
}

/// Global state, which no queue may depend on.
static GLOBAL: AtomicU64 = AtomicU64::new(0);

impl Faulty {
    /// Whether the fault occurs now: in every tenth call.
    fn occurs(&mut self, fault: Fault) -> bool {
        self.calls += 1;
        self.fault == fault && self.calls.is_multiple_of(10)
    }
}

impl Qdisc<ModelPacket> for Faulty {
    fn enqueue(&mut self, now: Nanos, mut packet: ModelPacket, sink: &mut dyn Sink<ModelPacket>) {
        self.now = now;
        if !self.occurs(Fault::NoTimeStamp) {
            packet.set_enqueued_at(now);
        }
        if self.held.len() >= 50 && self.fault != Fault::AboveLimit {
            if !self.occurs(Fault::UnreportedDrop) {
                sink.dropped(&packet, DropReason::Overflow);
            }
            if self.occurs(Fault::DropsAndKeeps) {
                self.held.push_back(packet);
            }
            return;
        }
        let tells = !self.occurs(Fault::UnreportedMark);
        if packet.ecn == Ecn::NotEct && self.occurs(Fault::MarksNotEct) {
            packet.set_ce();
            sink.marked(&packet);
        } else if mark(&mut packet) && tells {
            sink.marked(&packet);
            if self.occurs(Fault::MarksTwice) {
                sink.marked(&packet);
            }
        }
        if !self.occurs(Fault::LosesPackets) {
            self.held.push_back(packet);
        }
    }

    fn dequeue(&mut self, now: Nanos, _sink: &mut dyn Sink<ModelPacket>) -> Option<ModelPacket> {
        self.now = now;
        if self.occurs(Fault::HoldsBack) || self.fault == Fault::NeverReleases {
            return None;
        }
        let other = GLOBAL.fetch_add(1, Ordering::Relaxed).is_multiple_of(7);
        if self.occurs(Fault::Reorders) || (self.fault == Fault::NotRepeatable && other) {
            return self.held.pop_back();
        }
        if self.occurs(Fault::GivesTwice) {
            return self.held.front().copied();
        }
        let preferred = self.held.iter().position(|packet| packet.flow == 0);
        match preferred {
            Some(place) if self.fault == Fault::Starves => self.held.remove(place),
            _ => self.held.pop_front(),
        }
    }

    fn is_work_conserving(&self) -> bool {
        !matches!(self.fault, Fault::NeverReleases | Fault::NotWorkConserving)
    }

    fn packets(&self) -> u64 {
        self.held.len() as u64
    }

    fn bytes(&self) -> u64 {
        let bytes: u64 = self.held.iter().map(|packet| u64::from(packet.size)).sum();
        bytes + u64::from(self.fault == Fault::MiscountsBytes && bytes > 10_000)
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &ModelPacket)) {
        let hidden = usize::from(self.fault == Fault::HidesPacket);
        let mut visit = |packet| visit(Slot::default(), packet);
        match self.fault {
            Fault::ReversesContents => self.held.iter().rev().for_each(&mut visit),
            Fault::Starves => {
                let of = |first| self.held.iter().filter(move |p| (p.flow == 0) == first);
                of(true).chain(of(false)).for_each(&mut visit);
            }
            _ => self.held.iter().skip(hidden).for_each(&mut visit),
        }
    }

    fn next_wake(&self) -> Option<Nanos> {
        match self.fault {
            Fault::WakesAtOnce => Some(self.now + 1_000_000),
            Fault::NeverReleases => Some(self.now + 1_000_000_000),
            _ => None,
        }
    }

    fn wake(&mut self, now: Nanos) {
        self.now = match self.fault {
            Fault::WakesAtOnce => now - 1_000_000,
            _ => now,
        };
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![(
            "ratio",
            if self.fault == Fault::NotANumber {
                f64::NAN
            } else {
                0.0
            },
        )]
    }
}

/// The result of the model for many episodes with this fault.
fn run_model(fault: Fault) -> Result<Vec<EpisodeStats>, String> {
    let config = match fault {
        Fault::NeverReleases => json!({ "kind": "faulty", "limit": "50p", "rate": "1Gbit/s" }),
        // This kind may reorder packets and move them, so that the fault is not found by the checks of their order.
        Fault::NotRepeatable => json!({ "kind": "hhf", "limit": "50p", "perturb": "2s" }),
        _ => json!({ "kind": "faulty", "limit": "50p" }),
    };
    let run = |number: u64| {
        let mut rng = Streams::new(number).stream("faults");
        let mut episode = Episode::draw(0, 150, &mut rng);
        // Two to 16 flows. Every second episode ends with a competition against one flow.
        episode.place = (1 + number % 3) as u8;
        episode.seed = number / 2 * 12 + number % 2;
        let build = || {
            Box::new(Faulty {
                fault,
                held: VecDeque::new(),
                calls: 0,
                now: 0,
            })
        };
        let drive = || episode.run_on(build(), &config);
        let (first, second) = (drive(), drive());
        assert_eq!(first, second, "the same seed gives the same run");
        first
    };
    let all = AssertUnwindSafe(|| (0..24).map(run).collect());
    catch_unwind(all).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default()
    })
}

#[test]
fn a_sound_queue_passes() {
    let runs = run_model(Fault::None).unwrap();
    assert!(runs.iter().any(|run| run.drops > 100));
    assert!(runs.iter().any(|run| run.marks > 100));
}

#[test]
fn every_fault_is_found_and_named() {
    let expected = [
        (Fault::LosesPackets, "packets held"),
        (Fault::GivesTwice, "packets held"),
        (Fault::UnreportedDrop, "packets held"),
        (Fault::DropsAndKeeps, "packets held"),
        (
            Fault::NoTimeStamp,
            "except for the time stamp of its arrival",
        ),
        (Fault::UnreportedMark, "a mark that was reported"),
        (Fault::MarksTwice, "a mark is reported once"),
        (Fault::MarksNotEct, "only ECN-capable packets are marked"),
        (Fault::Reorders, "stay in order"),
        (Fault::AboveLimit, "above the limit of 50"),
        (Fault::MiscountsBytes, "bytes held"),
        (Fault::HidesPacket, "packets visited by `contents`"),
        (Fault::ReversesContents, "first that leaves first"),
        (Fault::HoldsBack, "whenever it holds one"),
        (Fault::NeverReleases, "nothing for"),
        (
            Fault::NotWorkConserving,
            "has no configured rate is work-conserving",
        ),
        (Fault::WakesAtOnce, "later than the previous one"),
        (Fault::Starves, "are still held after"),
        (Fault::NotANumber, "ratio is NaN"),
        (Fault::NotRepeatable, "the same seed gives the same run"),
    ];
    for (fault, message) in expected {
        let message_found = run_model(fault).expect_err(&format!("{fault:?} passes"));
        assert!(
            message_found.contains(message),
            "{fault:?}: {message_found}"
        );
    }
}
