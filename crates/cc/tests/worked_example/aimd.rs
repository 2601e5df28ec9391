//! AIMD: the window grows by a constant per round trip and falls by a share of itself.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Factory, Signal, Window};

/// AIMD with DECbit's constants: one segment more per round trip, an eighth less after congestion.
///
/// Reno belongs to the same family. Flows of this family become equal: the increase keeps the difference between two windows, and the decrease
/// shrinks it. The decrease is an eighth instead of Reno's half, so it uses a shallow queue better. Beside Reno it takes more than its share, and
/// flows that start later take longer to reach theirs. Over long paths of high rate it grows as slowly as Reno.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Growth of the window per round trip.
    #[schemars(range(min = 0.01, max = 100.0), extend("unit" = "segments"))]
    pub increase: f64,
    /// Share of the window that congestion takes.
    #[schemars(range(min = 0.01, max = 0.9))]
    pub decrease: f64,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        // Ramakrishnan and Jain 1990: increase by one packet, decrease to 0.875 of the window.
        Self {
            increase: 1.0,
            decrease: 0.125,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "D. Chiu, R. Jain, Analysis of the increase and decrease algorithms for congestion avoidance in computer networks, 1989";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Aimd {
            starter: Starter::new(self.slow_start),
            params: self.clone(),
            fraction: 0.0,
        })
    }
}

/// State of one connection.
struct Aimd {
    starter: Starter,
    params: Params,
    /// Fraction of a byte that is carried over to the next ACK.
    fraction: f64,
}

impl CongestionControl for Aimd {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        let acked = self.starter.open(window, ack);
        // Chiu and Jain 1989: a constant per window acknowledged.
        self.fraction += self.params.increase * (window.mss * acked) as f64 / window.cwnd as f64;
        let bytes = self.fraction as u64;
        self.fraction -= bytes as f64;
        window.cwnd += bytes;
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        let left = (1.0 - self.params.decrease) * window.cwnd as f64;
        window.ssthresh = (left as u64).max(2 * window.mss);
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }
}
