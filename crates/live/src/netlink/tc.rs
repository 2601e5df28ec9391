//! Queue disciplines and traffic classes: adds, changes, removes and reads them.

use std::io;

use netlink_packet_core::{DefaultNla, NLA_HEADER_SIZE, NLM_F_DUMP};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{
    TcAttribute, TcHandle, TcMessage, TcOption, TcStats2, TcStatsBasic, TcStatsQueue,
};

use bloatlab_units::Nanos;

use super::{NEW, Netlink, REPLACE, doing};

const TCA_OPTIONS: u16 = 2;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
/// The version of HTB's options.
const HTB_VERSION: u32 = 3;
/// Bytes of `struct tc_ratespec`.
const RATE_SPEC: usize = 12;
/// With this link layer the kernel needs no table of transmission times.
const LINK_LAYER_ETHERNET: u8 = 1;
/// Nanoseconds of a tick of the packet scheduler.
const TICK: u128 = 64;

/// Number of a queue discipline or class, as tc writes `major:minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// The queue discipline.
    pub major: u16,
    /// The class; 0 for the queue discipline itself.
    pub minor: u16,
}

impl Handle {
    /// What the outermost queue discipline of a device is attached to.
    pub const ROOT: Self = Self::new(u16::MAX, u16::MAX);

    /// `major:minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }
}

/// A queue discipline with its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fifo {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes.
    Bytes(u32),
}

/// HTB's own options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Htb {
    /// Minor number of the class of packets that no filter classifies.
    pub default: u16,
}

/// A class of HTB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbClass {
    /// Its rate and its ceiling, bytes per second.
    pub rate: u64,
    /// Bytes that may leave back to back.
    pub burst: u32,
    /// Bytes that may leave back to back at the ceiling.
    pub cburst: u32,
}

/// netem, which holds every packet for the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Netem {
    /// The time.
    pub delay: Nanos,
    /// At most this many packets.
    pub limit: u32,
}

/// Options of a queue discipline that this crate sets by netlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QdiscOptions {
    /// `pfifo` or `bfifo`.
    Fifo(Fifo),
    /// `htb`.
    Htb(Htb),
    /// `netem`.
    Netem(Netem),
}

/// A queue discipline, or a class, that the kernel reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Its kind, such as `bfifo`.
    pub kind: String,
    /// Its number.
    pub handle: Handle,
    /// What it is attached to.
    pub parent: Handle,
    /// Its counters.
    pub counters: TrafficCounters,
    options: Vec<u8>,
}

/// Counters of a queue discipline or class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficCounters {
    /// Bytes that left, with their Ethernet headers.
    pub sent_bytes: u64,
    /// Packets that left.
    pub sent: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Bytes that wait.
    pub backlog_bytes: u64,
    /// Packets that wait.
    pub backlog: u64,
}

impl Netlink {
    /// Adds a queue discipline to a device, or replaces the one that is there. One of another kind needs another handle.
    ///
    /// # Errors
    /// The kernel lacks it, or it kept other options than those given.
    pub fn set_qdisc(
        &mut self,
        index: u32,
        parent: Handle,
        handle: Handle,
        options: QdiscOptions,
    ) -> io::Result<()> {
        let kind = options.kind();
        let message = message(index, parent, handle, kind, options.bytes());
        let result = self.request(RouteNetlinkMessage::NewQueueDiscipline(message), REPLACE);
        doing(|| format!("setting the queue {kind}"), result)?;
        let made = self.qdiscs(index)?;
        let found = made
            .iter()
            .find(|qdisc| qdisc.handle == handle && qdisc.kind == kind);
        if found.is_some_and(|qdisc| options.agree(&qdisc.options)) {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "the kernel did not keep the options of the queue {kind}: {options:?} became {found:?}"
        )))
    }

    /// Removes the queue discipline that is attached to `parent`.
    ///
    /// # Errors
    /// The device has no such queue discipline.
    pub fn remove_qdisc(&mut self, index: u32, parent: Handle) -> io::Result<()> {
        let mut message = TcMessage::with_index(index.cast_signed());
        message.header.parent = parent.into();
        let result = self.request(RouteNetlinkMessage::DelQueueDiscipline(message), 0);
        doing(|| String::from("removing a queue"), result)
    }

    /// The queue disciplines of a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn qdiscs(&mut self, index: u32) -> io::Result<Vec<Qdisc>> {
        let request = TcMessage::with_index(index.cast_signed());
        let found = self.ask(RouteNetlinkMessage::GetQueueDiscipline(request), NLM_F_DUMP)?;
        Ok(found
            .into_iter()
            .filter_map(|message| match message {
                RouteNetlinkMessage::NewQueueDiscipline(message) => Some(message),
                _ => None,
            })
            // Kernels before strict checking report all devices.
            .filter(|message| message.header.index == index.cast_signed())
            .map(Qdisc::from)
            .collect())
    }

    /// Adds a class of HTB.
    ///
    /// # Errors
    /// There is such a class, or the kernel kept other values than those given.
    pub fn add_class(
        &mut self,
        index: u32,
        parent: Handle,
        class: Handle,
        options: HtbClass,
    ) -> io::Result<()> {
        self.put_class(index, parent, class, options, NEW)
    }

    /// Changes the values of a class of HTB. The packets that wait keep their order.
    ///
    /// # Errors
    /// There is no such class, or the kernel kept other values than those given.
    pub fn change_class(
        &mut self,
        index: u32,
        parent: Handle,
        class: Handle,
        options: HtbClass,
    ) -> io::Result<()> {
        self.put_class(index, parent, class, options, 0)
    }

    fn put_class(
        &mut self,
        index: u32,
        parent: Handle,
        class: Handle,
        options: HtbClass,
        flags: u16,
    ) -> io::Result<()> {
        let what = || {
            format!(
                "setting the rate of the class {}:{}",
                class.major, class.minor
            )
        };
        let message = message(index, parent, class, "htb", options.bytes());
        let result = self.request(RouteNetlinkMessage::NewTrafficClass(message), flags);
        doing(what, result)?;
        let kept = self
            .classes(index)?
            .into_iter()
            .find(|made| made.handle == class)
            .and_then(|made| htb_rates(&made.options));
        if kept == Some([options.rate; 2]) {
            return Ok(());
        }
        let why =
            format!("the kernel did not keep the rates of the class: {options:?} became {kept:?}");
        doing(what, Err(io::Error::other(why)))
    }

    /// The classes of a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn classes(&mut self, index: u32) -> io::Result<Vec<Qdisc>> {
        let request = TcMessage::with_index(index.cast_signed());
        let found = self.ask(RouteNetlinkMessage::GetTrafficClass(request), NLM_F_DUMP)?;
        Ok(found
            .into_iter()
            .filter_map(|message| match message {
                RouteNetlinkMessage::NewTrafficClass(message) => Some(Qdisc::from(message)),
                _ => None,
            })
            .collect())
    }
}

