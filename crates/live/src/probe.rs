//! What this machine offers for runs in real time.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;

use serde::Serialize;
use socket2::{Domain, Socket, Type};

use crate::packet_socket::PacketSocket;
use crate::sandbox::{obstacle, scratch};
use crate::waiting::Hurry;

/// The report on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Probe {
    /// Whether scenarios can run in real time.
    pub runs: bool,
    /// Why they cannot.
    pub why: Option<String>,
    /// What to do about it.
    pub advice: Option<String>,
    /// Release of the kernel.
    pub kernel: String,
    /// Congestion controls that can be used, in alphabetical order.
    pub congestion_controls: Vec<String>,
    /// Queue disciplines of the kernel that can be used, of those that we know.
    pub queues: Vec<String>,
    /// What the link thread may do.
    pub scheduling: Scheduling,
    /// The paths of programs that some scenarios need, if they are installed.
    pub tools: BTreeMap<&'static str, Option<String>>,
}

/// What the link thread may do.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Scheduling {
    /// SCHED_FIFO, so that wake-ups are in time.
    pub real_time: bool,
    /// TUN devices can be made.
    pub tun: bool,
    /// Packet sockets pass frames of several segments.
    pub vnet_header: bool,
}

/// Congestion controls of Linux. The kernel loads the module of one that is asked for, if it may.
const CONGESTION_CONTROLS: [&str; 17] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];
/// Queue disciplines, as short as `tc` takes them.
const QUEUES: [&str; 22] = [
    "bfifo limit 3000",
    "blue",
    "cake",
    "choke limit 100 min 10 max 30 avpkt 1000 bandwidth 10mbit",
    "codel",
    "drr",
    "dualpi2",
    "fq",
    "fq_codel",
    "fq_pie",
    "gred",
    "hhf",
    "htb",
    "netem",
    "pfifo",
    "pfifo_head_drop",
    "pie",
    "prio",
    "red limit 60000 min 5000 max 15000 avpkt 1000 bandwidth 10mbit",
    "sfb",
    "sfq",
    "tbf rate 1mbit burst 10k limit 30k",
];
/// Programs that some scenarios need.
const TOOLS: [&str; 5] = ["tc", "iperf3", "curl", "ping", "slirp4netns"];

/// Finds out what this machine offers, by trying it in namespaces that vanish right after.
pub fn probe() -> Probe {
    let obstacle = obstacle();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let runs = obstacle.is_none();
    let (why, advice) =
        obstacle.map_or((None, None), |found| (Some(found.why), Some(found.advice)));
    Probe {
        runs,
        why,
        advice,
        kernel: release.trim().to_owned(),
        congestion_controls: congestion_controls().to_vec(),
        queues: if runs { queues() } else { Vec::new() },
        scheduling: Scheduling {
            real_time: Hurry::now().is_real_time(),
            tun: fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open("/dev/net/tun")
                .is_ok(),
            vnet_header: runs && has_vnet_header(),
        },
        tools: TOOLS.map(|tool| (tool, find(tool))).into_iter().collect(),
    }
}

/// The congestion controls that connections of this machine can use. They are tried once, because each trial may load a module.
pub(crate) fn congestion_controls() -> &'static [String] {
    static FOUND: OnceLock<Vec<String>> = OnceLock::new();
    FOUND.get_or_init(|| {
        // A user without privileges may use them all in a namespace of his own.
        let all = || {
            let Ok(socket) = Socket::new(Domain::IPV4, Type::STREAM, None) else {
                return Vec::new();
            };
            let works = |name: &&str| socket.set_tcp_congestion(name.as_bytes()).is_ok();
            let found: Vec<&str> = CONGESTION_CONTROLS.into_iter().filter(works).collect();
            found.join(" ").into_bytes()
        };
        words(&scratch(all).unwrap_or_default())
    })
}

/// The words that a scratch namespace answered.
fn words(answer: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(answer);
    text.split_whitespace().map(str::to_owned).collect()
}

/// The queue disciplines that this kernel has.
fn queues() -> Vec<String> {
    let all = || {
        let works = |words: &&&str| tc_error(words).is_none();
        let names = QUEUES.iter().filter(works);
        let names: Vec<&str> = names.filter_map(|words| words.split(' ').next()).collect();
        names.join(" ").into_bytes()
    };
    words(&scratch(all).unwrap_or_default())
}

/// Why this kernel does not accept a queue discipline by these words of `tc`. `None`: it accepts it.
pub(crate) fn queue_error(words: &str) -> Option<String> {
    let found = scratch(|| tc_error(words).unwrap_or_default().into_bytes());
    let found = found.map(|why| String::from_utf8_lossy(&why).into_owned());
    let why = found.unwrap_or_else(|error| error.to_string());
    (!why.is_empty()).then_some(why)
}

/// Tries a queue discipline on the loopback device of the present namespace.
fn tc_error(words: &str) -> Option<String> {
    let tc = |arguments: &[&str]| Command::new("tc").args(arguments).output();
    let add: Vec<&str> = ["qdisc", "add", "dev", "lo", "root"]
        .into_iter()
        .chain(words.split_whitespace())
        .collect();
    let why = match tc(&add) {
        Err(error) => Some(format!("tc cannot be started: {error}")),
        Ok(done) if done.status.success() => None,
        Ok(done) => {
            let text = String::from_utf8_lossy(&done.stderr);
            Some(text.lines().next().unwrap_or("without a reason").to_owned())
        }
    };
    // If nothing was added, there is nothing to delete.
    let _ = tc(&["qdisc", "del", "dev", "lo", "root"]);
    why
}

fn has_vnet_header() -> bool {
    const LOOPBACK: u32 = 1;
    let opened = scratch(|| match PacketSocket::open(LOOPBACK) {
        Ok(_) => vec![1],
        Err(_) => Vec::new(),
    });
    opened.is_ok_and(|answer| !answer.is_empty())
}

/// The path of a program.
pub(crate) fn find(program: &str) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(program));
    let found = found.into_iter().find(|file| file.is_file())?;
    Some(found.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_names_what_every_kernel_has() {
        let report = probe();
        assert!(report.congestion_controls.iter().any(|name| name == "reno"));
        assert_eq!(report.runs, report.why.is_none());
        assert_eq!(report.why.is_some(), report.advice.is_some());
        if report.runs && report.tools["tc"].is_some() {
            assert!(
                report.queues.iter().any(|name| name == "pfifo"),
                "{report:?}"
            );
            assert!(queue_error("no_such_queue").is_some());
            assert_eq!(queue_error("pfifo limit 10"), None);
        }
    }
}
