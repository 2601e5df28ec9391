//! Slow start, and ways to leave it before the queue overflows. Several congestion controls use it.

use bloatlab_units::{MILLISECOND, NEVER, Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Ack, Window};

/// How slow start ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SlowStart {
    /// At `ssthresh` or at a loss (RFC 5681).
    #[default]
    #[serde(rename = "standard")]
    Standard,
    /// At a long ACK train or a growing delay (Ha and Rhee 2011, with Linux's constants).
    #[serde(rename = "hystart")]
    Hystart,
    /// At a growing delay, after rounds of slower growth that confirm it (RFC 9406).
    #[serde(rename = "hystart++")]
    HystartPlusPlus,
}

/// Number of RTT samples in a round before the smallest is trusted: RFC 9406 section 4.3 N_RTT_SAMPLE; Linux HYSTART_MIN_SAMPLES.
const RTT_SAMPLES: u32 = 8;
/// RFC 9406 section 4.3: MIN_RTT_THRESH; Linux HYSTART_DELAY_MIN.
const MIN_RTT_THRESH: Nanos = 4 * MILLISECOND;
/// RFC 9406 section 4.3: MAX_RTT_THRESH; Linux HYSTART_DELAY_MAX.
const MAX_RTT_THRESH: Nanos = 16 * MILLISECOND;
/// RFC 9406 section 4.3: MIN_RTT_DIVISOR 8, as a shift.
const RTT_SHIFT: u32 = 3;
/// RFC 9406 section 4.3: CSS_GROWTH_DIVISOR 4, as a shift.
const CSS_GROWTH_SHIFT: u32 = 2;
/// RFC 9406 section 4.3: CSS_ROUNDS.
const CSS_ROUNDS: u32 = 5;
/// RFC 9406 section 4.3: L of a sender that does not pace, segments per ACK.
const UNPACED_LIMIT: u64 = 8;
/// Ha and Rhee 2011: ACKs closer together than this belong to one train.
const ACK_DELTA: Nanos = 2 * MILLISECOND;
/// Linux hystart_low_window: hystart does not act on smaller windows, segments.
const LOW_WINDOW: u64 = 16;
/// Linux: longest time by which offload may delay the ACKs of a train, and the bytes that may wait so long.
const ACK_DELAY: Nanos = MILLISECOND;
const DELAYED_BYTES: u64 = 4 << 16;

/// The state of slow start in one connection.
#[derive(Clone, Debug)]
pub struct Starter {
    kind: SlowStart,
    /// Whether it looks for the end of slow start.
    armed: bool,
    /// Stream offset whose acknowledgement ends the round.
    round_end: u64,
    /// Smallest RTT of this round; `NEVER` before the first sample.
    round_min: Nanos,
    /// Smallest RTT of the previous round.
    last_min: Nanos,
    /// hystart: smallest RTT of all rounds. The handshake does not count, because its packets are small.
    min: Nanos,
    samples: u32,
    /// hystart: when the round started, and when the last ACK of its train arrived.
    round_start: Nanos,
    train: Nanos,
    /// hystart++: whether in conservative slow start, its rounds so far, and the RTT that started it.
    css: bool,
    css_rounds: u32,
    css_baseline: Nanos,
}

impl Starter {
    /// The state at the start of a connection.
    pub fn new(kind: SlowStart) -> Self {
        Self {
            kind,
            armed: kind != SlowStart::Standard,
            round_end: 0,
            round_min: NEVER,
            last_min: NEVER,
            min: NEVER,
            samples: 0,
            round_start: 0,
            train: 0,
            css: false,
            css_rounds: 0,
            css_baseline: NEVER,
        }
    }

