//! Changes during the run: other rates, delays, queues and probabilities, flows added and stopped.

use std::sync::Arc;

use bloatlab_aqm::QueueConfig;
use bloatlab_scenario::{Effect, PlanBoxKind, PlanFlow};
use bloatlab_units::{Nanos, Rate};

use crate::RunError;
use crate::engine::Engine;
use crate::packet::MAX_FLOWS;
use crate::place::Place;
use crate::schedule::{application, event};

impl Engine<'_> {
    /// Refuses a timeline that replaces a queue which does not hand over its packets when it is asked to.
    pub(crate) fn check_changes(&self) -> Result<(), RunError> {
        let mut keeps: Vec<bool> = Vec::new();
        for planned in &self.plan.boxes {
            keeps.push(match &planned.kind {
                PlanBoxKind::Link(link) => self.keeps_packets(&planned.name, &link.queue)?,
                _ => false,
            });
        }
        let effects = self.plan.timeline.iter().flat_map(|change| &change.effects);
        for effect in effects {
            if let Effect::Queue { number, queue } = effect {
                let name = &self.plan.boxes[*number].name;
                if keeps[*number] {
                    return Err(keeps_its_packets(name));
                }
                keeps[*number] = self.keeps_packets(name, queue)?;
            }
        }
        Ok(())
    }

    /// Whether a queue may hold packets that it does not give to a free link.
    fn keeps_packets(&self, name: &str, queue: &QueueConfig) -> Result<bool, RunError> {
        if self.plan.timeline.is_empty() {
            return Ok(false);
        }
        let context = self.context(name, 0, Rate(1), 0);
        let queue = self.make_queue(name, queue, context)?;
        Ok(!queue.is_work_conserving())
    }

    /// Makes a change at the present instant.
    pub(crate) fn apply(&mut self, effect: &Effect) -> Result<(), RunError> {
        self.network.catch_up();
        match effect {
            Effect::Rate { number, rate } => self.set_rate(*number, *rate),
            Effect::Delay { number, delay } => self.set_delay(*number, *delay),
            Effect::Queue { number, queue } => return self.set_queue(*number, queue),
            Effect::Probability {
                number,
                probability,
            } => self.set_probability(*number, *probability),
            Effect::Start(flow) => return self.start_flow(flow),
            Effect::Stop { flow, stop } => self.set_stop(*flow, *stop),
        }
        Ok(())
    }

    fn set_rate(&mut self, number: usize, rate: Rate) {
        let now = self.now();
        if let Place::Link(index) = self.places[number] {
            self.network.links[index as usize].set_rate(now, rate);
        }
    }

    fn set_delay(&mut self, number: usize, delay: Nanos) {
        match self.places[number] {
            Place::Link(index) => self.network.links[index as usize].set_delay(delay),
            Place::Delay(index) => self.network.delays[index as usize].set_delay(delay),
            _ => {}
        }
    }

    /// Replaces a queue discipline. The waiting packets move to the new one in the order in which the old one hands them over.
    fn set_queue(&mut self, number: usize, queue: &QueueConfig) -> Result<(), RunError> {
        let Place::Link(index) = self.places[number] else {
            return Ok(());
        };
        let name = &self.box_names[number];
        let link = &self.network.links[index as usize];
        let stream = format!("{name}/{}", link.queues_replaced + 1);
        let (port, transmitter) = (&link.port, &link.port.transmitter);
        let (rate, delay) = (transmitter.rate(), transmitter.delay());
        let context = self.context(&stream, port.backlog.header, rate, delay);
        let queue = self.make_queue(name, queue, context)?;
        self.network.replace_queue(index as usize, queue);
        Ok(())
    }

    fn set_probability(&mut self, number: usize, probability: f64) {
        if let Place::Impairment(index) = self.places[number] {
            self.network.impairments[index as usize].set_probability(probability);
        }
    }

    /// Adds a flow after the others.
    fn start_flow(&mut self, flow: &PlanFlow) -> Result<(), RunError> {
        if self.flows.len() == MAX_FLOWS {
            let message = format!("flows: at most {MAX_FLOWS} in all; use fewer");
            return Err(RunError::Plan(message));
        }
        Arc::make_mut(&mut self.plan).flows.push(flow.clone());
        self.add_flow(flow)?;
        if self.control.fast_paths() {
            self.find_common_ways();
        }
        Ok(())
    }

    /// The application of a flow stops at this instant, unless it has stopped already.
    fn set_stop(&mut self, flow: usize, stop: Nanos) {
        let now = self.now();
        let stop = stop.min(self.end);
        let account = &mut self.network.accounts[flow];
        if account.stop <= now {
            return;
        }
        account.stop = stop;
        if account.start < now && stop < self.end {
            let index = flow as u32 * application::KINDS + application::STOP;
            self.schedule(stop, event::APPLICATION, index);
        }
    }
}

fn keeps_its_packets(name: &str) -> RunError {
    RunError::Plan(format!(
        "timeline: the queue of `{name}` is a shaper, whose waiting packets cannot move to another queue; keep it, or change the rate of the link instead"
    ))
}
