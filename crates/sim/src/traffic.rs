//! The senders of all kinds of traffic: one file and one line each.

mod messages;
mod program;

use bloatlab_scenario::Traffic;
use bloatlab_units::Rng;

use crate::application::{Behavior as _, Sender};

macro_rules! senders {
    ($($variant:ident($module:ident)),+ $(,)?) => {
        $(mod $module;)+

        /// The sender of a flow with this traffic.
        pub(crate) fn sender(traffic: &Traffic, rng: Rng) -> Sender {
            match traffic {
                $(Traffic::$variant(params) => params.sender(rng),)+
                Traffic::Iperf3(params) => params.sender(rng),
                Traffic::Http(params) => params.sender(rng),
                Traffic::Command(params) => params.sender(rng),
            }
        }
    };
}

// The kinds of traffic: one line each, `Variant(file)`.
senders! {
    Greedy(greedy),
    Finite(finite),
    Cbr(cbr),
    Poisson(poisson),
    OnOff(on_off),
    Fetch(fetch),
    Ping(ping),
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::{SECOND, Streams};
    use serde_json::json;

    /// Messages per second of a source.
    fn count(traffic: serde_json::Value, seconds: u64) -> f64 {
        let traffic = serde_json::from_value(traffic).unwrap();
        let Sender::Udp(mut source) = sender(&traffic, Streams::new(3).stream("source")) else {
            panic!("not over UDP");
        };
        let mut at = source.times.first(0);
        let mut messages = 0;
        while at < seconds * SECOND {
            messages += 1;
            at = source.times.next(at);
        }
        f64::from(messages) / seconds as f64
    }

    #[test]
    fn constant_rate_is_exact() {
        let traffic = json!({"kind": "cbr", "rate": "1Mbit/s", "packet": "1000B"});
        assert_eq!(count(traffic, 100), 125.0);
    }

    #[test]
    fn random_sources_keep_their_mean_rate() {
        let poisson = json!({"kind": "poisson", "rate": "8Mbit/s", "packet": "1000B"});
        assert!((count(poisson, 100) - 1000.0).abs() < 4.0 * 3.2);
        let on_off = json!({
            "kind": "on_off", "rate": "8Mbit/s", "on": "100ms", "off": "100ms",
            "distribution": "constant", "packet": "1000B",
        });
        assert!((count(on_off, 100) - 500.0).abs() < 6.0);
    }
}
