//! Every kept case runs without a finding: the corpus of the fuzzer, and former findings.

use std::fs;

use bloatlab_fuzz_model::{TARGETS, corpus};

/// Runs all cases of a folder and returns their number for each target.
fn replay(folder: &str) -> Vec<(&'static str, usize)> {
    let all = TARGETS.iter().map(|target| {
        let cases = corpus::read(folder, target.name);
        for (comment, case) in &cases {
            println!("{}: {comment}: {}", target.name, corpus::line(case));
            (target.run)(case);
        }
        (target.name, cases.len())
    });
    all.collect()
}

#[test]
fn the_corpus_has_cases_of_every_target_and_no_finding() {
    for (target, cases) in replay("corpus") {
        assert!(cases >= 20, "{target} has {cases} cases");
    }
}

#[test]
fn former_findings_pass() {
    replay("regressions");
    for target in &TARGETS {
        for (comment, case) in corpus::read("regressions", target.name) {
            let case = corpus::line(&case);
            assert!(!comment.is_empty(), "{}: {case} has no reason", target.name);
        }
    }
}

#[test]
fn every_kept_file_belongs_to_a_target() {
    for folder in ["corpus", "regressions"] {
        let known: Vec<_> = TARGETS
            .iter()
            .map(|t| corpus::file(folder, t.name))
            .collect();
        let place = known[0].parent().expect("a folder");
        for entry in fs::read_dir(place).expect("the folder of kept cases") {
            let path = entry.expect("an entry").path();
            assert!(known.contains(&path), "{} is of no target", path.display());
        }
    }
}
