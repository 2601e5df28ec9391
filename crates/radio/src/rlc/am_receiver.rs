//! Acknowledged mode, receiving side (TS 38.322 sections 5.2.3.2 and 5.3.4).

use bloatlab_units::Nanos;

use super::params::Am;
use super::reassembly::{Reassembly, Stored};
use super::status::{Size, TO_END};
use super::{AmParams, Framing, Nack, Pdu, Received, Status};

/// Reassembles SDUs and reports what is missing. It delivers SDUs when they are complete; in the lena framing, in order.
#[derive(Debug)]
pub struct AmReceiver<T> {
    params: Am,
    /// The numbers from RX_Next on.
    store: Reassembly<T>,
    /// The number after the highest one that has arrived (RX_Next_Highest).
    highest: u64,
    /// What is missing below this number is reported (RX_Highest_Status).
    reportable: u64,
    /// The value of `highest` when t-Reassembly started (RX_Next_Status_Trigger), and when t-Reassembly ends.
    timer: Option<(u64, Nanos)>,
    /// The highest number with a poll that cannot be answered yet.
    polled: Option<u64>,
    /// Whether a report must be sent.
    report: bool,
    /// When t-StatusProhibit ends.
    prohibited: Nanos,
    era: u32,
    counts: Received,
}

impl<T: Copy> AmReceiver<T> {
    /// Creates a receiver that has received nothing yet.
    pub fn new(params: &AmParams) -> Self {
        let params = params.settled();
        Self {
            store: Reassembly::new(params.framing),
            params,
            highest: 0,
            reportable: 0,
            timer: None,
            polled: None,
            report: false,
            prohibited: 0,
            era: 0,
            counts: Received::default(),
        }
    }

    /// Receives one piece, and appends complete SDUs to `up`.
    pub fn receive(&mut self, now: Nanos, pdu: &Pdu<T>, up: &mut Vec<T>) {
        if pdu.era != self.era {
            self.counts.discarded += 1;
            return;
        }
        let base = self.store.base();
        let within = (base..base + self.params.window).contains(&pdu.sn);
        let stored = if within {
            self.store.store(pdu)
        } else {
            Stored::Nothing
        };
        if stored != Stored::Nothing {
            self.highest = self.highest.max(pdu.sn + 1);
        }
        if stored == Stored::Complete {
            self.completed(pdu, up);
        }
        if pdu.poll {
            // TS 38.322 section 5.3.4: the poll of a discarded PDU is answered at once, others when the report can cover them.
            if stored == Stored::Nothing {
                self.report = true;
            } else {
                self.polled = self.polled.max(Some(pdu.sn));
            }
        }
        if stored == Stored::Nothing {
            self.counts.discarded += 1;
            return;
        }
        if self.timer.is_some_and(|(trigger, _)| self.is_past(trigger)) {
            self.timer = None;
        }
        if self.timer.is_none() {
            self.start(now, self.store.base());
        }
        self.answer();
    }

    fn completed(&mut self, pdu: &Pdu<T>, up: &mut Vec<T>) {
        let before = up.len();
        if self.params.framing == Framing::Nr {
            up.push(pdu.item);
        }
        if pdu.sn == self.reportable {
            self.reportable = self.store.incomplete_from(pdu.sn);
        }
        if pdu.sn == self.store.base() {
            let next = self.store.incomplete_from(pdu.sn);
            self.store.advance(next, up);
        }
        self.counts.delivered += (up.len() - before) as u64;
    }

    /// Answers a waiting poll if the report can cover it now.
    fn answer(&mut self) {
        let end = self.store.base() + self.params.window;
        if self
            .polled
            .is_some_and(|sn| sn < self.reportable || sn >= end)
        {
            self.polled = None;
            self.report = true;
        }
    }

    /// Whether something from this number on, below the highest, is missing.
    fn is_missing(&self, from: u64) -> bool {
        self.highest > from + 1 || (self.highest == from + 1 && self.store.slot(from).has_gap())
    }

    /// Whether what t-Reassembly waits for has arrived, or is outside the window.
    fn is_past(&self, trigger: u64) -> bool {
        let base = self.store.base();
        let end = base + self.params.window;
        trigger <= base
            || (trigger == base + 1 && !self.store.slot(base).has_gap())
            || trigger > end
    }

