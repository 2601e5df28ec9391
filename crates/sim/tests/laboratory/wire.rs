//! Checks the packet log: what left, what arrived, and what each end acknowledged.

use std::collections::VecDeque;

use bloatlab_outcome::{Outcome, PacketEvent, Protocol, Step};
use bloatlab_scenario::{Plan, PlanBoxKind, PlanLink, QueueConfig};
use bloatlab_tcp::segment::{ACK, FIN, SYN};
use bloatlab_units::{Limit, Nanos};
use proptest::test_runner::TestCaseError;

pub type Verdict = Result<(), TestCaseError>;

/// Fails with the event that broke the rule.
macro_rules! hold {
    ($condition:expr, $event:expr, $($why:tt)+) => {
        if !$condition {
            let why = format!($($why)+);
            return Err(TestCaseError::fail(format!("{why} at {:?}", $event)));
        }
    };
}

/// One direction of a connection in the log. Runs are too short for sequence numbers to wrap.
#[derive(Default)]
struct Stream {
    /// End of the data sent, and end of the data received without a gap.
    sent: u64,
    next: u64,
    /// Data received after a gap: ascending, disjoint ranges.
    held: Vec<(u64, u64)>,
    /// Highest acknowledgment and window edge that the receiver sent, and the edge that arrived at the sender.
    acked: u64,
    advertised: u64,
    edge: u64,
    /// The timestamp that the receiver noted last.
    time: u32,
    fin: Option<u64>,
}

impl Stream {
    fn receive(&mut self, start: u64, end: u64) {
        if start == end {
            return;
        }
        let mut ranges = std::mem::take(&mut self.held);
        ranges.push((start, end));
        ranges.sort_unstable();
        for (s, e) in ranges {
            if s <= self.next {
                self.next = self.next.max(e);
            } else if let Some(last) = self.held.last_mut().filter(|last| s <= last.1) {
                last.1 = last.1.max(e);
            } else {
                self.held.push((s, e));
            }
        }
    }

    fn has(&self, start: u64, end: u64) -> bool {
        end <= self.next || self.held.iter().any(|&(s, e)| s <= start && end <= e)
    }

    /// RFC 7323 section 5.3: whether the receiver drops data because its timestamp is more than one tick of 1 ms older than the last one noted.
    fn is_outdated(&self, event: &PacketEvent) -> bool {
        let (start, end) = range(event);
        let stamp = event.segment.tsval;
        let late = self.time.wrapping_sub(stamp) as i32;
        start < end && !event.segment.has(SYN) && late > 0 && (stamp % 1000 + late as u32) >= 2000
    }

    /// RFC 7323 section 4.3: notes the timestamp of a segment that begins at or before the last acknowledgment.
    fn note_time(&mut self, event: &PacketEvent) {
        let stamp = event.segment.tsval;
        if range(event).0 <= self.acked && stamp.wrapping_sub(self.time) as i32 >= 0 {
            self.time = stamp;
        }
    }

    /// Payload received, in order or not.
    fn arrived(&self) -> u64 {
        let last = self.held.last().map_or(self.next, |&(_, end)| end);
        let syn_and_fin = 1 + u64::from(self.fin.is_some_and(|fin| fin < last));
        let held: u64 = self.held.iter().map(|(start, end)| end - start).sum();
        (self.next + held).saturating_sub(syn_and_fin)
    }

    /// Payload received in order. SYN and FIN do not count.
    fn payload(&self) -> u64 {
        let syn_and_fin = 1 + u64::from(self.fin.is_some_and(|fin| self.next > fin));
        self.next.saturating_sub(syn_and_fin)
    }
}

