//! Packs a folder of cases of the fuzzer into the kept corpus of a target, or unpacks the corpus: `cargo run -p bloatlab-fuzz-model
//! --example corpus -- pack TARGET FOLDER [BYTES]`, `... -- unpack TARGET FOLDER`.
//!
//! Packing keeps cases of all lengths, up to a total size. So the repository stays small, and the tests take seconds.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use bloatlab_fuzz_model::{TARGETS, corpus};

const USAGE: &str = "usage: corpus pack TARGET FOLDER [BYTES] | corpus unpack TARGET FOLDER";
/// Default size of a target's file in bytes.
const BYTES: usize = 48_000;

fn pack(target: &str, folder: &Path, most: usize) -> io::Result<()> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        lines.push(corpus::line(&fs::read(entry?.path())?));
    }
    lines.sort_by_key(|line| (line.len(), line.clone()));
    lines.dedup();
    // Sorted by length, keeps every n-th case with the smallest n that fits.
    let size = |lines: &[String]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
    let step = size(&lines).div_ceil(most).max(1);
    let kept: Vec<String> = lines.into_iter().step_by(step).collect();
    fs::write(corpus::file("corpus", target), kept.join("\n") + "\n")
}

fn unpack(target: &str, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let all = ["corpus", "regressions"].map(|kept| corpus::read(kept, target));
    for (number, (_, case)) in all.concat().iter().enumerate() {
        fs::write(folder.join(format!("kept-{number}")), case)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let known = |target: &str| TARGETS.iter().any(|one| one.name == target);
    let done = match words[..] {
        ["pack", target, folder] if known(target) => pack(target, Path::new(folder), BYTES),
        ["pack", target, folder, most] if known(target) => match most.parse() {
            Ok(most) => pack(target, Path::new(folder), most),
            Err(_) => Err(io::Error::other(USAGE)),
        },
        ["unpack", target, folder] if known(target) => unpack(target, Path::new(folder)),
        _ => Err(io::Error::other(USAGE)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}
