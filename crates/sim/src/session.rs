//! A run that can be stepped and changed.

use std::mem::replace;
use std::ops::Range;
use std::sync::Arc;

use bloatlab_aqm::Band;
use bloatlab_outcome::{Outcome, Series};
use bloatlab_scenario::{Plan, PlanChange};
use bloatlab_units::Nanos;

use crate::RunError;
use crate::contents::Contents;
use crate::control::Control;
use crate::engine::Engine;
use crate::link_watch::LinkEvent;
use crate::packet_log::PacketLog;
use crate::plugins::Plugins;
use crate::station::Station;

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
        let log = PacketLog::new(record_packets);
        Self::with_log(plan.into(), seed, log, plugins, control)
    }

    /// As [`new`](Self::new). It also keeps the latest `most` events at links for [`take_link_events`](Self::take_link_events). The
    /// outcome is the same, but the run takes longer.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn watched(
        plan: impl Into<Arc<Plan>>,
        seed: u64,
        record_packets: bool,
        most: usize,
        plugins: &'a dyn Plugins,
        control: &'a Control,
    ) -> Result<Self, RunError> {
        let log = PacketLog::new(record_packets).with_watch(most);
        Self::with_log(plan.into(), seed, log, plugins, control)
    }

    fn with_log(
        plan: Arc<Plan>,
        seed: u64,
        log: PacketLog,
        plugins: &'a dyn Plugins,
        control: &'a Control,
    ) -> Result<Self, RunError> {
        let engine = Engine::build(plan, seed, plugins, control, log, None)?;
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
    /// `timeline` is the whole timeline with the change ([`Scenario::with_change`](bloatlab_scenario::Scenario::with_change)): the entries that have
    /// been applied, the change, and the entries still to come.
    ///
    /// # Errors
    /// A change that the simulator cannot make; nothing is changed then.
    pub fn change(&mut self, timeline: Vec<PlanChange>) -> Result<(), RunError> {
        let engine = &mut self.0;
        let before = replace(&mut Arc::make_mut(&mut engine.plan).timeline, timeline);
        if let Err(refused) = engine.check_changes() {
            Arc::make_mut(&mut engine.plan).timeline = before;
            return Err(refused);
        }
        engine.apply_next()
    }

    /// Takes what happened at links since the last call, oldest first, at most the latest `most` events. Also returns how many were left out. Nothing if
    /// the session is not [`watched`](Self::watched).
    pub fn take_link_events(&mut self, most: usize) -> (Vec<LinkEvent>, u64) {
        let watch = self.0.network.log.watch_mut();
        watch.map_or_else(Default::default, |watch| watch.take(most))
    }

    /// What the queue of a box of the plan holds now, in at most `most` runs if their order is known. None for a box without a queue.
    pub fn contents(&self, number: usize, most: usize) -> Option<Contents> {
        self.station(number).map(|queue| Contents::of(queue, most))
    }

    /// The bands of the queue of a box of the plan, as [`Qdisc::bands`](bloatlab_aqm::Qdisc::bands). Nothing for a box without a queue.
    pub fn bands(&self, number: usize) -> Vec<Band> {
        let queue = self.station(number).map(|station| &station.backlog().queue);
        queue.map_or_else(Vec::new, |queue| queue.bands())
    }

    fn station(&self, number: usize) -> Option<&dyn Station> {
        let place = *self.0.places.get(number)?;
        self.0.network.station(place)
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
            let at = change.at;
            self.run_until(at)?;
            self.apply_next()?;
        }
        self.run_until(to)
    }

    /// Applies the next change of the timeline.
    fn apply_next(&mut self) -> Result<(), RunError> {
        let effects = self.plan.timeline[self.changes_applied].effects.clone();
        self.changes_applied += 1;
        effects.iter().try_for_each(|effect| self.apply(effect))
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
