//! Shared by the tests of queues: a packet, and a sink that records drops and marks.
#![allow(dead_code, reason = "each test uses its part")]

use bloatlab_aqm::{Context, DropReason, Ecn, Packet, PureAck, Qdisc, QueueConfig, Sink};
use bloatlab_units::{MILLISECOND, Nanos, Rate, Streams};

/// A packet with an identity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestPacket {
    pub id: u64,
    pub flow: u64,
    pub size: u32,
    pub ecn: Ecn,
    pub dscp: u8,
    pub ack: Option<PureAck>,
    pub follows: bool,
    pub has_more: bool,
    pub enqueued_at: Nanos,
}

impl Packet for TestPacket {
    fn size(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn enqueued_at(&self) -> Nanos {
        self.enqueued_at
    }
    fn set_enqueued_at(&mut self, now: Nanos) {
        self.enqueued_at = now;
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn set_dscp(&mut self, dscp: u8) {
        self.dscp = dscp;
    }
    fn follows(&self) -> bool {
        self.follows
    }
    fn has_more(&self) -> bool {
        self.has_more
    }
    fn pure_ack(&self) -> Option<PureAck> {
        self.ack
    }
}

/// A full-sized packet without ECN.
pub fn packet(id: u64, flow: u64) -> TestPacket {
    TestPacket {
        id,
        flow,
        size: 1500,
        ecn: Ecn::NotEct,
        dscp: 0,
        ack: None,
        follows: false,
        has_more: false,
        enqueued_at: 0,
    }
}

/// Enqueues a full-sized packet of each flow, with identities from `first`.
pub fn enqueue(
    queue: &mut dyn Qdisc<TestPacket>,
    log: &mut Log,
    now: Nanos,
    first: u64,
    flows: &[u64],
) {
    for (id, &flow) in (first..).zip(flows) {
        queue.enqueue(now, packet(id, flow), log);
    }
}

/// Enqueues packets of these flows and sizes at time 0, with identities from `first`.
pub fn enqueue_sized(
    queue: &mut dyn Qdisc<TestPacket>,
    log: &mut Log,
    first: u64,
    packets: &[(u64, u32)],
) {
    for (id, &(flow, size)) in (first..).zip(packets) {
        let packet = TestPacket {
            size,
            ..packet(id, flow)
        };
        queue.enqueue(0, packet, log);
    }
}

/// Flows of the next `n` packets.
pub fn flows(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, n: usize) -> Vec<u64> {
    (0..n)
        .map_while(|_| queue.dequeue(0, log))
        .map(|packet| packet.flow)
        .collect()
}

/// Records the dropped and marked packets, in order.
#[derive(Debug, Default)]
pub struct Log {
    pub dropped: Vec<(TestPacket, DropReason)>,
    pub marked: Vec<TestPacket>,
}

impl Log {
    /// Identities of the packets dropped so far.
    pub fn dropped_ids(&self) -> Vec<u64> {
        self.dropped.iter().map(|(packet, _)| packet.id).collect()
    }

    /// Identities of the packets marked so far.
    pub fn marked_ids(&self) -> Vec<u64> {
        self.marked.iter().map(|packet| packet.id).collect()
    }
}

impl Sink<TestPacket> for Log {
    fn dropped(&mut self, packet: &TestPacket, reason: DropReason) {
        self.dropped.push((*packet, reason));
    }
    fn marked(&mut self, packet: &TestPacket) {
        assert_eq!(packet.ecn, Ecn::Ce);
        self.marked.push(*packet);
    }
}

/// A context with a link of 100 Mbit/s and an MTU of 1500 bytes. Flow `n` is between hosts `2 n` and `2 n + 1`.
pub fn context(seed: u64) -> Context {
    Context::new(Streams::new(seed).stream("queue"), 1500, Rate(100_000_000))
}

/// The queue that a scenario's JSON describes, for an MTU of 1500 bytes.
pub fn build(config: serde_json::Value) -> Box<dyn Qdisc<TestPacket>> {
    let config: QueueConfig = serde_json::from_value(config).unwrap();
    config.validate().unwrap();
    config.build(context(1)).unwrap()
}

/// A statistic by its name.
pub fn stat(queue: &dyn Qdisc<TestPacket>, name: &str) -> f64 {
    let stats = queue.stats();
    stats
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| *value)
        .unwrap()
}

/// Converts milliseconds to nanoseconds.
pub fn ms(time: f64) -> Nanos {
    (time * MILLISECOND as f64).round() as Nanos
}
