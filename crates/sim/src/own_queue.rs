//! What each connection of a host has in the queue of the host's own link.

use std::collections::VecDeque;

use bloatlab_tcp::SmallQueues;

use crate::packet::Packet;

/// The own link of one end of a flow.
#[derive(Clone, Copy)]
pub(crate) struct OwnLink {
    /// Index among the links.
    pub link: usize,
    /// Number of the flow's end among those of all flows.
    pub id: usize,
    /// Segments that a buffer of its queue holds.
    pub segments: u32,
    /// Settings of small queues, if the connection has them.
    pub rules: Option<SmallQueues>,
}

/// What the connections of a host have waiting in its own queue.
#[derive(Default)]
pub(crate) struct OwnQueue {
    /// By number of the flow's end.
    ends: Vec<Waiting>,
}

/// What an end of a flow has waiting.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Memory of the buffers.
    pub memory: u64,
    /// Segments left in each buffer, and its memory, oldest first.
    buffers: VecDeque<(u32, u64)>,
    /// The sender waits until a buffer leaves.
    pub is_awaited: bool,
}

impl OwnQueue {
    pub fn end(&mut self, id: usize) -> &mut Waiting {
        if id >= self.ends.len() {
            self.ends.resize_with(id + 1, Waiting::default);
        }
        &mut self.ends[id]
    }

    /// Counts a segment that is about to arrive. It joins the newest buffer, which has `filled` segments, or starts another if that is 0. If those
    /// segments have left already, the whole buffer still counts until this one leaves.
    pub fn add(&mut self, id: usize, filled: u32, payload: u64) {
        let end = self.end(id);
        match end.buffers.back_mut().filter(|_| filled > 0) {
            Some((segments, memory)) => {
                *segments += 1;
                *memory += payload;
                end.memory += payload;
            }
            None => {
                let memory = SmallQueues::memory(payload * u64::from(filled + 1));
                end.buffers.push_back((1, memory));
                end.memory += memory;
            }
        }
    }

    /// A packet leaves the queue. Returns the flow that may go on sending, if one has waited for it.
    pub fn remove(&mut self, packet: &Packet) -> Option<usize> {
        if packet.segment.length == 0 {
            return None;
        }
        let flow = packet.flow_index();
        let end = self.ends.get_mut(flow * 2 + packet.direction())?;
        let (segments, memory) = end.buffers.front_mut()?;
        *segments -= 1;
        if *segments > 0 {
            return None;
        }
        end.memory -= *memory;
        end.buffers.pop_front();
        std::mem::take(&mut end.is_awaited).then_some(flow)
    }
}
