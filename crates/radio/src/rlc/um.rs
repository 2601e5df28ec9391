//! Unacknowledged mode, sending side (TS 38.322 section 5.2.2.1, TS 36.322 section 5.1.2.1).

use bloatlab_units::Nanos;

use super::feed::{Cut, Feed};
use super::framing::UmHeader;
use super::params::Um;
use super::{Framing, Opportunity, Pdu, Sent, UmParams, Upper};

/// Header of a PDU in the lena framing: 10 bits of number.
const LENA_HEADER: u32 = 2;

/// Sends SDUs, whole or in segments, and forgets them.
#[derive(Debug)]
pub struct UmTransmitter<T> {
    params: Um,
    header: UmHeader,
    feed: Feed<T>,
    /// The number that the next segmented SDU, or the next PDU of the lena framing, gets (TX_Next).
    next: u64,
    era: u32,
    counts: Sent,
}

impl<T: Copy> UmTransmitter<T> {
    /// One that has sent nothing.
    pub fn new(params: &UmParams) -> Self {
        let params = params.settled();
        Self {
            header: UmHeader::new(params.sn_bits),
            params,
            feed: Feed::default(),
            next: 0,
            era: 0,
            counts: Sent::default(),
        }
    }

    /// Fills up to so many bytes of a transport block; says how many it used.
    pub fn transmit(
        &mut self,
        now: Nanos,
        offer: impl Into<Opportunity>,
        upper: &mut dyn Upper<T>,
        out: &mut Vec<Pdu<T>>,
    ) -> u32 {
        let (first, offer) = (out.len(), offer.into());
        let used = match self.params.framing {
            Framing::Nr => self.segments(now, offer, upper, out),
            Framing::Lena => self.concatenation(now, offer, upper, out),
        };
        date(&mut out[first..], self.era);
        used
    }

    fn segments(
        &mut self,
        now: Nanos,
        offer: Opportunity,
        upper: &mut dyn Upper<T>,
        out: &mut Vec<Pdu<T>>,
    ) -> u32 {
        let mut left = offer;
        // Nothing is taken up of which no byte could be sent.
        while left.enough > 0
            && Framing::Nr.largest(left.room) > self.header.numbered
            && self.feed.fill(now, upper)
        {
            let Some((sdu, sent)) = self.feed.head() else {
                break;
            };
            let largest = Framing::Nr.largest(left.room);
            let whole = sent == 0 && UmHeader::COMPLETE + sdu.bytes <= largest;
            let header = if whole {
                UmHeader::COMPLETE
            } else {
                self.header.segment(sent)
            };
            if largest <= header {
                break;
            }
            let Some(cut) = self.feed.cut(largest - header) else {
                break;
            };
            let bytes = left.take(header + cut.length);
            self.counts.new_bytes += u64::from(cut.length);
            let sn = if whole { 0 } else { self.next };
            out.push(piece(&cut, sn, cut.offset, bytes, cut.ends()));
            if !whole && cut.ends() {
                self.next += 1;
            }
        }
        offer.room - left.room
    }

    fn concatenation(
        &mut self,
        now: Nanos,
        offer: Opportunity,
        upper: &mut dyn Upper<T>,
        out: &mut Vec<Pdu<T>>,
    ) -> u32 {
        let largest = Framing::Lena.largest(offer.room);
        if largest <= LENA_HEADER {
            return 0;
        }
        let within = offer.inside(largest, LENA_HEADER);
        let (first, sn) = (out.len(), self.next);
        let (mut data, mut size) = (0, LENA_HEADER);
        self.feed.concatenate(now, within, upper, |cut, indicator| {
            out.push(piece(&cut, sn, data, cut.length + indicator, false));
            data += cut.length;
            size += cut.length + indicator;
        });
        if let Some(last) = out[first..].last_mut() {
            last.last = true;
            self.next += 1;
        }
        self.counts.new_bytes += u64::from(data);
        crown(&mut out[first..], LENA_HEADER, size)
    }

    /// Bytes for a buffer status report.
    pub fn report(&self, upper: &dyn Upper<T>) -> u32 {
        let (sdus, bytes) = self.feed.waiting(upper);
        let headers = match self.params.framing {
            // What it takes to send all that waits.
            Framing::Nr => {
                let part = self.held().map_or(0, |_| self.header.numbered + 1);
                sdus * u64::from(UmHeader::COMPLETE + 3) + u64::from(part)
            }
            // ns-3: two bytes an SDU, however many go into one PDU.
            Framing::Lena => 2 * sdus,
        };
        u32::try_from(bytes + headers).unwrap_or(u32::MAX)
    }

    /// What is left of an SDU that was sent in part: bytes, and when it came into the buffer.
    pub fn held(&self) -> Option<(u32, Nanos)> {
        self.feed.held()
    }

    /// Starts anew; what is left of an SDU is thrown away.
    pub fn reestablish(&mut self) {
        self.feed.drop_head();
        self.next = 0;
        self.era += 1;
    }

    /// What it counted.
    pub fn counts(&self) -> Sent {
        self.counts
    }
}

/// A piece that was never sent before.
pub(crate) fn piece<T: Copy>(cut: &Cut<T>, sn: u64, offset: u32, bytes: u32, last: bool) -> Pdu<T> {
    Pdu {
        item: cut.sdu.item,
        sn,
        offset,
        length: cut.length,
        bytes,
        begins: cut.begins(),
        ends: cut.ends(),
        last,
        poll: false,
        again: false,
        era: 0,
    }
}

/// Marks pieces with the era in which they leave.
pub(crate) fn date<T>(pieces: &mut [Pdu<T>], era: u32) {
    for piece in pieces {
        piece.era = era;
    }
}

/// Lays header and subheader of a PDU of the lena framing upon its first piece; says how many bytes it takes in all.
pub(crate) fn crown<T>(pieces: &mut [Pdu<T>], header: u32, size: u32) -> u32 {
    let [first, ..] = pieces else { return 0 };
    let wire = Framing::Lena.wire(size);
    first.bytes += header + wire - size;
    wire
}
