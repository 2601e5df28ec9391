//! One end of a connection: handshake, sending and receiving halves, close. Sans-IO.

use bloatlab_cc::CongestionControl;
use bloatlab_units::{NEVER, Nanos};

use crate::TcpConfig;
use crate::receiver::Receiver;
use crate::segment::{ACK, CWR, ECE, FIN, SYN, Segment, unwrap};
use crate::sender::Sender;

/// RFC 6298 section 5: a SYN is given up after this many repeats (Linux's tcp_syn_retries).
const SYN_RETRIES: u32 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    Failed,
}

/// One end of a TCP connection.
pub struct Endpoint {
    /// The sending half.
    pub sender: Sender,
    /// The receiving half.
    pub receiver: Receiver,
    phase: Phase,
    syn_deadline: Nanos,
    syn_sent_at: Nanos,
    syn_tries: u32,
    syn_wanted: bool,
    /// When the handshake was over; `NEVER` before.
    established_at: Nanos,
    ecn_wanted: bool,
}

impl Endpoint {
    /// A closed endpoint.
    pub fn new(config: &TcpConfig, cc: Box<dyn CongestionControl>) -> Self {
        Self {
            sender: Sender::new(config, cc),
            receiver: Receiver::new(config),
            phase: Phase::Closed,
            syn_deadline: NEVER,
            syn_sent_at: 0,
            syn_tries: 0,
            syn_wanted: false,
            established_at: NEVER,
            ecn_wanted: config.ecn,
        }
    }

    /// Starts the handshake.
    pub fn connect(&mut self) {
        self.phase = Phase::SynSent;
        self.syn_wanted = true;
    }

    /// Waits for the other end's SYN.
    pub fn listen(&mut self) {
        self.phase = Phase::Listen;
    }

    /// The application wrote this many bytes.
    #[inline]
    pub fn write(&mut self, bytes: u64) {
        debug_assert!(!self.sender.fin_wanted);
        self.sender.limit += bytes;
    }

    /// What was written and has not left yet is withdrawn.
    pub fn discard_unsent(&mut self) {
        self.sender.limit = self.sender.limit.min(self.sender.next.max(1));
    }

    /// The application will write no more.
    pub fn close(&mut self) {
        self.sender.fin_wanted = true;
    }

    /// The handshake is over.
    #[inline]
    pub fn established(&self) -> bool {
        self.phase == Phase::Established
    }

    /// The handshake was given up.
    pub fn failed(&self) -> bool {
        self.phase == Phase::Failed
    }

    /// When the handshake was over; `NEVER` before.
    pub fn established_at(&self) -> Nanos {
        self.established_at
    }

    /// Payload bytes written and not yet acknowledged: what fills the send buffer.
    #[inline]
    pub fn unacknowledged(&self) -> u64 {
        self.sender.limit - self.sender.una.max(1).min(self.sender.limit)
    }

    /// Everything written, FIN included, was acknowledged.
    pub fn sent_all(&self) -> bool {
        self.sender.fin_sent && self.sender.una == self.sender.next
    }

    /// Takes a segment from the network; `ce` says that it came with congestion experienced. Returns the payload bytes now readable in order.
    #[inline]
    pub fn on_segment(&mut self, now: Nanos, segment: &Segment, ce: bool) -> u64 {
        if self.phase != Phase::Established && !self.on_handshake(now, segment) {
            return 0;
        }
        if segment.has(SYN) {
            // The last ACK of the handshake was lost: say it again.
            self.receiver.ack_now = true;
            return 0;
        }
        let fin = segment.has(FIN);
        let delivered = if segment.length > 0 || fin {
            let rto = self.sender.rtt.rto();
            self.receiver.on_data(now, segment, fin, ce, rto)
        } else {
            0
        };
        self.sender.on_ack(now, segment, segment.has(ECE));
        delivered
    }

    /// Handles a segment before the connection stands; true if the segment is to be processed further.
    #[cold]
    fn on_handshake(&mut self, now: Nanos, segment: &Segment) -> bool {
        match self.phase {
            Phase::Listen if segment.has(SYN) => {
                self.receiver.next = 1;
                self.receiver.ts_recent = segment.tsval;
                self.sender.ecn &= segment.has(ECE) && segment.has(CWR);
                self.sender.edge = u64::from(segment.window) + 1;
                self.phase = Phase::SynReceived;
                self.syn_wanted = true;
                false
            }
            Phase::SynSent if segment.has(SYN) && segment.has(ACK) => {
                self.receiver.next = 1;
                self.receiver.ts_recent = segment.tsval;
                self.sender.ecn &= segment.has(ECE);
                self.receiver.ack_now = true;
                self.establish(now, segment);
                false
            }
            Phase::SynReceived if segment.has(SYN) => {
                self.syn_wanted = true;
                false
            }
            Phase::SynReceived if segment.has(ACK) && segment.ack >= 1 => {
                self.establish(now, segment);
                true
            }
            _ => false,
        }
    }

