//! The sandbox of a process. Its functions need processes with a single thread, so this test has no harness: it starts itself again in several roles.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio, exit};
use std::time::{Duration, Instant};

use bloatlab_live::sandbox::{enter, obstacle};
use bloatlab_live::{Namespace, sysctl};

/// The user and group without privileges.
const NOBODY: u32 = 65_534;
/// The longest that any process may take to end.
const DEADLINE: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("driver") => driver(&arguments[2]),
        Some("sleeper") => sleep(),
        Some("worker") => worker(&arguments[2]),
        _ => all(),
    }
}

fn all() -> ExitCode {
    if let Some(obstacle) = obstacle() {
        eprintln!("skipped: {}", obstacle.why);
        return ExitCode::SUCCESS;
    }
    // SAFETY: the call takes no arguments and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let users = [None, Some(NOBODY)];
    for user in users.into_iter().take(1 + usize::from(is_root)) {
        passes_its_status_on(user);
        passes_a_signal_on(user);
        dies_with_its_driver(user);
    }
    ExitCode::SUCCESS
}

/// Starts this program in another role, as root or without privileges.
fn start(role: &str, what: &str, user: Option<u32>) -> Child {
    // A user without privileges may not be allowed to enter the directory of the build.
    let program = match user {
        None => std::env::current_exe().expect("a program"),
        Some(_) => "/proc/self/exe".into(),
    };
    let mut command = Command::new(program);
    command.args([role, what]).stdout(Stdio::piped());
    if let Some(id) = user {
        command.uid(id).gid(id);
    }
    command.spawn().expect("a process")
}

fn passes_its_status_on(user: Option<u32>) {
    let mut child = start("worker", "status", user);
    let mut said = String::new();
    let mut output = child.stdout.take().expect("a pipe");
    output.read_to_string(&mut said).expect("text");
    assert_eq!(said, "alone\n", "{user:?}");
    assert_eq!(child.wait().expect("a child").code(), Some(7));
}

fn passes_a_signal_on(user: Option<u32>) {
    let mut child = start("worker", "sleep", user);
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "ready");
    // SAFETY: the call takes numbers, and the child is ours.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGTERM) }, 0);
    let status = child.wait().expect("a child");
    assert_eq!(status.code(), Some(128 + libc::SIGTERM));
    assert!(lines.next().is_none());
}

/// After `kill -9` of the driver, the pipe closes that all processes of the sandbox have open.
fn dies_with_its_driver(user: Option<u32>) {
    let mut driver = start("driver", "sleep", user);
    let mut output = BufReader::new(driver.stdout.take().expect("a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("text");
    assert_eq!(line, "ready\n");
    driver.kill().expect("a driver that runs");
    let status = driver.wait().expect("a child");
    assert_eq!(status.signal(), Some(libc::SIGKILL));
    let start = Instant::now();
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).expect("the end");
    assert!(start.elapsed() < DEADLINE && rest.is_empty());
}

/// Starts a worker, and would wait for it for ever.
fn driver(what: &str) -> ExitCode {
    let program = Path::new("/proc/self/exe");
    let parent = std::process::id().to_string();
    let mut command = Command::new(program);
    command.args(["worker", what]).env("DRIVER", parent);
    let _ = command.status();
    ExitCode::FAILURE
}

/// Enters the sandbox and does what it is told.
fn worker(what: &str) -> ExitCode {
    let parent = std::env::var("DRIVER").ok().and_then(|id| id.parse().ok());
    if let Err(error) = enter(parent).and_then(|()| work(what)) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn work(what: &str) -> io::Result<()> {
    match what {
        "status" => {
            let interfaces = fs::read_to_string("/proc/self/net/dev")?;
            let is_alone = interfaces.lines().skip(2).count() <= 8 && !interfaces.contains("eth0");
            let is_second =
                std::process::id() == 2 && fs::read_link("/proc/self")? == Path::new("2");
            sysctl::set("net.ipv4.tcp_sack", "0")?;
            Namespace::new()?;
            println!(
                "{}",
                if is_alone && is_second {
                    "alone"
                } else {
                    "not alone"
                }
            );
            exit(7);
        }
        _ => {
            // A child that nobody waits for must end, too.
            Command::new("/proc/self/exe")
                .args(["sleeper"])
                .spawn()
                .map(drop)?;
            println!("ready");
            sleep()
        }
    }
}

/// Does nothing for ever.
fn sleep() -> ! {
    loop {
        std::thread::park();
    }
}
