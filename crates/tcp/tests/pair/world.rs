//! Two endpoints over a toy path with delay, loss, reordering, duplication and marks, and its own event loop.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bloatlab_aqm::Ecn;
use bloatlab_cc::CcConfig;
use bloatlab_tcp::segment::{ACK, FIN, SYN};
use bloatlab_tcp::{Endpoint, Segment, TcpConfig};
use bloatlab_units::{MILLISECOND, NEVER, Nanos, Rng, SECOND, Streams};

/// What one direction of the path does to a segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Way {
    pub delay: Nanos,
    pub loss: f64,
    /// Probability of an extra delay of up to twice the delay.
    pub reordered: f64,
    pub duplicated: f64,
    pub marked: f64,
}

/// One write of an application.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    pub at: Nanos,
    pub bytes: u64,
}

/// A segment that an end sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Nanos,
    pub segment: Segment,
    /// Whether its sequence numbers were sent before: a retransmission.
    pub again: bool,
    pub ecn: Ecn,
}

impl Sent {
    pub fn has_data(&self) -> bool {
        self.segment.length > 0 || self.segment.has(FIN)
    }

    pub fn is_pure_ack(&self) -> bool {
        !self.has_data() && !self.segment.has(SYN)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive(usize, usize),
    Write(usize, u64),
    Close(usize),
}

/// What is done to one segment, in addition to what the path does to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Forward,
    Drop,
    Mark,
    /// Arrives this much later.
    Delay(Nanos),
    /// The path makes a copy.
    Twice,
}

/// Decides what happens to a segment that this end sends.
pub type Filter = Box<dyn FnMut(usize, &Sent) -> Action>;

/// The pair and everything observed about it.
pub struct World {
    pub now: Nanos,
    pub ends: [Endpoint; 2],
    pub ways: [Way; 2],
    pub filter: Option<Filter>,
    /// The segments that each end sent.
    pub sent: [Vec<Sent>; 2],
    pub delivered: [u64; 2],
    pub written: [u64; 2],
    pub steps: u64,
    pub lost: u64,
    rng: Rng,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    order: u64,
    under_way: Vec<(Segment, Ecn)>,
    /// The highest sequence number that each end sent, and the advertised edge of the window.
    next: [u64; 2],
    edge: [u64; 2],
}

impl World {
    pub fn new(config: &TcpConfig, cc: &CcConfig, ways: [Way; 2], seed: u64) -> Self {
        let streams = Streams::new(seed);
        let end = |name: &str| {
            let cc = cc
                .build(streams.stream(name))
                .expect("a cc of the registry");
            Endpoint::new(config, cc)
        };
        Self {
            now: 0,
            ends: [end("a"), end("b")],
            ways,
            filter: None,
            sent: [Vec::new(), Vec::new()],
            delivered: [0; 2],
            written: [0; 2],
            steps: 0,
            lost: 0,
            rng: streams.stream("path"),
            events: BinaryHeap::new(),
            order: 0,
            under_way: Vec::new(),
            next: [0; 2],
            edge: [0; 2],
        }
    }

    /// A path without faults, with this one-way delay.
    pub fn clean(config: &TcpConfig, cc: &CcConfig, delay: Nanos) -> Self {
        let way = Way {
            delay,
            ..Way::default()
        };
        Self::new(config, cc, [way; 2], 1)
    }

    fn schedule(&mut self, at: Nanos, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    /// The application of this end writes these, and closes after the last one.
    pub fn application(&mut self, end: usize, writes: &[Write]) {
        let mut last = 0;
        for write in writes {
            self.schedule(write.at, Event::Write(end, write.bytes));
            last = last.max(write.at);
        }
        self.schedule(last, Event::Close(end));
    }

    /// Opens the connection from end 0.
    pub fn open(&mut self) {
        self.ends[1].listen();
        self.ends[0].connect();
        self.pump(0);
    }

    fn done(&self) -> bool {
        let failed = self.ends.iter().any(Endpoint::failed);
        failed
            || self
                .ends
                .iter()
                .all(|e| e.sent_all() && e.receiver.finished())
    }

    /// Runs until both ends are done and the path is empty, or until this time. Returns false if more than `most` steps were needed.
    pub fn run(&mut self, until: Nanos, most: u64) -> bool {
        while let Some(at) = self.next_instant().filter(|&at| at <= until) {
            if self.done() && self.events.is_empty() {
                break;
            }
            self.steps += 1;
            if self.steps > most {
                return false;
            }
            assert!(at >= self.now, "time goes on");
            // As they were before, because a pacing deadline disappears when its time has come.
            let releases = [0, 1].map(|end| self.ends[end].release(self.now, NEVER));
            self.now = at;
            for (end, release) in releases.into_iter().enumerate() {
                let timer_is_due = self.ends[end].deadline() <= at;
                if timer_is_due {
                    self.ends[end].on_timer(at);
                }
                if timer_is_due || release <= at {
                    self.pump(end);
                }
            }
            if let Some(&Reverse((due, _, event))) = self.events.peek()
                && due <= at
            {
                self.events.pop();
                self.on_event(event);
            }
        }
        true
    }

    fn next_instant(&self) -> Option<Nanos> {
        let event = self.events.peek().map_or(NEVER, |e| e.0.0);
        let timers = self
            .ends
            .iter()
            .map(|e| e.deadline().min(e.release(self.now, NEVER)));
        let at = timers.fold(event, Nanos::min);
        (at != NEVER).then(|| at.max(self.now))
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Arrive(end, index) => {
                let (segment, ecn) = self.under_way[index];
                if segment.has(ACK) {
                    let edge = u64::from(segment.ack) + u64::from(segment.window);
                    self.edge[end] = self.edge[end].max(edge);
                }
                self.delivered[end] += self.ends[end].on_segment(self.now, &segment, ecn);
                self.pump(end);
            }
            Event::Write(end, bytes) => {
                self.written[end] += bytes;
                self.ends[end].write(bytes);
                self.pump(end);
            }
            Event::Close(end) => {
                self.ends[end].close();
                self.pump(end);
            }
        }
    }

