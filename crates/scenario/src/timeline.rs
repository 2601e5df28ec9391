//! Changes of a scenario while it runs: at an instant, a key of the document takes another value.

use bloatlab_link::Files;
use bloatlab_units::{Duration, Nanos};
use serde_json::{Value, json};

use crate::change::Change;
use crate::check::span;
use crate::path::{Step, named_steps};
use crate::plan::{Effect, PlanChange};
use crate::{Limits, Plan, PlanBox, PlanBoxKind, PlanFlow, Scenario, ScenarioError};

/// Entries that a timeline may have.
const MOST_CHANGES: usize = 1000;

impl Scenario {
    /// Adds a change to the timeline, as a running session does, and returns what it does to the plan.
    ///
    /// # Errors
    /// What is wrong, and where. The scenario stays as it was.
    pub fn change(
        &mut self,
        change: Change,
        files: &dyn Files,
        limits: &Limits,
    ) -> Result<PlanChange, ScenarioError> {
        let mut changed = self.clone();
        changed.timeline.get_or_insert_default().push(change);
        let mut plan = changed.plan(Some(files), limits)?;
        *self = changed;
        Ok(plan.timeline.pop().expect("one for each entry"))
    }
}

/// What the timeline of a scenario does to its plan, one for each entry.
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

/// The document with a timeline that has no entries, so that it has the boxes of one that has some.
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
            "must not be before {last}, when the entry above happens, but is {at}"
        ));
    }
    Ok(())
}

/// Gives a key of the document its new value.
fn set(document: &mut Value, entry: &Change) -> Result<(), String> {
    let key = &entry.key;
    let missing = || format!("the document has no `{key}`");
    let steps = named_steps(key);
    let (last, way) = steps.split_last().ok_or_else(missing)?;
    let parent = way.iter().try_fold(document, |value, step| match step {
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

/// A flow that is added starts at that instant, unless it says when.
fn starting(mut flow: Value, at: Duration) -> Value {
    if let Value::Object(table) = &mut flow {
        table.entry("start").or_insert_with(|| json!(at));
    }
    flow
}

/// What turns one plan into the other, if a run can do it.
fn effects(at: Nanos, before: &Plan, after: &Plan) -> Result<Vec<Effect>, String> {
    let fixed = |plan: &Plan| (plan.duration, plan.sample_interval, plan.warmup);
    let names =
        |plan: &Plan| -> Vec<String> { plan.boxes.iter().map(|item| item.name.clone()).collect() };
    let cannot = || {
        String::from(
            "cannot change during a run; rates, delays and RTTs that do not vary, queues, probabilities and the `stop` of flows can, and flows can be added",
        )
    };
    if fixed(before) != fixed(after) || before.name != after.name || before.cell != after.cell {
        return Err(cannot());
    }
    if names(before) != names(after) {
        return Err(String::from(
            "needs other boxes than the run has, as a flow with another RTT does; give them to the scenario from the start",
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
                return Err(format!("is {stop}, which is before {at}, when it is set"));
            }
            let stop = new.stop;
            found.push(Effect::Stop { flow, stop });
        }
    }
    for flow in &after.flows[before.flows.len()..] {
        if flow.start < at {
            let (start, at) = (span(flow.start), span(at));
            return Err(format!(
                "starts at {start}, which is before {at}, when it is added"
            ));
        }
        found.push(Effect::Start(Box::new(flow.clone())));
    }
    Ok(found)
}

/// What turns one box into the other; `None` if a run cannot do it.
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
        (old, new) => found.push(Effect::Probability {
            number,
            probability: probability(old, new)?,
        }),
    }
    Some(found)
}

/// The probability of a box, if nothing else tells it from the other box.
fn probability(old: &PlanBoxKind, new: &PlanBoxKind) -> Option<f64> {
    let mut alike = old.clone();
    let value = match (&mut alike, new) {
        (
            PlanBoxKind::Loss {
                probability,
                vary: None,
                gilbert_elliott: None,
                ..
            },
            PlanBoxKind::Loss {
                probability: value, ..
            },
        )
        | (
            PlanBoxKind::Corrupt {
                probability,
                vary: None,
            },
            PlanBoxKind::Corrupt {
                probability: value, ..
            },
        )
        | (
            PlanBoxKind::Duplicate {
                probability,
                vary: None,
            },
            PlanBoxKind::Duplicate {
                probability: value, ..
            },
        ) => {
            *probability = *value;
            *value
        }
        _ => return None,
    };
    (alike == *new).then_some(value)
}
