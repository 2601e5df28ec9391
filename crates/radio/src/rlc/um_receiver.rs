//! Unacknowledged mode, receiving side: TS 38.322 section 5.2.2.2, or in the lena framing TS 36.322 section 5.1.2.2, which delivers in order.

use bloatlab_units::Nanos;

use super::params::Um;
use super::reassembly::{Reassembly, Stored};
use super::{Framing, Pdu, Received, UmParams};

/// Puts SDUs together from segments; gives up what is missing for too long.
#[derive(Debug)]
pub struct UmReceiver<T> {
    params: Um,
    /// From RX_Next_Reassembly, or VR(UR), on.
    store: Reassembly<T>,
    /// The number after the highest that has arrived (RX_Next_Highest, VR(UH)).
    highest: u64,
    /// Where `highest` stood as the timer was started (RX_Timer_Trigger, VR(UX)), and when it ends.
    timer: Option<(u64, Nanos)>,
    era: u32,
    counts: Received,
}

impl<T: Copy> UmReceiver<T> {
    /// One that has received nothing.
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

    /// Takes one piece; puts what is complete into `up`.
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
            // The window goes on, and what it leaves is given up.
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

    /// Goes on to the first number from `to` on that is not complete.
    fn advance(&mut self, to: u64, up: &mut Vec<T>) {
        let to = self.store.incomplete_from(to);
        let before = up.len();
        self.counts.given_up += self.store.advance(to, up);
        self.counts.delivered += (up.len() - before) as u64;
    }

    /// Something below this number may still come that others wait for.
    fn is_missing(&self, below: u64) -> bool {
        let base = self.store.base();
        match self.params.framing {
            Framing::Nr => {
                below > base + 1 || (below == base + 1 && self.store.slot(base).has_gap())
            }
            Framing::Lena => below > base,
        }
    }

    /// What the timer waits for has come, or is out of the window.
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

    /// Starts anew: what is incomplete is thrown away. SDUs that only wait for their turn, in the lena framing, go up (TS 36.322 section 5.4).
    pub fn reestablish(&mut self, up: &mut Vec<T>) {
        let before = up.len();
        self.store.advance(self.highest, up);
        self.counts.delivered += (up.len() - before) as u64;
        self.store.clear();
        self.highest = 0;
        self.timer = None;
        self.era += 1;
    }

    /// What it counted.
    pub fn counts(&self) -> Received {
        self.counts
    }

    /// The lowest number that may still be completed, and the one after the highest.
    pub fn window(&self) -> (u64, u64) {
        (self.store.base(), self.highest)
    }
}
