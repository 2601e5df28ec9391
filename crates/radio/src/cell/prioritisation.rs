//! Logical-channel prioritisation (TS 38.321 section 5.4.3.1): how a UE's bearers fill its transport block.

use bloatlab_units::{Duration, MILLISECOND, Nanos, Rate, SECOND};

use crate::infinite::OrInfinite;
use crate::rlc::Opportunity;

/// The lowest priority.
pub const LOWEST: u8 = 16;
/// The largest finite rate of TS 38.331, LogicalChannelConfig: 65,536 kB/s.
const MOST: Rate = Rate(8 * 65_536_000);
/// The smallest and largest bucket size durations in its list.
const SIZES: [Nanos; 2] = [5 * MILLISECOND, SECOND];
/// Buckets are counted in bits times the nanoseconds of a second.
const BYTE: i128 = 8 * SECOND as i128;

/// The priority of a bearer among those of its UE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogicalChannel {
    /// Priority from 1, which is served first, to 16.
    pub priority: u8,
    /// Rate that it gets before lower priorities get anything.
    pub prioritised_bit_rate: OrInfinite<Rate>,
    /// For how long unused rate may accumulate.
    pub bucket_size_duration: Duration,
}

impl Default for LogicalChannel {
    fn default() -> Self {
        Self {
            priority: LOWEST,
            prioritised_bit_rate: OrInfinite::Finite(Rate(0)),
            bucket_size_duration: Duration(100 * MILLISECOND),
        }
    }
}

impl LogicalChannel {
    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        if !(1..=LOWEST).contains(&self.priority) {
            let value = self.priority;
            return Err(format!(
                "priority: must be between 1 and {LOWEST}, not {value}"
            ));
        }
        match self.prioritised_bit_rate {
            OrInfinite::Finite(rate) if rate > MOST => {
                return Err(format!(
                    "prioritised_bit_rate: must be at most {MOST}, or infinite, not {rate}"
                ));
            }
            _ => {}
        }
        let (given, [low, high]) = (self.bucket_size_duration, SIZES);
        if (low..=high).contains(&given.0) {
            return Ok(());
        }
        let (low, high) = (Duration(low), Duration(high));
        Err(format!(
            "bucket_size_duration: must be between {low} and {high}, not {given}"
        ))
    }
}

/// What a channel used of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Bytes of the block.
    pub room: u32,
    /// Bytes of PDUs in them, without MAC subheaders. Only counted if a sufficient amount is given.
    pub pdus: u32,
}

#[derive(Clone, Debug)]
struct Channel {
    settings: LogicalChannel,
    /// The bucket (Bj). It is negative if the last PDU was larger than the rest of the bucket.
    bucket: i128,
    /// When it was last filled.
    at: Nanos,
    /// Service that it received, relative to channels of the same priority that always have something to send.
    share: u64,
    /// Whether it has something to send in this block.
    waits: bool,
    /// Bytes that it took from this block, by round.
    taken: [u32; 2],
}

impl Channel {
    /// Fills the bucket (TS 38.321 section 5.4.3.1.1).
    fn fill_up(&mut self, now: Nanos) {
        if let OrInfinite::Finite(Rate(rate)) = self.settings.prioritised_bit_rate {
            let gained = i128::from(rate) * i128::from(now - self.at);
            let size = i128::from(rate) * i128::from(self.settings.bucket_size_duration.0);
            self.bucket = (self.bucket + gained).min(size);
        }
        self.at = now;
    }

    /// Bytes that it may have before lower priorities get anything.
    fn guaranteed(&self) -> u32 {
        match self.settings.prioritised_bit_rate {
            OrInfinite::Infinite => u32::MAX,
            OrInfinite::Finite(_) if self.bucket <= 0 => 0,
            OrInfinite::Finite(_) => {
                u32::try_from((self.bucket + BYTE - 1) / BYTE).unwrap_or(u32::MAX)
            }
        }
    }
}

/// The rounds in which a block is filled: first the guaranteed part, then the rest.
const GUARANTEED: usize = 0;
const REST: usize = 1;

/// The logical channels of a UE in one direction.
#[derive(Clone, Debug)]
pub struct Prioritisation {
    channels: Vec<Channel>,
    /// By priority: the smallest service among the channels that recently had something to send. A channel that returns has no claim on what it did
    /// not need.
    least: [u64; LOWEST as usize + 1],
}

