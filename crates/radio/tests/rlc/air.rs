//! A model of the channel that carries the PDUs: slots, transport blocks of any size, losses, and HARQ retransmissions. A run depends only on its
//! seed.

use std::collections::{BTreeMap, VecDeque};

use bloatlab_radio::pdcp::{PdcpParams, PdcpReceiver, Timer};
use bloatlab_radio::rlc::{Pdu, Receiver, RlcParams, Sdu, Status, Transmitter, Upper};
use bloatlab_units::{Nanos, Rng, Streams};

/// Half a millisecond.
pub const SLOT: Nanos = 500_000;

/// Consecutive SDUs, numbered as they leave. Some are dropped in the queue, as by an AQM.
pub struct Queue {
    pub waiting: VecDeque<(u32, Nanos)>,
    pub next: u64,
    pub sizes: Vec<u32>,
    drops: f64,
    rng: Rng,
}

impl Queue {
    pub fn new(sizes: &[u32]) -> Self {
        Self::dropping(sizes, 0.0, 0)
    }

    fn dropping(sizes: &[u32], drops: f64, seed: u64) -> Self {
        let waiting = sizes.iter().enumerate();
        Self {
            waiting: waiting.map(|(i, &bytes)| (bytes, i as Nanos)).collect(),
            next: 0,
            sizes: Vec::new(),
            drops,
            rng: Streams::new(seed).stream("drops"),
        }
    }
}

impl Upper<u64> for Queue {
    fn pull(&mut self, _now: Nanos) -> Option<Sdu<u64>> {
        loop {
            let (bytes, entered_at) = self.waiting.pop_front()?;
            if self.rng.chance(self.drops) {
                continue;
            }
            self.next += 1;
            self.sizes.push(bytes);
            return Some(Sdu {
                item: self.next - 1,
                bytes,
                entered_at,
            });
        }
    }

    fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }

    fn bytes(&self) -> u64 {
        self.waiting
            .iter()
            .map(|&(bytes, _)| u64::from(bytes))
            .sum()
    }
}

/// The parameters of the channel.
#[derive(Clone, Copy, Debug)]
pub struct AirParams {
    pub seed: u64,
    /// Probability that an attempt fails during the loss burst.
    pub loss: f64,
    /// HARQ attempts per transport block, five slots apart.
    pub attempts: u64,
    /// Maximum size of a transport block.
    pub room: u64,
    /// Number of slots after which nothing is lost any more.
    pub lossy_slots: u64,
    /// Probability that the queue drops an SDU.
    pub drops: f64,
}

/// A bearer, its channel, and a record of the output.
pub struct Air {
    pub air_params: AirParams,
    pub transmitter: Transmitter<u64>,
    pub receiver: Receiver<u64>,
    pub pdcp: PdcpReceiver<u64>,
    pub queue: Queue,
    pub slot: u64,
    rng: Rng,
    /// By slot of arrival.
    down: BTreeMap<u64, Vec<Vec<Pdu<u64>>>>,
    back: BTreeMap<u64, Vec<Status>>,
    /// Bytes of each SDU that have arrived, and those sent so far.
    pub arrived: Vec<u64>,
    /// SDUs in the order in which the RLC delivered them, and in which PDCP did.
    pub from_rlc: Vec<u64>,
    pub from_pdcp: Vec<u64>,
    pub failures: u64,
    window: u64,
    /// Maximum number of outstanding sequence numbers.
    pub widest: u64,
    /// Number of SDUs in `from_rlc` that were passed to PDCP.
    taken: usize,
}

impl Air {
    pub fn new(rlc: &RlcParams, sizes: &[u32], window: u64, air_params: AirParams) -> Self {
        let pdcp = PdcpParams {
            t_reordering: match rlc {
                RlcParams::Am(_) => Timer::Infinite,
                RlcParams::Um(_) => PdcpParams::default().t_reordering,
            },
            ..PdcpParams::default()
        };
        Self {
            air_params,
            transmitter: rlc.transmitter(),
            receiver: rlc.receiver(),
            pdcp: PdcpReceiver::new(&pdcp),
            queue: Queue::dropping(sizes, air_params.drops, air_params.seed),
            slot: 0,
            rng: Streams::new(air_params.seed).stream("air"),
            down: BTreeMap::new(),
            back: BTreeMap::new(),
            arrived: vec![0; sizes.len()],
            from_rlc: Vec::new(),
            from_pdcp: Vec::new(),
            failures: 0,
            window,
            widest: 0,
            taken: 0,
        }
    }