    fn establish(&mut self, now: Nanos, segment: &Segment) {
        self.phase = Phase::Established;
        self.established_at = now;
        self.syn_deadline = NEVER;
        self.syn_wanted = false;
        let sender = &mut self.sender;
        sender.una = 1;
        sender.next = 1;
        sender.edge = unwrap(1, segment.ack) + u64::from(segment.window);
        sender.first_sent = now;
        sender.delivered_at = now;
        sender.window.pacing = 0;
        sender.cc.on_start(&mut sender.window, now);
        if self.syn_tries == 1 {
            let rtt = now - self.syn_sent_at;
            sender.rtt.sample(rtt);
            sender.cc.on_handshake(&mut sender.window, rtt);
        }
    }

    /// Writes the next segment to send now and says whether it is ECN-capable; call until it answers None.
    ///
    /// The segment is written in place, because it goes into a packet: a copy of what has just been written stalls a processor.
    #[inline]
    pub fn poll(&mut self, now: Nanos, segment: &mut Segment) -> Option<bool> {
        if self.phase != Phase::Established {
            return self.poll_handshake(now, segment);
        }
        let capable = if self.sender.poll(now, segment) {
            // RFC 3168 section 6.1.5: retransmissions are Not-ECT.
            let seq = unwrap(self.sender.next, segment.seq);
            self.sender.ecn && segment.length > 0 && !self.sender.is_retransmission(seq)
        } else if self.receiver.ack_now {
            *segment = Segment {
                seq: self.sender.next as u32,
                flags: ACK,
                tsval: (now / 1000) as u32,
                ..Segment::default()
            };
            false
        } else {
            return None;
        };
        self.receiver.stamp(segment);
        if self.receiver.echo && self.sender.ecn {
            segment.flags |= ECE;
        }
        Some(capable)
    }

    #[cold]
    fn poll_handshake(&mut self, now: Nanos, segment: &mut Segment) -> Option<bool> {
        if !self.syn_wanted {
            return None;
        }
        self.syn_wanted = false;
        self.syn_tries += 1;
        self.syn_sent_at = now;
        self.syn_deadline = now + (self.sender.rtt.rto() << (self.syn_tries - 1).min(6));
        *segment = Segment {
            flags: SYN,
            tsval: (now / 1000) as u32,
            ..Segment::default()
        };
        if self.phase == Phase::SynReceived {
            self.receiver.stamp(segment);
            segment.flags |= ACK;
            if self.sender.ecn {
                segment.flags |= ECE;
            }
        } else {
            self.receiver.stamp(segment);
            segment.ack = 0;
            if self.ecn_wanted {
                // RFC 3168 section 6.1.1: an ECN-setup SYN.
                segment.flags |= ECE | CWR;
            }
        }
        Some(false)
    }

    /// The earliest instant at which [`on_timer`](Self::on_timer) has something to do.
    #[inline]
    pub fn deadline(&self, now: Nanos) -> Nanos {
        if self.phase != Phase::Established {
            return self.syn_deadline;
        }
        let timers = self
            .sender
            .timer
            .min(self.sender.reorder_timer)
            .min(self.receiver.ack_deadline);
        if self.sender.next_send > now {
            timers.min(self.sender.pacing_deadline(now))
        } else {
            timers
        }
    }

    /// Time has come to look at the timers; follow with [`poll`](Self::poll).
    pub fn on_timer(&mut self, now: Nanos) {
        if self.phase != Phase::Established {
            if self.syn_deadline <= now {
                self.syn_deadline = NEVER;
                if self.syn_tries > SYN_RETRIES {
                    self.phase = Phase::Failed;
                } else {
                    self.syn_wanted = true;
                }
            }
            return;
        }
        if self.receiver.ack_deadline <= now {
            self.receiver.ack_deadline = NEVER;
            self.receiver.ack_now = true;
        }
        self.sender.on_timer(now);
    }
}
