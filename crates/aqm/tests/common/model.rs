//! The operation model: drives any queue with any operations beside the simplest account of what it may hold.

use std::collections::BTreeMap;

use bloatlab_aqm::{Ecn, Qdisc};
use bloatlab_units::{Limit, Nanos};
use proptest::prelude::*;

use super::{Log, TestPacket, stat};

/// What happens to a queue.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Time passes; the queue is woken whenever it asked to be.
    Wait(Nanos),
    /// Packets arrive.
    Arrive {
        flow: u64,
        size: u32,
        ecn: Ecn,
        count: u8,
    },
    /// The link asks for packets.
    Depart(u8),
}

/// Any operation.
pub fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let ecn = prop_oneof![
        Just(Ecn::NotEct),
        Just(Ecn::Ect0),
        Just(Ecn::Ect1),
        Just(Ecn::Ce)
    ];
    let size = prop_oneof![Just(1500_u32), 40_u32..=1500, Just(65_535)];
    let operation = prop_oneof![
        2 => prop_oneof![0_u64..2_000_000, 0_u64..300_000_000].prop_map(Operation::Wait),
        4 => (0_u64..8, size, ecn, 1_u8..40)
            .prop_map(|(flow, size, ecn, count)| Operation::Arrive { flow, size, ecn, count }),
        3 => (1_u8..40).prop_map(Operation::Depart),
    ];
    proptest::collection::vec(operation, 1..120)
}

/// The account.
struct Model {
    held: BTreeMap<u64, TestPacket>,
    last_of_flow: BTreeMap<u64, u64>,
    next_id: u64,
    log: Log,
    /// Packets of a flow leave in the order in which they came.
    in_order: bool,
}

impl Model {
    /// Takes note of drops and marks since the last call.
    fn settle(&mut self) {
        for packet in self.log.marked.drain(..) {
            // A marked packet is still held, or was dropped or sent after the mark.
            if let Some(held) = self.held.get_mut(&packet.id) {
                assert_ne!(held.ecn, Ecn::NotEct, "only ECN-capable packets are marked");
                held.ecn = Ecn::Ce;
            }
        }
        for (packet, _) in self.log.dropped.drain(..) {
            assert!(
                self.held.remove(&packet.id).is_some(),
                "packet {} left twice",
                packet.id
            );
        }
    }
}

/// Runs the operations, then drains the queue, and checks every promise of the trait after every step.
pub fn drive(
    queue: &mut dyn Qdisc<TestPacket>,
    limit: Option<(Limit, u64)>,
    operations: &[Operation],
) {
    run(queue, limit, operations, true);
}

/// The same for a queue that may reorder a flow: hhf, when the flow becomes a heavy hitter.
pub fn drive_in_any_order(
    queue: &mut dyn Qdisc<TestPacket>,
    limit: Option<(Limit, u64)>,
    operations: &[Operation],
) {
    run(queue, limit, operations, false);
}

fn run(
    queue: &mut dyn Qdisc<TestPacket>,
    limit: Option<(Limit, u64)>,
    operations: &[Operation],
    in_order: bool,
) {
    let mut model = Model {
        held: BTreeMap::new(),
        last_of_flow: BTreeMap::new(),
        next_id: 0,
        log: Log::default(),
        in_order,
    };
    let mut now = 0;
    for operation in operations {
        match operation {
            Operation::Wait(time) => {
                now += time;
                while let Some(at) = queue.next_wake().filter(|&at| at <= now) {
                    queue.wake(at);
                    assert!(
                        queue.next_wake().is_none_or(|next| next > at),
                        "a wake-up must lie ahead of the last"
                    );
                }
            }
            Operation::Arrive {
                flow,
                size,
                ecn,
                count,
            } => {
                for _ in 0..*count {
                    arrive(queue, &mut model, now, *flow, *size, *ecn);
                    check(queue, &model, limit);
                }
            }
            Operation::Depart(count) => {
                for _ in 0..*count {
                    depart(queue, &mut model, now);
                    check(queue, &model, limit);
                }
            }
        }
    }
    while queue.packets() > 0 {
        now = if depart(queue, &mut model, now) {
            now + 1_000_000
        } else {
            // The queue holds its packets back: it is woken when it asked to be.
            let at = queue
                .next_wake()
                .expect("a queue that holds packets back says until when");
            queue.wake(at);
            at
        };
        check(queue, &model, limit);
    }
    assert!(
        model.held.is_empty(),
        "an empty queue has given every packet back"
    );
    assert!(queue.dequeue(now, &mut model.log).is_none());
}

fn arrive(
    queue: &mut dyn Qdisc<TestPacket>,
    model: &mut Model,
    now: Nanos,
    flow: u64,
    size: u32,
    ecn: Ecn,
) {
    let id = model.next_id;
    model.next_id += 1;
    // The stamp of another queue must be overwritten.
    let packet = TestPacket {
        id,
        flow,
        size,
        ecn,
        dscp: (flow * 8) as u8,
        enqueued_at: now + 12_345,
    };
    model.held.insert(
        id,
        TestPacket {
            enqueued_at: now,
            ..packet
        },
    );
    queue.enqueue(now, packet, &mut model.log);
    model.settle();
}

/// Whether a packet left.
fn depart(queue: &mut dyn Qdisc<TestPacket>, model: &mut Model, now: Nanos) -> bool {
    let packet = queue.dequeue(now, &mut model.log);
    model.settle();
    let Some(packet) = packet else {
        let held_back = queue.packets() > 0;
        assert!(
            !held_back || queue.next_wake().is_some_and(|at| at > now),
            "a queue that holds packets back says until when"
        );
        return false;
    };
    let held = model.held.remove(&packet.id).expect("a packet leaves once");
    assert_eq!(
        packet, held,
        "a packet leaves as it came, but for the stamp and marks that were told"
    );
    let last = model.last_of_flow.insert(packet.flow, packet.id);
    assert!(
        !model.in_order || last.is_none_or(|last| last < packet.id),
        "a flow's packets stay in order"
    );
    true
}

fn check(queue: &dyn Qdisc<TestPacket>, model: &Model, limit: Option<(Limit, u64)>) {
    let bytes: u64 = model
        .held
        .values()
        .map(|packet| u64::from(packet.size))
        .sum();
    assert_eq!(queue.packets(), model.held.len() as u64);
    assert_eq!(queue.bytes(), bytes);
    match limit {
        Some((Limit::Packets(most), _)) => assert!(queue.packets() <= most),
        Some((Limit::Bytes(most), _)) => assert!(bytes <= most),
        Some((Limit::Buffers(most), segments)) => {
            assert!(queue.packets() <= most * segments);
            assert!(stat(queue, "buffers") <= most as f64);
        }
        None => {}
    }
}