impl QdiscOptions {
    fn kind(self) -> &'static str {
        match self {
            Self::Fifo(Fifo::Packets(_)) => "pfifo",
            Self::Fifo(Fifo::Bytes(_)) => "bfifo",
            Self::Htb(_) => "htb",
            Self::Netem(_) => "netem",
        }
    }

    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Fifo(Fifo::Packets(limit) | Fifo::Bytes(limit)) => limit.to_ne_bytes().to_vec(),
            Self::Htb(Htb { default }) => {
                // struct tc_htb_glob: version, rate to quantum, default class, debug, direct packets.
                let values = [HTB_VERSION, 10, u32::from(default), 0, 0];
                nested(TCA_HTB_INIT, &values.map(u32::to_ne_bytes).concat())
            }
            Self::Netem(Netem { delay, limit }) => {
                // struct tc_netem_qopt: latency in ticks, limit, loss, gap, duplicates, jitter.
                let values = [0, limit, 0, 0, 0, 0];
                let latency = nested(TCA_NETEM_LATENCY64, &delay.to_ne_bytes());
                [values.map(u32::to_ne_bytes).concat(), latency].concat()
            }
        }
    }

    /// Whether the kernel's options have the values of these.
    fn agree(self, options: &[u8]) -> bool {
        match self {
            Self::Fifo(Fifo::Packets(limit) | Fifo::Bytes(limit)) => {
                word(options, 0) == Some(limit)
            }
            Self::Netem(Netem { limit, .. }) => word(options, 4) == Some(limit),
            Self::Htb(Htb { default }) => attribute(options, TCA_HTB_INIT)
                .is_some_and(|values| word(&values, 8) == Some(u32::from(default))),
        }
    }
}

impl HtbClass {
    /// A class of this rate in bytes per second. `frame` is the size of the largest frame.
    ///
    /// The kernel's timer is late by a fraction of a millisecond. What the class could have sent meanwhile must fit into its burst, or it is lost. So
    /// the burst is 2 ms of the rate at 1 Gbit/s and above. At lower rates it is a smaller part, because few packets leave in that time.
    pub fn of_rate(rate: u64, frame: u32) -> Self {
        const GIGABIT: u128 = 125_000_000;
        let rate_wide = u128::from(rate);
        let burst = rate_wide * rate_wide.min(GIGABIT) / GIGABIT / 500;
        let burst = u32::try_from(burst).unwrap_or(u32::MAX).max(frame + 100);
        Self {
            rate,
            burst,
            cburst: burst,
        }
    }

    /// A class of this rate in bytes per second, if the kernel's timers are exact. Only the frame that is being sent must fit into its burst.
    pub fn exact(rate: u64, frame: u32) -> Self {
        let burst = frame + 86;
        Self {
            rate,
            burst,
            cburst: burst,
        }
    }

