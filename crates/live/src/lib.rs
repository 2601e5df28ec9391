//! Runs a scenario on the real Linux stack: hosts in network namespaces, and our network between them in real time.
//!
//! The crate is empty on other systems than Linux.

#![cfg(target_os = "linux")]

mod arriving;
mod buffers;
mod clock;
mod command;
mod directory;
mod error;
pub mod ethtool;
mod frame;
mod frame_store;
mod hosts;
mod kernel_feed;
mod kernel_link;
mod kernel_links;
mod kernel_queue;
mod laid;
mod lateness;
mod layout;
mod link;
mod namespace;
mod netems;
pub mod netlink;
mod packet_socket;
mod places;
mod probe;
mod programs;
mod raw_socket;
mod refusals;
mod routed;
mod run;
mod samples;
pub mod sandbox;
mod servers;
mod steal;

pub mod sysctl;
mod tap;
mod uplink;
mod virtual_run;
mod waiting;

pub use clock::Clock;
pub use directory::{FIRST_PORT, MAX_FLOWS};
pub use error::Error;
pub use hosts::{Calls, End, FlowKind, FlowSpec, Hosts, Manner, Program, Streams};
pub use laid::{Carrier, Device, HOST_DEVICE, HOST_MAC, Laid, lay};
pub use lateness::Lateness;
pub use layout::{FlowRefusal, Host, Layout, MOST_NAMESPACES, address, layout};
pub use namespace::Namespace;
pub use probe::{Probe, Scheduling, probe};
pub use programs::Foreground;
pub use refusals::{Kernel, Refusal, refusals};
pub use run::{Finished, LinkKind, RunOptions, run};
pub use samples::{Names, Sample, Samples};
pub use sandbox::enter;
pub use uplink::descriptor;
pub use virtual_run::run_in_virtual_time;
