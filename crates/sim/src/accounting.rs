//! What happens to a packet at a link is counted for the link and for its flow.

use std::mem::take;

use bloatlab_outcome::{NOT_GREEDY, Step};
use bloatlab_units::Nanos;

use crate::boxes::Link;
use crate::flow_account::FlowAccount;
use crate::packet::Packet;
use crate::packet_log::PacketLog;
use crate::tail_drop::Waited;

/// Records the sojourn time of a packet for the link and for its flow.
#[inline(always)]
pub(crate) fn count_wait(link: &mut Link, accounts: &mut [FlowAccount], waited: Waited) {
    let sojourn = waited.sojourn;
    link.stats.interval.sojourn_sum += sojourn;
    link.stats.interval.sojourns += 1;
    if waited.direction == 0 && !link.transit {
        let account = &mut accounts[waited.flow];
        account.waits.0 += sojourn;
        account.waits.1 += 1;
        account
            .sojourn
            .record_in_both(&mut link.stats.sojourn, sojourn);
    } else {
        link.stats.sojourn.record(sojourn);
    }
}

/// Counts what the queue discipline discarded or marked.
#[cold]
pub(crate) fn settle(
    link: &mut Link,
    now: Nanos,
    accounts: &mut [FlowAccount],
    log: &mut PacketLog,
) {
    let mut signals = take(&mut link.signals);
    for (packet, reason) in &mut signals.drops {
        packet.shorten(link.header);
        if packet.direction() == 0 {
            accounts[packet.flow_index()].dropped[*reason as usize] += 1;
        }
        discard(link, now, accounts, log, packet);
    }
    for packet in &mut signals.marks {
        packet.shorten(link.header);
        mark(link, now, accounts, log, packet);
    }
    // The lists go back, so that their memory is used again.
    signals.drops.clear();
    signals.marks.clear();
    link.signals = signals;
}

/// Counts a packet that was marked.
pub(crate) fn mark(
    link: &mut Link,
    now: Nanos,
    accounts: &mut [FlowAccount],
    log: &mut PacketLog,
    packet: &Packet,
) {
    link.stats.marks += 1;
    link.stats.interval.marks += 1;
    log.note(now, Step::Mark, link.number, packet);
    if packet.direction() == 0 {
        accounts[packet.flow_index()].marks += 1;
    }
    signal(link, now, accounts, packet);
}

/// Counts a packet that is gone.
pub(crate) fn discard(
    link: &mut Link,
    now: Nanos,
    accounts: &mut [FlowAccount],
    log: &mut PacketLog,
    packet: &Packet,
) {
    link.count.drops += 1;
    link.stats.drops += 1;
    link.stats.interval.drops += 1;
    link.stats.losses.drop(now);
    log.note(now, Step::Drop, link.number, packet);
    accounts[packet.flow_index()].count_drop(packet);
    signal(link, now, accounts, packet);
}

/// Counts a drop or mark among the loss events, if it hit the data of a greedy flow.
fn signal(link: &mut Link, now: Nanos, accounts: &[FlowAccount], packet: &Packet) {
    let base_rtt = accounts[packet.flow_index()].greedy_rtt;
    if packet.direction() == 0 && base_rtt != NOT_GREEDY {
        let losses = &mut link.stats.losses;
        losses.signal(now, packet.flow_index(), accounts.len(), base_rtt);
    }
}