    fn bytes(self) -> Vec<u8> {
        let rate = u32::try_from(self.rate).unwrap_or(u32::MAX);
        let spec = |rate: u32| {
            // struct tc_ratespec: cell log, link layer, overhead, cell align, mpu, rate.
            let mut spec = [0; RATE_SPEC];
            spec[1] = LINK_LAYER_ETHERNET;
            spec[8..].copy_from_slice(&rate.to_ne_bytes());
            spec
        };
        let time = |bytes: u32| {
            let ticks = u128::from(bytes) * 1_000_000_000 / TICK / u128::from(self.rate.max(1));
            u32::try_from(ticks).unwrap_or(u32::MAX)
        };
        // struct tc_htb_opt: rate, ceiling, times of the bursts, quantum, level, priority.
        let mut parameters = [spec(rate), spec(rate)].concat();
        for value in [time(self.burst), time(self.cburst), 1514, 0, 0] {
            parameters.extend(u32::to_ne_bytes(value));
        }
        [
            nested(TCA_HTB_PARMS, &parameters),
            nested(TCA_HTB_RATE64, &self.rate.to_ne_bytes()),
            nested(TCA_HTB_CEIL64, &self.rate.to_ne_bytes()),
        ]
        .concat()
    }
}

/// Rate and ceiling in a class's options.
fn htb_rates(options: &[u8]) -> Option<[u64; 2]> {
    let parameters = attribute(options, TCA_HTB_PARMS)?;
    let wide = |kind| {
        attribute(options, kind)?
            .first_chunk()
            .map(|bytes| u64::from_ne_bytes(*bytes))
    };
    let rate = |kind, offset| {
        // The kernel adds the wide value only where the rate needs it.
        wide(kind).or_else(|| word(&parameters, offset).map(u64::from))
    };
    Some([
        rate(TCA_HTB_RATE64, RATE_SPEC - 4)?,
        rate(TCA_HTB_CEIL64, 2 * RATE_SPEC - 4)?,
    ])
}

impl From<TcMessage> for Qdisc {
    fn from(message: TcMessage) -> Self {
        let mut qdisc = Self {
            kind: String::new(),
            handle: message.header.handle.into(),
            parent: message.header.parent.into(),
            counters: TrafficCounters::default(),
            options: Vec::new(),
        };
        for attribute in message.attributes {
            match attribute {
                TcAttribute::Kind(kind) => qdisc.kind = kind,
                TcAttribute::Options(options) => {
                    if let [TcOption::Other(raw)] = &options[..] {
                        qdisc.options = value_of(raw);
                    }
                }
                TcAttribute::Stats2(stats) => qdisc.counters.read(&stats),
                _ => {}
            }
        }
        qdisc
    }
}

impl TrafficCounters {
    fn read(&mut self, stats: &[TcStats2]) {
        for stats in stats {
            match stats {
                TcStats2::Basic(TcStatsBasic { bytes, packets, .. }) => {
                    self.sent_bytes = *bytes;
                    self.sent = u64::from(*packets);
                }
                TcStats2::Queue(TcStatsQueue {
                    qlen,
                    backlog,
                    drops,
                    ..
                }) => {
                    self.backlog = u64::from(*qlen);
                    self.backlog_bytes = u64::from(*backlog);
                    self.drops = u64::from(*drops);
                }
                _ => {}
            }
        }
    }
}

impl From<Handle> for TcHandle {
    fn from(handle: Handle) -> Self {
        Self {
            major: handle.major,
            minor: handle.minor,
        }
    }
}

impl From<TcHandle> for Handle {
    fn from(handle: TcHandle) -> Self {
        Self::new(handle.major, handle.minor)
    }
}

fn message(index: u32, parent: Handle, handle: Handle, kind: &str, options: Vec<u8>) -> TcMessage {
    let mut message = TcMessage::with_index(index.cast_signed());
    message.header.parent = parent.into();
    message.header.handle = handle.into();
    message.attributes = vec![
        TcAttribute::Kind(kind.to_owned()),
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options)),
    ];
    message
}

/// The bytes of an attribute that the crate of netlink keeps as they are.
fn value_of(raw: &DefaultNla) -> Vec<u8> {
    use netlink_packet_core::Nla;
    let mut bytes = vec![0; raw.value_len()];
    raw.emit_value(&mut bytes);
    bytes
}

/// An attribute within the options, padded to whole words.
fn nested(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = NLA_HEADER_SIZE + value.len();
    let mut bytes = Vec::with_capacity(length.next_multiple_of(4));
    bytes.extend((length as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

/// The value of an attribute within the options.
fn attribute(options: &[u8], kind: u16) -> Option<Vec<u8>> {
    netlink_packet_core::NlasIterator::new(options)
        .flatten()
        .find(|nla| nla.kind() == kind)
        .map(|nla| nla.value().to_vec())
}

/// Four bytes of a structure.
fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_burst_of_a_class_with_exact_timers_is_one_frame() {
        assert_eq!(HtbClass::exact(1_250_000, 1514).burst, 1600);
        assert!(HtbClass::of_rate(125_000_000, 1514).burst > 100_000);
    }

    #[test]
    fn a_delay_keeps_its_limit_and_its_nanoseconds() {
        let options = QdiscOptions::Netem(Netem {
            delay: 12_345_678,
            limit: 1000,
        });
        let bytes = options.bytes();
        assert!(options.agree(&bytes));
        let latency = attribute(&bytes[24..], TCA_NETEM_LATENCY64);
        assert_eq!(latency, Some(12_345_678_u64.to_ne_bytes().to_vec()));
    }
}
