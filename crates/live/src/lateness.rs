//! How late frames left, and whether the run can be trusted.

use bloatlab_outcome::Histogram;
use bloatlab_units::{MICROSECOND, MILLISECOND, Nanos};

/// The accuracy of a run in real time.
#[derive(Clone, Default)]
pub struct Lateness {
    /// Actual minus due time of each frame that left, ns.
    pub late: Histogram,
    /// Frames that a device or a socket of the link had no room for.
    pub device_drops: u64,
    /// Frames of the hosts that belong to no flow.
    pub strangers: u64,
    /// CPU time of the link thread / time.
    pub link_cpu: f64,
    /// Share of the CPU time that the host of this virtual machine took; `None`: unknown.
    pub steal: Option<f64>,
}

/// A run is doubted if this share of its frames was later than [`LATE`].
const LATE_SHARE: f64 = 0.01;
/// 1 ms is what a packet of 1,500 bytes takes at 12 Mbit/s, and the resolution of `ping` and of Linux's TCP timestamps.
const LATE: Nanos = MILLISECOND;
/// A run is doubted if a frame was later than this.
const LATEST: Nanos = 100 * MILLISECOND;
/// A run is doubted if more than this share of the CPU time was taken.
const STEAL: f64 = 0.05;

impl Lateness {
    /// Records a frame that was due at `due` and left at `now`.
    pub fn record(&mut self, due: Nanos, now: Nanos) {
        self.late.record(now.saturating_sub(due));
    }

    /// Why the run is doubted; `None`: it is not.
    pub fn doubt(&self) -> Option<String> {
        let mut reasons = Vec::new();
        let quantile = |fraction| self.late.quantiles([fraction])[0].unwrap_or_default();
        let late = quantile(1.0 - LATE_SHARE);
        if late > LATE as f64 {
            let late = late / MICROSECOND as f64;
            reasons.push(format!("1 % of the frames left {late:.0} us late or later"));
        }
        let latest = self.late.max().unwrap_or_default();
        if latest > LATEST {
            let latest = latest / MILLISECOND;
            reasons.push(format!("a frame left {latest} ms late"));
        }
        if self.device_drops > 0 {
            let drops = self.device_drops;
            reasons.push(format!("devices and sockets dropped {drops} frames"));
        }
        if let Some(steal) = self.steal.filter(|&steal| steal > STEAL) {
            let percent = steal * 100.0;
            reasons.push(format!(
                "the host took {percent:.0} % of the CPU time of this virtual machine"
            ));
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}
