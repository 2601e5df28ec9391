//! Namespaces, devices, queues and settings, in namespaces that each test makes.

use std::fmt::Debug;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};

use bloatlab_live::ethtool::{Offload, offload_of, set_offload};
use bloatlab_live::netlink::{Fifo, Handle, Htb, HtbClass, Netlink, Qdisc, QdiscOptions, VethEnd};
use bloatlab_live::sandbox::{obstacle, scratch};
use bloatlab_live::{Carrier, HOST_DEVICE, Namespace, lay, layout, sysctl};
use bloatlab_scenario::{Disk, Limits, Plan, Scenario};

/// Runs a test in scratch namespaces. It skips the test where the machine forbids them.
fn in_scratch(test: impl FnOnce() -> io::Result<()>) {
    if let Some(obstacle) = obstacle() {
        eprintln!("skipped: {}", obstacle.why);
        return;
    }
    let answer = scratch(|| match test() {
        Ok(()) => Vec::new(),
        Err(error) => error.to_string().into_bytes(),
    });
    let answer = answer.expect("a test that returns");
    assert_eq!(String::from_utf8_lossy(&answer), "");
}

fn same<T: PartialEq + Debug>(got: T, wanted: T) -> io::Result<()> {
    if got == wanted {
        return Ok(());
    }
    Err(io::Error::other(format!("{got:?} instead of {wanted:?}")))
}

fn plan(flows: &str) -> Plan {
    let text = format!(
        r#"{{"duration": "1s", "dumbbell": {{"rate": "10Mbit/s", "rtt": "20ms", "queue": {{"kind": "fifo", "limit": "100p"}}}},
            "flows": [{flows}]}}"#
    );
    let checked = Scenario::load(&text, &Disk, &Limits::default());
    checked.expect("a scenario").plan
}

fn veth(netlink: &mut Netlink, other: &Namespace) -> io::Result<u32> {
    let end = |name: &str| VethEnd {
        name: name.to_owned(),
        mac: [2, 0, 0, 0, 0, 7],
        mtu: 1400,
        gso_max_segs: 65_535,
    };
    netlink.add_veth(&end("here"), &end("there"), other)?;
    Netlink::index_of("here")
}

#[test]
fn settings_of_a_namespace_are_read_back_and_stay_in_it() {
    in_scratch(|| {
        let other = Namespace::new()?;
        sysctl::set("net.ipv4.tcp_rmem", "4096 50000 60000")?;
        same(&sysctl::get("net.ipv4.tcp_rmem")?[..], "4096\t50000\t60000")?;
        other.within(|| sysctl::set("net.ipv4.tcp_sack", "0"))?;
        same(&sysctl::get("net.ipv4.tcp_sack")?[..], "1")?;
        same(&other.within(|| sysctl::get("net.ipv4.tcp_sack"))?[..], "0")?;
        for (key, value) in [
            ("net.ipv4.tcp_nothing", "1"),
            ("net.ipv4.tcp_sack", "word"),
            ("kernel.hostname", "x"),
        ] {
            let error = sysctl::set(key, value).map_err(|error| error.to_string());
            same(error.is_err_and(|why| why.contains(key)), true)?;
        }
        Ok(())
    });
}

#[test]
fn a_thread_sees_the_settings_of_its_own_namespace() {
    in_scratch(|| {
        let thread = std::thread::spawn(|| -> io::Result<String> {
            Namespace::new()?.join()?;
            sysctl::set("net.ipv4.tcp_sack", "0")?;
            sysctl::get("net.ipv4.tcp_sack")
        });
        let seen = thread.join().map_err(|_| io::Error::other("a panic"))??;
        same(&seen[..], "0")?;
        same(&sysctl::get("net.ipv4.tcp_sack")?[..], "1")
    });
}

#[test]
fn queues_keep_their_limits_and_classes_their_rates() {
    in_scratch(|| {
        let mut netlink = Netlink::open()?;
        let other = Namespace::new()?;
        let index = veth(&mut netlink, &other)?;
        let root = Handle::new(1, 0);
        let class = Handle::new(1, 1);
        let options = QdiscOptions::Htb(Htb { default: 1 });
        netlink.set_qdisc(index, Handle::ROOT, root, options.clone())?;
        // The last rate needs more than 32 bits.
        netlink.add_class(index, root, class, HtbClass::of_rate(2_500_000, 1514))?;
        for rate in [125_000, 125_000_000, 12_500_000_000] {
            netlink.change_class(index, root, class, HtbClass::of_rate(rate, 1514))?;
        }
        for (leaf, fifo) in [
            (2, Fifo::Bytes(123_456)),
            (3, Fifo::Packets(77)),
            (3, Fifo::Packets(78)),
        ] {
            netlink.set_qdisc(index, class, Handle::new(leaf, 0), QdiscOptions::Fifo(fifo))?;
        }
        let kinds = |qdiscs: Vec<Qdisc>| -> Vec<String> {
            qdiscs.into_iter().map(|qdisc| qdisc.kind).collect()
        };
        same(
            kinds(netlink.qdiscs(index)?),
            vec!["htb".to_owned(), "pfifo".to_owned()],
        )?;
        let nowhere = Handle::new(9, 1);
        let wrong = netlink.set_qdisc(index, nowhere, Handle::new(4, 0), options);
        same(wrong.is_err(), true)?;
        netlink.remove_qdisc(index, Handle::ROOT)?;
        same(netlink.classes(index)?, Vec::new())
    });
}

