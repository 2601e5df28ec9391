//! The radio cell of a plan, with its bearers and the gates before them.

use bloatlab_radio::cell::{BearerParams, Cell};
use bloatlab_radio::sizing::L4Span;
use bloatlab_scenario::{Plan, PlanBoxKind, PlanCell, PlanFlow, PlanLink};
use bloatlab_units::{NEVER, Nanos};

use crate::RunError;
use crate::bearer::{Bearer, BearerState};
use crate::engine::Engine;
use crate::gate::{Gate, ReleasePolicy};
use crate::link::plan_wake;
use crate::place::Place;
use crate::radio::RadioCell;
use crate::station::{AirTime, RadioQueue};

impl Engine<'_> {
    /// Adds the radio cell, if the plan has one.
    pub(crate) fn add_cell(&mut self, plan: &Plan) -> Result<(), RunError> {
        let Some(PlanCell {
            params,
            bearers: bearer_params,
            channels,
        }) = &plan.cell
        else {
            return Ok(());
        };
        let of_all = (0..params.ues.len()).flat_map(|_| bearer_params);
        let bearer_states = of_all.enumerate().map(|(place, bearer)| BearerState {
            base: base_delay(plan, &self.places, 2 * place),
            marker: bearer.marking.as_ref().map(L4Span::new),
            ..BearerState::default()
        });
        let mut bearer_states: Vec<BearerState> = bearer_states.collect();
        let mut upfs = vec![None; params.ues.len()];
        let slot = params.slot().map_err(RunError::Plan)?;
        let (mut bearers, mut gates) = (Vec::new(), Vec::new());
        for (number, planned) in plan.boxes.iter().enumerate() {
            let PlanBoxKind::Link(link) = &planned.kind else {
                continue;
            };
            if let Some(port) = &link.radio {
                let mut queue = self.radio_queue(number, &planned.name, link)?;
                queue.air = Some(AirTime::new(slot));
                let bearer = Bearer {
                    queue,
                    buffer: port.buffer,
                    last: None,
                    part: None,
                };
                bearers.push((port.bearer, bearer));
            } else if let Some(plan) = &link.gate {
                let queue = self.radio_queue(number, &planned.name, link)?;
                let gate = Gate::new(plan, queue, slot, bearer_params.len());
                match gate.policy {
                    ReleasePolicy::Sdap(_) => bearer_states[gate.bearer].sdap = Some(gates.len()),
                    ReleasePolicy::Upf { .. } => upfs[gate.ue] = Some(gates.len()),
                }
                gates.push(gate);
            }
        }
        bearers.sort_by_key(|(bearer, _)| *bearer);
        let radio: Vec<BearerParams> = bearer_params.iter().map(|b| b.params.clone()).collect();
        let cell = Cell::new(params, &radio, channels, &self.streams).map_err(RunError::Plan)?;
        self.network.radio = Some(Box::new(RadioCell {
            cell: cell.interrupted_by(self.control.interrupt()),
            bearers: bearers.into_iter().map(|(_, bearer)| bearer).collect(),
            bearer_states,
            gates,
            upfs,
            slot,
            scheduled: NEVER,
            out: Vec::new(),
            filled: Vec::new(),
            rng: self.streams.stream("radio/marking"),
        }));
        Ok(())
    }

    /// The empty queue of a bearer or gate.
    fn radio_queue(
        &mut self,
        number: usize,
        name: &str,
        link: &PlanLink,
    ) -> Result<RadioQueue, RunError> {
        let mut queue = RadioQueue {
            rate: link.rate,
            backlog: self.backlog(number, name, link)?,
            taken: 0,
            air: None,
        };
        let schedule = &mut self.network.schedule;
        plan_wake(schedule, &mut queue.backlog);
        Ok(queue)
    }
}

/// Half of the base RTT of the first flow whose data crosses this bearer.
fn base_delay(plan: &Plan, places: &[Place], bearer: usize) -> Nanos {
    let crosses = |flow: &&PlanFlow| {
        let is_it = |&number: &usize| places[number] == Place::Bearer(bearer as u32);
        flow.forward.iter().any(is_it)
    };
    let first = plan.flows.iter().find(crosses);
    first.map_or(0, |flow| flow.base_rtt / 2)
}
