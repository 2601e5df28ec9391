//! Token buckets computed by hand: departure times of a shaper, and packets that a policer passes.

use crate::common::{Log, TestPacket, build, ms, packet, stat};
use bloatlab_aqm::{DropReason, Ecn, Qdisc, htb};
use bloatlab_units::{Bytes, Nanos, Rate, SECOND};
use serde_json::json;

/// Enqueues packets of these sizes, all of one flow, with identities from 0.
fn arrive(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, now: Nanos, sizes: &[u32]) {
    for (id, &size) in (0..).zip(sizes) {
        queue.enqueue(
            now,
            TestPacket {
                size,
                ..packet(id, 0)
            },
            log,
        );
    }
}

/// Departure times of the packets if an infinitely fast link requests packets at `now` and at every wake-up.
fn departures(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, mut now: Nanos) -> Vec<Nanos> {
    let mut times = Vec::new();
    while queue.packets() > 0 {
        if queue.dequeue(now, log).is_some() {
            times.push(now);
        } else {
            let at = queue.next_wake().unwrap();
            assert!(at > now);
            now = at;
            queue.wake(now);
        }
    }
    times
}

#[test]
fn tbf_sends_its_burst_at_once_and_then_at_its_rate() {
    // 8 Mbit/s: 1 us per byte.
    let mut queue = build(json!({ "kind": "tbf", "rate": "8Mbit/s", "burst": "3000B" }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[1500, 1500, 1500, 500, 1500]);
    let times = departures(queue.as_mut(), &mut log, 0);
    assert_eq!(times, [0, 0, ms(1.5), ms(2.0), ms(3.5)]);
    assert_eq!(stat(queue.as_ref(), "overlimits"), 3.0);
    // Empty at 3.5 ms; 2 ms later there are tokens for 2000 bytes.
    arrive(queue.as_mut(), &mut log, ms(5.5), &[1500, 1500]);
    assert_eq!(
        departures(queue.as_mut(), &mut log, ms(5.5)),
        [ms(5.5), ms(6.5)]
    );
    // The tokens gathered in an hour do not exceed the burst.
    let later = 3600 * SECOND;
    arrive(queue.as_mut(), &mut log, later, &[1500; 3]);
    assert_eq!(
        departures(queue.as_mut(), &mut log, later),
        [later, later, later + ms(1.5)]
    );
}

#[test]
fn tbf_keeps_fractions_of_a_nanosecond_at_odd_rates() {
    let mut queue = build(json!({ "kind": "tbf", "rate": "9999991bit/s", "burst": "3000B" }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[1500; 502]);
    let times = departures(queue.as_mut(), &mut log, 0);
    // The n-th packet after the burst leaves after n * 12000 bits at 9 999 991 bit/s, rounded up once rather than n times.
    for (n, &at) in (1_u128..).zip(&times[2..]) {
        assert_eq!(
            u128::from(at),
            (n * 12_000 * 1_000_000_000).div_ceil(9_999_991)
        );
    }
    assert_eq!(times.len(), 502);
}

#[test]
fn tbf_drops_packets_larger_than_the_bucket() {
    let mut queue = build(json!({ "kind": "tbf", "rate": "8Mbit/s", "burst": "1499B" }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[1500, 1499]);
    assert_eq!(log.dropped_ids(), [0]);
    assert_eq!(log.dropped[0].1, DropReason::Overflow);
    assert_eq!(stat(queue.as_ref(), "drops"), 1.0);
    let mut queue = build(json!({ "kind": "tbf", "peakrate": "20Mbit/s", "mtu": "1000B" }));
    arrive(queue.as_mut(), &mut log, 0, &[1001, 1000]);
    assert_eq!(log.dropped_ids(), [0, 0]);
    assert_eq!(queue.packets(), 1);
}

#[test]
fn the_peak_rate_spaces_a_burst() {
    // 0.5 us per byte at the peak rate, 1 us per byte otherwise.
    let mut queue = build(json!({
        "kind": "tbf", "rate": "8Mbit/s", "burst": "4000B", "peakrate": "16Mbit/s", "mtu": "1000B",
    }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[1000; 9]);
    // The burst lasts until 4000 + t = 1000 + 2 t, t = 3 ms: eight packets have left at 3.5 ms, the ninth waits for the rate:
    // 9000 = 4000 + 5 ms. The seventh and eighth: 7000 at 3 ms both ways, 8000 at 4 ms.
    let expected = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0].map(ms);
    assert_eq!(departures(queue.as_mut(), &mut log, 0), expected);
}

#[test]
fn small_packets_take_the_tokens_of_mpu() {
    let mut queue =
        build(json!({ "kind": "tbf", "rate": "8Mbit/s", "burst": "200B", "mpu": "100B" }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[40; 4]);
    assert_eq!(
        departures(queue.as_mut(), &mut log, 0),
        [0, 0, 100_000, 200_000]
    );
}

#[test]
fn tbf_limits_bytes_or_their_delay() {
    let held = |config| {
        let (mut queue, mut log) = (build(config), Log::default());
        arrive(queue.as_mut(), &mut log, 0, &[100; 2000]);
        queue.bytes()
    };
    let tbf = |name: &str, value| {
        held(json!({ "kind": "tbf", "rate": "8Mbit/s", "burst": "1kB", name: value }))
    };
    assert_eq!(tbf("limit", "5kB"), 5_000);
    assert_eq!(tbf("limit", "12p"), 1_200);
    // tc-tbf(8): 20 ms at 8 Mbit/s, and the burst.
    assert_eq!(tbf("latency", "20ms"), 21_000);
    assert_eq!(tbf("mpu", "0B"), 100_000);
    // The peak rate allows 20 ms at 10 Mbit/s plus one mtu, which is more. At 20 ms and a peak burst of 100 B: 25 100.
    let peak = json!({
        "kind": "tbf", "rate": "8Mbit/s", "burst": "9kB", "peakrate": "10Mbit/s", "mtu": "100B", "latency": "20ms",
    });
    assert_eq!(held(peak), 25_100);
}

#[test]
fn htb_tells_the_kernel_the_bursts_that_tc_would_compute() {
    let class = htb::Params {
        burst: Some(Bytes(15_000)),
        ceil: Some(Rate(80_000_000_000)),
        ..htb::Params::default()
    };
    let class = class.with_bursts();
    // A tick of 1 ns at 80 Gbit/s are 10 bytes.
    assert_eq!(class.burst, Some(Bytes(15_000)));
    assert_eq!(class.cburst, Some(Bytes(1_610)));
    assert_eq!(
        htb::Params::default().with_bursts().burst,
        Some(Bytes(1_600))
    );
}

#[test]
fn htb_may_go_into_debt() {
    // 1600 bytes at the start: the first packet leaves 100; the second causes a debt of 1400 bytes, which takes 1.4 ms.
    let mut queue = build(json!({ "kind": "htb", "rate": "8Mbit/s" }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[1500; 5]);
    let times = departures(queue.as_mut(), &mut log, 0);
    assert_eq!(times, [0, 0, ms(1.4), ms(2.9), ms(4.4)]);
    assert_eq!(stat(queue.as_ref(), "lended"), 5.0);
    // Debt of 1500 bytes, in ns.
    assert_eq!(stat(queue.as_ref(), "tokens"), -1_500_000.0);
}

#[test]
fn the_ceil_spaces_what_the_burst_allows() {
    // ceil 16 Mbit/s, 0.5 us per byte: debts of 1400, 1500, ... bytes; rate 8 Mbit/s with 6000 bytes at the start.
    let mut queue =
        build(json!({ "kind": "htb", "rate": "8Mbit/s", "ceil": "16Mbit/s", "burst": "6000B" }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[1500; 9]);
    let times = departures(queue.as_mut(), &mut log, 0);
    // Packet n leaves when 1600 + 2 t >= 1500 n and 6000 + t >= 1500 n, n packets having left before.
    assert_eq!(
        times,
        [0.0, 0.0, 0.7, 1.45, 2.2, 2.95, 3.7, 4.5, 6.0].map(ms)
    );
}

#[test]
fn a_rate_step_takes_effect_while_a_packet_waits() {
    let config = json!({
        "kind": "htb", "rate": "8Mbit/s", "burst": "1500B", "cburst": "1500B",
        "rate_steps": [{ "at": "500us", "rate": "4Mbit/s" }, { "at": "2ms", "rate": "16Mbit/s" }],
    });
    let mut queue = build(config);
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[1500; 5]);
    // Two leave at once, then there is a debt of 1500 bytes: 500 are paid by 0.5 ms, 750 by 2 ms at 2 us per byte, 250 by 2.125 ms at 0.5 us per
    // byte.
    let times = departures(queue.as_mut(), &mut log, 0);
    assert_eq!(times, [0.0, 0.0, 2.125, 2.875, 3.625].map(ms));
}

#[test]
fn a_rate_step_counts_while_nothing_waits() {
    let config = json!({
        "kind": "htb", "rate": "8Mbit/s", "burst": "10kB", "cburst": "10kB",
        "rate_steps": [{ "at": "1ms", "rate": "800kbit/s" }],
    });
    let mut queue = build(config);
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[5000, 5000, 5000]);
    let now = 0;
    assert!((0..3).all(|_| queue.dequeue(now, &mut log).is_some()));
    // 5000 bytes of debt: 1000 are paid by 1 ms, and 100 per millisecond from then on.
    arrive(queue.as_mut(), &mut log, ms(31.0), &[1500]);
    assert_eq!(departures(queue.as_mut(), &mut log, ms(31.0)), [ms(41.0)]);
}

#[test]
fn the_inner_queue_manages_waiting_packets() {
    // CoDel inside a shaper also counts the time that packets wait for tokens.
    let mut queue = build(json!({ "kind": "htb", "rate": "1Mbit/s", "queue": "codel" }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[1500; 100]);
    let times = departures(queue.as_mut(), &mut log, 0);
    assert_eq!(times.len() + log.dropped.len(), 100);
    assert!(
        log.dropped
            .iter()
            .all(|(_, reason)| *reason == DropReason::Aqm)
    );
    assert_eq!(stat(queue.as_ref(), "drop_count"), log.dropped.len() as f64);
    assert!(log.dropped.len() > 3);
}

#[test]
fn the_inner_queue_is_woken_at_its_own_time() {
    for kind in ["tbf", "htb", "policer", "priority"] {
        let config =
            json!({ "kind": kind, "queue": { "kind": "pie", "tupdate": "20ms", "target": "1ms" } });
        let mut queue = build(config);
        assert_eq!(queue.next_wake(), Some(ms(20.0)), "{kind}");
        queue.wake(ms(20.0));
        assert_eq!(queue.next_wake(), Some(ms(40.0)), "{kind}");
    }
    // 10 Mbit/s: the second packet's debt of 1400 bytes is paid at 1.12 ms, before PIE's update.
    let mut queue = build(json!({ "kind": "htb", "queue": "pie" }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[1500; 3]);
    assert!(queue.dequeue(0, &mut log).is_some() && queue.dequeue(0, &mut log).is_some());
    assert!(queue.dequeue(0, &mut log).is_none());
    assert_eq!(queue.next_wake(), Some(ms(1.12)));
    queue.wake(ms(1.12));
    assert_eq!(queue.next_wake(), Some(ms(15.0)));
    assert!(queue.dequeue(ms(1.12), &mut log).is_some());
}

#[test]
fn a_shaper_in_a_shaper_sends_at_the_slower_rate() {
    let inner = json!({ "kind": "tbf", "rate": "8Mbit/s", "burst": "1500B" });
    let mut queue = build(json!({ "kind": "htb", "rate": "800Mbit/s", "queue": inner }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[1500; 4]);
    let times = departures(queue.as_mut(), &mut log, 0);
    assert_eq!(times, [0.0, 1.5, 3.0, 4.5].map(ms));
}

#[test]
fn the_policer_drops_packets_without_tokens() {
    let mut queue = build(json!({ "kind": "policer", "rate": "8Mbit/s", "burst": "3000B" }));
    let mut log = Log::default();
    // 3000 tokens: two packets pass; the third does not, and the small one finds no tokens either.
    arrive(queue.as_mut(), &mut log, 0, &[1500, 1500, 1500, 40]);
    assert_eq!(log.dropped_ids(), [2, 3]);
    assert!(
        log.dropped
            .iter()
            .all(|(_, reason)| *reason == DropReason::Aqm)
    );
    // 1 ns too early, and in time. Dropped packets take no tokens.
    log.dropped.clear();
    arrive(queue.as_mut(), &mut log, ms(1.5) - 1, &[1500]);
    assert_eq!(log.dropped_ids(), [0]);
    arrive(queue.as_mut(), &mut log, ms(1.5), &[1500]);
    assert_eq!(log.dropped.len(), 1);
    assert_eq!(queue.packets(), 3);
    assert_eq!(
        (
            stat(queue.as_ref(), "overlimits"),
            stat(queue.as_ref(), "drops")
        ),
        (3.0, 3.0)
    );
    // A policer holds nothing back.
    assert!((0..3).all(|_| queue.dequeue(ms(1.5), &mut log).is_some()));
}

#[test]
fn the_policer_applies_mpu_overhead_and_a_peak_rate() {
    let config = json!({
        "kind": "policer", "rate": "8Mbit/s", "burst": "4000B", "peakrate": "16Mbit/s", "mtu": "1000B",
    });
    let mut queue = build(config);
    let mut log = Log::default();
    // Too large; conforming; beyond the peak's 1000 bytes.
    arrive(queue.as_mut(), &mut log, 0, &[1001, 1000, 1000]);
    assert_eq!(log.dropped_ids(), [0, 2]);
    // 0.5 us a byte.
    arrive(queue.as_mut(), &mut log, ms(0.5), &[1000]);
    assert_eq!(queue.packets(), 2);
}

#[test]
fn the_policer_marks_if_configured() {
    let config =
        json!({ "kind": "policer", "rate": "8Mbit/s", "burst": "1500B", "exceed": "mark" });
    let mut queue = build(config);
    let mut log = Log::default();
    for (id, ecn) in (0..).zip([Ecn::Ect0, Ecn::Ect0, Ecn::NotEct, Ecn::Ect1]) {
        queue.enqueue(
            0,
            TestPacket {
                ecn,
                ..packet(id, 0)
            },
            &mut log,
        );
    }
    assert_eq!(log.dropped_ids(), [2]);
    let marked: Vec<u64> = log.marked.iter().map(|packet| packet.id).collect();
    assert_eq!(marked, [1, 3]);
    assert_eq!(stat(queue.as_ref(), "ecn_mark"), 2.0);
    assert_eq!(queue.packets(), 3);
}

#[test]
fn an_inner_queue_may_become_ready_while_tokens_are_missing() {
    let mut queue = build(json!({
        "kind": "htb", "rate": "1Mbit/s", "burst": "2000B", "cburst": "2000B",
        "queue": { "kind": "fq", "maxrate": "10Mbit/s", "quantum": "256B", "initial_quantum": "100B" },
    }));
    let mut log = Log::default();
    for (id, flow, size) in [(0, 0, 1500), (1, 0, 1500), (2, 1, 100), (3, 1, 1000)] {
        let packet = TestPacket {
            size,
            ..packet(id, flow)
        };
        queue.enqueue(0, packet, &mut log);
    }
    let mut next = |now| queue.dequeue(now, &mut log).map(|packet| packet.id);
    // fq holds both flows back: the first until 1.2 ms, the second until 0.2048 ms.
    assert_eq!([next(0), next(0), next(0)], [Some(0), Some(2), None]);
    assert_eq!(next(ms(0.2048)), Some(3));
    // 2600 B take 20.8 ms, of which the burst covered 16. The first flow's departure time has come, but it cannot be served.
    assert_eq!(next(ms(2.0)), None);
    assert_eq!(queue.next_wake(), Some(ms(4.8)));
}

/// Enqueues buffers of two packets of 1500 bytes each.
fn arrive_in_pairs(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, now: Nanos, buffers: u32) {
    for id in 0..2 * buffers {
        let pair = TestPacket {
            size: 1500,
            has_more: id % 2 == 0,
            follows: id % 2 == 1,
            ..packet(id.into(), 0)
        };
        queue.enqueue(now, pair, log);
    }
}

#[test]
fn htb_sends_an_offload_buffer_whole_and_then_pays_for_it() {
    // 1600 bytes at the start, so the first buffer of 3000 bytes causes a debt of 1400 bytes; the next ones 3 ms apart.
    let mut queue = build(json!({ "kind": "htb", "rate": "8Mbit/s" }));
    let mut log = Log::default();
    arrive_in_pairs(queue.as_mut(), &mut log, 0, 3);
    let times = departures(queue.as_mut(), &mut log, 0);
    assert_eq!(times, [0.0, 0.0, 1.4, 1.4, 4.4, 4.4].map(ms));
}

#[test]
fn htb_sends_the_rest_of_a_buffer_that_arrives_while_the_first_packet_leaves() {
    // After the first packet the bucket is in debt. The queue is empty when the link asks for more, and then the second packet arrives.
    let mut queue = build(json!({ "kind": "htb", "rate": "8Mbit/s", "burst": "100B" }));
    let mut log = Log::default();
    let one = |id: u64| TestPacket {
        has_more: id == 0,
        follows: id == 1,
        ..packet(id, 0)
    };
    queue.enqueue(0, one(0), &mut log);
    assert!(queue.dequeue(0, &mut log).is_some());
    assert!(queue.dequeue(0, &mut log).is_none());
    queue.enqueue(0, one(1), &mut log);
    assert!(queue.dequeue(0, &mut log).is_some());
    // Another buffer waits for tokens.
    queue.enqueue(0, one(2), &mut log);
    assert!(queue.dequeue(0, &mut log).is_none());
}

#[test]
fn netem_keeps_each_packet_for_its_delay_and_no_longer() {
    let mut queue = build(json!({ "kind": "netem", "delay": "5ms", "limit": "3p" }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[100, 1500]);
    arrive(queue.as_mut(), &mut log, ms(2.0), &[100, 100]);
    assert_eq!(log.dropped.len(), 1, "delayed packets hold places");
    assert_eq!(queue.dequeue(ms(4.0), &mut log).map(|p| p.id), None);
    assert_eq!(queue.next_wake(), Some(ms(5.0)));
    let times = departures(queue.as_mut(), &mut log, ms(4.0));
    assert_eq!(times, [5.0, 5.0, 7.0].map(ms));
}

#[test]
fn in_netem_below_htb_waiting_for_tokens_counts_as_delay() {
    // As on a link of Mininet: the delay is over long before the tokens are there, except for the first packet.
    let netem = json!({ "kind": "netem", "delay": "1ms" });
    let mut queue = build(json!({ "kind": "htb", "rate": "8Mbit/s", "queue": netem }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 0, &[1500; 4]);
    let times = departures(queue.as_mut(), &mut log, 0);
    assert_eq!(times, [1.0, 1.0, 2.4, 3.9].map(ms));
}
