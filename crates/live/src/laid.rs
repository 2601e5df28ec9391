//! Makes the network namespaces of a layout and connects them with the emulator's.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use bloatlab_tcp::LinuxSettings;

use crate::ethtool::{Offload, offload_of, set_offload};
use crate::layout::{Host, Layout};
use crate::netlink::{LinkCounters, Netlink, VethEnd, doing};
use crate::{Namespace, sysctl};

/// The network device of a namespace of hosts.
pub const HOST_DEVICE: &str = "eth0";
/// The MAC address of every host's device, and the destination of every frame. So frames pass from host to host unchanged.
pub const HOST_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// The MAC address of the emulator's devices. It differs, so the emulator's own IP stack ignores the frames.
const EMULATOR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// What carries packets between the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The emulator, which takes frames from the devices by packet sockets.
    Emulator,
    /// The kernel, which routes packets.
    Kernel,
}

impl Carrier {
    /// The MAC address of its devices.
    fn mac(self) -> [u8; 6] {
        match self {
            Self::Emulator => EMULATOR_MAC,
            Self::Kernel => HOST_MAC,
        }
    }
}
/// The network that holds every host's address.
const NETWORK: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 0, 0, 0), 8);

/// Settings of every namespace of hosts, besides those of its flows.
const COMMON: [(&str, &str); 6] = [
    // Listening ports start at 10000.
    ("net.ipv4.ip_local_port_range", "1024 9999"),
    ("net.ipv4.ip_forward", "0"),
    ("net.ipv4.icmp_ratelimit", "0"),
    // A connection must not start with what an earlier one learned.
    ("net.ipv4.tcp_no_metrics_save", "1"),
    // As in the simulator: after an idle time, the window restarts.
    ("net.ipv4.tcp_slow_start_after_idle", "1"),
    ("net.ipv4.tcp_moderate_rcvbuf", "1"),
];
/// Settings that every older kernel has as a fixed value.
const FIXED: [(&str, &str); 1] = [("net.ipv4.tcp_rto_min_us", "200000")];
/// With these, devices send nothing on their own.
const WITHOUT_IPV6: [&str; 2] = [
    "net.ipv6.conf.all.disable_ipv6",
    "net.ipv6.conf.default.disable_ipv6",
];

/// The namespaces of a layout, ready for use. They vanish when this and all their sockets are dropped.
pub struct Laid {
    /// Index of the namespace and address of each host, by the host's number.
    pub hosts: Vec<(usize, Ipv4Addr)>,
    /// The namespaces of hosts.
    pub namespaces: Vec<Arc<Namespace>>,
    /// The emulator's end of each namespace's veth pair, in the namespace of the thread that called [`lay`].
    pub ends: Vec<Device>,
    emulator: Netlink,
    sides: Vec<Side>,
}

/// A device of the emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its MTU.
    pub mtu: u32,
}

/// The device at the hosts' side.
struct Side {
    netlink: Netlink,
    index: u32,
}

impl Laid {
    /// The largest MTU of a host.
    pub fn mtu(&self) -> u32 {
        self.ends.iter().map(|end| end.mtu).max().unwrap_or(1500)
    }

    /// Packets that the devices between hosts and emulator dropped so far.
    ///
    /// # Errors
    /// A device is gone.
    pub fn device_drops(&mut self) -> io::Result<u64> {
        let drops = |counters: LinkCounters| counters.receive_drops + counters.send_drops;
        let mut sum = 0;
        for end in &self.ends {
            sum += drops(self.emulator.counters(end.index)?);
        }
        for side in &mut self.sides {
            sum += drops(side.netlink.counters(side.index)?);
        }
        Ok(sum)
    }
}

