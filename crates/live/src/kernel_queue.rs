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
        let queue = match &link.queue {
            QueueConfig::Htb(class) => QueueConfig::Htb(class.with_bursts()),
            other => other.clone(),
        };
        let mut lines = queue.to_tc("eth0", false)?.into_iter();
        let first = lines.next().unwrap_or_default();
        let words = first.split_once(" root ").map_or("", |(_, words)| words);
        Ok(Self {
            words: words.trim_start_matches("handle 1: ").to_owned(),
            classes: lines.map(|line| inside(&line)).collect(),
        })
    }

    /// The words of each queue discipline, without repetition.
    pub fn all_words(&self) -> Vec<String> {
        let mut all = vec![self.words.clone()];
        for line in self.classes.iter().filter(|line| line[0] == "qdisc") {
            // It starts with `qdisc add parent 10:1`, and a handle may follow.
            let at = if line[4] == "handle" { 6 } else { 4 };
            let words = line[at..].join(" ");
            if !all.contains(&words) {
                all.push(words);
            }
        }
        all
    }

    /// Whether its words set everything that those of another one set, so that the kernel can change the other one into it.
    pub fn sets_all_of(&self, other: &Self) -> bool {
        // A word of tc is a name or begins with a digit.
        let names = |queue: &Self| -> Vec<String> {
            let words = queue.words.split(' ');
            let names =
                words.filter(|word| !word.starts_with(|first: char| first.is_ascii_digit()));
            names.map(str::to_owned).collect()
        };
        let has_classes = !self.classes.is_empty() || !other.classes.is_empty();
        !has_classes && names(self) == names(other)
    }

    /// The line of `tc -batch` that changes the queue discipline below `parent` of a device into this one.
    pub fn change(&self, device: &str, parent: &str) -> String {
        let words = &self.words;
        format!("qdisc change dev {device} parent {parent} handle {HANDLE} {words}")
    }

    /// The lines of `tc -batch` that put it below `parent` of a device.
    pub fn commands(&self, device: &str, parent: &str) -> Vec<String> {
        let words = &self.words;
        let root = format!("qdisc add dev {device} parent {parent} handle {HANDLE} {words}");
        let classes = self.classes.iter().map(|line| {
            let (what, rest) = line.split_at(2);
            format!("{} dev {device} {}", what.join(" "), rest.join(" "))
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
        let inner = inside("tc qdisc replace dev eth0 parent 1:1 codel limit 50");
        let queue = KernelQueue {
            words: "htb default 1".into(),
            classes: vec![class, inner],
        };
        assert_eq!(queue.all_words(), ["htb default 1", "codel limit 50"]);
        assert_eq!(
            queue.commands("link0", "1:1"),
            [
                "qdisc add dev link0 parent 1:1 handle 10: htb default 1",
                "class add dev link0 parent 10: classid 10:1 htb rate 10mbit",
                "qdisc add dev link0 parent 10:1 codel limit 50",
            ]
        );
    }

    #[test]
    fn a_queue_can_become_another_that_sets_the_same_words() {
        let queue = |words: &str| KernelQueue {
            words: words.to_owned(),
            classes: Vec::new(),
        };
        let short = queue("pfifo limit 10");
        assert!(queue("pfifo limit 2000").sets_all_of(&short));
        assert!(!queue("bfifo limit 2000b").sets_all_of(&short));
        let aqm = queue("fq_codel limit 100 target 5ms ecn");
        assert!(queue("fq_codel limit 200 target 10ms ecn").sets_all_of(&aqm));
        assert!(!queue("fq_codel limit 100 target 5ms noecn").sets_all_of(&aqm));
        assert!(!queue("fq_codel limit 100").sets_all_of(&aqm));
        assert_eq!(
            short.change("link0", "1:1"),
            "qdisc change dev link0 parent 1:1 handle 10: pfifo limit 10"
        );
    }

    #[test]
    fn a_filter_chooses_among_the_classes_of_the_new_handle() {
        let filter = "tc filter replace dev eth0 parent 1: protocol all prio 1 handle 1 flow hash keys src divisor 2 baseclass 1:1";
        assert_eq!(
            inside(filter).join(" "),
            "filter add parent 10: protocol all prio 1 handle 1 flow hash keys src divisor 2 baseclass 10:1"
        );
    }
}
