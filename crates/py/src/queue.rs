//! A queue discipline in Python. The packets stay in Rust, and Python has handles.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bloatlab_aqm::{DropReason, Packet as _, Qdisc, Sink, Slot, mark};
use bloatlab_sim::{Control, Packet};
use bloatlab_units::Nanos;
use pyo3::prelude::*;

use crate::complaint::complaint;

/// What Python asked for during the present call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    Mark,
    Drop,
}

type Wishes = Arc<Mutex<Vec<(u64, Wish)>>>;

/// A packet as a queue sees it.
#[pyclass(frozen, name = "Packet", module = "bloatlab._core")]
pub struct Handle {
    /// Identifier, unique in the run.
    #[pyo3(get)]
    id: u64,
    /// Bytes on the wire.
    #[pyo3(get)]
    size: u32,
    /// Identifier of the flow.
    #[pyo3(get)]
    flow: u64,
    /// The ECN field on arrival.
    #[pyo3(get)]
    ecn: u8,
    /// Time of its enqueue in this queue, ns.
    #[pyo3(get)]
    enqueued_at: u64,
    wishes: Wishes,
}

#[pymethods]
impl Handle {
    /// Marks the packet with Congestion Experienced. Returns false if it is not ECN-capable.
    fn mark(&self) -> bool {
        if self.ecn != 0 {
            self.wish(Wish::Mark);
        }
        self.ecn != 0
    }

    /// Drops the packet. The handle must not be used afterwards.
    fn drop(&self) {
        self.wish(Wish::Drop);
    }
}

impl Handle {
    fn wish(&self, wish: Wish) {
        if let Ok(mut wishes) = self.wishes.lock() {
            wishes.push((self.id, wish));
        }
    }
}

/// The Python object and its packets.
pub struct PythonQueue {
    object: Py<PyAny>,
    class: String,
    control: Arc<Control>,
    wishes: Wishes,
    /// By identifier. Only `contents` iterates over them, and sorts them.
    held: HashMap<u64, Packet>,
    bytes: u64,
    next_id: u64,
}

impl PythonQueue {
    pub fn new(object: Py<PyAny>, class: String, control: Arc<Control>) -> Self {
        Self {
            object,
            class,
            control,
            wishes: Wishes::default(),
            held: HashMap::new(),
            bytes: 0,
            next_id: 0,
        }
    }

    fn remove(&mut self, id: u64) -> Option<Packet> {
        let packet = self.held.remove(&id)?;
        self.bytes -= u64::from(packet.size());
        Some(packet)
    }

    /// Carries out the requests that Python made during a call.
    fn grant(&mut self, sink: &mut dyn Sink<Packet>) {
        let wishes = self
            .wishes
            .lock()
            .map(|mut w| std::mem::take(&mut *w))
            .unwrap_or_default();
        for (id, wish) in wishes {
            match wish {
                Wish::Drop => {
                    if let Some(packet) = self.remove(id) {
                        sink.dropped(&packet, DropReason::Aqm);
                    }
                }
                Wish::Mark => {
                    if let Some(packet) = self.held.get_mut(&id)
                        && mark(packet)
                    {
                        sink.marked(packet);
                    }
                }
            }
        }
    }
}

impl Qdisc<Packet> for PythonQueue {
    fn enqueue(&mut self, now: Nanos, mut packet: Packet, sink: &mut dyn Sink<Packet>) {
        packet.set_enqueued_at(now);
        let id = self.next_id;
        self.next_id += 1;
        self.bytes += u64::from(packet.size());
        self.held.insert(id, packet);
        let handle = Handle {
            id,
            size: packet.size(),
            flow: packet.flow(),
            ecn: packet.ecn() as u8,
            enqueued_at: now,
            wishes: Arc::clone(&self.wishes),
        };
        let accepted = Python::attach(|py| {
            let answer = self
                .object
                .bind(py)
                .call_method1("enqueue", (handle, now))
                .and_then(|a| a.is_truthy());
            answer.unwrap_or_else(|error| {
                self.control
                    .fail(complaint(py, &self.class, "enqueue", &error));
                true
            })
        });
        self.grant(sink);
        if !accepted && let Some(packet) = self.remove(id) {
            sink.dropped(&packet, DropReason::Aqm);
        }
    }

    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<Packet>) -> Option<Packet> {
        if self.held.is_empty() {
            return None;
        }
        let answer = Python::attach(|py| {
            let answer = self.object.bind(py).call_method1("dequeue", (now,));
            let id = answer.and_then(|a| {
                if a.is_none() {
                    Ok(None)
                } else {
                    Ok(Some(a.cast::<Handle>()?.get().id))
                }
            });
            id.unwrap_or_else(|error| {
                self.control
                    .fail(complaint(py, &self.class, "dequeue", &error));
                None
            })
        });
        self.grant(sink);
        let id = answer?;
        let packet = self.remove(id);
        if packet.is_none() {
            self.control.fail(format!(
                "{}.dequeue: gave a packet that the queue no longer holds",
                self.class
            ));
        }
        packet
    }

    fn is_work_conserving(&self) -> bool {
        false
    }

    fn packets(&self) -> u64 {
        self.held.len() as u64
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    /// In order of arrival, because only Python knows the order in which they leave.
    fn contents(&self, visit: &mut dyn FnMut(Slot, &Packet)) {
        let mut ids: Vec<u64> = self.held.keys().copied().collect();
        ids.sort_unstable();
        let held = ids.iter().filter_map(|id| self.held.get(id));
        held.for_each(|packet| visit(Slot::default(), packet));
    }
}
