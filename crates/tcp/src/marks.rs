//! Congestion marks between the two ends: what the receiver reports, and how the sender uses it.

use bloatlab_aqm::Ecn;
use bloatlab_cc::{CongestionControl, EcnFeedback};

use crate::TcpConfig;
use crate::segment::{Counters, ECE, Segment};

/// RFC 9768 section 3.2.1: initial value of the packet counter, chosen so that it cannot be mistaken for RFC 3168 flags.
const FIRST_PACKETS: u8 = 5;
/// RFC 9768 section 3.2.1: initial value of the counters of unmarked bytes.
const FIRST_UNMARKED: u32 = 1;
/// RFC 9768 section 3.2.2.5.1: number of marks after which an ACK is sent at once.
const MARKS_PER_ACK: u8 = 2;

/// What a connection does about ECN, as its user and its congestion control require. Equal at both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnPlan {
    /// The feedback to negotiate.
    pub wanted: EcnFeedback,
    /// The feedback that the congestion control needs. With it, every packet is ECN-capable; with less, only new data is.
    pub needed: EcnFeedback,
    /// The congestion control may use ECT(1).
    pub l4s: bool,
    /// A retransmitted SYN does not offer ECN any more.
    pub fallback: bool,
}

impl EcnPlan {
    /// The plan of a connection with this congestion control.
    pub fn of(config: &TcpConfig, cc: &dyn CongestionControl) -> Self {
        let needed = cc.needs_ecn();
        Self {
            wanted: config.ecn.or_needed(needed),
            needed,
            l4s: cc.is_l4s(),
            fallback: config.ecn_fallback,
        }
    }

    /// The feedback that the SYN offers in this try, counted from 1.
    pub(crate) fn offer(&self, tries: u32) -> EcnFeedback {
        // RFC 3168 section 6.1.1.1: an unanswered SYN is retransmitted without ECN. RFC 9768 section 3.1.4.1: AccECN is offered once more before.
        let offers = if self.wanted == EcnFeedback::Accurate {
            2
        } else {
            1
        };
        if self.fallback && tries > offers {
            EcnFeedback::Off
        } else {
            self.wanted
        }
    }

    /// The code point of new data with this feedback.
    pub(crate) fn of_data(&self, agreed: EcnFeedback) -> Ecn {
        match agreed {
            EcnFeedback::Off => Ecn::NotEct,
            _ if self.l4s && agreed >= self.needed => Ecn::Ect1,
            _ => Ecn::Ect0,
        }
    }

    /// The code point of all other segments: retransmissions, ACKs and SYNs.
    pub(crate) fn of_control(&self, agreed: EcnFeedback) -> Ecn {
        // RFC 3168 sections 6.1.4 and 6.1.5: Not-ECT, except for congestion controls that RFC 8311 section 4.3 exempts.
        if self.needed == EcnFeedback::Off || agreed < self.needed {
            return Ecn::NotEct;
        }
        self.of_data(agreed)
    }

    /// The feedback that both ends use if the other end offers `offered`.
    pub(crate) fn agree(&self, offered: EcnFeedback) -> EcnFeedback {
        match (self.wanted, offered) {
            (EcnFeedback::Off, _) | (_, EcnFeedback::Off) => EcnFeedback::Off,
            // RFC 9768 section 3.1.2: the feedback that an RFC 3168 end understands.
            (EcnFeedback::Accurate, EcnFeedback::Classic | EcnFeedback::Dctcp) => {
                EcnFeedback::Classic
            }
            (wanted, _) => wanted,
        }
    }
}

/// The feedback that a SYN offers in its ACE field (RFC 9768 section 3.1.1).
pub(crate) fn offered_by_syn(segment: &Segment) -> EcnFeedback {
    match segment.ace() {
        0b111 => EcnFeedback::Accurate,
        0b011 => EcnFeedback::Classic,
        _ => EcnFeedback::Off,
    }
}

/// The feedback that a SYN-ACK offers in its ACE field (RFC 9768 table 2).
pub(crate) fn offered_by_syn_ack(segment: &Segment) -> EcnFeedback {
    match segment.ace() {
        0b010 | 0b011 | 0b100 | 0b110 => EcnFeedback::Accurate,
        0b001 | 0b101 => EcnFeedback::Classic,
        _ => EcnFeedback::Off,
    }
}

