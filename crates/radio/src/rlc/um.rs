//! Unacknowledged mode, sending side (TS 38.322 section 5.2.2.1, TS 36.322 section 5.1.2.1).

use bloatlab_units::Nanos;

use super::framing::UmHeader;
use super::params::Um;
use super::source::{Cut, SduSource};
use super::{Framing, Opportunity, Pdu, Sent, UmParams, Upper};

/// Header of a PDU in the lena framing, with a number of 10 bits.
const LENA_HEADER: u32 = 2;

/// Sends SDUs, whole or in segments, without retransmissions.
#[derive(Debug)]
pub struct UmTransmitter<T> {
    params: Um,
    header: UmHeader,
    source: SduSource<T>,
    /// The number of the next segmented SDU, or of the next PDU in the lena framing (TX_Next).
    next: u64,
    era: u32,
    counts: Sent,
}

impl<T: Copy> UmTransmitter<T> {
    /// Creates a transmitter that has sent nothing yet.
    pub fn new(params: &UmParams) -> Self {
        let params = params.settled();
        Self {
            header: UmHeader::new(params.sn_bits),
            params,
            source: SduSource::default(),
            next: 0,
            era: 0,
            counts: Sent::default(),
        }
    }

    /// Fills up to `offer` bytes of a transport block. Returns how many bytes it used.
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
        set_era(&mut out[first..], self.era);
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
        // Do not take an SDU of which no byte can be sent.
        while left.enough > 0
            && Framing::Nr.largest(left.room) > self.header.numbered
            && self.source.fill(now, upper)
        {
            let Some((sdu, sent)) = self.source.head() else {
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
            let Some(cut) = self.source.cut(largest - header) else {
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
        self.source
            .concatenate(now, within, upper, |cut, indicator| {
                out.push(piece(&cut, sn, data, cut.length + indicator, false));
                data += cut.length;
                size += cut.length + indicator;
            });
        if let Some(last) = out[first..].last_mut() {
            last.last = true;
            self.next += 1;
        }
        self.counts.new_bytes += u64::from(data);
        add_headers(&mut out[first..], LENA_HEADER, size)
    }

    /// Number of bytes for a buffer status report.
    pub fn report(&self, upper: &dyn Upper<T>) -> u32 {
        let (sdus, bytes) = self.source.waiting(upper);
        let headers = match self.params.framing {
            // Bytes needed to send everything that waits.
            Framing::Nr => {
                let part = self.held().map_or(0, |_| self.header.numbered + 1);
                sdus * u64::from(UmHeader::COMPLETE + 3) + u64::from(part)
            }
            // ns-3: two bytes per SDU, however many go into one PDU.
            Framing::Lena => 2 * sdus,
        };
        u32::try_from(bytes + headers).unwrap_or(u32::MAX)
    }

    /// The rest of an SDU that was sent in part: its bytes, and when the SDU entered the buffer.
    pub fn held(&self) -> Option<(u32, Nanos)> {
        self.source.held()
    }

    /// Re-establishes the entity. The rest of an SDU is discarded.
    pub fn reestablish(&mut self) {
        self.source.drop_head();
        self.next = 0;
        self.era += 1;
    }

    /// Its counters.
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

/// Sets the era of pieces when they are sent.
pub(crate) fn set_era<T>(pieces: &mut [Pdu<T>], era: u32) {
    for piece in pieces {
        piece.era = era;
    }
}

/// Adds the header and subheader of a PDU of the lena framing to its first piece. Returns its total number of bytes.
pub(crate) fn add_headers<T>(pieces: &mut [Pdu<T>], header: u32, size: u32) -> u32 {
    let [first, ..] = pieces else { return 0 };
    let wire = Framing::Lena.wire(size);
    first.bytes += header + wire - size;
    wire
}
