//! What a host remembers of closed connections for the next one to the same host: temporal sharing (RFC 9040 section 6), as Linux's `tcp_metrics` do it.

use crate::{Sender, State};

impl Sender {
    /// The slow-start threshold for the next connection to the same host, bytes. `None`: nothing is known.
    ///
    /// `earlier` is what this connection could start with. A connection that never lost anything only raises it, to half of its window.
    pub fn threshold_for_next(&self, earlier: Option<u64>) -> Option<u64> {
        if self.rtt.srtt == 0 || self.rtt.is_backed_off() {
            return earlier;
        }
        let Self { window, state, .. } = self;
        let half = window.cwnd / window.mss / 2 * window.mss;
        if window.has_no_threshold() {
            return earlier.map(|earlier| earlier.max(half));
        }
        if *state == State::Open && !window.in_slow_start() {
            return Some(window.ssthresh.max(half));
        }
        earlier.map(|earlier| earlier.max(window.ssthresh))
    }

    /// Starts with a slow-start threshold that an earlier connection left.
    pub fn start_with_threshold(&mut self, threshold: u64) {
        self.window.ssthresh = threshold;
    }
}

#[cfg(test)]
mod tests {
    use bloatlab_cc::{Factory, reno};
    use bloatlab_units::{MILLISECOND, Streams};

    use super::*;
    use crate::TcpConfig;

    const MSS: u64 = 1448;

    /// A sender with this window and threshold, in segments, which has measured an RTT.
    fn sender(cwnd: u64, threshold: Option<u64>, state: State) -> Sender {
        let cc = reno::Params::default().build(Streams::new(1).stream("cc"));
        let mut sender = Sender::new(&TcpConfig::default(), cc);
        sender.rtt.srtt = MILLISECOND;
        sender.window.cwnd = cwnd * MSS;
        sender.state = state;
        if let Some(threshold) = threshold {
            sender.start_with_threshold(threshold * MSS);
        }
        sender
    }

    /// What a connection leaves, in segments, if the earlier ones left this.
    fn left(sender: &Sender, earlier: Option<u64>) -> Option<u64> {
        let earlier = earlier.map(|segments| segments * MSS);
        sender.threshold_for_next(earlier).map(|bytes| bytes / MSS)
    }

    #[test]
    fn a_connection_in_congestion_avoidance_leaves_its_threshold_or_half_of_its_window() {
        for (cwnd, threshold, leaves) in [(30, 20, 20), (50, 20, 25), (51, 20, 25)] {
            let sender = sender(cwnd, Some(threshold), State::Open);
            assert_eq!(left(&sender, None), Some(leaves));
            assert_eq!(left(&sender, Some(90)), Some(leaves));
        }
    }

    #[test]
    fn a_connection_in_recovery_or_slow_start_only_raises_what_was_known() {
        for (cwnd, state) in [(30, State::Recovery), (1, State::Loss), (10, State::Open)] {
            let sender = sender(cwnd, Some(20), state);
            assert_eq!(left(&sender, None), None);
            assert_eq!(left(&sender, Some(15)), Some(20));
            assert_eq!(left(&sender, Some(25)), Some(25));
        }
    }

    #[test]
    fn a_connection_without_losses_raises_what_was_known_to_half_of_its_window() {
        let sender = sender(100, None, State::Open);
        assert_eq!(left(&sender, None), None);
        assert_eq!(left(&sender, Some(20)), Some(50));
        assert_eq!(left(&sender, Some(60)), Some(60));
    }

    #[test]
    fn a_connection_that_hears_nothing_leaves_what_was_known() {
        let mut silent = sender(50, Some(20), State::Open);
        silent.rtt.srtt = 0;
        let mut waiting = sender(50, Some(20), State::Open);
        waiting.rtt.back_off();
        for sender in [&silent, &waiting] {
            assert_eq!(left(sender, Some(33)), Some(33));
            assert_eq!(left(sender, None), None);
        }
    }
}
