//! How the window is reduced to `ssthresh` during recovery.

use bloatlab_cc::{Ack, Window};

use crate::Reduction;

/// Proportional rate reduction (RFC 6937), or the window of RFC 6675.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    kind: Reduction,
    delivered: u64,
    out: u64,
    flight: u64,
}

impl Prr {
    pub fn new(kind: Reduction) -> Self {
        Self {
            kind,
            delivered: 0,
            out: 0,
            flight: 1,
        }
    }

    /// Starts a recovery with this many outstanding bytes and this window. RecoverFS is the former in RFC 6937, and the latter in Linux.
    pub fn begin(&mut self, outstanding: u64, cwnd: u64) {
        let flight = match self.kind {
            Reduction::Prr => cwnd,
            Reduction::PrrBytes | Reduction::Classic => outstanding,
        };
        *self = Self {
            kind: self.kind,
            delivered: 0,
            out: 0,
            flight: flight.max(1),
        };
    }

    /// Whether the ACK that ends a recovery grows the window by what it delivered, as any other ACK (Linux). Otherwise only the next ACK does.
    pub fn is_over_at_once(&self) -> bool {
        self.kind != Reduction::Classic
    }

    /// Whether a loss of data sent during recovery starts another recovery even if it was retransmitted (Linux), or only if it was not.
    pub fn counts_repeated(&self) -> bool {
        self.kind != Reduction::Classic
    }

    /// Records that a segment was sent during recovery.
    pub fn on_send(&mut self, bytes: u64, mss: u64) {
        self.out += self.counted(bytes, mss);
    }

    /// What these bytes count: Linux counts segments, so the last one of a page, which is shorter, counts as a whole one.
    fn counted(&self, bytes: u64, mss: u64) -> u64 {
        match self.kind {
            Reduction::PrrBytes => bytes,
            Reduction::Prr | Reduction::Classic => bytes.next_multiple_of(mss),
        }
    }

