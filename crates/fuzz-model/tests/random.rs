//! Every target passes random cases. Each run of the test has the same cases; a soak has more.

use bloatlab_fuzz_model::{TARGETS, corpus, mutate};
use bloatlab_units::Streams;

/// Number of cases of each target.
fn cases(target: &str) -> u64 {
    match target {
        "scenario" => 150,
        "congestion_control" => 6_000,
        _ => 1_500,
    }
}

#[test]
fn no_random_case_is_a_finding() {
    for target in &TARGETS {
        for number in 0..cases(target.name) {
            let mut rng = Streams::new(number).stream(target.name);
            let case = mutate::case(&[], &mut rng);
            println!("{}: {}", target.name, corpus::line(&case));
            (target.run)(&case);
        }
    }
}