    fn pump(&mut self, end: usize) {
        let mut segment = Segment::default();
        while let Some(ecn) = self.ends[end].poll(self.now, &mut segment) {
            let flags = u64::from(segment.has(SYN)) + u64::from(segment.has(FIN));
            let start = u64::from(segment.seq);
            let after = start + u64::from(segment.length) + flags;
            let again = after > start && start < self.next[end];
            if !again {
                assert_eq!(start, self.next[end], "nothing is left out");
                let payload_end = start + u64::from(segment.length);
                let within =
                    segment.has(SYN) || segment.length == 0 || payload_end <= self.edge[end];
                assert!(
                    within,
                    "{payload_end} is beyond the window's edge {}",
                    self.edge[end]
                );
            }
            self.next[end] = self.next[end].max(after);
            let sent = Sent {
                at: self.now,
                segment,
                again,
                ecn,
            };
            self.sent[end].push(sent);
            self.transfer(end, sent);
        }
    }

    fn transfer(&mut self, end: usize, sent: Sent) {
        let way = self.ways[end];
        let action = self
            .filter
            .as_mut()
            .map_or(Action::Forward, |filter| filter(end, &sent));
        if action == Action::Drop || self.rng.chance(way.loss) {
            self.lost += 1;
            return;
        }
        let copied = action == Action::Twice || self.rng.chance(way.duplicated);
        let copies = 1 + usize::from(copied);
        for _ in 0..copies {
            let mut at = self.now + way.delay;
            if let Action::Delay(more) = action {
                at += more;
            }
            if self.rng.chance(way.reordered) {
                at += self.rng.below(2 * way.delay + 1);
            }
            let capable = sent.ecn != Ecn::NotEct;
            let marked = capable && (action == Action::Mark || self.rng.chance(way.marked));
            let ecn = if marked { Ecn::Ce } else { sent.ecn };
            self.under_way.push((sent.segment, ecn));
            let index = self.under_way.len() - 1;
            self.schedule(at, Event::Arrive(1 - end, index));
        }
    }

    /// Data segments that this end sent.
    pub fn data(&self, end: usize) -> impl Iterator<Item = &Sent> {
        self.sent[end].iter().filter(|sent| sent.has_data())
    }

    pub fn pure_acks(&self, end: usize) -> usize {
        let after = self.sent[end].iter().filter(|s| s.is_pure_ack());
        after.count()
    }
}

/// Writes everything at once.
pub fn at_once(bytes: u64) -> [Write; 1] {
    [Write { at: 0, bytes }]
}

pub const RTT: Nanos = 20 * MILLISECOND;
/// Longer than any connection of these tests lasts, including back-off.
pub const LONG: Nanos = 1_000_000 * SECOND;

/// RFC 5681.
pub fn reno() -> CcConfig {
    CcConfig::Reno(Default::default())
}

/// Loses the segments for which the rule holds.
pub fn lose(mut rule: impl FnMut(usize, &Sent) -> bool + 'static) -> Filter {
    Box::new(move |end, sent| {
        if rule(end, sent) {
            Action::Drop
        } else {
            Action::Forward
        }
    })
}

/// Two ends that exchange `bytes`, on a path without faults.
pub fn established(config: &TcpConfig, bytes: u64) -> World {
    let mut world = World::clean(config, &reno(), RTT / 2);
    world.application(0, &at_once(bytes));
    world
}

/// The times between times.
pub fn gaps(times: &[Nanos]) -> Vec<Nanos> {
    times.windows(2).map(|w| w[1] - w[0]).collect()
}