/// What the log shows of a flow.
#[derive(Default)]
pub struct Witness {
    /// Whether a box on its path may reorder packets: a queue that classifies one flow into several queues, jitter, or copies with separate events.
    reorders: bool,
    connection: u8,
    streams: [Stream; 2],
    /// Packets on the path, by direction.
    under_way: [VecDeque<PacketEvent>; 2],
    /// Segments of data that end 0 sent again.
    pub retransmissions: u64,
    /// Payload delivered in order to end 1 before the stop of the flow, and up to that instant.
    pub by_stop: [u64; 2],
    pub delivered: u64,
    /// As `by_stop`, for payload in order or not.
    pub arrived_by_stop: [u64; 2],
    /// Packets of direction 0 that were dropped.
    pub drops: u64,
    /// Packets of direction 0 that the receiver discarded.
    pub discards: u64,
}

impl Witness {
    fn on_send(&mut self, event: &PacketEvent) -> Verdict {
        self.under_way[usize::from(event.direction)].push_back(*event);
        if event.protocol != Protocol::Tcp {
            return Ok(());
        }
        if event.connection != self.connection {
            self.connection = event.connection;
            self.streams = Default::default();
        }
        self.on_data(event)?;
        if event.segment.has(ACK) {
            self.on_acknowledgment(event)?;
        }
        Ok(())
    }

    fn on_data(&mut self, event: &PacketEvent) -> Verdict {
        let (segment, direction) = (&event.segment, usize::from(event.direction));
        let (start, end) = range(event);
        if start == end {
            return Ok(());
        }
        let stream = &mut self.streams[direction];
        if start < stream.sent {
            hold!(
                end <= stream.sent,
                event,
                "a retransmission goes beyond {}",
                stream.sent
            );
            self.retransmissions += u64::from(direction == 0 && !segment.has(SYN));
        } else {
            hold!(start == stream.sent, event, "{} was left out", stream.sent);
            stream.sent = end;
        }
        let payload_end = start + u64::from(segment.length);
        hold!(
            segment.has(SYN) || payload_end <= stream.edge,
            event,
            "beyond the window's edge {}",
            stream.edge
        );
        if segment.has(FIN) {
            hold!(
                stream.fin.is_none_or(|fin| fin == end - 1),
                event,
                "FIN was at {:?}",
                stream.fin
            );
            stream.fin = Some(end - 1);
        } else {
            hold!(
                stream.fin.is_none_or(|fin| end <= fin),
                event,
                "data after FIN"
            );
        }
        Ok(())
    }

    fn on_acknowledgment(&mut self, event: &PacketEvent) -> Verdict {
        let segment = &event.segment;
        let stream = &mut self.streams[1 - usize::from(event.direction)];
        let (ack, edge) = (
            u64::from(segment.ack),
            u64::from(segment.ack) + u64::from(segment.window),
        );
        hold!(
            ack <= stream.next,
            event,
            "acknowledges beyond {}, the first not received",
            stream.next
        );
        hold!(ack >= stream.acked, event, "takes back {}", stream.acked);
        hold!(
            edge >= stream.advertised,
            event,
            "the window shrinks from {}",
            stream.advertised
        );
        stream.acked = ack;
        stream.advertised = edge;
        for &(start, end) in segment.sack_blocks() {
            let (start, end) = (u64::from(start), u64::from(end));
            hold!(start < end, event, "an empty SACK block");
            hold!(
                stream.has(start, end),
                event,
                "SACKs {start}..{end}, which did not arrive"
            );
        }
        Ok(())
    }

    /// A copy is on the path behind its original.
    fn on_duplicate(&mut self, event: &PacketEvent) -> Verdict {
        let place = self.place(event)?;
        let queue = &mut self.under_way[usize::from(event.direction)];
        queue.insert(place + 1, *event);
        Ok(())
    }

    /// The host discards the packet.
    fn on_discard(&mut self, event: &PacketEvent) -> Verdict {
        hold!(event.damaged, event, "nothing is wrong with its checksum");
        let place = self.place(event)?;
        self.under_way[usize::from(event.direction)].remove(place);
        self.discards += u64::from(event.direction == 0);
        Ok(())
    }

