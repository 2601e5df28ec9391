//! CPU time that the host of a virtual machine took for others.

use std::fs;

/// Reading of `/proc/stat`: CPU time that was taken, and all CPU time, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuTime {
    steal: u64,
    all: u64,
}

impl CpuTime {
    /// The CPU time so far. `None`: `/proc` is not there.
    pub fn now() -> Option<Self> {
        Self::read(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Reads the first line: user, nice, system, idle, iowait, irq, softirq, steal, and times of guests that are in user and nice too.
    fn read(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line
            .split_whitespace()
            .map_while(|word| word.parse().ok())
            .take(8)
            .collect();
        Some(Self {
            steal: *ticks.get(7)?,
            all: ticks.iter().sum(),
        })
    }

    /// The share of the CPU time since `earlier` that was taken.
    pub fn steal_since(&self, earlier: &Self) -> f64 {
        let all = self.all.saturating_sub(earlier.all).max(1);
        self.steal.saturating_sub(earlier.steal) as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_stolen_time_is_read() {
        let earlier = CpuTime::read("cpu  100 0 50 800 0 0 0 50 7 7\ncpu0 1").unwrap();
        let later = CpuTime::read("cpu  150 0 50 820 0 0 0 80 9 9\n").unwrap();
        assert_eq!(later.steal_since(&earlier), 0.3);
        assert_eq!(CpuTime::read("cpu 1 2 3"), None);
        assert_eq!(CpuTime::read("intr 1"), None);
    }
}
