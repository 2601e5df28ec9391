//! Tins: DSCP mapping, parameters, priority and shares.

use super::{cake, next};
use crate::common::{Log, TestPacket, packet, stat};
use bloatlab_aqm::cake::tins::Diffserv;
use bloatlab_units::{MICROSECOND, MILLISECOND, Rate};
use serde_json::{Value, json};

/// DSCPs of the tins other than the default one, as tc-cake(8) and RFC 8622 list them.
fn check(diffserv: Diffserv, usual: u8, others: &[(u8, &[usize])]) {
    let mut expected = [usual; 64];
    for (tin, code_points) in others {
        for &code_point in *code_points {
            expected[code_point] = *tin;
        }
    }
    assert_eq!(diffserv.map(), expected, "{diffserv:?}");
}

#[test]
fn dscps_map_to_the_tins_of_the_manual() {
    check(Diffserv::Besteffort, 0, &[]);
    // LE, CS1; TOS4, VA, EF, CS6, CS7.
    let voice = [4, 44, 46, 48, 56];
    check(Diffserv::Diffserv3, 1, &[(0, &[1, 8]), (2, &voice)]);
    // TOS4, CS2, AF2x, CS3, AF3x, AF4x; CS4, CS5, VA, EF, CS6, CS7.
    let video = [4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38];
    let voice = [32, 40, 44, 46, 48, 56];
    let four: [(u8, &[usize]); 3] = [(0, &[1, 8]), (2, &video), (3, &voice)];
    check(Diffserv::Diffserv4, 1, &four);
    let eight: [(u8, &[usize]); 7] = [
        (0, &[1]),
        (1, &[2, 8, 10, 12, 14]),
        (3, &[24, 26, 28, 30, 34, 36, 38]),
        (4, &[4, 18, 20, 22]),
        (5, &[16]),
        (6, &[32, 40, 44, 46]),
        (7, &[48, 56]),
    ];
    check(Diffserv::Diffserv8, 2, &eight);
    let precedence = Diffserv::Precedence.map();
    assert!((0..64).all(|code_point| precedence[code_point] == (code_point / 8) as u8));
}

#[test]
fn settings_are_those_of_the_manual() {
    // The example of tc-cake(8): 100 Mbit/s, diffserv3.
    let queue = cake(json!({ "bandwidth": "100Mbit/s" }));
    let of = |name: &str| [0, 1, 2].map(|tin| stat(queue.as_ref(), &format!("tin{tin}_{name}")));
    assert_eq!(
        of("threshold_rate"),
        [6_250_000.0, 100_000_000.0, 25_000_000.0]
    );
    assert_eq!(of("target_us"), [5000.0; 3]);
    assert_eq!(of("interval_us"), [100_000.0; 3]);
    assert_eq!(of("quantum"), [300.0, 1514.0, 762.0]);
    assert_eq!(stat(queue.as_ref(), "memory_limit"), 5_000_000.0);
    // Each of the eight tins has seven eighths of the previous one's threshold.
    let queue = cake(json!({ "bandwidth": "8Mbit/s", "diffserv": "precedence" }));
    assert_eq!(stat(queue.as_ref(), "tin1_threshold_rate"), 7_000_000.0);
    assert_eq!(stat(queue.as_ref(), "tin2_threshold_rate"), 6_125_000.0);
    assert_eq!(stat(queue.as_ref(), "memory_limit"), f64::from(4 << 20));
}

#[test]
fn low_rates_stretch_target_and_interval() {
    let settings = Diffserv::Diffserv3.settings(Some(Rate(1_000_000)), 100 * MILLISECOND, 1500);
    // 1500 bytes take 12 ms: target 18, interval 100 + 18 - 5.
    let controller = settings[1].controller;
    assert_eq!(
        (controller.target, controller.interval),
        (18 * MILLISECOND, 113 * MILLISECOND)
    );
    // 192 ms at a sixteenth: target 288, interval twice that, which is above 383.
    let controller = settings[0].controller;
    assert_eq!(
        (controller.target, controller.interval),
        (288 * MILLISECOND, 576 * MILLISECOND)
    );
    let lan = Diffserv::Besteffort.settings(None, MILLISECOND, 1500);
    assert_eq!(
        (lan[0].controller.target, lan[0].controller.interval),
        (50 * MICROSECOND, MILLISECOND)
    );
}