impl Prioritisation {
    /// Creates it with empty buckets.
    pub fn new(channels: impl IntoIterator<Item = LogicalChannel>) -> Self {
        let channels = channels.into_iter().map(|settings| Channel {
            settings,
            bucket: 0,
            at: 0,
            share: 0,
            waits: true,
            taken: [0; 2],
        });
        Self {
            channels: channels.collect(),
            least: [0; LOWEST as usize + 1],
        }
    }

    /// Number of channels.
    pub fn count(&self) -> usize {
        self.channels.len()
    }

    /// Sets whether a channel has something to send in the next block.
    pub fn set_waiting(&mut self, channel: usize, waits: bool) {
        self.channels[channel].waits = waits;
    }

    /// Whether a channel had something to send in the last block.
    #[inline]
    pub fn waits(&self, channel: usize) -> bool {
        self.channels[channel].waits
    }

    /// Lets the channels fill a block of this size. `serve` gets the channel and how much it may use, and returns how much it used.
    #[inline]
    pub fn fill(
        &mut self,
        now: Nanos,
        room: u32,
        mut serve: impl FnMut(usize, Opportunity) -> Served,
    ) {
        if self.channels.len() == 1 {
            serve(0, room.into());
            return;
        }
        self.begin(now);
        // A channel that used nothing has nothing left, or nothing that fits.
        let mut is_done = 0_u64;
        let mut left = room;
        for round in [GUARANTEED, REST] {
            while let Some((next, enough)) = self.next(round, is_done).filter(|_| left > 0) {
                let served = serve(next, Opportunity { room: left, enough });
                if served.room == 0 {
                    is_done |= 1 << next;
                    continue;
                }
                left -= served.room;
                let channel = &mut self.channels[next];
                channel.taken[round] += served.room;
                channel.share += u64::from(served.room);
                if round == GUARANTEED {
                    channel.bucket -= i128::from(served.pdus) * BYTE;
                }
            }
        }
    }

    /// Starts a block.
    fn begin(&mut self, now: Nanos) {
        let mut least = [u64::MAX; LOWEST as usize + 1];
        for channel in &mut self.channels {
            channel.fill_up(now);
            channel.taken = [0; 2];
            if channel.waits {
                let priority = usize::from(channel.settings.priority);
                channel.share = channel.share.max(self.least[priority]);
                least[priority] = least[priority].min(channel.share);
            }
        }
        for (known, least) in self.least.iter_mut().zip(least) {
            *known = if least == u64::MAX { *known } else { least };
        }
    }

    /// The next channel and the amount that is sufficient for it. The highest priority is served first; among equal ones, the channel with the least
    /// service. They take turns, PDU by PDU.
    fn next(&self, round: usize, is_done: u64) -> Option<(usize, u32)> {
        let is_open = |&(place, channel): &(usize, &Channel)| {
            channel.waits
                && is_done & (1 << place) == 0
                && (round == REST || channel.guaranteed() > 0)
        };
        let open = || self.channels.iter().enumerate().filter(is_open);
        let (place, channel) = open().min_by_key(|(_, c)| (c.settings.priority, c.share))?;
        let priority = channel.settings.priority;
        let equals = open().filter(|(_, c)| c.settings.priority == priority);
        let enough = match round {
            _ if equals.count() > 1 => 1,
            GUARANTEED => channel.guaranteed(),
            _ => u32::MAX,
        };
        Some((place, enough))
    }

    /// Bytes that a channel could have had of the last block, or of one of this size with the same contents. What other channels took before it is
    /// excluded. Of what lower priorities took, only their guaranteed part is excluded.
    pub fn offered(&self, channel: usize, size: u32) -> u32 {
        if self.channels.len() == 1 {
            return size;
        }
        let priority = self.channels[channel].settings.priority;
        let others = self.channels.iter().enumerate();
        let taken = others.filter(|&(place, _)| place != channel).map(|(_, c)| {
            let rest = c.settings.priority <= priority;
            c.taken[GUARANTEED] + if rest { c.taken[REST] } else { 0 }
        });
        size.saturating_sub(taken.sum())
    }
}
