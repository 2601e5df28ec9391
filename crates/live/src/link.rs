//! The link thread: moves frames between the namespaces through the network of the simulator, in real time.
//!
//! The network has its own time. A frame enters it at the instant at which the kernel received it, and everything in it happens at the instant at which
//! it is due, even if the thread wakes up late. So a late wake-up delays frames, but takes no rate.

use std::io;
use std::os::fd::AsFd;

use bloatlab_sim::{Delivery, Entry, Order, Report, Session};
use bloatlab_units::{MICROSECOND, MILLISECOND, Nanos};

use crate::clock::Clock;
use crate::directory::Directory;
use crate::error::Error;
use crate::frame::Frame;
use crate::frame_store::{FrameStore, Kept, Place};
use crate::hosts::Hosts;
use crate::kernel_feed::KernelFeed;
use crate::lateness::Lateness;
use crate::packet_socket::{Batch, PacketSocket, Received};
use crate::samples::Samples;
use crate::waiting::wait;

/// The longest time between two looks at whether the run is cancelled.
const LONGEST_WAIT: Nanos = 50 * MILLISECOND;
/// The least time from one turn to the next. Without it, a fast link takes a turn per packet, and most of the thread's time goes into waking up.
const PERIOD: Nanos = 30 * MICROSECOND;
/// Most frames that are taken from one device before the network goes on.
const ROUNDS: usize = 4;

/// The link between the namespaces.
pub(crate) struct Link<'a> {
    pub session: Session<'a>,
    pub hosts: Hosts,
    pub directory: Directory,
    /// By flow: whether the segments of a frame stay together in the queues.
    pub keeps_buffers: Vec<bool>,
    /// One per namespace of hosts.
    pub sockets: Vec<PacketSocket>,
    pub clock: Clock,
    pub lateness: Lateness,
    /// The flow whose program decides when the run ends.
    pub foreground: Option<usize>,
    /// Programs that have ended by themselves.
    pub ended: Vec<Ended>,
    /// Where the samples of the links go while the run lasts.
    pub samples: Option<Samples>,
    /// Links of the kernel, which frames cross before our network.
    pub kernel: KernelFeed,
    pub work: Work,
}

/// A program that has ended by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub flow: usize,
    /// Its exit code; 128 and the signal if one ended it.
    pub code: i32,
}

/// What the link uses again in each turn.
#[derive(Default)]
pub(crate) struct Work {
    store: FrameStore,
    batch: Batch,
    received: Vec<Received>,
    reports: Vec<Report>,
    orders: Vec<Order>,
    deliveries: Vec<Delivery>,
    /// Packets that leave now, with those that waited for them.
    ready: Vec<Delivery>,
    lost: Vec<u32>,
    copied: Vec<u32>,
    /// When the last turn began.
    turned: Nanos,
}

