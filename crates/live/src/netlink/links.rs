//! Network devices, addresses and routes.

use std::ffi::CString;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, Stats64,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::{NEW, Netlink, REPLACE, doing};
use crate::Namespace;

/// One end of a veth pair that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VethEnd {
    /// Name of the device.
    pub name: String,
    /// MAC address.
    pub mac: [u8; 6],
    /// MTU.
    pub mtu: u32,
    /// Largest number of segments in one buffer.
    pub gso_max_segs: u32,
}

/// Counters of a network device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets received.
    pub received: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Packets sent.
    pub sent: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets that the device or the kernel behind it dropped on reception.
    pub receive_drops: u64,
    /// Packets that the device dropped on transmission.
    pub send_drops: u64,
}

impl Netlink {
    /// The index of a device of the calling thread's namespace.
    ///
    /// # Errors
    /// There is no such device.
    pub fn index_of(device: &str) -> io::Result<u32> {
        let name = CString::new(device)?;
        // SAFETY: the pointer is to a string that ends with a zero.
        match unsafe { libc::if_nametoindex(name.as_ptr()) } {
            0 => {
                let error = io::Error::last_os_error();
                doing(|| format!("looking for the device {device}"), Err(error))
            }
            index => Ok(index),
        }
    }

    /// Makes a veth pair: one end in this namespace, the other one in `other`. Both ends are down.
    ///
    /// # Errors
    /// The kernel has no veth, or an end's name is taken.
    pub fn add_veth(
        &mut self,
        here: &VethEnd,
        there: &VethEnd,
        other: &Namespace,
    ) -> io::Result<()> {
        let mut peer = LinkMessage::default();
        peer.attributes = there.attributes();
        peer.attributes
            .push(LinkAttribute::NetNsFd(other.as_fd().as_raw_fd()));
        let mut message = LinkMessage::default();
        message.attributes = here.attributes();
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        let result = self.request(RouteNetlinkMessage::NewLink(message), NEW);
        doing(|| format!("making the veth pair {}", here.name), result)
    }

    /// Puts a device up. With `noarp`, it resolves no addresses: every frame gets the device's own MAC as its destination.
    ///
    /// # Errors
    /// There is no such device.
    pub fn set_up(&mut self, index: u32, noarp: bool) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        if noarp {
            message.header.flags |= LinkFlags::Noarp;
        }
        message.header.change_mask = message.header.flags;
        let result = self.request(RouteNetlinkMessage::SetLink(message), 0);
        doing(|| format!("putting device {index} up"), result)
    }

    /// Adds an address to a device.
    ///
    /// # Errors
    /// There is no such device, or it has the address.
    pub fn add_address(&mut self, index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = prefix;
        message.header.index = index;
        message.attributes = vec![
            AddressAttribute::Local(address.into()),
            AddressAttribute::Address(address.into()),
        ];
        let result = self.request(RouteNetlinkMessage::NewAddress(message), NEW);
        doing(|| format!("adding the address {address}"), result)
    }

    /// Makes these addresses local. Unlike [`add_address`](Self::add_address), this takes the same time for each of many thousands.
    ///
    /// # Errors
    /// There is no such device.
    pub fn add_local(
        &mut self,
        index: u32,
        addresses: impl IntoIterator<Item = Ipv4Addr>,
    ) -> io::Result<()> {
        let messages = addresses.into_iter().map(|address| {
            let mut message = route(index, address, 32);
            message.header.table = libc::RT_TABLE_LOCAL;
            message.header.kind = RouteType::Local;
            message.header.scope = RouteScope::Host;
            RouteNetlinkMessage::NewRoute(message)
        });
        let result = self.requests(messages, REPLACE);
        doing(|| String::from("adding local addresses"), result)
    }

    /// Adds a route through a device, with the address that packets get if their sender chose none, and the congestion control of connections
    /// whose program chose none.
    ///
    /// # Errors
    /// There is no such device or address, or there is such a route.
    pub fn add_route(
        &mut self,
        index: u32,
        network: Ipv4Addr,
        prefix: u8,
        source: Ipv4Addr,
        congestion_control: Option<&str>,
    ) -> io::Result<()> {
        let mut message = route(index, network, prefix);
        if let Some(name) = congestion_control {
            let metric = RouteMetric::CcAlgo(name.to_owned());
            message
                .attributes
                .push(RouteAttribute::Metrics(vec![metric]));
        }
        message.header.scope = RouteScope::Link;
        message
            .attributes
            .push(RouteAttribute::PrefSource(RouteAddress::Inet(source)));
        let result = self.request(RouteNetlinkMessage::NewRoute(message), NEW);
        doing(|| format!("adding the route {network}/{prefix}"), result)
    }

    /// The attributes of a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn link(&mut self, index: u32) -> io::Result<Vec<LinkAttribute>> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let found = self.ask(RouteNetlinkMessage::GetLink(message), 0)?;
        found
            .into_iter()
            .find_map(|message| match message {
                RouteNetlinkMessage::NewLink(link) => Some(link.attributes),
                _ => None,
            })
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The name of a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn name_of(&mut self, index: u32) -> io::Result<String> {
        let attributes = self.link(index)?.into_iter();
        let mut names = attributes.filter_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name),
            _ => None,
        });
        names
            .next()
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The counters of a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn counters(&mut self, index: u32) -> io::Result<LinkCounters> {
        let attributes = self.link(index)?;
        let stats = attributes
            .into_iter()
            .find_map(|attribute| match attribute {
                LinkAttribute::Stats64(stats) => Some(stats),
                _ => None,
            });
        stats
            .map(LinkCounters::from)
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

impl VethEnd {
    fn attributes(&self) -> Vec<LinkAttribute> {
        vec![
            LinkAttribute::IfName(self.name.clone()),
            LinkAttribute::Address(self.mac.to_vec()),
            LinkAttribute::Mtu(self.mtu),
            LinkAttribute::GsoMaxSegs(self.gso_max_segs),
        ]
    }
}

impl From<Stats64> for LinkCounters {
    fn from(stats: Stats64) -> Self {
        Self {
            received: stats.rx_packets,
            received_bytes: stats.rx_bytes,
            sent: stats.tx_packets,
            sent_bytes: stats.tx_bytes,
            receive_drops: stats.rx_dropped,
            send_drops: stats.tx_dropped,
        }
    }
}

/// A route to a network through a device, in the main table.
pub(super) fn route(index: u32, network: Ipv4Addr, prefix: u8) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.destination_prefix_length = prefix;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Boot;
    message.header.kind = RouteType::Unicast;
    message.attributes = vec![
        RouteAttribute::Destination(RouteAddress::Inet(network)),
        RouteAttribute::Oif(index),
    ];
    message
}