    /// Processes an ACK in slow start. Ends slow start by setting `ssthresh` to `cwnd`.
    #[inline]
    pub fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if self.armed {
            match self.kind {
                SlowStart::Standard => {}
                SlowStart::Hystart => self.hystart(window, ack),
                SlowStart::HystartPlusPlus => self.hystart_plus_plus(window, ack),
            }
        }
    }

    /// Grows the window by what this ACK acknowledged, if in slow start. Returns the acknowledged bytes that remain for congestion avoidance.
    #[inline]
    pub fn open(&mut self, window: &mut Window, ack: &Ack) -> u64 {
        let acked = ack.credit();
        if window.in_slow_start() {
            self.observe(window, ack);
        }
        if !window.in_slow_start() {
            return acked;
        }
        let increase = self.increase(window, acked);
        let used = increase.min(window.ssthresh - window.cwnd);
        window.cwnd += used;
        increase - used
    }

    /// Returns the bytes by which `acked` bytes grow the window in slow start.
    #[inline]
    pub fn increase(&self, window: &Window, acked: u64) -> u64 {
        if !self.armed || self.kind != SlowStart::HystartPlusPlus {
            return acked;
        }
        // RFC 9406 section 4.2: at most L segments per ACK; no limit when paced.
        let bytes = if window.pacing > 0 {
            acked
        } else {
            acked.min(UNPACED_LIMIT * window.mss)
        };
        if self.css {
            bytes >> CSS_GROWTH_SHIFT
        } else {
            bytes
        }
    }

    /// Congestion was signalled, so slow start ends.
    pub fn on_congestion(&mut self) {
        // RFC 9406 section 4.3: HyStart++ applies to the initial slow start only.
        self.armed &= self.kind == SlowStart::Hystart;
        self.css = false;
    }

    /// A timeout reset the window to one segment.
    pub fn on_timeout(&mut self) {
        // Linux resets hystart when it enters loss recovery by a timeout.
        if self.kind == SlowStart::Hystart {
            *self = Self {
                round_end: self.round_end,
                ..Self::new(self.kind)
            };
        }
    }

    /// Whether the sender is in conservative slow start.
    pub fn conservative(&self) -> bool {
        self.css
    }

    /// Starts a new round if this ACK passes the end of the old one. Returns whether it did.
    fn round(&mut self, ack: &Ack) -> bool {
        let over = ack.una > self.round_end;
        if over {
            self.round_end = ack.next;
            self.last_min = self.round_min;
            self.round_min = NEVER;
            self.samples = 0;
        }
        over
    }

    fn sample(&mut self, ack: &Ack) {
        if ack.rtt > 0 {
            self.round_min = self.round_min.min(ack.rtt);
            self.samples += 1;
        }
    }

    /// Ends slow start at the current window.
    fn leave(&mut self, window: &mut Window) {
        window.ssthresh = window.cwnd.max(2 * window.mss);
        self.armed = false;
        self.css = false;
    }

    /// Ha and Rhee 2011: ends slow start if the train of ACKs lasts half an RTT, or the delay grew by an eighth.
    fn hystart(&mut self, window: &mut Window, ack: &Ack) {
        if self.round(ack) {
            self.round_start = ack.now;
            self.train = ack.now;
        }
        self.sample(ack);
        if ack.rtt > 0 {
            self.min = self.min.min(ack.rtt);
        }
        if window.cwnd < LOW_WINDOW * window.mss || self.min == NEVER {
            return;
        }
        if ack.now - self.train <= ACK_DELTA {
            self.train = ack.now;
            if ack.now - self.round_start > self.longest_train(window, ack) {
                return self.leave(window);
            }
        }
        // The smallest RTT of the first samples of the round, once there is one more.
        if self.samples > RTT_SAMPLES && self.round_min > self.min + threshold(self.min) {
            self.leave(window);
        }
    }

    /// The forward delay, which is half of the smallest RTT. Pacing spreads a round's segments over twice that.
    fn longest_train(&self, window: &Window, ack: &Ack) -> Nanos {
        if let Some(delay) = (DELAYED_BYTES * SECOND).checked_div(window.pacing) {
            return self.min + ACK_DELAY.min(delay);
        }
        // Linux's pacing rate in slow start: two windows per RTT.
        (self.min + ACK_DELAY.min(DELAYED_BYTES * ack.srtt / (2 * window.cwnd))) >> 1
    }

    /// RFC 9406 section 4.2.
    fn hystart_plus_plus(&mut self, window: &mut Window, ack: &Ack) {
        if self.round(ack) && self.css {
            self.css_rounds += 1;
            // "If CSS_ROUNDS rounds are complete, enter congestion avoidance": ssthresh = cwnd.
            if self.css_rounds >= CSS_ROUNDS {
                return self.leave(window);
            }
        }
        self.sample(ack);
        if self.samples < RTT_SAMPLES {
            return;
        }
        if self.css {
            // The delay fell again, so the exit was spurious: resume slow start.
            if self.round_min < self.css_baseline {
                self.css = false;
                self.css_baseline = NEVER;
            }
        } else if self.last_min != NEVER
            && self.round_min >= self.last_min + threshold(self.last_min)
        {
            self.css = true;
            self.css_rounds = 0;
            self.css_baseline = self.round_min;
        }
    }
}

/// RFC 9406 section 4.2: max(MIN_RTT_THRESH, min(RTT / MIN_RTT_DIVISOR, MAX_RTT_THRESH)).
fn threshold(rtt: Nanos) -> Nanos {
    (rtt >> RTT_SHIFT).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}
