//! How many packets the gates before the radio may release.

use std::ops::Range;

use bloatlab_units::Nanos;

use crate::gate::ReleasePolicy;
use crate::radio::RadioCell;

impl RadioCell {
    /// The bearers of a UE, on the downlink.
    fn bearers_of(&self, ue: usize) -> Range<usize> {
        let count = self.bearer_states.len() / self.upfs.len();
        ue * count..(ue + 1) * count
    }

    /// Packets in the RLC of a bearer, on the downlink.
    fn in_rlc(&self, bearer: usize) -> u64 {
        self.bearers[2 * bearer].queue.backlog.packets
    }

    /// Returns how many packets a gate may release now.
    pub fn may_release(&self, index: usize) -> u64 {
        let gate = &self.gates[index];
        match &gate.policy {
            ReleasePolicy::Sdap(algorithm) => algorithm.may_release(self.in_rlc(gate.bearer)),
            ReleasePolicy::Upf { pacer, delay } => {
                // While packets are under way to SDAP, what SDAP passes on has to be under way too.
                let pipe = self.below(gate.ue).1 * *delay as f64 / self.slot as f64;
                pacer.may_release(self.in_sdap(gate.ue).saturating_sub(pipe as u64))
            }
        }
    }

    /// Handles a tick of a gate. Returns how many packets it may release.
    pub fn tick(&mut self, index: usize, now: Nanos) -> u64 {
        let ue = self.gates[index].ue;
        let waiting = self.gates[index].queue.backlog.packets;
        let (has_room, pace) = self.below(ue);
        let states = self.bearer_states[self.bearers_of(ue)].iter();
        let sdaps = states.filter_map(|bearer_state| bearer_state.sdap);
        let queued = sdaps
            .map(|sdap| self.gates[sdap].queue.backlog.packets)
            .sum();
        match &mut self.gates[index].policy {
            ReleasePolicy::Sdap(algorithm) => algorithm.on_tick(now, waiting),
            ReleasePolicy::Upf { pacer, .. } => {
                pacer.on_tick(now, has_room, queued, pace);
                self.may_release(index)
            }
        }
    }

    /// Returns whether all RLCs of a UE have room, and how many packets they send per TTI together. SDAP's algorithms know the limits and the pace.
    /// Without such an algorithm an RLC always has room, and its pace is what it holds.
    fn below(&self, ue: usize) -> (bool, f64) {
        let (mut has_room, mut pace) = (true, 0.0);
        for bearer in self.bearers_of(ue) {
            let queued = self.in_rlc(bearer);
            let policy = self.bearer_states[bearer]
                .sdap
                .map(|sdap| &self.gates[sdap].policy);
            let (limit, own_pace) = match policy {
                Some(ReleasePolicy::Sdap(algorithm)) => (algorithm.limit(), algorithm.pace()),
                _ => (None, None),
            };
            has_room &= limit.is_none_or(|limit| queued < limit);
            pace += own_pace.unwrap_or(queued as f64);
        }
        (has_room, pace)
    }

    /// Packets between the UPF's gate and those of SDAP.
    fn in_sdap(&self, ue: usize) -> u64 {
        let count = |gate: usize| self.gates[gate].queue.backlog.count;
        let Some(upf) = self.upfs[ue] else {
            return 0;
        };
        let sdaps = self.bearer_states[self.bearers_of(ue)].iter();
        let gone = sdaps.filter_map(|bearer_state| bearer_state.sdap.map(count));
        count(upf).departures - gone.map(|sdap| sdap.departures + sdap.drops).sum::<u64>()
    }

    /// Notes that a gate in SDAP released packets because one arrived or a TTI ended, not because of a tick.
    pub fn on_release(&mut self, index: usize, packets: u64) {
        if let ReleasePolicy::Sdap(algorithm) = &mut self.gates[index].policy {
            algorithm.on_release(packets);
        }
    }

    /// Notes that packets passed a gate. Returns the gate in the UPF that may release more because of it.
    pub fn on_passed(&mut self, index: usize, packets: u64) -> Option<usize> {
        let gate = &self.gates[index];
        if packets == 0 || matches!(gate.policy, ReleasePolicy::Upf { .. }) {
            return None;
        }
        let upf = self.upfs[gate.ue]?;
        if let ReleasePolicy::Upf { pacer, .. } = &mut self.gates[upf].policy {
            pacer.on_passed(packets);
        }
        Some(upf)
    }

    /// Handles the end of a TTI of a bearer on the downlink. Returns the gate above it, if there is one.
    pub fn end_tti(&mut self, bearer: usize, now: Nanos) -> Option<usize> {
        let bearer_state = &mut self.bearer_states[bearer / 2];
        let backlog = &self.bearers[bearer].queue.backlog;
        let packets = std::mem::take(&mut bearer_state.packets_out);
        let bytes = std::mem::take(&mut bearer_state.bytes_out);
        if let Some(marker) = &mut bearer_state.marker {
            // The rate is what the bearer could have sent: a radio that waits for packets is not slow.
            marker.on_tti_end(self.slot, bearer_state.offered, backlog.bytes);
        }
        let gate = bearer_state.sdap?;
        if let ReleasePolicy::Sdap(algorithm) = &mut self.gates[gate].policy {
            // What could have been sent, in packets of the size of those that were sent.
            let could = (bearer_state.offered * packets)
                .checked_div(bytes)
                .unwrap_or(0);
            algorithm.on_tti_end(now, packets, could.max(packets), backlog.packets);
        }
        Some(gate)
    }
}
