//! Tests CAKE against its paper and tc-cake(8), part by part, with the expected numbers computed by hand.

mod acks;
mod flows;
mod overhead;
mod shaper;
mod tins;

use crate::common::{Log, TestPacket};
use bloatlab_aqm::{Context, Hosts, Qdisc, QueueConfig};
use bloatlab_units::Nanos;
use serde_json::{Value, json};

/// A CAKE with these parameters in this context.
pub(crate) fn at(mut params: Value, context: Context) -> Box<dyn Qdisc<TestPacket>> {
    params["kind"] = json!("cake");
    let config: QueueConfig = serde_json::from_value(params).unwrap();
    config.validate().unwrap();
    config.build(context).unwrap()
}

/// A CAKE with these parameters, where every flow is between its own two hosts.
pub(crate) fn cake(params: Value) -> Box<dyn Qdisc<TestPacket>> {
    at(params, crate::common::context(1))
}

/// A CAKE whose flows are between these hosts.
pub(crate) fn between(params: Value, hosts: fn(u64) -> [u32; 2]) -> Box<dyn Qdisc<TestPacket>> {
    let context = Context {
        hosts: Hosts::new(hosts),
        ..crate::common::context(1)
    };
    at(params, context)
}

/// The next packet and the time when it may leave, from `now`. The queue is woken at the times it requests.
pub(crate) fn next(
    queue: &mut dyn Qdisc<TestPacket>,
    now: &mut Nanos,
    log: &mut Log,
) -> Option<TestPacket> {
    loop {
        let packet = queue.dequeue(*now, log);
        if packet.is_some() || queue.packets() == 0 {
            return packet;
        }
        *now = queue.next_wake().unwrap();
        queue.wake(*now);
        assert_eq!(queue.next_wake(), None);
    }
}

#[test]
fn every_word_of_tc_sets_a_valid_value() {
    use bloatlab_aqm::{Factory, Form};
    let tc = &bloatlab_aqm::cake::Params::TC[0];
    for word in tc.words {
        let value = match word.form {
            Form::Flag(json) => serde_json::from_str(json).unwrap(),
            Form::Decimal(..) => json!(20),
            Form::Rate => json!("10Mbit/s"),
            Form::Time => json!("20ms"),
            Form::Size => json!("1MB"),
            Form::Default | Form::Refused(_) => continue,
            other => panic!("{other:?}"),
        };
        cake(json!({ word.field: value }));
    }
}

#[test]
fn commands_of_tc_are_read() {
    let read = |text: &str| serde_json::from_value::<QueueConfig>(json!(text));
    let same = |text: &str, params: Value| {
        let mut params = params;
        params["kind"] = json!("cake");
        let config: QueueConfig = serde_json::from_value(params).unwrap();
        assert_eq!(read(text).unwrap(), config, "{text}");
    };
    same(
        "cake bandwidth 20mbit pppoe-ptm ether-vlan dual-srchost nat wash ack-filter rtt 60ms split-gso",
        json!({
            "bandwidth": "20Mbit/s", "link": "pppoe-ptm", "ether_vlan": 1, "flowmode": "dual-srchost",
            "nat": true, "wash": true, "ack_filter": "enabled", "rtt": "60ms",
        }),
    );
    same(
        "cake unlimited besteffort metro noatm overhead -4 mpu 64 memlimit 4mb",
        json!({
            "diffserv": "besteffort", "rtt": "10ms", "atm": "noatm", "overhead": -4, "mpu": 64,
            "memlimit": "4MiB",
        }),
    );
    for refused in ["cake fwmark 0xff", "cake autorate-ingress"] {
        assert!(read(refused).is_err(), "{refused}");
    }
}
