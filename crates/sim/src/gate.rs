//! Gates before the radio: queues in SDAP and in the UPF that packets leave when the radio is ready, not when a transmitter is free.

use bloatlab_radio::sizing::{SizingAlgorithm, UpfPacer};
use bloatlab_scenario::{GateKind, PlanGate};
use bloatlab_units::Nanos;

use crate::station::RadioQueue;

/// What releases the packets of a gate.
pub(crate) enum ReleasePolicy {
    /// From SDAP into the RLC.
    Sdap(SizingAlgorithm),
    /// From the UPF to SDAP, over this propagation delay.
    Upf { pacer: UpfPacer, delay: Nanos },
}

/// A queue of one UE, and what releases its packets.
pub(crate) struct Gate {
    pub queue: RadioQueue,
    pub ue: usize,
    /// For a gate in SDAP: the bearer below, by its place among those of all UEs.
    pub bearer: usize,
    pub policy: ReleasePolicy,
    /// Time between two ticks, if the policy needs ticks.
    tick: Option<Nanos>,
    /// Whether the next tick is scheduled.
    pub is_ticking: bool,
}

/// Ticks of 5G-BDP per slot: 0.1 ms at numerology 1.
const TICKS: Nanos = 5;

impl Gate {
    /// Builds the gate of a cell with slots of this length and `bearers` bearers per UE.
    pub fn new(plan: &PlanGate, queue: RadioQueue, slot: Nanos, bearers: usize) -> Self {
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
            queue,
            ue: plan.ue as usize,
            bearer: plan.ue as usize * bearers + plan.bearer as usize,
            policy,
            tick,
            is_ticking: false,
        }
    }

    /// Returns when the next tick is, unless it is scheduled already.
    pub fn plan_tick(&mut self, now: Nanos) -> Option<Nanos> {
        if std::mem::replace(&mut self.is_ticking, true) {
            return None;
        }
        // The flag stays set in a gate without ticks.
        self.tick.map(|tick| (now / tick + 1) * tick)
    }
}