    /// Index of the packet among those on the path.
    fn place(&self, event: &PacketEvent) -> Result<usize, TestCaseError> {
        let alike =
            |p: &PacketEvent| p.segment == event.segment && p.connection == event.connection;
        let place = self.under_way[usize::from(event.direction)]
            .iter()
            .position(alike);
        let why = || format!("not sent, received already, or out of order at {event:?}");
        place.ok_or_else(|| TestCaseError::fail(why()))
    }

    fn on_receive(&mut self, event: &PacketEvent, stop: Nanos) -> Verdict {
        hold!(!event.damaged, event, "its checksum is wrong");
        let place = self.place(event)?;
        let queue = &mut self.under_way[usize::from(event.direction)];
        if self.reorders {
            queue.remove(place);
        } else {
            // Packets of the same connection before it were dropped.
            let mut seen = 0;
            queue.retain(|p| {
                seen += 1;
                seen > place + 1 || p.connection != event.connection
            });
        }
        if event.protocol != Protocol::Tcp || event.connection != self.connection {
            return Ok(());
        }
        let (start, end) = range(event);
        let stream = &mut self.streams[usize::from(event.direction)];
        let (before, arrived) = (stream.payload(), stream.arrived());
        if !stream.is_outdated(event) {
            stream.note_time(event);
            stream.receive(start, end);
        }
        if event.direction == 0 {
            let gained = stream.payload() - before;
            let arrived = stream.arrived() - arrived;
            self.delivered += gained;
            for (slot, counts) in [event.at < stop, event.at <= stop].into_iter().enumerate() {
                self.by_stop[slot] += gained * u64::from(counts);
                self.arrived_by_stop[slot] += arrived * u64::from(counts);
            }
        }
        if event.segment.has(ACK) {
            let edge = u64::from(event.segment.ack) + u64::from(event.segment.window);
            let back = &mut self.streams[1 - usize::from(event.direction)];
            back.edge = back.edge.max(edge);
        }
        Ok(())
    }
}

/// Sequence numbers that a segment takes.
fn range(event: &PacketEvent) -> (u64, u64) {
    let segment = &event.segment;
    let flags = u64::from(segment.has(SYN)) + u64::from(segment.has(FIN));
    let start = u64::from(segment.seq);
    (start, start + u64::from(segment.length) + flags)
}

/// The queue and transmitter of a link, from the log.
struct Station<'a> {
    link: &'a PlanLink,
    /// Enqueue times of the waiting packets, for a queue that is a FIFO.
    entered: VecDeque<Nanos>,
    waiting: u64,
    waiting_bytes: u64,
    /// Time of the last dequeue, and the duration of that transmission, truncated to nanoseconds.
    taken: Option<(Nanos, Nanos)>,
}

