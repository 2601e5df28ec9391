//! Queues as the kernel has them.

use bloatlab_aqm::QueueConfig;
use bloatlab_scenario::PlanLink;
use bloatlab_units::Limit;

/// A queue discipline of the kernel, as `tc` sets it up inside another one. It may have classes, with a queue discipline in each.
pub(crate) struct KernelQueue {
    /// Its words, such as `fq_codel limit 1000`.
    pub words: String,
    /// What sets its classes up: the arguments of each call of `tc`, the device left out.
    classes: Vec<Vec<String>>,
}

/// The handle of the queue discipline inside its parent.
const HANDLE: &str = "10:";

impl KernelQueue {
    /// The queue of a link.
    ///
    /// # Errors
    /// Why Linux has no such queue.
    pub fn of(link: &PlanLink) -> Result<Self, String> {
        if let QueueConfig::Fifo(queue) = &link.queue
            && let Limit::Buffers(most) = queue.limit
        {
            // The kernel counts what hosts hand over in one piece (`buffers`).
            let words = format!("pfifo limit {most}");
            return Ok(Self {
                words,
                classes: Vec::new(),
            });
        }
        let mut lines = link.queue.to_tc("eth0", false)?.into_iter();
        let first = lines.next().unwrap_or_default();
        let words = first.split_once(" root ").map_or("", |(_, words)| words);
        Ok(Self {
            words: words.trim_start_matches("handle 1: ").to_owned(),
            classes: lines.map(|line| inside(&line)).collect(),
        })
    }

    /// The words of each queue discipline.
    pub fn all_words(&self) -> Vec<String> {
        let inner = self.classes.iter().filter(|line| line[0] == "qdisc");
        let inner = inner.filter_map(|line| {
            line.iter()
                .position(|word| word == "handle")
                .map(|at| line[at + 2..].join(" "))
        });
        [self.words.clone()].into_iter().chain(inner).collect()
    }

    /// The calls of `tc` that put it below `parent` of a device: the arguments of each.
    pub fn commands(&self, device: &str, parent: &str) -> Vec<Vec<String>> {
        let start = [
            "qdisc", "add", "dev", device, "parent", parent, "handle", HANDLE,
        ];
        let start = start.into_iter().chain(self.words.split_whitespace());
        let root = start.map(str::to_owned).collect();
        let classes = self.classes.iter().map(|line| {
            let (what, rest) = line.split_at(2);
            let device = ["dev", device].map(str::to_owned);
            what.iter()
                .cloned()
                .chain(device)
                .chain(rest.iter().cloned())
                .collect()
        });
        [root].into_iter().chain(classes).collect()
    }
}

/// The arguments of a call of `tc` for a part of a queue discipline that has the handle `HANDLE` instead of `1:`, the device left out.
fn inside(line: &str) -> Vec<String> {
    let words = line
        .split_whitespace()
        .filter(|&word| !matches!(word, "tc" | "dev" | "eth0"));
    words
        .map(|word| match (word, word.strip_prefix("1:")) {
            (_, Some(minor)) => format!("{HANDLE}{minor}"),
            ("replace", _) => "add".to_owned(),
            _ => word.to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_keeps_its_place_inside_another_queue() {
        let class = inside("tc class replace dev eth0 parent 1: classid 1:1 htb rate 10mbit");
        let inner = inside("tc qdisc replace dev eth0 parent 1:1 handle 11: codel limit 50");
        let queue = KernelQueue {
            words: "htb default 1".into(),
            classes: vec![class, inner],
        };
        assert_eq!(queue.all_words(), ["htb default 1", "codel limit 50"]);
        let commands = queue.commands("link0", "1:1").into_iter();
        let commands: Vec<String> = commands.map(|words| words.join(" ")).collect();
        assert_eq!(
            commands,
            [
                "qdisc add dev link0 parent 1:1 handle 10: htb default 1",
                "class add dev link0 parent 10: classid 10:1 htb rate 10mbit",
                "qdisc add dev link0 parent 10:1 handle 11: codel limit 50",
            ]
        );
    }
}
