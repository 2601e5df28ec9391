//! Virtual AQM: the UPF judges a bottleneck that it cannot see, by what it sent and what was acknowledged since (Ericsson's vAQM).

use std::collections::VecDeque;

use bloatlab_aqm::Verdict;
use bloatlab_aqm::codel::{Law, Vars};
use bloatlab_units::{Duration, MICROSECOND, MILLISECOND, NEVER, Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lasts;

/// CoDel on a virtual buffer of what a session's user has been sent and has not yet acknowledged.
///
/// The delay of the virtual queue is the round trip from the UPF to the user and back, less the shortest of the last seconds: what a packet waited
/// at the radio. CoDel judges by it each packet that the UPF passes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Delay at the radio that is acceptable for longer than an interval.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// How long the delay may stay above the target.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// For how long the shortest round trip is remembered; at most twice as long.
    #[schemars(extend("x-minimum" = "1ms", "x-maximum" = "1h"))]
    pub memory: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // RFC 8289 section 5.3; a radio link's slots and retransmissions alone take some milliseconds.
            target: Duration(10 * MILLISECOND),
            interval: Duration(100 * MILLISECOND),
            ecn: true,
            memory: Duration(10 * SECOND),
        }
    }
}

impl Params {
    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first that is.
    pub fn validate(&self) -> Result<(), String> {
        lasts("target", self.target, MICROSECOND, 3600 * SECOND)?;
        lasts("interval", self.interval, MICROSECOND, 3600 * SECOND)?;
        lasts("memory", self.memory, MILLISECOND, 3600 * SECOND)
    }
}

/// The virtual buffer of one session.
#[derive(Clone, Debug)]
pub struct VirtualAqm {
    law: Law,
    vars: Vars,
    memory: Nanos,
    /// When each packet was sent, and the bytes sent up to its end.
    sent: VecDeque<(Nanos, u64)>,
    sent_bytes: u64,
    acknowledged: u64,
    /// Shortest round trips of this stretch of memory and of the one before, and when this one ends.
    shortest: [Nanos; 2],
    turns: Nanos,
    /// The last packet's round trip beyond the shortest.
    delay: Nanos,
}

impl VirtualAqm {
    /// Empty; CoDel never signals while `mtu` bytes or fewer are under way.
    pub fn new(params: &Params, mtu: u32) -> Self {
        Self {
            law: Law::new(params.target, params.interval, mtu, params.ecn, None),
            vars: Vars::default(),
            memory: params.memory.0,
            sent: VecDeque::new(),
            sent_bytes: 0,
            acknowledged: 0,
            shortest: [NEVER; 2],
            turns: params.memory.0,
            delay: 0,
        }
    }

    /// Bytes under way.
    pub fn bytes(&self) -> u64 {
        self.sent_bytes - self.acknowledged
    }

    /// Judges a packet that is about to be sent.
    pub fn judge(&mut self, now: Nanos) -> Verdict {
        let Some((oldest, _)) = self.sent.front() else {
            self.vars.emptied();
            return Verdict::Forward;
        };
        // What has not come back yet has waited at least so long.
        let least = self.shortest[0].min(self.shortest[1]);
        let waited = (now - oldest).saturating_sub(least);
        let bytes = self.bytes();
        self.law
            .judge(&mut self.vars, now, waited.max(self.delay), bytes)
    }

    /// A packet was sent.
    pub fn on_sent(&mut self, now: Nanos, bytes: u64) {
        self.sent_bytes += bytes;
        self.sent.push_back((now, self.sent_bytes));
    }

    /// So many more bytes were acknowledged, in order.
    pub fn on_acknowledged(&mut self, now: Nanos, bytes: u64) {
        self.acknowledged = (self.acknowledged + bytes).min(self.sent_bytes);
        if now >= self.turns {
            self.shortest = [NEVER, self.shortest[0]];
            self.turns = now + self.memory;
        }
        while let Some(&(at, end)) = self.sent.front()
            && end <= self.acknowledged
        {
            self.sent.pop_front();
            let round_trip = now - at;
            self.shortest[0] = self.shortest[0].min(round_trip);
            self.delay = round_trip - self.shortest[0].min(self.shortest[1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet each millisecond for so long, acknowledged after a round trip that is told; says when the law signalled.
    fn signals(until: u64, round_trip: impl Fn(u64) -> u64) -> Vec<u64> {
        let mut session = VirtualAqm::new(&Params::default(), 1500);
        let mut acknowledged = 0;
        let mut signals = Vec::new();
        for at in 0..until {
            let now = at * MILLISECOND;
            while acknowledged < at && acknowledged + round_trip(acknowledged) <= at {
                session.on_acknowledged(now, 1500);
                acknowledged += 1;
            }
            if session.judge(now) != Verdict::Forward {
                signals.push(at);
            }
            session.on_sent(now, 1500);
        }
        signals
    }

    #[test]
    fn a_constant_round_trip_is_no_queue() {
        assert!(signals(5000, |_| 40).is_empty());
    }

    #[test]
    fn a_standing_delay_is_signalled_by_codels_schedule() {
        // From the 200th packet on it takes 60 ms longer. With that packet's round trip the oldest is over 40 + 10 ms from 250 ms on: above the
        // target an interval later, at 350 ms; the next after 100 ms, then 100/sqrt 2 and 100/sqrt 3.
        let at = signals(700, |packet| if packet < 200 { 40 } else { 100 });
        assert_eq!(at, [350, 450, 521, 579, 629, 674]);
    }

    #[test]
    fn a_new_shortest_round_trip_is_learnt_within_twice_the_memory() {
        // A path that became longer by 30 ms at 1 s is signalled, until what was before 10 s is forgotten: at 20 s, and its stretch ends at 20 s.
        let at = signals(40_000, |packet| if packet < 1000 { 40 } else { 70 });
        assert!(at.len() > 100);
        assert!(*at.last().unwrap() < 20_300, "{:?}", at.last());
    }

    #[test]
    fn bytes_under_way_are_what_was_sent_and_not_acknowledged() {
        let mut session = VirtualAqm::new(&Params::default(), 1500);
        session.on_sent(0, 1500);
        session.on_sent(0, 500);
        assert_eq!(session.bytes(), 2000);
        session.on_acknowledged(MILLISECOND, 1600);
        assert_eq!(session.bytes(), 400);
        session.on_acknowledged(MILLISECOND, 4000);
        assert_eq!(session.bytes(), 0);
    }
}
