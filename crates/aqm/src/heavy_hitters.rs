//! The multi-stage filter of heavy hitters (Estan and Varghese, SIGCOMM 2002). It detects flows that send much without a counter per flow.

use bloatlab_units::Nanos;

use crate::slab::NONE;

/// Number of counter arrays. Each is indexed by a different part of a flow's hash.
const ARRAYS: usize = 4;
/// Number of bits of an index.
const BITS: u32 = 10;
/// Number of counters per array, and of lists in the table of heavy hitters.
const PLACES: usize = 1 << BITS;
const MASK: u32 = PLACES as u32 - 1;

/// Tells heavy hitters from other flows by the bytes they send. A flow is identified by its 32-bit hash.
#[derive(Clone, Debug)]
pub struct HeavyHitters {
    /// Bytes in one reset period above which a flow is a heavy hitter.
    admit_bytes: u32,
    reset_timeout: Nanos,
    evict_timeout: Nanos,
    limit: u32,
    /// Bytes counted since the last reset.
    counters: [Vec<u32>; ARRAYS],
    reset_at: Nanos,
    lists: Vec<List>,
    entries: Vec<Entry>,
    free: u32,
    /// Number of entries in the table.
    pub current: u32,
    /// Number of heavy hitters found so far.
    pub total: u64,
    /// Number of heavy hitters that did not fit into the table and were treated as other flows.
    pub overlimit: u64,
}

/// Known heavy hitters whose hashes have the same low bits.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: u32,
    next: u32,
    seen_at: Nanos,
}

impl HeavyHitters {
    /// Creates an empty filter, which knows at most `limit` heavy hitters at a time.
    pub fn new(admit_bytes: u32, reset_timeout: Nanos, evict_timeout: Nanos, limit: u32) -> Self {
        let empty = List {
            head: NONE,
            tail: NONE,
        };
        Self {
            admit_bytes,
            reset_timeout,
            evict_timeout,
            limit,
            counters: std::array::from_fn(|_| vec![0; PLACES]),
            reset_at: 0,
            lists: vec![empty; PLACES],
            entries: Vec::new(),
            free: NONE,
            current: 0,
            total: 0,
            overlimit: 0,
        }
    }

    /// Records a packet of a flow. Returns whether the flow is a heavy hitter.
    #[inline]
    pub fn heavy(&mut self, now: Nanos, flow: u32, size: u32) -> bool {
        if now > self.reset_at + self.reset_timeout {
            self.reset_at = now;
            self.counters.iter_mut().for_each(|array| array.fill(0));
        }
        self.known(now, flow) || self.count(now, flow, size)
    }

    fn expired(&self, place: u32, now: Nanos) -> bool {
        self.entries[place as usize].seen_at + self.evict_timeout < now
    }

    /// Looks up a heavy hitter and removes the expired entries before it. As in Linux, the last entry of a list is kept for reuse.
    #[inline]
    fn known(&mut self, now: Nanos, flow: u32) -> bool {
        let list = (flow & MASK) as usize;
        let (mut before, mut place) = (NONE, self.lists[list].head);
        while place != NONE {
            let Entry {
                flow: found, next, ..
            } = self.entries[place as usize];
            if self.expired(place, now) {
                if next == NONE {
                    return false;
                }
                if before == NONE {
                    self.lists[list].head = next;
                } else {
                    self.entries[before as usize].next = next;
                }
                self.entries[place as usize].next = self.free;
                self.free = place;
                self.current -= 1;
            } else if found == flow {
                self.entries[place as usize].seen_at = now;
                return true;
            } else {
                before = place;
            }
            place = next;
        }
        false
    }

    /// The four counters of a flow: one for each of three parts of its hash, and one for all parts combined.
    #[inline]
    fn places(flow: u32) -> [usize; ARRAYS] {
        let [first, second, third] = [flow, flow >> BITS, flow >> (2 * BITS)].map(|x| x & MASK);
        let last = first ^ second ^ third ^ (flow >> (3 * BITS));
        [first, second, third, last].map(|place| place as usize)
    }

    /// Estan and Varghese, section 3.2: a flow is heavy if all its counters are. Otherwise they rise to what the flow may have sent.
    fn count(&mut self, now: Nanos, flow: u32, size: u32) -> bool {
        let places = Self::places(flow);
        let counters = self.counters.iter().zip(places);
        let count = counters.fold(u32::MAX, |least, (array, place)| least.min(array[place]));
        let least = count + size;
        if least > self.admit_bytes {
            // Section 3.3.1, shielding: the packets of a known heavy hitter do not raise counters.
            return self.admit(now, flow);
        }
        // Section 3.3.2, conservative update: no counter rises above what the smallest one allows for the flow.
        for (array, place) in self.counters.iter_mut().zip(places) {
            array[place] = array[place].max(least);
        }
        false
    }

    /// Adds a heavy hitter, in place of an expired one if its list has one. Returns whether there was space.
    #[cold]
    fn admit(&mut self, now: Nanos, flow: u32) -> bool {
        let list = (flow & MASK) as usize;
        let mut place = self.lists[list].head;
        while place != NONE && !self.expired(place, now) {
            place = self.entries[place as usize].next;
        }
        if place == NONE {
            if self.current >= self.limit {
                self.overlimit += 1;
                return false;
            }
            place = self.append(list);
        }
        let entry = &mut self.entries[place as usize];
        (entry.flow, entry.seen_at) = (flow, now);
        self.total += 1;
        true
    }

    /// Appends a new entry to a list and returns its place.
    fn append(&mut self, list: usize) -> u32 {
        self.current += 1;
        let unused = Entry {
            flow: 0,
            next: NONE,
            seen_at: 0,
        };
        let place = self.free;
        let place = if place == NONE {
            self.entries.push(unused);
            self.entries.len() as u32 - 1
        } else {
            self.free = std::mem::replace(&mut self.entries[place as usize], unused).next;
            place
        };
        let List { head, tail } = &mut self.lists[list];
        if *head == NONE {
            *head = place;
        } else {
            self.entries[*tail as usize].next = place;
        }
        *tail = place;
        place
    }
}