impl Link<'_> {
    /// Runs until just before the end of the run, or until the program in the foreground has ended.
    pub fn run(&mut self, end: Nanos) -> Result<(), Error> {
        self.clock.sleep_until(0);
        while self.clock.now() < end {
            self.turn(end - 1)?;
            if self.foreground_code().is_some() {
                return Ok(());
            }
            self.wait(end)?;
        }
        self.turn(end - 1)
    }

    /// The exit code of the program in the foreground, if it has ended.
    pub fn foreground_code(&self) -> Option<i32> {
        let flow = self.foreground?;
        let ended = self.ended.iter().find(|ended| ended.flow == flow)?;
        Some(ended.code)
    }

    /// Processes incoming packets and due events, and forwards outgoing packets.
    fn turn(&mut self, last: Nanos) -> Result<(), Error> {
        self.work.turned = self.clock.now();
        let more = self.receive()?;
        let now = self.clock.now().min(last);
        self.hosts.receive(&mut self.work.reports)?;
        for report in self.work.reports.drain(..) {
            if let Report::Ended { flow, code, .. } = report {
                self.ended.push(Ended { flow, code });
            }
            self.session.report(&report);
        }
        let mut received = std::mem::take(&mut self.work.received);
        for frame in received.drain(..) {
            self.enter(frame, now)?;
        }
        self.work.received = received;
        if !more {
            self.advance(now)?;
        }
        if self.kernel.links.turn(now)?
            && let Some(samples) = &self.samples
            && let Some((time, rows)) = self.kernel.links.last_sample()
        {
            samples.add_rows(*time, rows);
        }
        self.send()?;
        self.session.take_orders(&mut self.work.orders);
        if !self.work.orders.is_empty() {
            self.hosts.send(&self.work.orders);
            self.work.orders.clear();
        }
        Ok(())
    }

    /// Receives the frames that wait, in the order of their time stamps. Returns whether more wait.
    fn receive(&mut self) -> io::Result<bool> {
        let Work {
            batch, received, ..
        } = &mut self.work;
        let mut more = false;
        for socket in self.sockets.iter().enumerate() {
            more |= (0..ROUNDS).try_fold(true, |more, _| match more {
                true => batch.receive(socket, received),
                false => Ok(false),
            })?;
        }
        if self.sockets.len() > 1 {
            received.sort_by_key(|frame| frame.at);
        }
        Ok(more)
    }

    /// Lets everything happen that is due up to an instant.
    fn advance(&mut self, to: Nanos) -> Result<(), Error> {
        let rows = self.session.advance(to)?;
        if let Some(samples) = &self.samples
            && !rows.links.is_empty()
        {
            samples.add(self.session.link_series(), rows.links.len());
        }
        Ok(())
    }

    /// A frame of a host enters the network.
    fn enter(&mut self, received: Received, now: Nanos) -> Result<(), Error> {
        let owner = Frame::read(&received.bytes).and_then(|frame| {
            let owner = self.directory.owner(&frame)?;
            Some((frame, owner))
        });
        let Some((frame, owner)) = owner else {
            self.lateness.strangers += 1;
            self.work.batch.give_back(received.bytes);
            return Ok(());
        };
        let at = self.clock.from_realtime(received.at).min(now);
        let whole = (&owner, &frame, received.bytes.as_slice());
        if !self.kernel.pass(received.from, at, whole)? {
            self.work.batch.give_back(received.bytes);
            return Ok(());
        }
        self.advance(at)?;
        let keeps_buffers = self.keeps_buffers[owner.flow];
        let bytes = received.bytes;
        let number = self.work.store.add(Kept {
            is_whole: keeps_buffers && frame.segments() > 1,
            frame,
            owner,
            bytes,
        });
        for index in 0..frame.segments() {
            let entry = owner.entry(&frame, index);
            self.session.enter(&Entry {
                follows: keeps_buffers && entry.follows,
                tag: self.work.store.tag(number, index),
                ..entry
            });
        }
        Ok(())
    }

    /// Sends what reached the end of its path. Segments of one frame that leave together are sent as one frame again.
    fn send(&mut self) -> io::Result<()> {
        let Work {
            store,
            batch,
            deliveries,
            ready,
            lost,
            copied,
            ..
        } = &mut self.work;
        self.session.take_deliveries(deliveries, lost, copied);
        for tag in copied.drain(..) {
            store.copied(tag);
        }
        ready.clear();
        for delivery in deliveries.drain(..) {
            let place = store.place(delivery.tag);
            let kept = place.and_then(|place| store.frame(place.frame));
            if kept.is_some_and(|kept| kept.is_whole) {
                store.hold(delivery, ready);
            } else {
                ready.push(delivery);
            }
        }
        for tag in lost.drain(..) {
            if let Some(memory) = store.lose(tag, ready) {
                batch.give_back(memory);
            }
        }
        let ready = std::mem::take(ready);
        let mut rest = ready.as_slice();
        while !rest.is_empty() {
            let count = self.together(rest);
            let (parts, later) = rest.split_at(count);
            self.send_together(parts)?;
            rest = later;
        }
        for delivery in &ready {
            if let Some(memory) = self.work.store.release(delivery.tag) {
                self.work.batch.give_back(memory);
            }
        }
        self.work.ready = ready;
        Ok(())
    }

    /// How many of the deliveries, from the first on, are successive segments of one frame.
    fn together(&self, deliveries: &[Delivery]) -> usize {
        let store = &self.work.store;
        let first = store.place(deliveries[0].tag);
        let is_next = |(number, delivery): &(usize, &Delivery)| {
            let expected = first.map(|first| Place {
                index: first.index + number,
                ..first
            });
            let alike = delivery.is_marked == deliveries[0].is_marked;
            alike && !delivery.is_damaged && store.place(delivery.tag) == expected
        };
        let first_is_damaged = deliveries[0].is_damaged || first.is_none();
        let most = if first_is_damaged {
            1
        } else {
            deliveries.len()
        };
        1 + deliveries[..most]
            .iter()
            .enumerate()
            .skip(1)
            .take_while(is_next)
            .count()
    }

    /// Sends successive segments of one frame.
    fn send_together(&mut self, deliveries: &[Delivery]) -> io::Result<()> {
        let first = deliveries[0];
        let Some(place) = self.work.store.place(first.tag) else {
            return Ok(());
        };
        let Some(Kept {
            is_whole,
            frame,
            owner,
            bytes,
        }) = self.work.store.frame(place.frame)
        else {
            return Ok(());
        };
        let cut = frame.cut(bytes, place.index, deliveries.len(), first.is_marked);
        let socket = &self.sockets[owner.device];
        let has_room = if first.is_damaged {
            socket.send([&cut.damaged(), &[]])?
        } else {
            socket.send(cut.parts())?
        };
        self.lateness.device_drops += u64::from(!has_room);
        let now = self.clock.now();
        // A frame that stays whole is due with its last segment.
        let last = deliveries.last().filter(|_| *is_whole);
        for delivery in deliveries {
            let due = last.map_or(delivery.at, |last| last.at);
            self.lateness.record(due, now);
        }
        Ok(())
    }

    /// Waits for a frame, a report or the next event.
    fn wait(&mut self, end: Nanos) -> io::Result<()> {
        self.clock.sleep_until(self.work.turned + PERIOD);
        let due = self
            .session
            .next_at()
            .min(self.kernel.links.next_at())
            .min(end);
        let longest = due.saturating_sub(self.clock.now()).min(LONGEST_WAIT);
        if longest == 0 {
            return Ok(());
        }
        let mut descriptors: Vec<_> = self.sockets.iter().map(|socket| socket.as_fd()).collect();
        descriptors.push(self.hosts.as_fd());
        wait(&descriptors, longest)
    }
}
