//! The model finds what it is there to find: a sound queue passes, and each fault is named.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use bloatlab_aqm::{DropReason, Ecn, Packet, Qdisc, Sink, mark};
use bloatlab_units::{Nanos, Streams};
use serde_json::json;

use crate::{Episode, ModelPacket, Tally};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Loses,
    GivesTwice,
    DropsUntold,
    DropsAndKeeps,
    Unstamped,
    MarksUntold,
    MarksTwice,
    MarksAny,
    Reorders,
    AboveLimit,
    MiscountsBytes,
    HoldsBack,
    HoldsBackForever,
    DeniesWork,
    WakesAtOnce,
    Starves,
    NotANumber,
    OtherEachTime,
}

/// A FIFO of 50 packets that does everything right but one thing.
struct Faulty {
    fault: Fault,
    held: VecDeque<ModelPacket>,
    calls: u64,
    now: Nanos,
}

/// What no queue may look at.
static GLOBAL: AtomicU64 = AtomicU64::new(0);

impl Faulty {
    /// Now and then.
    fn slips(&mut self, fault: Fault) -> bool {
        self.calls += 1;
        self.fault == fault && self.calls.is_multiple_of(10)
    }
}

impl Qdisc<ModelPacket> for Faulty {
    fn enqueue(&mut self, now: Nanos, mut packet: ModelPacket, sink: &mut dyn Sink<ModelPacket>) {
        self.now = now;
        if !self.slips(Fault::Unstamped) {
            packet.set_enqueued_at(now);
        }
        if self.held.len() >= 50 && self.fault != Fault::AboveLimit {
            if !self.slips(Fault::DropsUntold) {
                sink.dropped(&packet, DropReason::Overflow);
            }
            if self.slips(Fault::DropsAndKeeps) {
                self.held.push_back(packet);
            }
            return;
        }
        let tells = !self.slips(Fault::MarksUntold);
        if packet.ecn == Ecn::NotEct && self.slips(Fault::MarksAny) {
            packet.set_ce();
            sink.marked(&packet);
        } else if mark(&mut packet) && tells {
            sink.marked(&packet);
            if self.slips(Fault::MarksTwice) {
                sink.marked(&packet);
            }
        }
        if !self.slips(Fault::Loses) {
            self.held.push_back(packet);
        }
    }

    fn dequeue(&mut self, now: Nanos, _sink: &mut dyn Sink<ModelPacket>) -> Option<ModelPacket> {
        self.now = now;
        if self.slips(Fault::HoldsBack) || self.fault == Fault::HoldsBackForever {
            return None;
        }
        let other = GLOBAL.fetch_add(1, Ordering::Relaxed).is_multiple_of(7);
        if self.slips(Fault::Reorders) || (self.fault == Fault::OtherEachTime && other) {
            return self.held.pop_back();
        }
        if self.slips(Fault::GivesTwice) {
            return self.held.front().copied();
        }
        let preferred = self.held.iter().position(|packet| packet.flow == 0);
        match preferred {
            Some(place) if self.fault == Fault::Starves => self.held.remove(place),
            _ => self.held.pop_front(),
        }
    }

    fn is_work_conserving(&self) -> bool {
        !matches!(self.fault, Fault::HoldsBackForever | Fault::DeniesWork)
    }

    fn packets(&self) -> u64 {
        self.held.len() as u64
    }

    fn bytes(&self) -> u64 {
        let bytes: u64 = self.held.iter().map(|packet| u64::from(packet.size)).sum();
        bytes + u64::from(self.fault == Fault::MiscountsBytes && bytes > 10_000)
    }

    fn next_wake(&self) -> Option<Nanos> {
        match self.fault {
            Fault::WakesAtOnce => Some(self.now + 1_000_000),
            Fault::HoldsBackForever => Some(self.now + 1_000_000_000),
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

/// What the model says of many episodes with this fault.
fn said(fault: Fault) -> Result<Vec<Tally>, String> {
    let config = match fault {
        Fault::HoldsBackForever => json!({ "kind": "faulty", "limit": "50p", "rate": "1Gbit/s" }),
        // In any order, or the fault would be found by that.
        Fault::OtherEachTime => json!({ "kind": "hhf", "limit": "50p" }),
        _ => json!({ "kind": "faulty", "limit": "50p" }),
    };
    let run = |number: u64| {
        let mut rng = Streams::new(number).stream("faults");
        let mut episode = Episode::draw(0, 150, &mut rng);
        // Two to 16 flows; every second episode ends with one rival.
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
    let tallies = said(Fault::None).unwrap();
    assert!(tallies.iter().any(|tally| tally.drops > 100));
    assert!(tallies.iter().any(|tally| tally.marks > 100));
}

#[test]
fn every_fault_is_found_and_named() {
    let expected = [
        (Fault::Loses, "packets held"),
        (Fault::GivesTwice, "packets held"),
        (Fault::DropsUntold, "packets held"),
        (Fault::DropsAndKeeps, "packets held"),
        (Fault::Unstamped, "but for the stamp of its arrival"),
        (Fault::MarksUntold, "a mark that was told"),
        (Fault::MarksTwice, "a mark is told once"),
        (Fault::MarksAny, "only ECN-capable packets are marked"),
        (Fault::Reorders, "stay in order"),
        (Fault::AboveLimit, "above the limit of 50"),
        (Fault::MiscountsBytes, "bytes held"),
        (Fault::HoldsBack, "whenever it holds one"),
        (Fault::HoldsBackForever, "nothing for"),
        (Fault::DeniesWork, "knows of no rate is work-conserving"),
        (Fault::WakesAtOnce, "ahead of the last"),
        (Fault::Starves, "are still held after"),
        (Fault::NotANumber, "ratio is NaN"),
        (Fault::OtherEachTime, "the same seed gives the same run"),
    ];
    for (fault, message) in expected {
        let said = said(fault).expect_err(&format!("{fault:?} passes"));
        assert!(said.contains(message), "{fault:?}: {said}");
    }
}