#[test]
fn offloads_are_read_back() {
    in_scratch(|| {
        // The pair lives as long as both namespaces.
        let other = Namespace::new()?;
        veth(&mut Netlink::open()?, &other)?;
        for on in [false, true, false] {
            for offload in [Offload::Gso, Offload::Tso, Offload::Gro] {
                set_offload("here", offload, on)?;
                same(offload_of("here", offload)?, on)?;
            }
        }
        let missing = set_offload("nowhere", Offload::Tso, true);
        same(missing.is_err(), true)
    });
}

#[test]
fn the_hosts_of_a_plan_are_laid_out() {
    let tcp = r#"{"mss": 1000, "send_buffer": "1MB"}"#;
    let plan = plan(&format!(
        r#"{{"count": 3, "tcp": {tcp}}}, {{"traffic": "ping"}}"#
    ));
    in_scratch(|| {
        let layout = layout(&plan).map_err(|refused| io::Error::other(format!("{refused:?}")))?;
        let mut laid = lay(&layout, Carrier::Emulator)?;
        same(laid.hosts.len(), 8)?;
        same(laid.namespaces.len(), 2)?;
        same(&laid.ends[1].name[..], "host1")?;
        for (number, namespace) in laid.namespaces.iter().enumerate() {
            let seen = namespace.within(|| {
                same(offload_of(HOST_DEVICE, Offload::Tso)?, false)?;
                same(
                    &sysctl::get("net.ipv4.tcp_wmem")?[..],
                    "4096\t1000000\t1000000",
                )?;
                // Every address of the namespace can be used, and no other.
                for (at, address) in &laid.hosts {
                    let bound = TcpListener::bind((*address, 10_000));
                    same(bound.is_ok(), *at == number)?;
                }
                sysctl::get("net.ipv4.ip_local_port_range")
            })?;
            same(&seen[..], "1024\t9999")?;
        }
        same(laid.device_drops()?, 0)
    });
}

#[test]
fn a_veth_pair_carries_tcp_without_address_resolution() {
    in_scratch(|| {
        let other = Namespace::new()?;
        let mut here = Netlink::open()?;
        let index = veth(&mut here, &other)?;
        here.set_up(index, true)?;
        let mut there = Netlink::open_in(&other)?;
        let peer = other.within(|| Netlink::index_of("there"))?;
        there.set_up(peer, true)?;
        let [one, two] = [Ipv4Addr::new(10, 64, 0, 1), Ipv4Addr::new(10, 64, 0, 2)];
        let network = Ipv4Addr::new(10, 0, 0, 0);
        here.add_address(index, one, 32)?;
        here.add_route(index, network, 8, one, None)?;
        there.add_address(peer, two, 32)?;
        there.add_route(peer, network, 8, two, Some("reno"))?;
        let listener = other.within(|| TcpListener::bind((two, 10_000)))?;
        let mut client = TcpStream::connect(SocketAddr::from((two, 10_000)))?;
        let (mut server, from) = listener.accept()?;
        same(from.ip(), one.into())?;
        client.write_all(b"frame")?;
        let mut read = [0; 5];
        server.read_exact(&mut read)?;
        same(&read, b"frame")?;
        let counters = here.counters(index)?;
        same(counters.sent >= 3 && counters.receive_drops == 0, true)
    });
}

#[test]
fn the_kernel_chooses_the_address_of_the_host_that_runs_a_program() {
    let programs =
        r#"{"count": 2}, {"count": 2, "traffic": {"kind": "command", "client": ["true"]}}"#;
    let plan = plan(programs);
    in_scratch(|| {
        let layout = layout(&plan).map_err(|refused| io::Error::other(format!("{refused:?}")))?;
        let laid = lay(&layout, Carrier::Emulator)?;
        // Two for the first flows. Hosts of programs have a congestion control for their connections, and each client a namespace.
        same(laid.namespaces.len(), 5)?;
        for flow in &plan.flows[2..] {
            let [server, client] = flow.hosts.map(|host| laid.hosts[host as usize]);
            let chosen = laid.namespaces[client.0].within(|| {
                let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
                socket.connect((server.1, 10_000))?;
                socket.local_addr()
            })?;
            same(chosen.ip(), client.1.into())?;
        }
        Ok(())
    });
}
