//! The radio cell in the network: takes packets from the queues of its bearers, and forwards the packets that have crossed it.

use bloatlab_aqm::Packet as _;
use bloatlab_outcome::Step;
use bloatlab_radio::cell::{Above, Cell};
use bloatlab_radio::rlc::Sdu;
use bloatlab_units::{NEVER, Nanos, Rng};

use crate::accounting::{Context, Waited};
use crate::bearer::{Bearer, BearerState};
use crate::gate::{Gate, ReleasePolicy};
use crate::link::plan_wake;
use crate::packet::Packet;
use crate::place::Place;
use crate::schedule::{Schedule, clock, event};
use crate::station::RadioQueue;

/// A cell with the queues of its bearers and the gates before them.
pub(crate) struct RadioCell {
    pub cell: Cell<Packet>,
    /// Bearers of all UEs, the downlink and the uplink of each.
    pub bearers: Vec<Bearer>,
    /// State of the downlink of each bearer.
    pub bearer_states: Vec<BearerState>,
    pub gates: Vec<Gate>,
    /// Index of the gate of each UE in the UPF.
    pub upfs: Vec<Option<usize>>,
    /// Duration of a slot.
    pub slot: Nanos,
    /// When the cell is called next; [`NEVER`] if it is not.
    pub scheduled: Nanos,
    /// Packets that have crossed the cell and go on.
    pub out: Vec<Packet>,
    /// Bearers that have just filled a transport block.
    pub filled: Vec<usize>,
    /// Random numbers for marking before the RLC.
    pub rng: Rng,
}

impl RadioCell {
    /// Schedules the next call of the cell.
    #[inline]
    fn plan_call(&mut self, schedule: &mut Schedule) {
        let Some(at) = self.cell.next_event() else {
            return;
        };
        if at < self.scheduled {
            self.scheduled = at;
            schedule.at(at, event::CLOCK, clock::CELL);
        }
    }

    /// Whether a packet that enters the RLC of a bearer is marked.
    fn marks(&mut self, bearer: usize, packet: &Packet) -> bool {
        if !bearer.is_multiple_of(2) {
            return false;
        }
        let bearer_state = &self.bearer_states[bearer / 2];
        if bearer_state.marker.is_none() {
            return false;
        }
        let users = self.upfs.len() as u64;
        let queued = self.bearers[bearer].queue.backlog.bytes;
        let probability = bearer_state.marking(packet.ecn(), queued, users, packet.length());
        self.rng.chance(probability)
    }

    /// Enqueues a packet that arrives at a bearer. It may be marked first.
    pub fn enter_bearer(&mut self, index: usize, packet: &Packet, context: &mut Context) {
        let now = context.schedule.now;
        let mut packet = *packet;
        let number = self.bearers[index].queue.backlog.number;
        context.log.note(now, Step::Enqueue, number, &packet);
        let marked = self.marks(index, &packet);
        let bearer = &mut self.bearers[index];
        if marked {
            packet.set_ce();
            context.mark(now, &mut bearer.queue.backlog, &packet);
        }
        bearer.enter(now, &packet, self.cell.held(index));
        settle(&mut bearer.queue, now, context);
        self.cell.wake(now);
        self.plan_call(context.schedule);
    }

    /// Enqueues a packet that arrives at a gate. Returns how many packets may leave now.
    pub fn enter_gate(&mut self, index: usize, packet: &Packet, context: &mut Context) -> u64 {
        let now = context.schedule.now;
        let gate = &mut self.gates[index];
        let queue = &mut gate.queue;
        context
            .log
            .note(now, Step::Enqueue, queue.backlog.number, packet);
        queue.backlog.enqueue(now, *packet);
        settle(queue, now, context);
        gate.schedule_tick(index, context.schedule);
        self.may_release(index)
    }

    /// Dequeues the next packet that leaves a gate.
    pub fn release(&mut self, index: usize, context: &mut Context) -> Option<Packet> {
        let now = context.schedule.now;
        let queue = &mut self.gates[index].queue;
        let packet = queue.backlog.dequeue(now);
        settle(queue, now, context);
        let Some(packet) = packet else {
            if queue.backlog.packets > 0 {
                plan_wake(context.schedule, &mut queue.backlog);
            }
            return None;
        };
        queue.backlog.count.departures += 1;
        queue.backlog.stats.sent_bytes += u64::from(packet.length());
        context.count_wait(&mut queue.backlog, Waited::of(&packet, now));
        let number = queue.backlog.number;
        context.log.note(now, Step::Dequeue, number, &packet);
        Some(packet)
    }

    /// Schedules the next tick of a gate that holds packets. An empty gate needs no ticks.
    pub fn end_tick(&mut self, index: usize, schedule: &mut Schedule) {
        let gate = &mut self.gates[index];
        gate.is_ticking = false;
        if gate.queue.backlog.packets > 0 {
            gate.schedule_tick(index, schedule);
        }
    }

    /// The queue of a bearer or gate.
    pub fn queue(&self, place: Place) -> Option<&RadioQueue> {
        match place {
            Place::Bearer(i) => Some(&self.bearers[i as usize].queue),
            Place::Gate(i) => Some(&self.gates[i as usize].queue),
            _ => None,
        }
    }