    /// Returns the window after this ACK.
    pub fn on_ack(&mut self, ack: &Ack, window: &Window) -> u64 {
        let (ssthresh, mss) = (window.ssthresh, window.mss);
        if self.kind == Reduction::Classic {
            return ssthresh.max(mss);
        }
        let [pipe, delivered] =
            [ack.in_flight, ack.delivered_now].map(|bytes| self.counted(bytes, mss));
        self.delivered += delivered;
        let mut quota = if pipe > ssthresh {
            // RFC 6937 section 3: send in proportion to what is delivered.
            let due = (self.delivered * ssthresh).div_ceil(self.flight);
            let sent = match self.kind {
                Reduction::PrrBytes => due,
                _ => due.next_multiple_of(mss),
            };
            sent.saturating_sub(self.out)
        } else {
            // Slow-start reduction bound while the ACK advances and nothing more is lost; otherwise packet conservation.
            let safe = ack.acked > 0 && ack.lost_now == 0;
            let bound =
                self.delivered.saturating_sub(self.out).max(delivered) + if safe { mss } else { 0 };
            bound.min(ssthresh - pipe)
        };
        if self.out == 0 {
            // The fast retransmission is sent at once.
            quota = quota.max(mss);
        }
        // RFC 5681 section 3.1: the window is at least one segment, also if the pipe is empty.
        (pipe + quota).max(mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(prr: &mut Prr, pipe: u64, delivered: u64, acked: u64, lost: u64) -> u64 {
        let window = Window {
            ssthresh: 10,
            mss: 1,
            ..Window::new(1, 10)
        };
        let ack = Ack {
            in_flight: pipe,
            delivered_now: delivered,
            acked,
            lost_now: lost,
            ..Ack::default()
        };
        prr.on_ack(&ack, &window)
    }

    #[test]
    fn sends_one_for_two_while_above_ssthresh() {
        // The pattern of RFC 6937 section 4: with 20 in flight and ssthresh 10, one segment is sent per two segments delivered.
        let mut prr = Prr::new(Reduction::Prr);
        prr.begin(20, 20);
        let mut pipe = 19;
        let mut sent = Vec::new();
        for _ in 0..8 {
            pipe -= 1;
            let quota = step(&mut prr, pipe, 1, 0, 0) - pipe;
            sent.push(quota);
            prr.on_send(quota, 1);
            pipe += quota;
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_part_of_a_segment_counts_as_a_segment_except_in_bytes() {
        // From 7 segments to 4. In segments, ceil(4/7 n) of n delivered: 1, 2, 2, 3. A Linux 7.2 beside it sends on the same ACKs.
        for (kind, expected) in [
            (Reduction::Prr, [1, 1, 0, 1]),
            (Reduction::PrrBytes, [1, 0, 0, 0]),
        ] {
            let mut prr = Prr::new(kind);
            prr.begin(7000, 7000);
            let window = Window {
                ssthresh: 4000,
                mss: 1000,
                ..Window::new(1000, 10)
            };
            let mut pipe = 7000;
            let sent = expected.map(|_| {
                pipe -= 1000;
                let ack = Ack {
                    in_flight: pipe,
                    delivered_now: 1000,
                    acked: 1000,
                    ..Ack::default()
                };
                let segments = (prr.on_ack(&ack, &window) - pipe) / 1000;
                prr.on_send(segments * 1000, 1000);
                pipe += segments * 1000;
                segments
            });
            assert_eq!(sent, expected);
        }
    }

    #[test]
    fn linux_measures_by_the_window_and_not_by_what_is_outstanding() {
        // A window of 42, of which 41 are outstanding, is reduced to 21: of two delivered, one is due. Of 41, more than one is.
        for (kind, due) in [(Reduction::Prr, 1), (Reduction::PrrBytes, 2)] {
            let mut prr = Prr::new(kind);
            prr.begin(41, 42);
            let window = Window {
                ssthresh: 21,
                mss: 1,
                ..Window::new(1, 10)
            };
            let ack = Ack {
                in_flight: 38,
                delivered_now: 2,
                ..Ack::default()
            };
            assert_eq!(prr.on_ack(&ack, &window), 38 + due);
        }
    }

    #[test]
    fn catches_up_below_ssthresh_by_slow_start() {
        let mut prr = Prr::new(Reduction::Prr);
        prr.begin(20, 20);
        prr.on_send(1, 1);
        assert_eq!(
            step(&mut prr, 4, 1, 1, 0),
            4 + 2,
            "one more than was delivered"
        );
        assert_eq!(
            step(&mut prr, 4, 1, 0, 3),
            4 + 1,
            "conservation when losses go on"
        );
        assert_eq!(step(&mut prr, 9, 5, 1, 0), 10, "never beyond ssthresh");
    }

    #[test]
    fn a_short_segment_counts_as_a_whole_one_except_in_bytes() {
        // The last segment of a page is delivered. One segment may be sent for it, as in Linux.
        for (kind, room) in [(Reduction::Prr, 1000), (Reduction::PrrBytes, 700)] {
            let mut prr = Prr::new(kind);
            prr.begin(8700, 9000);
            prr.on_send(1000, 1000);
            let window = Window {
                ssthresh: 4000,
                mss: 1000,
                ..Window::new(1000, 10)
            };
            let ack = |in_flight, delivered_now| Ack {
                in_flight,
                delivered_now,
                ..Ack::default()
            };
            prr.on_ack(&ack(3700, 1000), &window);
            assert_eq!(prr.on_ack(&ack(3000, 700), &window) - 3000, room);
        }
    }

    #[test]
    fn classic_takes_ssthresh_at_once() {
        let mut prr = Prr::new(Reduction::Classic);
        prr.begin(20, 20);
        assert_eq!(step(&mut prr, 19, 1, 0, 1), 10);
    }
}