/// How the handshake reports the code point of a SYN or SYN-ACK (RFC 9768 table 3).
pub(crate) fn handshake_ace(came: Ecn) -> u8 {
    match came {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The receiver's part of the feedback.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    pub feedback: EcnFeedback,
    /// Whether ECE is set: a mark arrived and no CWR since (RFC 3168), or the last packet was marked (RFC 8257's DCTCP.CE).
    pub on: bool,
    /// AccECN: number of marked packets; payload bytes by code point, of which those of Not-ECT are not reported; and the last unmarked code point.
    packets: u8,
    bytes: [u32; 4],
    unmarked: Ecn,
    /// Whether the last packet with data was marked, and the number of marks since the last ACK was sent.
    last_marked: bool,
    since_ack: u8,
}

impl Echo {
    pub fn new() -> Self {
        Self {
            feedback: EcnFeedback::Off,
            on: false,
            packets: FIRST_PACKETS,
            bytes: [0, FIRST_UNMARKED, FIRST_UNMARKED, 0],
            unmarked: Ecn::Ect0,
            last_marked: false,
            since_ack: 0,
        }
    }

    /// RFC 9768 section 3.2.1: counts packets of any kind, and their payload bytes.
    #[inline(always)]
    pub fn count(&mut self, segment: &Segment, ecn: Ecn) {
        let counter = &mut self.bytes[ecn as usize];
        *counter = counter.wrapping_add(segment.length.into());
        self.packets = self.packets.wrapping_add(u8::from(ecn == Ecn::Ce));
        if matches!(ecn, Ecn::Ect0 | Ecn::Ect1) {
            self.unmarked = ecn;
        }
    }

    /// RFC 9768 section 3.2.2.5.1: whether this packet with data must be acknowledged at once.
    pub fn hastens(&mut self, marked: bool) -> bool {
        let first = marked && !self.last_marked;
        self.last_marked = marked;
        self.since_ack += u8::from(marked);
        first || self.since_ack >= MARKS_PER_ACK
    }

    /// Writes the feedback into a segment that is about to leave.
    pub fn tell(&mut self, segment: &mut Segment) {
        if self.feedback != EcnFeedback::Accurate {
            if self.on {
                segment.flags |= ECE;
            }
            return;
        }
        self.since_ack = 0;
        segment.set_ace(self.packets);
        // Only on pure ACKs, because a full segment has no space for it.
        if segment.length == 0 && segment.blocks <= crate::segment::COUNTERS_BLOCKS {
            segment.set_counters(Counters {
                unmarked: self.bytes[self.unmarked as usize],
                marked: self.bytes[Ecn::Ce as usize],
                l4s: self.unmarked == Ecn::Ect1,
            });
        }
    }
}

/// The sender's part of AccECN: the last counter values read from the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterReader {
    packets: u8,
    bytes: u32,
    /// Bytes estimated from the packet counter alone since the byte counter was last read.
    guessed: u64,
    /// Timestamp of the newest segment read.
    newest: u32,
}

/// What an ACK delivered, for a [`CounterReader`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivered {
    pub segments: u64,
    pub bytes: u64,
    pub mss: u64,
}

impl CounterReader {
    pub fn new() -> Self {
        Self {
            packets: FIRST_PACKETS,
            bytes: 0,
            guessed: 0,
            newest: 0,
        }
    }

    /// Starts after the handshake, whose ACE fields are not counters.
    pub fn begin(&mut self, tsval: u32) {
        self.newest = tsval;
    }

    /// Whether the segment reports new marks, and for how many payload bytes.
    #[inline(always)]
    pub fn read(&mut self, segment: &Segment, news: Delivered) -> (bool, u64) {
        // RFC 9768 section 3.2.2.5: the counters of an old segment must be ignored. If an ACK delivers nothing, its timestamp shows whether it is
        // old.
        let age = segment.tsval.wrapping_sub(self.newest) as i32;
        if age < 0 || (age == 0 && news.segments == 0) {
            return (false, 0);
        }
        self.newest = segment.tsval;
        let bytes_stand = match segment.counters() {
            Some(counters) => counters.marked == self.bytes && self.guessed == 0,
            None => news.segments <= 7,
        };
        if segment.ace() == self.packets && bytes_stand {
            return (false, 0);
        }
        self.follow(segment, news)
    }

