//! A cell between unlimited queues, and a record of its output.

use std::collections::VecDeque;

use bloatlab_link::Disk;
use bloatlab_radio::Rule;
use bloatlab_radio::cell::params::CellParams;
use bloatlab_radio::cell::prioritisation::LogicalChannel;
use bloatlab_radio::cell::{Above, BearerParams, Cell};
use bloatlab_radio::channel::{ChannelParams, Fixed};
use bloatlab_radio::rlc::Sdu;
use bloatlab_units::{Frequency, Nanos, Streams};
use serde_json::json;

/// Unlimited queues, and the packets that came out.
#[derive(Default)]
pub struct Ends {
    pub queues: Vec<VecDeque<Sdu<u64>>>,
    pub delivered: Vec<Vec<(Nanos, u64)>>,
    pub lost: Vec<Vec<u64>>,
    pub blocks: Vec<u64>,
    pub share: f64,
}

impl Above<u64> for Ends {
    fn opportunity(&mut self, _bearer: usize, _now: Nanos, _held_since: Option<Nanos>) {}

    fn pull(&mut self, bearer: usize, _now: Nanos) -> Option<Sdu<u64>> {
        self.queues[bearer].pop_front()
    }

    fn packets(&self, bearer: usize) -> u64 {
        self.queues[bearer].len() as u64
    }

    fn bytes(&self, bearer: usize) -> u64 {
        let sizes = self.queues[bearer].iter().map(|sdu| u64::from(sdu.bytes));
        sizes.sum()
    }

    fn filled(&mut self, _bearer: usize, _now: Nanos, _offered: u32) {}

    fn sent_part(&mut self, _bearer: usize, _now: Nanos, _left: u32) {}

    fn sent(&mut self, bearer: usize, _now: Nanos, bytes: u32, share: f64) {
        self.blocks[bearer] += u64::from(bytes);
        self.share += share;
    }

    fn delivered(&mut self, bearer: usize, now: Nanos, packet: &u64) {
        self.delivered[bearer].push((now, *packet));
    }

    fn lost(&mut self, bearer: usize, _now: Nanos, packet: &u64) {
        self.lost[bearer].push(*packet);
    }
}

pub struct Rig {
    pub cell: Cell<u64>,
    pub ends: Ends,
    pub next: u64,
}

/// A cell whose UEs have these bearers.
pub fn rig_of(params: &CellParams, bearers: &[BearerParams], seed: u64) -> Rig {
    params.validate().unwrap();
    let mut params = params.clone();
    let channels = params.load(&Disk).unwrap();
    let count = 2 * channels.len() * bearers.len();
    Rig {
        cell: Cell::new(&params, bearers, &channels, &Streams::new(seed)).unwrap(),
        ends: Ends {
            queues: vec![VecDeque::new(); count],
            delivered: vec![Vec::new(); count],
            lost: vec![Vec::new(); count],
            blocks: vec![0; count],
            share: 0.0,
        },
        next: 0,
    }
}

impl Rig {
    pub fn enter(&mut self, now: Nanos, bearer: usize, bytes: u32) {
        self.run(now);
        let item = self.next;
        self.next += 1;
        self.ends.queues[bearer].push_back(Sdu {
            item,
            bytes,
            entered_at: now,
        });
        self.cell.wake(now);
    }

    pub fn run(&mut self, until: Nanos) {
        while let Some(at) = self.cell.next_event().filter(|&at| at < until) {
            self.cell.run(at, &mut self.ends);
        }
    }
}

pub fn fixed(snr_db: f64) -> ChannelParams {
    ChannelParams::Fixed(Fixed { snr_db })
}

/// The cell of the RLC experiment.
pub fn lena() -> CellParams {
    CellParams {
        frequency: Frequency(6_000_000_000),
        rule: Rule::Lena,
        rlc: serde_json::from_value(json!({"mode": "um", "framing": "lena"})).unwrap(),
        pdcp: serde_json::from_value(
            json!({"sn_bits": 12, "sdap_header": false, "out_of_order": true}),
        )
        .unwrap(),
        sounding_offset: 50,
        ues: vec![fixed(89.0)],
        ..CellParams::default()
    }
}

/// A bearer with this priority, and otherwise as the cell's bearers.
pub fn prioritised(params: &CellParams, priority: u8) -> BearerParams {
    let channel = LogicalChannel {
        priority,
        ..LogicalChannel::default()
    };
    BearerParams {
        channel,
        ..params.bearer()
    }
}
