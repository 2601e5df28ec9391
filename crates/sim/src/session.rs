//! A run that can be stepped and changed.

use std::ops::Range;
use std::sync::Arc;

use bloatlab_outcome::{Outcome, Series};
use bloatlab_scenario::{Effect, Plan};
use bloatlab_units::Nanos;

use crate::RunError;
use crate::control::Control;
use crate::engine::Engine;
use crate::plugins::Plugins;

/// A simulation under way. A session that is stepped and changed gives the same outcome as a batch run of the scenario with its timeline.
pub struct Session<'a>(pub(crate) Engine<'a>);

/// The rows that were added to the series while a session advanced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRows {
    /// Rows of [`Session::flow_series`].
    pub flows: Range<usize>,
    /// Rows of [`Session::link_series`].
    pub links: Range<usize>,
    /// Rows of [`Session::probe_series`].
    pub probes: Range<usize>,
}

impl<'a> Session<'a> {
    /// Builds the network and the flows. No time has passed yet.
    ///
    /// # Errors
    /// A plan that the simulator cannot run, a user's algorithm that cannot be made, or a run that is cancelled.
    pub fn new(
        plan: impl Into<Arc<Plan>>,
        seed: u64,
        record_packets: bool,
        plugins: &'a dyn Plugins,
        control: &'a Control,
    ) -> Result<Self, RunError> {
        let engine = Engine::build(plan.into(), seed, plugins, control, record_packets, None)?;
        engine.check_changes()?;
        Ok(Self(engine))
    }

    /// The instant up to which everything has happened. What happens at the instant itself is still to come.
    pub fn now(&self) -> Nanos {
        self.0.now()
    }

    /// Runs up to an instant, at most to the end of the run, and applies the changes of the timeline on the way. Returns the new rows of the series.
    ///
    /// # Errors
    /// A user's algorithm that fails, or a run that is cancelled or stalls.
    pub fn advance(&mut self, to: Nanos) -> Result<NewRows, RunError> {
        let engine = &mut self.0;
        let series = [
            &engine.flow_series,
            &engine.link_series,
            &engine.probe_series,
        ];
        let before = series.map(Series::len);
        engine.advance(to)?;
        let [flows, links, probes] = before;
        Ok(NewRows {
            flows: flows..engine.flow_series.len(),
            links: links..engine.link_series.len(),
            probes: probes..engine.probe_series.len(),
        })
    }

    /// Changes the plan at the present instant, before everything else of that instant.
    ///
    /// # Errors
    /// A change that the simulator cannot make; nothing is changed then.
    pub fn apply(&mut self, effects: &[Effect]) -> Result<(), RunError> {
        self.0.check_effects(effects)?;
        effects.iter().try_for_each(|effect| self.0.apply(effect))
    }

    /// The samples of the flows so far.
    pub fn flow_series(&self) -> &Series {
        &self.0.flow_series
    }

    /// The samples of the links so far.
    pub fn link_series(&self) -> &Series {
        &self.0.link_series
    }

    /// The replies of the probes so far.
    pub fn probe_series(&self) -> &Series {
        &self.0.probe_series
    }

    /// Ends the run at the present instant and sums up. A warm-up that is not over counts as part of the run.
    ///
    /// # Errors
    /// A run that is cancelled.
    pub fn finish_now(mut self) -> Result<Outcome, RunError> {
        let engine = &mut self.0;
        engine.end = engine.now().max(1);
        if engine.warmup >= engine.end {
            engine.warmup = 0;
        }
        self.0.finish()
    }

    /// Runs to the end and sums up.
    ///
    /// # Errors
    /// A user's algorithm that fails, or a run that is cancelled or stalls.
    pub fn finish(mut self) -> Result<Outcome, RunError> {
        self.0.advance(self.0.end)?;
        self.0.finish()
    }
}

impl Engine<'_> {
    /// Runs up to an instant and applies the changes of the timeline on the way.
    fn advance(&mut self, to: Nanos) -> Result<(), RunError> {
        while let Some(change) = self.plan.timeline.get(self.changes_applied)
            && change.at <= to
        {
            let change = change.clone();
            self.changes_applied += 1;
            self.run_until(change.at)?;
            for effect in &change.effects {
                self.apply(effect)?;
            }
        }
        self.run_until(to)
    }

    fn run_until(&mut self, to: Nanos) -> Result<(), RunError> {
        if self.has_ended || to <= self.now() && to < self.end {
            return Ok(());
        }
        if to < self.end {
            self.network.schedule.pause_at(to);
        } else {
            self.has_ended = true;
        }
        self.run()
    }
}