fn with_dscp(id: u64, flow: u64, dscp: u8) -> TestPacket {
    TestPacket {
        dscp,
        ..packet(id, flow)
    }
}

#[test]
fn below_its_threshold_a_tin_goes_first() {
    let (mut queue, mut log, mut now) = (
        cake(json!({ "bandwidth": "10Mbit/s", "diffserv": "diffserv4" })),
        Log::default(),
        0,
    );
    for id in 0..5 {
        queue.enqueue(0, with_dscp(id, 1, 0), &mut log);
    }
    assert_eq!(queue.dequeue(0, &mut log).unwrap().id, 0);
    // Voice (EF), video (CS3) and bulk (CS1) arrive later. They leave by priority, and bulk after best effort's own shaper clock.
    for (id, dscp) in [(10, 8), (11, 24), (12, 46)] {
        queue.enqueue(1, with_dscp(id, id, dscp), &mut log);
    }
    now += 1;
    let order: Vec<u64> = (0..7)
        .map(|_| next(queue.as_mut(), &mut now, &mut log).unwrap().id)
        .collect();
    assert_eq!(&order[..2], [12, 11]);
    assert_eq!(queue.packets(), 0);
}

/// Departures by DSCP among 1000, with all constantly backlogged.
fn shares<const N: usize>(params: Value, code_points: [u8; N]) -> [usize; N] {
    let mut params = params;
    params["rtt"] = json!("1h");
    let (mut queue, mut log, mut now) = (cake(params), Log::default(), 0);
    for id in 0..1000 {
        for (n, &dscp) in code_points.iter().enumerate() {
            queue.enqueue(0, with_dscp(id, n as u64, dscp), &mut log);
        }
    }
    let mut sent = [0; N];
    for _ in 0..1000 {
        let packet = next(queue.as_mut(), &mut now, &mut log).unwrap();
        sent[packet.flow as usize] += 1;
    }
    assert!(log.dropped.is_empty());
    sent
}

#[test]
fn above_their_thresholds_tins_share() {
    let four = json!({ "bandwidth": "10Mbit/s", "diffserv": "diffserv4" });
    // Voice has a quarter and best effort the rest; bulk has a sixteenth of best effort's share.
    let near = |value: usize, expected: usize| value.abs_diff(expected) <= 3;
    let [voice, best] = shares(four.clone(), [46, 0]);
    assert!(near(voice, 250) && near(best, 750), "{voice} {best}");
    // Voice and video below their thresholds have three quarters together.
    let [voice, video, best] = shares(four.clone(), [46, 24, 0]);
    assert!(
        near(voice, 250) && near(video, 500) && near(best, 250),
        "{voice} {video} {best}"
    );
    // A single active tin gets the whole link, whatever its threshold.
    assert_eq!(shares(four, [8]), [1000]);
}

#[test]
fn without_a_rate_tins_share_by_weight() {
    // 64 to 1024 to 256, of 1344.
    let [bulk, best, voice] = shares(json!({}), [8, 0, 46]);
    let near = |value: usize, expected: f64| (value as f64 - expected).abs() <= 4.0;
    assert!(
        near(bulk, 47.6) && near(best, 761.9) && near(voice, 190.5),
        "{bulk} {best} {voice}"
    );
}

#[test]
fn washing_clears_the_code_point_after_the_choice() {
    for wash in [false, true] {
        let (mut queue, mut log) = (cake(json!({ "wash": wash })), Log::default());
        queue.enqueue(0, with_dscp(1, 1, 46), &mut log);
        assert_eq!(stat(queue.as_ref(), "tin2_pkts"), 1.0);
        let dscp = queue.dequeue(0, &mut log).unwrap().dscp;
        assert_eq!(dscp, if wash { 0 } else { 46 });
    }
}
