//! Makes new cases from kept ones, without a coverage-guided fuzzer.

use bloatlab_units::Rng;

/// Maximum length of a case in bytes.
const LONGEST: usize = 4_096;

/// A case: random bytes, or a case of the corpus with some changes.
pub fn case(corpus: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    if corpus.is_empty() || rng.below(4) == 0 {
        let length = 8 << rng.below(8);
        return (0..length).map(|_| rng.bits() as u8).collect();
    }
    let pick = |rng: &mut Rng| &corpus[rng.below(corpus.len() as u64) as usize];
    let mut case = pick(rng).clone();
    for _ in 0..1 + rng.below(6) {
        let at = rng.below(case.len() as u64 + 1) as usize;
        let until = (at + 1 + rng.below(16) as usize).min(case.len());
        match rng.below(5) {
            0 => case.insert(at, rng.bits() as u8),
            1 => drop(case.drain(at..until)),
            2 => {
                let other = pick(rng);
                case.truncate(at);
                case.extend(other.iter().skip(at));
            }
            3 => {
                let copy = case[at..until].to_vec();
                case.splice(at..at, copy);
            }
            _ => {
                if let Some(byte) = case.get_mut(at) {
                    *byte = rng.bits() as u8;
                }
            }
        }
    }
    case.truncate(LONGEST);
    case
}

/// Minimises a failing case: removes bytes and sets others to zero as long as the case still fails.
pub fn shrink(mut case: Vec<u8>, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut step = case.len().next_power_of_two();
    while step > 0 {
        let mut at = 0;
        while at < case.len() {
            let until = (at + step).min(case.len());
            let mut shorter = case.clone();
            shorter.drain(at..until);
            let mut plainer = case.clone();
            plainer[at..until].fill(0);
            if fails(&shorter) {
                case = shorter;
            } else {
                if plainer != case && fails(&plainer) {
                    case = plainer;
                }
                at = until;
            }
        }
        step /= 2;
    }
    case
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::Streams;

    #[test]
    fn equal_random_streams_make_equal_cases_of_limited_length() {
        let corpus = [vec![1, 2, 3], vec![9; LONGEST]];
        let made = || {
            let mut rng = Streams::new(5).stream("cases");
            (0..500).map(move |_| case(&[vec![1, 2, 3], vec![9; LONGEST]], &mut rng))
        };
        assert!(made().eq(made()));
        assert!(made().all(|case| case.len() <= LONGEST));
        let changed = made().filter(|case| !corpus.contains(case)).count();
        assert!(changed > 400, "{changed}");
    }

    #[test]
    fn a_minimal_case_keeps_only_needed_bytes() {
        let case: Vec<u8> = (0..200).collect();
        let fails = |case: &[u8]| case.contains(&77) && case.len() > 2;
        assert_eq!(shrink(case, fails).iter().filter(|&&b| b != 0).count(), 1);
    }
}