    /// Slow path of [`read`](Self::read): a counter changed, or may have wrapped unnoticed.
    #[inline(never)]
    fn follow(&mut self, segment: &Segment, news: Delivered) -> (bool, u64) {
        let ace = segment.ace();
        let step = u64::from(ace.wrapping_sub(self.packets) & 7);
        self.packets = ace;
        if let Some(counters) = segment.counters() {
            let bytes = u64::from(counters.marked.wrapping_sub(self.bytes) & 0xff_ffff);
            self.bytes = counters.marked;
            let bytes = bytes.saturating_sub(std::mem::take(&mut self.guessed));
            return (step > 0 || bytes > 0, bytes);
        }
        // RFC 9768 appendix A.2: if ACKs were lost, three bits may wrap unnoticed. Then assume the largest number of marks that fits what was
        // delivered.
        let marked = if news.segments > 7 {
            news.segments - ((news.segments - step) & 7)
        } else {
            step
        };
        let bytes = (marked * news.mss).min(news.bytes);
        self.guessed += bytes;
        (marked > 0, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::ACK;

    fn ack(tsval: u32, packets: u8, marked: Option<u32>) -> Segment {
        let mut segment = Segment {
            flags: ACK,
            tsval,
            ..Segment::default()
        };
        segment.set_ace(packets);
        if let Some(marked) = marked {
            segment.set_counters(Counters {
                marked,
                ..Counters::default()
            });
        }
        segment
    }

    fn news(segments: u64) -> Delivered {
        Delivered {
            segments,
            bytes: segments * 100,
            mss: 100,
        }
    }

    #[test]
    fn counters_become_marks_once() {
        let mut counter_reader = CounterReader::new();
        assert_eq!(
            counter_reader.read(&ack(1, 5, Some(0)), news(2)),
            (false, 0)
        );
        assert_eq!(
            counter_reader.read(&ack(2, 6, Some(70)), news(2)),
            (true, 70)
        );
        assert_eq!(
            counter_reader.read(&ack(2, 6, Some(70)), news(0)),
            (false, 0)
        );
        // Without the option: packets times MSS, corrected when the option reports again.
        assert_eq!(counter_reader.read(&ack(3, 7, None), news(2)), (true, 100));
        assert_eq!(
            counter_reader.read(&ack(4, 0, Some(260)), news(2)),
            (true, 90)
        );
        // Reordered: it acknowledges nothing new and is not newer.
        assert_eq!(
            counter_reader.read(&ack(3, 7, Some(70)), news(0)),
            (false, 0)
        );
    }

    #[test]
    fn lost_acks_give_the_largest_possible_count() {
        // Appendix A.2: 20 segments and one step mean 1, 9 or 17 marks.
        let mut counter_reader = CounterReader::new();
        assert_eq!(
            counter_reader.read(&ack(1, 6, None), news(20)),
            (true, 1700)
        );
        let mut counter_reader = CounterReader::new();
        assert_eq!(counter_reader.read(&ack(1, 5, None), news(7)), (false, 0));
    }

    #[test]
    fn byte_counters_wrap_at_24_bits() {
        let mut counter_reader = CounterReader::new();
        counter_reader.read(&ack(1, 6, Some(0xff_ff00)), news(9));
        assert_eq!(
            counter_reader.read(&ack(2, 7, Some(0x100)), news(2)),
            (true, 0x200)
        );
    }

    #[test]
    fn ends_agree_on_options_that_both_support() {
        use EcnFeedback::{Accurate, Classic, Dctcp, Off};
        let plan = |wanted| EcnPlan {
            wanted,
            ..EcnPlan::default()
        };
        assert_eq!(plan(Accurate).agree(Accurate), Accurate);
        assert_eq!(plan(Accurate).agree(Classic), Classic);
        assert_eq!(plan(Dctcp).agree(Classic), Dctcp);
        assert_eq!(plan(Classic).agree(Accurate), Classic);
        assert_eq!(plan(Off).agree(Accurate), Off);
        assert_eq!(plan(Dctcp).agree(Off), Off);
        let l4s = EcnPlan {
            wanted: Accurate,
            needed: Accurate,
            l4s: true,
            fallback: true,
        };
        assert_eq!(
            (l4s.of_data(Accurate), l4s.of_control(Accurate)),
            (Ecn::Ect1, Ecn::Ect1)
        );
        assert_eq!(
            (l4s.of_data(Classic), l4s.of_control(Classic)),
            (Ecn::Ect0, Ecn::NotEct)
        );
    }
}
