//! Sends what a TCP flow may send: ACKs, trains, offload buffers and single segments. Sets its timers.

use bloatlab_aqm::Ecn;
use bloatlab_tcp::segment::{MORE, PUSH};
use bloatlab_tcp::{Buffer, Endpoint, Segment};
use bloatlab_units::Nanos;

use crate::flow::TcpFlow;
use crate::network::Network;
use crate::schedule::{Schedule, event};

/// The segment that left last. The next segment shares a buffer with it if it starts where this one ended and is not longer. The default is before the
/// first segment of a buffer.
#[derive(Clone, Copy, Default)]
pub(crate) struct Last {
    end: u32,
    length: u16,
}

impl Last {
    /// This segment, which `sender` sent last.
    #[inline]
    pub fn of(segment: &Segment, sender: &Endpoint) -> Self {
        let end = segment.seq.wrapping_add(segment.length.into());
        Self::ending(end, segment.length, sender)
    }

    /// The segment of the same length that directly precedes this one, and which `sender` sent last.
    #[inline]
    fn before(segment: &Segment, sender: &Endpoint) -> Self {
        Self::ending(segment.seq, segment.length, sender)
    }

    #[inline]
    fn ending(end: u32, length: u16, sender: &Endpoint) -> Self {
        if sender.begins_buffer() {
            return Self::default();
        }
        Self { end, length }
    }

    #[inline]
    pub fn precedes(self, segment: &Segment) -> bool {
        segment.seq == self.end && segment.length.wrapping_sub(1) < self.length
    }
}

impl TcpFlow {
    /// Lets an endpoint send what it may send, and sets its timer.
    #[inline(always)]
    pub fn pump(&mut self, network: &mut Network, index: usize, end: usize) {
        if self.ends[end].only_acknowledges() {
            return self.acknowledge(network, index, end);
        }
        if !self.ends[end].is_silent() {
            match self.own_links[end] {
                None => self.send(network, end),
                Some(own) => self.send_on_own_link(network, end, own),
            }
        }
        if end == 0 {
            self.observe(network.schedule.now);
        }
        self.set_timers(&mut network.schedule, index, end);
    }

    /// Fast path of [`pump`](Self::pump) for an end that only acknowledges.
    #[inline(always)]
    fn acknowledge(&mut self, network: &mut Network, index: usize, end: usize) {
        let now = network.schedule.now;
        let (endpoint, packet) = (&mut self.ends[end], &mut self.packets[end]);
        while endpoint.poll_ack(now, &mut packet.segment) {
            packet.set_out(packet.segment.wire_size(), Ecn::NotEct, false);
            network.send(packet);
        }
        if end == 0 {
            self.observe(now);
        }
        let deadline = self.ends[end].ack_deadline();
        self.set_timer(&mut network.schedule, index, end, deadline);
    }

    /// Sends what an endpoint may send now.
    #[inline(always)]
    fn send(&mut self, network: &mut Network, end: usize) {
        let now = network.schedule.now;
        let mut last = Last::default();
        if self.ends[end].sends_buffers() {
            if self.send_buffers(network, end, &mut last) {
                return;
            }
        } else {
            let packet = &mut self.packets[end];
            let train = self.ends[end].poll_train(now, &mut packet.segment);
            if train.segments > 0 {
                packet.set_out(packet.segment.wire_size(), Ecn::NotEct, false);
                network.send_train(packet, train.segments);
                last = Last::before(&packet.segment, &self.ends[end]);
                self.on_departures(now, end, train.segments);
                if train.fills_window {
                    return;
                }
            }
        }
        while let Some(ecn) = self.ends[end].poll(now, &mut self.packets[end].segment) {
            if self.packets[end].segment.length > 0 {
                self.on_departures(now, end, 1);
            }
            let packet = &mut self.packets[end];
            let follows = last.precedes(&packet.segment);
            last = Last::of(&packet.segment, &self.ends[end]);
            packet.set_out(packet.segment.wire_size(), ecn, follows);
            network.send(packet);
            if !self.ends[end].may_go_on(now) {
                break;
            }
        }
    }

    /// Sends buffers of full segments. Returns true if the window then has no room for another segment.
    #[inline(never)]
    fn send_buffers(&mut self, network: &mut Network, end: usize, last: &mut Last) -> bool {
        let now = network.schedule.now;
        loop {
            let packet = &mut self.packets[end];
            let Buffer {
                train,
                followed,
                pushes,
            } = self.ends[end].poll_buffer(now, &mut packet.segment);
            if train.segments == 0 {
                return false;
            }
            let follows = last.precedes(&packet.segment);
            packet.set_out(packet.segment.wire_size(), Ecn::NotEct, follows);
            packet.segment.flags |= MORE;
            network.send_train(packet, followed);
            packet.segment.flags &= !MORE;
            let pushed = u64::from(pushes);
            network.send_train(packet, train.segments - followed - pushed);
            packet.segment.flags |= PUSH;
            network.send_train(packet, pushed);
            packet.segment.flags &= !PUSH;
            *last = Last::before(&packet.segment, &self.ends[end]);
            self.on_departures(now, end, train.segments);
            if train.fills_window {
                return true;
            }
        }
    }

    /// Schedules the next timer of an endpoint, and the next release of its pacing clock.
    #[inline(always)]
    pub fn set_timers(&mut self, schedule: &mut Schedule, index: usize, end: usize) {
        let (now, own) = (schedule.now, (index * 2 + end) as u32);
        let deadline = self.ends[end].deadline();
        self.set_timer(schedule, index, end, deadline);
        let standing = &mut self.releases[end];
        let release = self.ends[end].release(now, standing.at);
        if release < standing.at {
            standing.at = release;
            let slot = *standing.slot.get_or_insert_with(|| schedule.reserve());
            let key = schedule.key(release, event::RELEASE, own);
            schedule.reset(slot, key);
        }
    }

    /// Schedules a timer event for an endpoint at `deadline` or before.
    #[inline(always)]
    fn set_timer(&mut self, schedule: &mut Schedule, index: usize, end: usize, deadline: Nanos) {
        if deadline < self.scheduled[end] {
            self.scheduled[end] = deadline;
            schedule.at(deadline, event::TIMER, (index * 2 + end) as u32);
        }
    }
}
