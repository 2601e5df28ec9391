//! The flows of a run as its hosts need to know them, with their programs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bloatlab_scenario::{PlanFlow, Traffic};
use bloatlab_tcp::{ReceiveWindow, TcpConfig};
use bloatlab_units::SECOND;

use crate::directory::FIRST_PORT;
use crate::hosts::{Calls, End, FlowKind, FlowSpec, Manner, Program, Streams};
use crate::laid::Laid;
use crate::layout::linux_name;
use crate::servers::Servers;

/// What a receiver in virtual time reads: a small share of its buffer, so that what waits hardly lowers the window that it offers.
const SHARE_OF_BUFFER: u64 = 64;
const SMALLEST_PIECE: u64 = 64 << 10;
const LARGEST_PIECE: u64 = 256 << 10;

/// A program that has the standard streams of this process.
#[derive(Clone, Debug)]
pub struct Foreground {
    /// The name of its flow.
    pub flow: String,
    /// It is a shell that a person uses in a terminal.
    pub is_interactive: bool,
}

/// What the flows of a run need to start their programs.
pub(crate) struct Programs<'a> {
    /// Directory for what programs print; `None`: it is not kept.
    pub files: Option<&'a Path>,
    /// Variables for the environment and the arguments of programs.
    pub variables: &'a [(String, String)],
    pub foreground: Option<&'a Foreground>,
    /// Time is virtual, so that system calls are what a run costs.
    pub is_virtual: bool,
    pub laid: &'a Laid,
}

/// Bytes that a sparing receiver reads at once if the scenario does not say. The kernel tunes a buffer by what the application reads, so then it reads
/// what is there.
fn piece(tcp: &TcpConfig) -> u64 {
    match tcp.receive_window {
        ReceiveWindow::Autotuned => 0,
        _ => (tcp.receive_buffer.0 / SHARE_OF_BUFFER).clamp(SMALLEST_PIECE, LARGEST_PIECE),
    }
}

impl Programs<'_> {
    /// Starts the programs that listen.
    pub fn servers(&self, flows: &[&PlanFlow]) -> io::Result<Servers> {
        let mut servers = Servers::default();
        for flow in flows {
            if let Some(programs) = flow.traffic.programs(&linux_name(flow)) {
                let (namespace, _) = self.laid.hosts[flow.hosts[0] as usize];
                servers.start(
                    &flow.name,
                    &self.laid.namespaces[namespace],
                    (&programs.server, &self.variables(flow)),
                    self.file(flow, "-server"),
                )?;
            }
        }
        Ok(servers)
    }

    /// What the hosts need to know of a flow.
    pub fn spec(&self, index: usize, flow: &PlanFlow) -> FlowSpec {
        let ends = flow.hosts.map(|host| {
            let (namespace, address) = self.laid.hosts[host as usize];
            End {
                namespace: Arc::clone(&self.laid.namespaces[namespace]),
                address,
            }
        });
        let cca = linux_name(flow);
        let kind = if let Some(programs) = flow.traffic.programs(&cca) {
            FlowKind::Program(Program {
                words: programs.client,
                variables: self.variables(flow),
                streams: match self.foreground {
                    Some(wanted) if wanted.flow == flow.name => match wanted.is_interactive {
                        true => Streams::Terminal,
                        false => Streams::Inherited,
                    },
                    _ if programs.reports_fetches => Streams::Fetches,
                    _ => Streams::File(self.file(flow, "")),
                },
            })
        } else if flow.traffic.is_tcp() {
            let is_endless = matches!(flow.traffic, Traffic::Greedy(_));
            let (manner, usual) = match self.is_virtual && is_endless {
                true => (Manner::Sparing, piece(&flow.tcp)),
                false => (Manner::Prompt, 0),
            };
            let read_size = match flow.tcp.read_size.0 {
                0 => usual,
                given => given,
            };
            let write_size = match flow.tcp.write_size.0 {
                0 => usize::MAX,
                given => given as usize,
            };
            let calls = Calls {
                manner,
                read_size: read_size as u32,
                write_size,
            };
            FlowKind::Tcp { cca, calls }
        } else if flow.traffic.has_data() {
            FlowKind::Udp
        } else {
            FlowKind::Echo
        };
        FlowSpec {
            name: flow.name.clone(),
            kind,
            ends,
            port: FIRST_PORT + index as u16,
            dscp: flow.dscp,
        }
    }

    /// The variables of a flow's programs.
    fn variables(&self, flow: &PlanFlow) -> Vec<(String, String)> {
        let (_, server) = self.laid.hosts[flow.hosts[0] as usize];
        let seconds = flow.stop.saturating_sub(flow.start).div_ceil(SECOND);
        let own = [
            ("BLOATLAB_SERVER".to_owned(), server.to_string()),
            ("BLOATLAB_SECONDS".to_owned(), seconds.to_string()),
        ];
        own.into_iter()
            .chain(self.variables.iter().cloned())
            .collect()
    }

    /// The file for what a program of a flow prints.
    fn file(&self, flow: &PlanFlow, suffix: &str) -> PathBuf {
        let usable = |character: char| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => character,
            _ => '_',
        };
        let name: String = flow.name.chars().map(usable).collect();
        match self.files {
            Some(files) => files.join(format!("{name}{suffix}.txt")),
            None => PathBuf::from("/dev/null"),
        }
    }
}
