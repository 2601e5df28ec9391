//! The frames that are in the network. Each segment has a tag, by which the simulated packet names it.

use bloatlab_sim::Delivery;

use crate::directory::Owner;
use crate::frame::Frame;

/// The frames in the network, and their segments.
#[derive(Default)]
pub(crate) struct FrameStore {
    frames: Slots<Stored>,
    segments: Slots<Segment>,
}

struct Stored {
    kept: Kept,
    /// Segments that left the network and wait for the others.
    waiting: Vec<Delivery>,
    /// Segments that are still in the network.
    left: u32,
}

/// A frame in the network.
pub(crate) struct Kept {
    /// Its segments stay together: they leave when the last of them does.
    pub is_whole: bool,
    pub frame: Frame,
    pub owner: Owner,
    pub bytes: Vec<u8>,
}

/// A segment in the network.
#[derive(Clone, Copy)]
struct Segment {
    frame: u32,
    index: u32,
    /// The packet and its copies.
    packets: u32,
}

/// A segment that left the network: its frame, and its index in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub frame: u32,
    pub index: usize,
}

impl FrameStore {
    /// Adds a frame. Returns its number.
    pub fn add(&mut self, kept: Kept) -> u32 {
        let left = kept.frame.segments() as u32;
        let waiting = Vec::new();
        self.frames.add(Stored {
            kept,
            waiting,
            left,
        })
    }

    /// The tag of a segment of a frame. Each segment gets one tag.
    pub fn tag(&mut self, frame: u32, index: usize) -> u32 {
        self.segments.add(Segment {
            frame,
            index: index as u32,
            packets: 1,
        })
    }

    /// A packet with this tag was copied.
    pub fn copied(&mut self, tag: u32) {
        if let Some(segment) = self.segments.get_mut(tag) {
            segment.packets += 1;
        }
    }

    /// Where the segment with this tag is.
    pub fn place(&self, tag: u32) -> Option<Place> {
        let segment = self.segments.get(tag)?;
        Some(Place {
            frame: segment.frame,
            index: segment.index as usize,
        })
    }

    /// The frame with this number.
    pub fn frame(&self, number: u32) -> Option<&Kept> {
        self.frames.get(number).map(|stored| &stored.kept)
    }

    /// A segment left the network, and waits until all others of its frame have left it or are lost. Then all are `ready`.
    pub fn hold(&mut self, delivery: Delivery, ready: &mut Vec<Delivery>) {
        let Some(segment) = self.segments.get(delivery.tag) else {
            return;
        };
        if let Some(stored) = self.frames.get_mut(segment.frame) {
            stored.waiting.push(delivery);
            stored.give_up_waiting(ready);
        }
    }

    /// The packet with this tag was lost. The others of its frame may be `ready`. Returns the memory of the frame if it was the last.
    pub fn lose(&mut self, tag: u32, ready: &mut Vec<Delivery>) -> Option<Vec<u8>> {
        let frame = self.segments.get(tag)?.frame;
        let memory = self.release(tag);
        if let Some(stored) = self.frames.get_mut(frame) {
            stored.give_up_waiting(ready);
        }
        memory
    }

    /// The packet with this tag has left the network. Returns the memory of its frame after the last of its packets.
    pub fn release(&mut self, tag: u32) -> Option<Vec<u8>> {
        let segment = self.segments.get_mut(tag)?;
        segment.packets -= 1;
        if segment.packets > 0 {
            return None;
        }
        let number = segment.frame;
        self.segments.remove(tag);
        let stored = self.frames.get_mut(number)?;
        stored.left -= 1;
        if stored.left > 0 {
            return None;
        }
        self.frames.remove(number).map(|stored| stored.kept.bytes)
    }
}

impl Stored {
    fn give_up_waiting(&mut self, ready: &mut Vec<Delivery>) {
        if self.waiting.len() >= self.left as usize {
            ready.append(&mut self.waiting);
        }
    }
}

/// A list whose places are used again.
struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slots<T> {
    fn add(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.slots[number as usize] = Some(value);
            return number;
        }
        self.slots.push(Some(value));
        self.slots.len() as u32 - 1
    }

    fn get(&self, number: u32) -> Option<&T> {
        self.slots.get(number as usize)?.as_ref()
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.as_mut()
    }

    fn remove(&mut self, number: u32) -> Option<T> {
        let value = self.slots.get_mut(number as usize)?.take();
        if value.is_some() {
            self.free.push(number);
        }
        value
    }
}
