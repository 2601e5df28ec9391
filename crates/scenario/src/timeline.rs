//! Compiles the timeline of a scenario: at an instant, a key of the document gets another value.

use bloatlab_link::Files;
use bloatlab_units::{Duration, Nanos};
use serde_json::{Value, json};

use crate::change::Change;
use crate::check::span;
use crate::path::{Step, named_steps};
use crate::plan::{Effect, PlanChange};
use crate::read::Checked;
use crate::{Limits, Plan, PlanBox, PlanBoxKind, PlanFlow, Scenario, ScenarioError};

/// Most entries of a timeline.
const MOST_CHANGES: usize = 1000;

impl Scenario {
    /// The scenario with a change at an instant of its run. A running session calls this.
    ///
    /// `change` is an entry of the timeline in JSON; its `at` may be left out. It comes after the entries of this instant and before later ones.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn with_change(
        &self,
        change: &str,
        now: Nanos,
        files: &dyn Files,
        limits: &Limits,
    ) -> Result<Checked, ScenarioError> {
        let mut change: Value = serde_json::from_str(change)
            .map_err(|why| ScenarioError::new("change", why.to_string()))?;
        let entries = self.timeline.as_deref().ok_or_else(|| {
            let why = "is required for changes during a run; give `[]` if nothing else changes";
            ScenarioError::new("timeline", why)
        })?;
        let place = entries.iter().take_while(|entry| entry.at.0 <= now).count();
        if let Value::Object(table) = &mut change {
            let given = table.entry("at").or_insert_with(|| json!(Duration(now)));
            let given = serde_json::from_value::<Duration>(given.clone()).ok();
            if let Some(at) = given.filter(|at| at.0 != now) {
                let now = Duration(now);
                let why = format!("must be {now}, the time of the session, not {at}; leave it out");
                return Err(ScenarioError::new(format!("timeline[{place}].at"), why));
            }
        }
        let mut document =
            serde_json::to_value(self).expect("a scenario has string keys and finite numbers");
        if let Some(timeline) = document["timeline"].as_array_mut() {
            timeline.insert(place, change);
        }
        Self::load(&document.to_string(), files, limits)
    }
}

/// How each entry of the timeline changes the plan.
pub(crate) fn compile(
    scenario: &Scenario,
    first: &Plan,
    files: Option<&dyn Files>,
    limits: &Limits,
) -> Result<Vec<PlanChange>, ScenarioError> {
    let entries = scenario.timeline.as_deref().unwrap_or_default();
    if entries.len() > MOST_CHANGES {
        let why = format!(
            "has {} entries; at most {MOST_CHANGES} are allowed",
            entries.len()
        );
        return Err(ScenarioError::new("timeline", why));
    }
    let Some(mut document) = (!entries.is_empty()).then(|| without_entries(scenario)) else {
        return Ok(Vec::new());
    };
    let mut before = first.clone();
    let mut changes = Vec::with_capacity(entries.len());
    let mut last = 0;
    for (place, entry) in entries.iter().enumerate() {
        let path = format!("timeline[{place}]");
        check_instant(entry.at.0, last, first.duration)
            .map_err(|why| ScenarioError::new(format!("{path}.at"), why))?;
        last = entry.at.0;
        set(&mut document, entry).map_err(|why| ScenarioError::new(format!("{path}.key"), why))?;
        let within = |error: ScenarioError| ScenarioError::new(&path, error.to_string());
        let after = Scenario::read(&document).and_then(|mut after| after.plan(files, limits));
        let after = after.map_err(within)?;
        let effects = effects(entry.at.0, &before, &after).map_err(|why| {
            ScenarioError::new(format!("{path}.key"), format!("`{}` {why}", entry.key))
        })?;
        changes.push(PlanChange {
            at: entry.at.0,
            effects,
        });
        before = after;
    }
    Ok(changes)
}

/// The document with an empty timeline. It compiles to the same boxes as the document with its timeline.
fn without_entries(scenario: &Scenario) -> Value {
    let mut scenario = scenario.clone();
    scenario.timeline = Some(Vec::new());
    serde_json::to_value(scenario).expect("a scenario has string keys and finite numbers")
}

fn check_instant(at: Nanos, last: Nanos, end: Nanos) -> Result<(), String> {
    if at == 0 || at >= end {
        let (at, end) = (span(at), span(end));
        return Err(format!(
            "must be above 0s and below the duration of {end}, not {at}"
        ));
    }
    if at < last {
        let (at, last) = (span(at), span(last));
        return Err(format!(
            "must not be before the previous entry at {last}, but is {at}"
        ));
    }
    Ok(())
}

