//! Queues as the kernel has them.

use bloatlab_aqm::QueueConfig;
use bloatlab_scenario::PlanLink;
use bloatlab_units::Limit;

/// The words of `tc` for the queue of a link.
///
/// # Errors
/// Why Linux has no such queue, or why a link cannot have it.
pub(crate) fn tc_words(link: &PlanLink) -> Result<String, String> {
    if let QueueConfig::Fifo(queue) = &link.queue
        && let Limit::Buffers(most) = queue.limit
    {
        // The kernel counts what hosts hand over in one piece (`buffers`).
        return Ok(format!("pfifo limit {most}"));
    }
    let lines = link.queue.to_tc("eth0", false)?;
    let [line] = lines.as_slice() else {
        return Err(
            "has classes, and the kernel's link has one queue; use the link userspace".into(),
        );
    };
    let words = line.split_once(" root ").map(|(_, words)| words);
    Ok(words.unwrap_or_default().to_owned())
}
