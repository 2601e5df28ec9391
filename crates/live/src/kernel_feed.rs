//! Takes frames through the links of the kernel by packet sockets, because our network has the rest of their path.

use std::io;

use bloatlab_scenario::{Plan, PlanBoxKind, PlanFlow};
use bloatlab_units::{Nanos, Streams};

use crate::directory::Owner;
use crate::frame::Frame;
use crate::kernel_link::{KernelLink, Timers};
use crate::kernel_links::KernelLinks;
use crate::packet_socket::PacketSocket;

/// The links of the kernel, and the sockets through which frames enter them. Without a link, every frame goes to our network at once.
#[derive(Default)]
pub(crate) struct KernelFeed {
    pub links: KernelLinks,
    /// By link: frames go in here.
    entrances: Vec<PacketSocket>,
    /// By flow and direction: the link that its packets cross.
    routes: Vec<[Option<usize>; 2]>,
    /// Index of the socket of the first link's exit.
    first_exit: usize,
}

impl KernelFeed {
    /// Makes the links of a plan. Returns the sockets of their exits, which follow `first_exit` others.
    ///
    /// # Errors
    /// The kernel refuses something.
    pub fn make(
        plan: &Plan,
        flows: &[&PlanFlow],
        first_exit: usize,
        mtu: u32,
        seed: u64,
    ) -> io::Result<(Self, Vec<PacketSocket>)> {
        let streams = Streams::new(seed);
        let (mut links, mut entrances, mut exits) = (Vec::new(), Vec::new(), Vec::new());
        for (number, planned) in plan.boxes.iter().enumerate() {
            if let PlanBoxKind::Link(link) = &planned.kind {
                let (link, devices) =
                    KernelLink::make(plan, number, link, &streams, (Timers::Late, mtu))?;
                links.push(link);
                entrances.push(PacketSocket::open_to_queue(devices[0])?);
                exits.push(PacketSocket::open(devices[1])?);
            }
        }
        let crossed = |path: &[usize]| links.iter().position(|link| path.contains(&link.number));
        let routes = flows
            .iter()
            .map(|flow| [crossed(&flow.forward), crossed(&flow.reverse)]);
        let this = Self {
            routes: routes.collect(),
            links: KernelLinks::new(plan, links),
            entrances,
            first_exit,
        };
        Ok((this, exits))
    }

    /// Takes a frame of a host to the link that it crosses. Returns true if our network is to have it now.
    ///
    /// # Errors
    /// A device is gone.
    pub fn pass(
        &mut self,
        from: usize,
        at: Nanos,
        (owner, frame, bytes): (&Owner, &Frame, &[u8]),
    ) -> io::Result<bool> {
        if self.links.is_empty() {
            return Ok(true);
        }
        if let Some(index) = from.checked_sub(self.first_exit) {
            self.links.link(index).leave(at, owner, frame);
            return Ok(true);
        }
        let Some(index) = self.routes[owner.flow][usize::from(owner.direction)] else {
            return Ok(true);
        };
        // Packets that do not fit into the queue are in the kernel's drop counter.
        self.links.link(index).enter(at, owner, frame);
        self.entrances[index].send([bytes, &[]])?;
        Ok(false)
    }
}
