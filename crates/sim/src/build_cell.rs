//! The radio cell of a plan, with the gates before it.

use bloatlab_radio::cell::{BearerParams, Cell};
use bloatlab_radio::sizing::L4Span;
use bloatlab_scenario::{Plan, PlanBoxKind, PlanCell, PlanFlow};
use bloatlab_units::{NEVER, Nanos};

use crate::engine::Engine;
use crate::gate::{BearerState, Gate, ReleasePolicy};
use crate::place::Place;
use crate::radio::RadioCell;

impl Engine<'_> {
    /// The radio cell behind the bearers.
    pub(crate) fn add_cell(&mut self, plan: &Plan) -> Result<(), String> {
        let Some(PlanCell {
            params,
            bearers,
            channels,
        }) = &plan.cell
        else {
            return Ok(());
        };
        let mut links: Vec<usize> = vec![0; 2 * params.ues.len() * bearers.len()];
        for (index, link) in self.network.links.iter().enumerate() {
            if let Some((bearer, _)) = link.bearer {
                links[bearer] = index;
            }
        }
        let of_all = (0..params.ues.len()).flat_map(|_| bearers).enumerate();
        let bearer_states = of_all.map(|(place, bearer)| BearerState {
            base: base_delay(plan, &self.places, links[2 * place]),
            marker: bearer.marking.as_ref().map(L4Span::new),
            ..BearerState::default()
        });
        let mut bearer_states: Vec<BearerState> = bearer_states.collect();
        let mut upfs = vec![None; params.ues.len()];
        let slot = params.slot()?;
        let mut gates = Vec::new();
        for (planned, place) in plan.boxes.iter().zip(&self.places) {
            let (PlanBoxKind::Link(link), Place::Gate(index)) = (&planned.kind, place) else {
                continue;
            };
            let Some(plan) = &link.gate else { continue };
            let gate = Gate::new(plan, *index as usize, slot, bearers.len());
            match gate.policy {
                ReleasePolicy::Sdap(_) => bearer_states[gate.bearer].sdap = Some(gates.len()),
                ReleasePolicy::Upf { .. } => upfs[gate.ue] = Some(gates.len()),
            }
            self.network.links[*index as usize].gate = gates.len();
            gates.push(gate);
        }
        let radio: Vec<BearerParams> = bearers.iter().map(|b| b.params.clone()).collect();
        self.network.radio = Some(Box::new(RadioCell {
            cell: Cell::new(params, &radio, channels, &self.streams)?
                .interrupted_by(self.control.interrupt()),
            links,
            slot,
            scheduled: NEVER,
            out: Vec::new(),
            gates,
            upfs,
            bearer_states,
            filled: Vec::new(),
            rng: self.streams.stream("radio/marking"),
        }));
        Ok(())
    }
}

/// Half of the propagation both ways of the first flow whose data crosses this link.
fn base_delay(plan: &Plan, places: &[Place], link: usize) -> Nanos {
    let crosses = |flow: &&PlanFlow| {
        let bearer =
            |&number: &usize| matches!(places[number], Place::Bearer(i) if i as usize == link);
        flow.forward.iter().any(bearer)
    };
    plan.flows
        .iter()
        .find(crosses)
        .map_or(0, |flow| flow.base_rtt / 2)
}
