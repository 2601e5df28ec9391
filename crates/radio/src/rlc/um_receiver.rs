//! Unacknowledged mode, receiving side: TS 38.322 section 5.2.2.2, or in the lena framing TS 36.322 section 5.1.2.2, which delivers in order.

use bloatlab_units::Nanos;

use super::params::Um;
use super::reassembly::{Reassembly, Stored};
use super::{Framing, Pdu, Received, UmParams};

/// Reassembles SDUs from segments. Gives up what is missing for too long.
#[derive(Debug)]
pub struct UmReceiver<T> {
    params: Um,
    /// The numbers from RX_Next_Reassembly, or VR(UR), on.
    store: Reassembly<T>,
    /// The number after the highest one that has arrived (RX_Next_Highest, VR(UH)).
    highest: u64,
    /// The value of `highest` when the timer started (RX_Timer_Trigger, VR(UX)), and when the timer ends.
    timer: Option<(u64, Nanos)>,
    era: u32,
    counts: Received,
}

impl<T: Copy> UmReceiver<T> {
    /// Creates a receiver that has received nothing yet.
    pub fn new(params: &UmParams) -> Self {
        let params = params.settled();
        Self {
            store: Reassembly::new(params.framing),
            params,
            highest: 0,
            timer: None,
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
        let nr = self.params.framing == Framing::Nr;
        if nr && pdu.begins && pdu.ends {
            up.push(pdu.item);
            self.counts.delivered += 1;
            return;
        }
        if pdu.sn < self.store.base() {
            self.counts.discarded += 1;
            return;
        }
        if pdu.sn >= self.highest {
            self.highest = pdu.sn + 1;
            // The window advances, and what it leaves is given up.
            let lowest = self.highest.saturating_sub(self.params.window);
            if self.store.base() < lowest {
                self.advance(lowest, up);
            }
        }
        match self.store.store(pdu) {
            Stored::Nothing => self.counts.discarded += 1,
            Stored::Part => {}
            Stored::Complete => {
                if nr {
                    up.push(pdu.item);
                    self.counts.delivered += 1;
                }
                if pdu.sn == self.store.base() {
                    self.advance(pdu.sn, up);
                }
            }
        }
        if self.timer.is_some_and(|(trigger, _)| self.is_past(trigger)) {
            self.timer = None;
        }
        if self.timer.is_none() {
            self.start(now);
        }
    }

    /// Advances to the first incomplete number from `to` on.
    fn advance(&mut self, to: u64, up: &mut Vec<T>) {
        let to = self.store.incomplete_from(to);
        let before = up.len();
        self.counts.given_up += self.store.advance(to, up);
        self.counts.delivered += (up.len() - before) as u64;
    }

    /// Whether something below this number, for which others wait, may still arrive.
    fn is_missing(&self, below: u64) -> bool {
        let base = self.store.base();
        match self.params.framing {
            Framing::Nr => {
                below > base + 1 || (below == base + 1 && self.store.slot(base).has_gap())
            }
            Framing::Lena => below > base,
        }
    }

    /// Whether what the timer waits for has arrived, or is outside the window.
    fn is_past(&self, trigger: u64) -> bool {
        trigger <= self.store.base() || !self.is_missing(self.highest)
    }

    fn start(&mut self, now: Nanos) {
        self.timer = self
            .is_missing(self.highest)
            .then(|| (self.highest, now + self.params.t_reassembly));
    }

    /// When [`on_timer`](Self::on_timer) is due.
    pub fn next_timer(&self) -> Option<Nanos> {
        self.timer.map(|(_, end)| end)
    }

    /// Gives up what is missing for too long.
    pub fn on_timer(&mut self, now: Nanos, up: &mut Vec<T>) {
        if let Some((trigger, _)) = self.timer.filter(|&(_, end)| end <= now) {
            self.advance(trigger, up);
            self.start(now);
        }
    }

    /// Re-establishes the entity: incomplete SDUs are discarded. Complete SDUs that only wait for their turn, in the lena framing, are delivered (TS
    /// 36.322 section 5.4).
    pub fn reestablish(&mut self, up: &mut Vec<T>) {
        let before = up.len();
        self.store.advance(self.highest, up);
        self.counts.delivered += (up.len() - before) as u64;
        self.store.clear();
        self.highest = 0;
        self.timer = None;
        self.era += 1;
    }

    /// Its counters.
    pub fn counts(&self) -> Received {
        self.counts
    }

    /// The lowest number that may still be completed, and the one after the highest.
    pub fn window(&self) -> (u64, u64) {
        (self.store.base(), self.highest)
    }
}
