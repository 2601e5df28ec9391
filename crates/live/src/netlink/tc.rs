//! Queue disciplines and traffic classes: adds, changes, removes and reads them.

use std::{fmt, io};

use netlink_packet_core::{DefaultNla, Emitable, NLM_F_DUMP};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{
    TcAttribute, TcHandle, TcMessage, TcOption, TcStats2, TcStatsBasic, TcStatsQueue, TcXstats,
};

use super::attributes::{attribute, nested, word};
use super::netem::Netem;
use super::{Netlink, REPLACE, doing};

const TCA_OPTIONS: u16 = 2;
const TCA_HTB_INIT: u16 = 2;
/// The version of HTB's options.
const HTB_VERSION: u32 = 3;

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

/// Options of a queue discipline that this crate sets by netlink.
#[derive(Clone, Debug, PartialEq)]
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
    pub(super) options: Vec<u8>,
    /// The statistics of its kind.
    pub(super) reported: Vec<u8>,
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
    /// Times that a packet was over a limit.
    pub overlimits: u64,
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
}

impl QdiscOptions {
    fn kind(&self) -> &'static str {
        match self {
            Self::Fifo(Fifo::Packets(_)) => "pfifo",
            Self::Fifo(Fifo::Bytes(_)) => "bfifo",
            Self::Htb(_) => "htb",
            Self::Netem(_) => "netem",
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Fifo(Fifo::Packets(limit) | Fifo::Bytes(limit)) => limit.to_ne_bytes().to_vec(),
            Self::Htb(Htb { default }) => {
                // struct tc_htb_glob: version, rate to quantum, default class, debug, direct packets.
                let values = [HTB_VERSION, 10, u32::from(*default), 0, 0];
                nested(TCA_HTB_INIT, &values.map(u32::to_ne_bytes).concat())
            }
            Self::Netem(netem) => netem.bytes(),
        }
    }

    /// Whether the kernel's options have the values of these.
    fn agree(&self, options: &[u8]) -> bool {
        match self {
            Self::Fifo(Fifo::Packets(limit) | Fifo::Bytes(limit)) => {
                word(options, 0) == Some(*limit)
            }
            Self::Netem(netem) => netem.agree(options),
            Self::Htb(Htb { default }) => attribute(options, TCA_HTB_INIT)
                .is_some_and(|values| word(&values, 8) == Some(u32::from(*default))),
        }
    }
}

impl From<TcMessage> for Qdisc {
    fn from(message: TcMessage) -> Self {
        let mut qdisc = Self {
            kind: String::new(),
            handle: message.header.handle.into(),
            parent: message.header.parent.into(),
            counters: TrafficCounters::default(),
            options: Vec::new(),
            reported: Vec::new(),
        };
        for attribute in message.attributes {
            match attribute {
                TcAttribute::Kind(kind) => qdisc.kind = kind,
                TcAttribute::Options(options) => {
                    if let [TcOption::Other(raw)] = &options[..] {
                        qdisc.options = value_of(raw);
                    }
                }
                TcAttribute::Stats2(stats) => {
                    qdisc.counters.read(&stats);
                    for stats in stats {
                        if let TcStats2::App(reported) = stats {
                            qdisc.reported = emitted(&reported);
                        }
                    }
                }
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
                    overlimits,
                    ..
                }) => {
                    self.backlog = u64::from(*qlen);
                    self.backlog_bytes = u64::from(*backlog);
                    self.drops = u64::from(*drops);
                    self.overlimits = u64::from(*overlimits);
                }
                _ => {}
            }
        }
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}:{:x}", self.major, self.minor)
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

pub(super) fn message(
    index: u32,
    parent: Handle,
    handle: Handle,
    kind: &str,
    options: Vec<u8>,
) -> TcMessage {
    let mut message = TcMessage::with_index(index.cast_signed());
    message.header.parent = parent.into();
    message.header.handle = handle.into();
    message.attributes = vec![
        TcAttribute::Kind(kind.to_owned()),
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options)),
    ];
    message
}

/// The bytes of statistics, which the crate of netlink reads for one kind of queue discipline.
fn emitted(reported: &TcXstats) -> Vec<u8> {
    let mut bytes = vec![0; reported.buffer_len()];
    reported.emit(&mut bytes);
    bytes
}

/// The bytes of an attribute that the crate of netlink keeps as they are.
fn value_of(raw: &DefaultNla) -> Vec<u8> {
    use netlink_packet_core::Nla;
    let mut bytes = vec![0; raw.value_len()];
    raw.emit_value(&mut bytes);
    bytes
}