    /// The queue of a bearer or gate.
    pub fn queue_mut(&mut self, place: Place) -> Option<&mut RadioQueue> {
        match place {
            Place::Bearer(i) => Some(&mut self.bearers[i as usize].queue),
            Place::Gate(i) => Some(&mut self.gates[i as usize].queue),
            _ => None,
        }
    }

    /// Lets the cell do what is due. What has crossed it is in `out`; bearers that filled a transport block are in `filled`.
    pub fn run(&mut self, context: &mut Context) {
        let now = context.schedule.now;
        if self.scheduled != now {
            // An earlier call replaced this one.
            return;
        }
        self.scheduled = NEVER;
        let mut queues = Queues {
            bearers: &mut self.bearers,
            bearer_states: &mut self.bearer_states,
            gates: &mut self.gates,
            out: &mut self.out,
            filled: &mut self.filled,
            context,
        };
        self.cell.run(now, &mut queues);
        self.plan_call(context.schedule);
    }
}

impl Gate {
    fn schedule_tick(&mut self, index: usize, schedule: &mut Schedule) {
        if let Some(at) = self.plan_tick(schedule.now) {
            schedule.at(at, event::CLOCK, clock::GATE + index as u32);
        }
    }
}

/// Counts what the queue discipline dropped or marked, if it did.
#[inline]
fn settle(queue: &mut RadioQueue, now: Nanos, context: &mut Context) {
    if !queue.backlog.signals.is_empty() {
        context.settle(now, &mut queue.backlog);
    }
}

/// The bearers' queues, as the cell sees them.
struct Queues<'a, 'b> {
    bearers: &'a mut [Bearer],
    bearer_states: &'a mut [BearerState],
    gates: &'a mut [Gate],
    out: &'a mut Vec<Packet>,
    filled: &'a mut Vec<usize>,
    context: &'a mut Context<'b>,
}

impl Above<Packet> for Queues<'_, '_> {
    fn opportunity(&mut self, bearer: usize, now: Nanos, held_since: Option<Nanos>) {
        let backlog = &mut self.bearers[bearer].queue.backlog;
        backlog.queue.opportunity(now, held_since);
    }

    fn pull(&mut self, bearer: usize, now: Nanos) -> Option<Sdu<Packet>> {
        let queue = &mut self.bearers[bearer].queue;
        let packet = queue.backlog.dequeue(now);
        settle(queue, now, self.context);
        let packet = packet?;
        queue.taken += 1;
        let waited = Waited::of(&packet, now);
        self.context.count_wait(&mut queue.backlog, waited);
        let number = queue.backlog.number;
        self.context.log.note(now, Step::Dequeue, number, &packet);
        if self.context.log.is_on() {
            self.bearers[bearer].last = Some(packet);
        }
        let queue = &self.bearers[bearer].queue;
        let bytes = packet.length() + queue.backlog.header;
        if bearer.is_multiple_of(2) {
            let bearer_state = &mut self.bearer_states[bearer / 2];
            bearer_state.packets_out += 1;
            bearer_state.bytes_out += u64::from(bytes);
            if let Some(gate) = bearer_state.sdap
                && let ReleasePolicy::Sdap(algorithm) = &mut self.gates[gate].policy
            {
                algorithm.on_packet_out(now - packet.enqueued_at());
            }
        }
        Some(Sdu {
            item: packet,
            bytes,
            entered_at: packet.enqueued_at(),
        })
    }

    fn packets(&self, bearer: usize) -> u64 {
        self.bearers[bearer].queue.backlog.packets
    }

    fn bytes(&self, bearer: usize) -> u64 {
        self.bearers[bearer].queue.backlog.bytes
    }

    fn filled(&mut self, bearer: usize, _now: Nanos, offered: u32) {
        self.bearer_states[bearer / 2].offered = u64::from(offered);
        self.filled.push(bearer);
    }

    fn sent_part(&mut self, bearer: usize, now: Nanos, left: u32) {
        let bearer = &mut self.bearers[bearer];
        if left > 0 {
            bearer.part = bearer.last;
        }
        if let Some(packet) = &bearer.part {
            let number = bearer.queue.backlog.number;
            self.context.log.note_part(now, number, packet, left);
        }
        if left == 0 {
            bearer.part = None;
        }
    }

    fn sent(&mut self, bearer: usize, now: Nanos, bytes: u32, share: f64) {
        let queue = &mut self.bearers[bearer].queue;
        let stats = &mut queue.backlog.stats;
        if let Some(air) = &mut queue.air {
            stats.busy += air.send(now, share);
        }
        stats.sent_bytes += u64::from(bytes);
    }

    fn delivered(&mut self, bearer: usize, _now: Nanos, packet: &Packet) {
        let queue = &mut self.bearers[bearer].queue;
        queue.taken -= 1;
        queue.backlog.count.departures += 1;
        self.out.push(*packet);
    }

    fn lost(&mut self, bearer: usize, now: Nanos, packet: &Packet) {
        let queue = &mut self.bearers[bearer].queue;
        queue.taken -= 1;
        self.context.lose(now, &mut queue.backlog, packet);
    }
}