/// Makes the namespaces of a layout, with their devices, addresses and settings. Each setting is read back. The calling thread's namespace becomes the
/// emulator's, so it must be one that this process made.
///
/// # Errors
/// The kernel refuses something, or does not keep a setting. The error names it.
pub fn lay(layout: &Layout, carrier: Carrier) -> io::Result<Laid> {
    disable_ipv6()?;
    let mut laid = Laid {
        hosts: layout
            .hosts
            .iter()
            .map(|host| (host.namespace, host.address))
            .collect(),
        namespaces: Vec::with_capacity(layout.namespaces.len()),
        ends: Vec::with_capacity(layout.namespaces.len()),
        emulator: Netlink::open()?,
        sides: Vec::with_capacity(layout.namespaces.len()),
    };
    for (number, settings) in layout.namespaces.iter().enumerate() {
        let namespace = Namespace::new()?;
        let name = format!("host{number}");
        let end = |name: &str, mac| VethEnd {
            name: name.to_owned(),
            mac,
            mtu: settings.mtu,
            gso_max_segs: settings.gso_max_segs,
        };
        let [here, there] = [end(&name, carrier.mac()), end(HOST_DEVICE, HOST_MAC)];
        laid.emulator.add_veth(&here, &there, &namespace)?;
        let index = Netlink::index_of(&name)?;
        laid.emulator.set_up(index, true)?;
        let addresses = addresses(layout, number);
        let side = namespace.within(|| side(settings, &addresses))?;
        laid.sides.push(side);
        laid.namespaces.push(Arc::new(namespace));
        let mtu = settings.mtu;
        laid.ends.push(Device { index, name, mtu });
    }
    Ok(laid)
}

/// The addresses of a namespace. The kernel chooses the first one for a program, so that of the host which runs programs comes first.
fn addresses(layout: &Layout, namespace: usize) -> Vec<Ipv4Addr> {
    let inside = layout.hosts.iter();
    let inside = inside.filter(|host| host.namespace == namespace);
    let (first, others): (Vec<&Host>, Vec<&Host>) = inside.partition(|host| host.runs_programs);
    let hosts = first.into_iter().chain(others);
    hosts.map(|host| host.address).collect()
}

/// Sets a namespace of hosts up, from within it.
fn side(settings: &LinuxSettings, addresses: &[Ipv4Addr]) -> io::Result<Side> {
    disable_ipv6()?;
    for (key, value) in COMMON {
        sysctl::set(key, value)?;
    }
    for (key, value) in &settings.sysctls {
        if !is_fixed(key, value) {
            sysctl::set(key, value)?;
        }
    }
    let mut netlink = Netlink::open()?;
    let index = Netlink::index_of(HOST_DEVICE)?;
    set_offload(HOST_DEVICE, Offload::Tso, settings.tso)?;
    set_offload(HOST_DEVICE, Offload::Gso, settings.tso)?;
    set_offload(HOST_DEVICE, Offload::Gro, settings.gro)?;
    // Turning TSO off turns GSO off too on some kernels, and the other way round.
    if offload_of(HOST_DEVICE, Offload::Tso)? != settings.tso {
        return Err(io::Error::other(format!(
            "{HOST_DEVICE} did not keep its segmentation offload"
        )));
    }
    netlink.set_up(Netlink::index_of("lo")?, false)?;
    netlink.set_up(index, true)?;
    if let Some((&first, others)) = addresses.split_first() {
        netlink.add_address(index, first, 32)?;
        netlink.add_local(index, others.iter().copied())?;
        let (network, prefix) = NETWORK;
        let congestion_control = settings.congestion_control.as_deref();
        netlink.add_route(index, network, prefix, first, congestion_control)?;
    }
    check_device(&mut netlink, index, settings)?;
    Ok(Side { netlink, index })
}

/// Whether this kernel lacks the key, and always does what the value says.
fn is_fixed(key: &str, value: &str) -> bool {
    FIXED.contains(&(key, value)) && sysctl::get(key).is_err()
}

/// Turns IPv6 off for all devices of the calling thread's namespace. A kernel without IPv6 needs nothing.
fn disable_ipv6() -> io::Result<()> {
    for key in WITHOUT_IPV6 {
        if sysctl::get(key).is_ok() {
            sysctl::set(key, "1")?;
        }
    }
    Ok(())
}

/// Compares what the device kept with what it was given.
fn check_device(netlink: &mut Netlink, index: u32, settings: &LinuxSettings) -> io::Result<()> {
    use netlink_packet_route::link::LinkAttribute;
    for attribute in netlink.link(index)? {
        let (key, wanted, kept) = match attribute {
            LinkAttribute::Mtu(kept) => ("mtu", settings.mtu, kept),
            LinkAttribute::GsoMaxSegs(kept) => ("gso_max_segs", settings.gso_max_segs, kept),
            _ => continue,
        };
        if wanted != kept {
            let why = format!("{key} {wanted} became {kept}");
            return doing(|| HOST_DEVICE.to_owned(), Err(io::Error::other(why)));
        }
    }
    Ok(())
}
