//! Runs an episode on the queue that it describes.

use bloatlab_aqm::Qdisc;
use serde_json::Value;

use crate::driver::{Driver, EpisodeStats};
use crate::episode::Episode;
use crate::packet::ModelPacket;

impl Episode {
    /// Runs the episode, and panics if the queue violates a property. With `twice`, a second run must have the same result.
    pub fn run(&self, twice: bool) -> EpisodeStats {
        let config = self.config();
        let value = serde_json::to_value(&config).unwrap_or_default();
        let queue = || {
            config
                .build(self.context())
                .expect("a queue of the registry")
        };
        let stats = self.run_on(queue(), &value);
        if twice {
            let again = self.run_on(queue(), &value);
            assert_eq!(stats, again, "the same seed gives the same run");
        }
        stats
    }

    /// Runs the episode on a given queue, which was built from this configuration in the episode's context.
    pub fn run_on(&self, queue: Box<dyn Qdisc<ModelPacket>>, config: &Value) -> EpisodeStats {
        Driver::new(self, queue, config).drive(self)
    }
}