    fn now(&self) -> Nanos {
        self.slot * SLOT
    }

    /// Time of arrival of a transmission that starts now, if it succeeds.
    fn arrival(&mut self) -> Option<u64> {
        let calm = self.slot >= self.air_params.lossy_slots;
        let attempt = (0..self.air_params.attempts)
            .find(|_| calm || !self.rng.chance(self.air_params.loss))?;
        Some(self.slot + 2 + 5 * attempt)
    }

    pub fn step(&mut self) {
        let now = self.now();
        for block in self.down.remove(&self.slot).unwrap_or_default() {
            for pdu in block {
                self.arrived[pdu.item as usize] += u64::from(pdu.length);
                self.receiver.receive(now, &pdu, &mut self.from_rlc);
            }
        }
        for status in self.back.remove(&self.slot).unwrap_or_default() {
            self.transmitter.on_status(now, &status);
        }
        if self.receiver.next_timer().is_some_and(|at| at <= now) {
            self.receiver.on_timer(now, &mut self.from_rlc);
        }
        if self.transmitter.next_timer().is_some_and(|at| at <= now) {
            self.transmitter.on_timer(now, &self.queue);
        }
        self.deliver(now);
        if self.transmitter.failed() {
            self.failures += 1;
            // PDUs in transmission are kept, but belong to an earlier era.
            self.transmitter.reestablish();
            self.receiver.reestablish(&mut self.from_rlc);
        }
        self.send(now);
        self.answer(now);
        self.check();
        self.slot += 1;
    }

    fn deliver(&mut self, now: Nanos) {
        if self.pdcp.next_timer().is_some_and(|at| at <= now) {
            self.pdcp.on_timer(now, &mut self.from_pdcp);
        }
        for &item in &self.from_rlc[self.taken..] {
            self.pdcp.receive(now, item, item, &mut self.from_pdcp);
        }
        self.taken = self.from_rlc.len();
    }

    fn send(&mut self, now: Nanos) {
        let room = self.rng.below(self.air_params.room + 1) as u32;
        let mut block = Vec::new();
        let used = (self.transmitter).transmit(now, room, &mut self.queue, &mut block);
        assert!(used <= room, "{used} bytes in {room}");
        assert_eq!(block.iter().map(|pdu| pdu.bytes).sum::<u32>(), used);
        assert!(
            block
                .iter()
                .all(|pdu| pdu.length > 0 && pdu.bytes > pdu.length - 1)
        );
        if let Some(at) = self.arrival().filter(|_| !block.is_empty()) {
            self.down.entry(at).or_default().push(block);
        }
    }

    fn answer(&mut self, now: Nanos) {
        let room = self.rng.below(60) as u32;
        let wanted = self.receiver.status_due(now);
        let Some(status) = self.receiver.build_status(now, room) else {
            return;
        };
        assert!(status.bytes <= room);
        assert!(wanted.is_some_and(|bytes| status.bytes <= bytes));
        if let Some(at) = self.arrival() {
            self.back.entry(at).or_default().push(status);
        }
    }

    fn check(&mut self) {
        if let (Transmitter::Am(sender), Receiver::Am(receiver)) =
            (&self.transmitter, &self.receiver)
        {
            let ((oldest, next), (expected, highest)) = (sender.window(), receiver.window());
            assert!(next - oldest <= self.window);
            self.widest = self.widest.max(next - oldest);
            assert!(oldest <= expected && expected <= highest && highest <= next);
            assert!(highest - expected <= self.window);
        }
        if let Receiver::Um(receiver) = &self.receiver {
            let (lowest, highest) = receiver.window();
            assert!(highest - lowest <= self.window);
        }
    }

    /// Runs until no data is left, or panics.
    pub fn settle(&mut self, slots: u64) {
        for _ in 0..slots {
            self.step();
            let quiet = self.slot > self.air_params.lossy_slots
                && self.queue.waiting.is_empty()
                && self.transmitter.report(&self.queue) == 0
                && self.transmitter.next_timer().is_none()
                && self.receiver.next_timer().is_none()
                && self.pdcp.next_timer().is_none()
                && self.down.is_empty()
                && self.back.is_empty();
            if quiet {
                return;
            }
        }
        panic!("still busy after {slots} slots");
    }
}