/// Sets a key of the document to its new value.
fn set(document: &mut Value, entry: &Change) -> Result<(), String> {
    let key = &entry.key;
    let missing = || format!("the document has no `{key}`");
    let steps = named_steps(key);
    let (last, parents) = steps.split_last().ok_or_else(missing)?;
    let parent = parents.iter().try_fold(document, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    });
    let value = entry.value.clone();
    match (parent.ok_or_else(missing)?, last) {
        (Value::Object(table), Step::Key(key)) => {
            table.insert(key.clone(), value);
        }
        (Value::Array(list), Step::Index(index)) if *index < list.len() => list[*index] = value,
        (Value::Array(list), Step::Index(index)) if *index == list.len() => {
            list.push(starting(value, entry.at));
        }
        _ => return Err(missing()),
    }
    Ok(())
}

/// Lets an added flow start at this instant, unless it has a `start`.
fn starting(mut flow: Value, at: Duration) -> Value {
    if let Value::Object(table) = &mut flow {
        table.entry("start").or_insert_with(|| json!(at));
    }
    flow
}

/// The effects that turn one plan into the other. Refuses what cannot change during a run.
fn effects(at: Nanos, before: &Plan, after: &Plan) -> Result<Vec<Effect>, String> {
    let fixed = |plan: &Plan| (plan.duration, plan.sample_interval, plan.warmup);
    let names =
        |plan: &Plan| -> Vec<String> { plan.boxes.iter().map(|item| item.name.clone()).collect() };
    let cannot = || {
        String::from(
            "cannot change during a run; these can: rates, delays, RTTs and probabilities without `vary`, queues, and the `stop` of flows; flows can be added",
        )
    };
    if fixed(before) != fixed(after) || before.name != after.name || before.cell != after.cell {
        return Err(cannot());
    }
    if names(before) != names(after) {
        return Err(String::from(
            "needs boxes that the run does not have, such as for a flow with another RTT; give the scenario these boxes from the start",
        ));
    }
    let mut found = Vec::new();
    for (number, (old, new)) in before.boxes.iter().zip(&after.boxes).enumerate() {
        if old != new {
            found.extend(of_box(number, old, new).ok_or_else(cannot)?);
        }
    }
    if after.flows.len() < before.flows.len() {
        return Err(cannot());
    }
    for (flow, (old, new)) in before.flows.iter().zip(&after.flows).enumerate() {
        let alike = PlanFlow {
            stop: old.stop,
            base_rtt: old.base_rtt,
            ..new.clone()
        };
        if *old != alike {
            return Err(cannot());
        }
        if old.stop != new.stop {
            if new.stop < at {
                let (stop, at) = (span(new.stop), span(at));
                return Err(format!(
                    "is {stop}, but must not be before the change at {at}"
                ));
            }
            let stop = new.stop;
            found.push(Effect::Stop { flow, stop });
        }
    }
    for flow in &after.flows[before.flows.len()..] {
        if flow.start < at {
            let (start, at) = (span(flow.start), span(at));
            return Err(format!(
                "starts at {start}, but must not start before the change at {at}"
            ));
        }
        found.push(Effect::Start(Box::new(flow.clone())));
    }
    Ok(found)
}

/// The effects that turn one box into the other; `None` if a run cannot do that.
fn of_box(number: usize, old: &PlanBox, new: &PlanBox) -> Option<Vec<Effect>> {
    let mut found = Vec::new();
    match (&old.kind, &new.kind) {
        (PlanBoxKind::Link(old), PlanBoxKind::Link(new)) => {
            let mut alike = old.clone();
            (alike.rate, alike.delay) = (new.rate, new.delay);
            alike.queue = new.queue.clone();
            let is_wire = old.radio.is_none() && old.gate.is_none();
            if alike != *new || !is_wire {
                return None;
            }
            if old.rate != new.rate {
                old.vary_rate.is_none().then_some(())?;
                let rate = new.rate;
                found.push(Effect::Rate { number, rate });
            }
            if old.delay != new.delay {
                old.vary_delay.is_none().then_some(())?;
                let delay = new.delay;
                found.push(Effect::Delay { number, delay });
            }
            if old.queue != new.queue {
                let queue = new.queue.clone();
                found.push(Effect::Queue { number, queue });
            }
        }
        (
            PlanBoxKind::Delay {
                vary: None,
                jitter: None,
                ..
            },
            PlanBoxKind::Delay {
                delay,
                vary: None,
                jitter: None,
            },
        ) => found.push(Effect::Delay {
            number,
            delay: *delay,
        }),
        (PlanBoxKind::Impairment(old), PlanBoxKind::Impairment(new)) => {
            let probability = *new.clone().params_mut().probability_mut()?;
            let mut alike = old.clone();
            *alike.params_mut().probability_mut()? = probability;
            (alike == *new).then_some(())?;
            found.push(Effect::Probability {
                number,
                probability,
            });
        }
        _ => return None,
    }
    Some(found)
}
