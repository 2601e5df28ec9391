//! Long random test of every queue: `cargo run --release --example soak -- --operations 10000000 [--kind K] [--seed S]`.
//!
//! Each kind runs episodes of the operation model, with default and with random valid parameters, until it has performed this many operations. If an
//! episode violates a property, the test fails and shows a minimal failing episode and the command that repeats it (`--replay`).

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::ExitCode;
use std::time::Instant;

use bloatlab_aqm::QueueConfig;
use bloatlab_aqm_model::{Episode, EpisodeStats, shrink};
use bloatlab_units::Streams;

const USAGE: &str = "usage: soak [--operations N] [--kind K] [--seed S] [--replay EPISODE]";

/// The command-line options.
struct Options {
    operations: u64,
    kind: Option<String>,
    seed: u64,
    replay: Option<u64>,
}

/// The statistics of one kind.
#[derive(Default)]
struct Total {
    stats: EpisodeStats,
    operations: u64,
    episodes: u64,
}

thread_local! {
    /// Place and message of the last panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

fn options() -> Option<Options> {
    let mut options = Options {
        operations: 1_000_000,
        kind: None,
        seed: 1,
        replay: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next()?;
        match name.as_str() {
            "--operations" => options.operations = value.parse().ok()?,
            "--kind" => options.kind = Some(value),
            "--seed" => options.seed = value.parse().ok()?,
            "--replay" => options.replay = Some(value.parse().ok()?),
            _ => return None,
        }
    }
    Some(options)
}

/// The episode with this number. Most are short; the long ones let AQMs reach a steady state.
fn episode(kind: usize, name: &str, seed: u64, number: u64) -> Episode {
    let mut rng = Streams::new(seed).stream(&format!("{name} {number}"));
    let operations = [100, 1_000, 5_000, 20_000][rng.below(4) as usize];
    Episode::draw(kind as u8, operations, &mut rng)
}

/// Runs the episode, and returns the violated property as text. Every eighth episode runs twice, and both runs must agree.
fn attempt(episode: &Episode) -> Result<EpisodeStats, String> {
    let run = || episode.run(episode.seed.is_multiple_of(8));
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| PANIC.take())
}

/// Shows a minimal episode that violates a property, and how to repeat it.
fn report(name: &str, seed: u64, number: u64, episode: Episode, message: &str) {
    println!("\n{name}: {message}");
    let least = shrink(episode, |episode| attempt(episode).is_err());
    let message = attempt(&least).err().unwrap_or_default();
    print!("the least that fails: {message}\n{least:?}");
    println!(
        "again: cargo run --release -p bloatlab-aqm --example soak -- --kind {name} --seed {seed} --replay {number}\n"
    );
}

/// Runs a kind's episodes. Returns false if one fails.
fn soak(kind: usize, name: &str, options: &Options) -> bool {
    let began = Instant::now();
    let mut total = Total::default();
    let numbers = match options.replay {
        Some(number) => number..number + 1,
        None => 0..u64::MAX,
    };
    for number in numbers {
        let episode = episode(kind, name, options.seed, number);
        match attempt(&episode) {
            Ok(stats) => total.add(&stats, episode.operations.len()),
            Err(message) => {
                report(name, options.seed, number, episode, &message);
                return false;
            }
        }
        if total.operations >= options.operations {
            break;
        }
    }
    let EpisodeStats {
        packets,
        drops,
        marks,
        wakes,
        unfinished,
        ..
    } = total.stats;
    println!(
        "{name:<20} {:>11} {:>9} {packets:>12} {drops:>12} {marks:>11} {wakes:>11} {unfinished:>10} {:>8.1}",
        total.operations,
        total.episodes,
        began.elapsed().as_secs_f64()
    );
    true
}

impl Total {
    fn add(&mut self, one: &EpisodeStats, operations: usize) {
        self.operations += operations as u64;
        self.episodes += 1;
        self.stats.packets += one.packets;
        self.stats.drops += one.drops;
        self.stats.marks += one.marks;
        self.stats.wakes += one.wakes;
        self.stats.unfinished += one.unfinished;
    }
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let kinds: Vec<&str> = QueueConfig::all()
        .iter()
        .map(|config| config.kind())
        .collect();
    let chosen = |name: &str| options.kind.as_deref().is_none_or(|kind| kind == name);
    if !kinds.iter().any(|kind| chosen(kind))
        || (options.replay.is_some() && options.kind.is_none())
    {
        eprintln!("{USAGE}\nkinds: {}", kinds.join(", "));
        return ExitCode::from(2);
    }
    set_hook(Box::new(|panic| {
        PANIC.set(panic.to_string());
    }));
    println!("seed {}", options.seed);
    println!(
        "{:<20} {:>11} {:>9} {:>12} {:>12} {:>11} {:>11} {:>10} {:>8}",
        "kind",
        "operations",
        "episodes",
        "packets",
        "drops",
        "marks",
        "wakes",
        "unfinished",
        "seconds"
    );
    let mut findings = 0;
    for (kind, name) in kinds.iter().enumerate() {
        if chosen(name) && !soak(kind, name, &options) {
            findings += 1;
        }
    }
    if findings > 0 {
        println!("{findings} of the kinds violated a property");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
