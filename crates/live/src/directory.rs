//! Which flow, connection and direction a frame belongs to.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use bloatlab_outcome::Protocol;
use bloatlab_sim::Entry;

use crate::frame::Frame;

/// The port on which flow 0 listens. Flow `i` listens on the port that is `i` above.
pub const FIRST_PORT: u16 = 10_000;
/// The largest number of flows: each has its own port.
pub const MAX_FLOWS: usize = 50_000;

/// The flow, the connection and the direction of a frame, and the side to which it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub flow: usize,
    /// Which of the flow's connections, counted modulo 256.
    pub connection: u8,
    /// 0 from the data sender to the receiver, 1 back.
    pub direction: u8,
    /// Index of the device by which the receiver is reached.
    pub device: usize,
}

impl Owner {
    /// A segment of a frame as the session takes it, without a tag.
    pub fn entry(&self, frame: &Frame, index: usize) -> Entry {
        let (size, segment) = frame.segment(index);
        Entry {
            flow: self.flow,
            connection: self.connection,
            direction: self.direction,
            protocol: frame.protocol,
            size,
            ecn: frame.ecn,
            dscp: frame.dscp,
            follows: index > 0,
            segment,
            tag: 0,
        }
    }
}

/// Finds the owners of frames.
#[derive(Default)]
pub(crate) struct Directory {
    flows: Vec<Listed>,
    /// Flows of programs, which choose their ports themselves, by the addresses of both ends.
    programs: HashMap<[Ipv4Addr; 2], usize>,
    /// The address of the host that talks to the world outside, and the flow that its packets belong to.
    outward: Option<(Ipv4Addr, usize)>,
}

struct Listed {
    /// Of the data sender and of the receiver.
    addresses: [Ipv4Addr; 2],
    devices: [usize; 2],
    /// The connections so far, by the ports of both ends.
    connections: HashMap<[u16; 2], u8>,
    /// The last one that was looked up.
    last: ([u16; 2], u8),
}

impl Directory {
    /// Adds the next flow. `is_program`: it may use any port.
    pub fn add(&mut self, addresses: [Ipv4Addr; 2], devices: [usize; 2], is_program: bool) {
        if is_program {
            self.programs.insert(addresses, self.flows.len());
        }
        self.flows.push(Listed {
            addresses,
            devices,
            connections: HashMap::new(),
            last: ([0; 2], 0),
        });
    }

    /// All that the receiver of a flow exchanges with addresses that no host has belongs to this flow.
    pub fn open_outward(&mut self, flow: usize) {
        self.outward = Some((self.flows[flow].addresses[1], flow));
    }

    /// The owner of a frame. `None`: it belongs to no flow.
    pub fn owner(&mut self, frame: &Frame) -> Option<Owner> {
        let found = self.by_port(frame).or_else(|| self.by_addresses(frame));
        let flow = found.or_else(|| self.outward(frame))?;
        let listed = &mut self.flows[flow];
        let direction = usize::from(frame.addresses[0] == listed.addresses[1]);
        let [from, to] = frame.ports;
        let ports = if direction == 0 {
            [from, to]
        } else {
            [to, from]
        };
        Some(Owner {
            flow,
            connection: listed.connection(ports),
            direction: direction as u8,
            device: listed.devices[1 - direction],
        })
    }

    fn by_port(&self, frame: &Frame) -> Option<usize> {
        let first = if frame.protocol == Protocol::Echo {
            1
        } else {
            FIRST_PORT
        };
        let mut numbers = frame.ports.into_iter();
        numbers.find_map(|port| {
            let flow = usize::from(port.checked_sub(first)?);
            let [from, to] = frame.addresses;
            let addresses = self.flows.get(flow)?.addresses;
            (addresses == [from, to] || addresses == [to, from]).then_some(flow)
        })
    }

    fn by_addresses(&self, frame: &Frame) -> Option<usize> {
        let [from, to] = frame.addresses;
        let forward = self.programs.get(&[from, to]);
        forward.or_else(|| self.programs.get(&[to, from])).copied()
    }

    fn outward(&self, frame: &Frame) -> Option<usize> {
        let (address, flow) = self.outward?;
        frame.addresses.contains(&address).then_some(flow)
    }
}

impl Listed {
    fn connection(&mut self, ports: [u16; 2]) -> u8 {
        if self.last.0 != ports {
            let next = self.connections.len() as u8;
            let number = *self.connections.entry(ports).or_insert(next);
            self.last = (ports, number);
        }
        self.last.1
    }
}
