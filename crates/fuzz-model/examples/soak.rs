//! Runs every target with many cases: `cargo run --profile soak -p bloatlab-fuzz-model --example soak -- --seconds 600 [--target T] [--seed S]`.
//!
//! Cases are random bytes and changed cases of the corpus. A finding is minimised and shown with the line to add to `regressions/`. A case that
//! takes longer than its limit ends the soak: it hangs, or its cost has no bound.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::{ExitCode, exit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bloatlab_fuzz_model::{TARGETS, Target, corpus, mutate};
use bloatlab_units::Streams;

const USAGE: &str =
    "usage: soak [--seconds N] [--limit SECONDS] [--target T] [--seed S] [--case HEX]";

/// The options of the command line.
struct Options {
    /// Time for all targets together.
    seconds: u64,
    /// Time limit of one case.
    limit: u64,
    target: Option<String>,
    seed: u64,
    case: Option<Vec<u8>>,
}

thread_local! {
    /// Place and message of the last panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Number of cases that have been run.
static CASES: AtomicU64 = AtomicU64::new(0);

fn options() -> Option<Options> {
    let mut options = Options {
        seconds: 60,
        limit: 60,
        target: None,
        seed: 1,
        case: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next()?;
        match name.as_str() {
            "--seconds" => options.seconds = value.parse().ok()?,
            "--limit" => options.limit = value.parse().ok()?,
            "--target" => options.target = Some(value),
            "--seed" => options.seed = value.parse().ok()?,
            "--case" => options.case = Some(corpus::bytes(&value)?),
            _ => return None,
        }
    }
    (options.case.is_none() || options.target.is_some()).then_some(options)
}

/// Ends the soak at a case that takes too long. That case is the one after the last finished case.
fn watch(limit: Duration) {
    thread::spawn(move || {
        let (mut case, mut since) = (u64::MAX, Instant::now());
        loop {
            thread::sleep(limit / 20);
            let now = CASES.load(Ordering::Relaxed);
            if now != case {
                (case, since) = (now, Instant::now());
            } else if since.elapsed() > limit {
                println!("case {case} takes more than {limit:?}");
                exit(1);
            }
        }
    });
}

/// Runs a case. Returns a finding as text.
fn attempt(target: &Target, case: &[u8]) -> Result<(), String> {
    let run = catch_unwind(AssertUnwindSafe(|| (target.run)(case)));
    CASES.fetch_add(1, Ordering::Relaxed);
    run.map_err(|_| PANIC.take())
}

/// Prints the minimised case of a finding and how to repeat it.
fn report(target: &Target, case: Vec<u8>, message: &str) {
    println!("\n{}: {message}", target.name);
    let least = mutate::shrink(case, |case| attempt(target, case).is_err());
    let message = attempt(target, &least).err().unwrap_or_default();
    println!("the least that fails: {message}");
    println!(
        "again: --target {} --case {}\n",
        target.name,
        corpus::line(&least)
    );
}

/// Runs cases of a target for its share of the time. Returns false at a finding.
fn soak(target: &Target, options: &Options, time: Duration) -> bool {
    let kept: Vec<Vec<u8>> = ["corpus", "regressions"]
        .into_iter()
        .flat_map(|folder| corpus::read(folder, target.name))
        .map(|(_, case)| case)
        .collect();
    let first = CASES.load(Ordering::Relaxed);
    let (began, mut number) = (Instant::now(), 0);
    while began.elapsed() < time {
        let name = format!("{} {number}", target.name);
        let case = mutate::case(&kept, &mut Streams::new(options.seed).stream(&name));
        if let Err(message) = attempt(target, &case) {
            report(target, case, &message);
            return false;
        }
        number += 1;
    }
    let cases = CASES.load(Ordering::Relaxed) - first;
    println!(
        "{:<20} {cases:>10} cases in {:>6.0} s",
        target.name,
        began.elapsed().as_secs_f64()
    );
    true
}

fn main() -> ExitCode {
    let chosen = options().and_then(|options| {
        let wanted = |target: &&Target| options.target.as_deref().is_none_or(|t| t == target.name);
        let chosen: Vec<&Target> = TARGETS.iter().filter(wanted).collect();
        (!chosen.is_empty()).then_some((options, chosen))
    });
    let Some((options, chosen)) = chosen else {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("{USAGE}\ntargets: {}", names.join(", "));
        return ExitCode::from(2);
    };
    set_hook(Box::new(|panic| PANIC.set(panic.to_string())));
    watch(Duration::from_secs(options.limit));
    if let Some(case) = &options.case {
        let found = attempt(chosen[0], case);
        println!(
            "{}",
            found.as_ref().err().map_or("no finding", |message| message)
        );
        return ExitCode::from(u8::from(found.is_err()));
    }
    println!("seed {}", options.seed);
    let time = Duration::from_secs(options.seconds) / chosen.len() as u32;
    let sound = chosen.iter().filter(|target| soak(target, &options, time));
    if sound.count() < chosen.len() {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
