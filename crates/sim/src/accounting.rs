//! What happens to a packet at a queue is counted for the queue and for the packet's flow.

use std::mem::take;

use bloatlab_aqm::Packet as _;
use bloatlab_outcome::{NOT_GREEDY, Step};
use bloatlab_port::{Backlog, Framed};
use bloatlab_units::Nanos;

use crate::flow_account::FlowAccount;
use crate::packet::Packet;
use crate::packet_log::PacketLog;
use crate::schedule::Schedule;

/// The parts of the network that a box uses.
pub(crate) struct Context<'a> {
    pub schedule: &'a mut Schedule,
    /// One per flow.
    pub accounts: &'a mut [FlowAccount],
    pub log: &'a mut PacketLog,
    /// Number of transmissions at whose end there was something to do, scheduled as events or not.
    pub ends: &'a mut u64,
}

/// The sojourn time of a packet, its flow and its direction.
#[derive(Clone, Copy)]
pub(crate) struct Waited {
    flow: usize,
    direction: usize,
    sojourn: Nanos,
}

impl Waited {
    #[inline]
    pub fn of(packet: &Packet, now: Nanos) -> Self {
        Self {
            flow: packet.flow_index(),
            direction: packet.direction(),
            sojourn: now - packet.enqueued_at(),
        }
    }
}

impl Context<'_> {
    /// Records the sojourn time of a packet for the queue, and for its flow unless packets hardly wait there.
    #[inline(always)]
    pub fn count_wait(&mut self, backlog: &mut Backlog<Packet>, waited: Waited) {
        let counts = !backlog.transit;
        let stats = &mut backlog.stats;
        let sojourn = waited.sojourn;
        stats.interval.sojourns += 1;
        if waited.direction == 0 && counts {
            let account = &mut self.accounts[waited.flow];
            account.waits += 1;
            account.sojourn.record_in_both(&mut stats.sojourn, sojourn);
        } else {
            stats.sojourn.record(sojourn);
        }
    }

    /// Counts what a queue discipline dropped or marked.
    #[inline(always)]
    pub fn settle(&mut self, now: Nanos, backlog: &mut Backlog<Packet>) {
        settle(self.accounts, self.log, now, backlog);
    }

    /// Counts a packet that was marked.
    #[inline(always)]
    pub fn mark(&mut self, now: Nanos, backlog: &mut Backlog<Packet>, packet: &Packet) {
        mark(self.accounts, self.log, now, backlog, packet);
    }

    /// Counts a packet that was lost after it had left the queue.
    #[inline(always)]
    pub fn lose(&mut self, now: Nanos, backlog: &mut Backlog<Packet>, packet: &Packet) {
        self.log.note_loss(now, backlog.number, packet);
        discard(self.accounts, now, backlog, packet);
    }
}

// These functions are not inlined. They take the parts of a context one by one, so that a context can stay in registers.

#[cold]
fn settle(
    accounts: &mut [FlowAccount],
    log: &mut PacketLog,
    now: Nanos,
    backlog: &mut Backlog<Packet>,
) {
    let mut signals = take(&mut backlog.signals);
    for (packet, reason) in &mut signals.drops {
        packet.shorten(backlog.header);
        if packet.direction() == 0 {
            accounts[packet.flow_index()].dropped[*reason as usize] += 1;
        }
        log.note(now, Step::Drop, backlog.number, packet);
        discard(accounts, now, backlog, packet);
    }
    for packet in &mut signals.marks {
        packet.shorten(backlog.header);
        mark(accounts, log, now, backlog, packet);
    }
    // The lists are returned, so that their memory is reused.
    signals.drops.clear();
    signals.marks.clear();
    backlog.signals = signals;
}

fn mark(
    accounts: &mut [FlowAccount],
    log: &mut PacketLog,
    now: Nanos,
    backlog: &mut Backlog<Packet>,
    packet: &Packet,
) {
    backlog.stats.marks += 1;
    backlog.stats.interval.marks += 1;
    log.note(now, Step::Mark, backlog.number, packet);
    if packet.direction() == 0 {
        accounts[packet.flow_index()].marks += 1;
    }
    signal(accounts, now, backlog, packet);
}

fn discard(
    accounts: &mut [FlowAccount],
    now: Nanos,
    backlog: &mut Backlog<Packet>,
    packet: &Packet,
) {
    backlog.count.drops += 1;
    backlog.stats.count_drop(packet.enqueued_at());
    backlog.stats.losses.drop(now);
    accounts[packet.flow_index()].count_drop(packet);
    signal(accounts, now, backlog, packet);
}

/// Counts a drop or mark among the loss events, if it hit the data of a greedy flow.
fn signal(accounts: &[FlowAccount], now: Nanos, backlog: &mut Backlog<Packet>, packet: &Packet) {
    let base_rtt = accounts[packet.flow_index()].greedy_rtt;
    if packet.direction() == 0 && base_rtt != NOT_GREEDY {
        let losses = &mut backlog.stats.losses;
        losses.signal(now, packet.flow_index(), accounts.len(), base_rtt);
    }
}
