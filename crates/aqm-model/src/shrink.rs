//! Reduces a failing episode to a minimal one.

use crate::Episode;

/// Removes operations and resets choices of a failing episode as long as it still fails.
pub fn shrink(mut episode: Episode, fails: impl Fn(&Episode) -> bool) -> Episode {
    loop {
        let before = episode.clone();
        let mut stretch = episode.operations.len();
        while stretch > 0 {
            let mut at = 0;
            while at < episode.operations.len() {
                let mut shorter = episode.clone();
                let end = (at + stretch).min(shorter.operations.len());
                shorter.operations.drain(at..end);
                if fails(&shorter) {
                    episode = shorter;
                } else {
                    at += stretch;
                }
            }
            stretch /= 2;
        }
        for place in 0..episode.choices.len() {
            let mut plainer = episode.clone();
            plainer.choices[place] = 0;
            if plainer != episode && fails(&plainer) {
                episode = plainer;
            }
        }
        if episode == before {
            return episode;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;
    use bloatlab_units::Streams;

    #[test]
    fn only_what_is_needed_remains() {
        let episode = Episode::draw(0, 500, &mut Streams::new(1).stream("shrink"));
        let waits = |episode: &Episode| {
            let waits = episode
                .operations
                .iter()
                .filter(|o| matches!(o, Operation::Wait { .. }));
            waits.count() >= 3
        };
        let least = shrink(episode, waits);
        assert_eq!(least.operations.len(), 3);
        assert!(waits(&least) && least.choices.iter().all(|&choice| choice == 0));
    }
}