    fn start(&mut self, now: Nanos, from: u64) {
        self.timer = self
            .is_missing(from)
            .then(|| (self.highest, now + self.params.t_reassembly));
    }

    /// When [`on_timer`](Self::on_timer) is due, or when a delayed report may be sent.
    pub fn next_timer(&self) -> Option<Nanos> {
        let report = self.report.then_some(self.prohibited);
        let timer = self.timer.map(|(_, end)| end);
        [report, timer].into_iter().flatten().min()
    }

    /// Handles the end of t-Reassembly: what is missing is reported.
    pub fn on_timer(&mut self, now: Nanos) {
        let Some((trigger, _)) = self.timer.filter(|&(_, end)| end <= now) else {
            return;
        };
        self.reportable = self.store.incomplete_from(trigger);
        self.report = true;
        self.start(now, self.reportable);
        self.answer();
    }

    /// Bytes of the status report, if one must be sent now.
    pub fn status_due(&self, now: Nanos) -> Option<u32> {
        if !self.report || now < self.prohibited {
            return None;
        }
        let (size, _) = self.describe(u32::MAX, |_| {});
        Some(size.wire())
    }

    /// Builds the status report that is due, as much of it as fits.
    pub fn build_status(&mut self, now: Nanos, room: u32) -> Option<Status> {
        let empty = Size::new(self.params.framing, self.params.sn_bits);
        if !self.report || now < self.prohibited || empty.wire() > room {
            return None;
        }
        let mut nacks = Vec::new();
        let (size, ack_sn) = self.describe(room, |nack| nacks.push(nack));
        self.report = false;
        self.prohibited = now + self.params.t_status_prohibit;
        self.counts.reports += 1;
        Some(Status {
            ack_sn,
            nacks,
            bytes: size.wire(),
            era: self.era,
        })
    }

    /// Passes what is missing and fits to `give`. Returns the size, and the first number that is not covered.
    fn describe(&self, room: u32, mut give: impl FnMut(Nack)) -> (Size, u64) {
        let mut size = Size::new(self.params.framing, self.params.sn_bits);
        let longest_row = u64::from(size.longest_row());
        let mut sn = self.store.base();
        while sn < self.reportable {
            let slot = self.store.slot(sn);
            if slot.complete {
                sn += 1;
                continue;
            }
            let (mut fits, mut said) = (true, false);
            let mut add = |nack: Nack| {
                let with = size.with(&nack);
                fits &= with.wire() <= room;
                if fits {
                    size = with;
                    said = true;
                    give(nack);
                }
            };
            let mut count = 1;
            if slot.is_empty() {
                let row = (sn..self.reportable.min(sn + longest_row))
                    .take_while(|&sn| self.store.slot(sn).is_empty());
                count = row.count() as u32;
                let part = None;
                add(Nack { sn, count, part });
            } else {
                self.store.gaps(sn, TO_END, |start, end| {
                    let part = Some((start, end));
                    add(Nack { sn, count: 1, part });
                });
            }
            if !fits {
                // If only some parts of a number are named, it counts as missing, and a later report names the others.
                return (size, sn + u64::from(said));
            }
            sn += u64::from(count);
        }
        (size, self.reportable.max(sn))
    }

    /// Re-establishes the entity: incomplete SDUs are discarded. Complete SDUs that only wait for their turn, in the lena framing, are delivered (TS
    /// 36.322 section 5.4).
    pub fn reestablish(&mut self, up: &mut Vec<T>) {
        let before = up.len();
        self.store.advance(self.highest, up);
        self.counts.delivered += (up.len() - before) as u64;
        self.store.clear();
        self.highest = 0;
        self.reportable = 0;
        self.timer = None;
        self.polled = None;
        self.report = false;
        self.prohibited = 0;
        self.era += 1;
    }

    /// Its counters.
    pub fn counts(&self) -> Received {
        self.counts
    }

    /// The oldest number that is not completely received, and the one after the highest (RX_Next, RX_Next_Highest).
    pub fn window(&self) -> (u64, u64) {
        (self.store.base(), self.highest)
    }
}
