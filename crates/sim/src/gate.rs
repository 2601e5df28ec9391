//! Gates before the radio: queues in SDAP and in the UPF that are left when the radio is ready, not when a transmitter is free.

use bloatlab_aqm::Ecn;
use bloatlab_radio::sizing::{L4Span, SizingAlgorithm, UpfPacer};
use bloatlab_scenario::{GateKind, PlanGate};
use bloatlab_units::Nanos;

/// What lets packets on.
pub(crate) enum ReleasePolicy {
    /// From SDAP into the RLC.
    Sdap(SizingAlgorithm),
    /// From the UPF to SDAP, over this propagation.
    Upf { pacer: UpfPacer, delay: Nanos },
}

/// A queue of one UE, and what lets packets out of it.
pub(crate) struct Gate {
    pub ue: usize,
    /// Of SDAP's: the bearer below, by its place among those of all UEs.
    pub bearer: usize,
    /// Index of the link whose queue it is.
    pub link: usize,
    pub policy: ReleasePolicy,
    /// Time between two ticks, if it works by them.
    tick: Option<Nanos>,
    /// Whether a tick is to come.
    pub is_ticking: bool,
}

/// Ticks of 5G-BDP in a slot: 0.1 ms at numerology 1.
const TICKS: Nanos = 5;

impl Gate {
    /// From its plan, in a cell with slots of this length and so many bearers a UE.
    pub fn new(plan: &PlanGate, link: usize, slot: Nanos, bearers: usize) -> Self {
        let (policy, tick) = match &plan.how {
            GateKind::Sdap(sizing) => {
                let algorithm = sizing.build(slot);
                let tick = algorithm.ticks().then_some(slot / TICKS);
                (ReleasePolicy::Sdap(algorithm), tick)
            }
            GateKind::Upf { pacer, delay } => {
                let policy = ReleasePolicy::Upf {
                    pacer: UpfPacer::new(pacer),
                    delay: *delay,
                };
                (policy, Some(pacer.tick.0))
            }
        };
        Self {
            ue: plan.ue as usize,
            bearer: plan.ue as usize * bearers + plan.bearer as usize,
            link,
            policy,
            tick,
            is_ticking: false,
        }
    }

    /// When the next tick is, unless it is arranged already.
    pub fn arrange(&mut self, now: Nanos) -> Option<Nanos> {
        if std::mem::replace(&mut self.is_ticking, true) {
            return None;
        }
        // A gate without ticks never has one to come.
        self.tick.map(|tick| (now / tick + 1) * tick)
    }
}

/// A bearer on its way down: its gate, what left the RLC since the last TTI ended, and what marks before it.
#[derive(Default)]
pub(crate) struct BearerState {
    /// Index of its gate.
    pub sdap: Option<usize>,
    pub packets_out: u64,
    pub bytes_out: u64,
    /// Bytes that the last TTI could have sent.
    pub offered: u64,
    pub marker: Option<L4Span>,
    /// Propagation one way, which the marker reckons with.
    pub base: Nanos,
}

impl BearerState {
    /// How likely a packet is marked, with so many bytes in the RLC.
    pub fn marking(&self, ecn: Ecn, queued: u64, users: u64, length: u32) -> f64 {
        let Some(marker) = &self.marker else {
            return 0.0;
        };
        match ecn {
            Ecn::NotEct | Ecn::Ce => 0.0,
            Ecn::Ect1 => marker.l4s(queued),
            Ecn::Ect0 => marker.classic(queued, users, length, self.base),
        }
    }
}