impl Station<'_> {
    fn on_event(&mut self, event: &PacketEvent) -> Verdict {
        let size = u64::from(event.size);
        if !matches!(event.step, Step::Drop) {
            self.check_limit(event)?;
        }
        match event.step {
            Step::Enqueue => {
                self.entered.push_back(event.at);
                self.waiting += 1;
                self.waiting_bytes += size;
            }
            Step::Drop => {
                self.entered.pop_back();
                self.leave(size);
            }
            Step::Dequeue => {
                self.check_pace(event)?;
                self.entered.pop_front();
                self.leave(size);
                let work =
                    (size + u64::from(self.link.overhead + self.link.header)) * 8_000_000_000;
                self.taken = Some((event.at, work / self.link.rate.0));
            }
            _ => {}
        }
        Ok(())
    }

    fn leave(&mut self, size: u64) {
        self.waiting -= 1;
        self.waiting_bytes -= size;
    }

    fn check_limit(&self, event: &PacketEvent) -> Verdict {
        let limit = match &self.link.queue {
            QueueConfig::Fifo(params) => params.limit,
            QueueConfig::HeadDrop(params) => params.0.limit,
            QueueConfig::Codel(params) => params.limit,
            QueueConfig::FqCodel(params) => params.limit,
            QueueConfig::Pie(params) => params.limit,
            _ => return Ok(()),
        };
        let within = match limit {
            Limit::Packets(most) => self.waiting <= most,
            Limit::Bytes(most) => self.waiting_bytes <= most,
            Limit::Buffers(_) => true,
        };
        hold!(
            within,
            event,
            "{} packets of {} bytes in a queue of {limit}",
            self.waiting,
            self.waiting_bytes
        );
        Ok(())
    }

    /// A transmitter sends one packet at a time. With a FIFO, it is never idle while packets wait. A shaper lets the packets of an offload buffer go
    /// together.
    fn check_pace(&self, event: &PacketEvent) -> Verdict {
        if self.link.shaper {
            return Ok(());
        }
        let (Some((last, took)), 0) = (self.taken, self.link.device_packets) else {
            return Ok(());
        };
        hold!(
            event.at >= last + took,
            event,
            "sent while the packet of {last} took until {}",
            last + took
        );
        if matches!(self.link.queue, QueueConfig::Fifo(_)) {
            let entered = self.entered.front().copied().unwrap_or(event.at + 1);
            hold!(entered <= event.at, event, "left before it came");
            let free = entered.max(last + took);
            hold!(event.at <= free + 1, event, "the link was free at {free}");
        }
        Ok(())
    }
}

/// Reads the whole log and returns what it shows of each flow.
pub fn check(plan: &Plan, outcome: &Outcome) -> Result<Vec<Witness>, TestCaseError> {
    // hhf moves a flow that becomes a heavy hitter to another queue than that of its first packets. dualpi2 treats packets with a mark of an
    // earlier hop as L4S (RFC 9331 section 5.4).
    let reorders = plan.boxes.iter().any(|planned| {
        let kind = format!("{:?}", planned.kind);
        let kinds = ["Hhf(", "Dualpi2(", "reorder: true", "Duplicate("];
        kinds.iter().any(|name| kind.contains(name))
    });
    let witness = |_| Witness {
        reorders,
        ..Witness::default()
    };
    let mut flows: Vec<Witness> = plan.flows.iter().map(witness).collect();
    let mut stations: Vec<Option<Station>> = plan
        .boxes
        .iter()
        .map(|planned| match &planned.kind {
            PlanBoxKind::Link(link) => Some(Station {
                link,
                entered: VecDeque::new(),
                waiting: 0,
                waiting_bytes: 0,
                taken: None,
            }),
            _ => None,
        })
        .collect();
    let (mut now, mut sent, mut received, mut dropped) = (0, 0, 0, 0);
    let (mut copied, mut discarded) = (0, 0);
    for event in &outcome.packets {
        hold!(event.at >= now, event, "time went back from {now}");
        now = event.at;
        let index = event.flow as usize;
        match event.step {
            Step::Send => {
                sent += 1;
                flows[index].on_send(event)?;
            }
            Step::Receive => {
                received += 1;
                flows[index].on_receive(event, plan.flows[index].stop)?;
            }
            Step::Duplicate => {
                copied += 1;
                flows[index].on_duplicate(event)?;
            }
            Step::Discard => {
                discarded += 1;
                flows[index].on_discard(event)?;
            }
            Step::Drop => {
                dropped += 1;
                flows[index].drops += u64::from(event.direction == 0);
            }
            _ => {}
        }
        if let Some(Some(station)) = stations.get_mut(event.place as usize) {
            station.on_event(event)?;
        }
    }
    let held: u64 = outcome.counts.iter().map(|(_, count)| count.held).sum();
    if sent + copied != received + dropped + discarded + held {
        let why = format!(
            "{sent} sent, {copied} copied, {received} received, {dropped} dropped, {discarded} discarded, {held} under way"
        );
        return Err(TestCaseError::fail(why));
    }
    Ok(flows)
}
