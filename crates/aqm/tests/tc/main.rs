//! Linux's arguments for a queue: which are read, which are refused, how they are printed, and that reading and printing are inverse.

mod every_word;
mod linux;
mod per_flow;
mod round_trip;

use bloatlab_aqm::{QueueConfig, Tc, codel, fifo, fq_codel, head_drop, pie};
use bloatlab_units::{Bytes, Duration, Limit, MILLISECOND};
use serde_json::json;

/// The configuration that a scenario gives for a queue in tc's arguments, with the same checks as a scenario.
pub fn read(text: &str) -> Result<QueueConfig, String> {
    let config: QueueConfig =
        serde_json::from_value(json!(text)).map_err(|error| error.to_string())?;
    config.validate()?;
    Ok(config)
}

/// Typical configurations of each qdisc besides its defaults.
pub const CONFIGURED: &[&str] = &[
    "pfifo limit 100",
    "bfifo limit 30k",
    "netem limit 100 delay 5ms",
    "pfifo_head_drop limit 50",
    "cake bandwidth 20mbit diffserv4 dual-srchost ingress ack-filter rtt 30ms overhead 18 mpu 64 memlimit 4m",
    "choke limit 410 min 41 max 123 burst 69 probability 0.1 bandwidth 50mbit ecn",
    "codel limit 500 target 10ms interval 200ms ecn ce_threshold 1ms",
    "tc qdisc add dev lo root handle 1: drr\n\
     tc class add dev lo parent 1: classid 1:1 drr quantum 3000\n\
     tc class add dev lo parent 1: classid 1:2 drr quantum 3000\n\
     tc qdisc add dev lo parent 1:1 handle 11: pfifo limit 50\n\
     tc qdisc add dev lo parent 1:2 handle 12: pfifo limit 50\n\
     tc filter add dev lo parent 1: protocol all handle 1 flow hash keys src divisor 2 baseclass 1:1",
    "dualpi2 limit 5000 target 10ms step_thresh 2ms coupling_factor 3 classic_protection 20",
    "fq limit 5000 flow_limit 50 quantum 1514 maxrate 5mbit refill_delay 20ms",
    "fq_codel limit 500 flows 64 quantum 300 target 10ms noecn drop_batch 8",
    "fq_pie limit 500 flows 64 target 20ms alpha 4 beta 10 ecn ecn_prob 20 bytemode",
    "hhf limit 500 hh_limit 100 reset_timeout 20ms admit_bytes 60000 evict_timeout 2s non_hh_weight 3",
    "tc qdisc add dev lo root handle 1: htb default 1\n\
     tc class add dev lo parent 1: classid 1:1 htb rate 10mbit ceil 20mbit burst 15k\n\
     tc qdisc add dev lo parent 1:1 pfifo limit 7",
    "pie limit 500 target 20ms tupdate 20ms alpha 4 beta 10 ecn bytemode",
    "tc qdisc add dev lo root handle 1: prio bands 2 priomap 1 1 1 1 1 1 0 0 1 1 1 1 1 1 1 1\n\
     tc qdisc add dev lo parent 1:2 pfifo limit 7",
    "red limit 625000 min 62500 max 187500 avpkt 1000 burst 105 probability 0.1 bandwidth 50mbit adaptive ecn harddrop",
    "sfb limit 500 max 30 target 24 increment 0.001 decrement 0.0001 penalty_rate 20 penalty_burst 30",
    "sfq limit 500 perturb 10 quantum 3028 depth 60 flows 100 divisor 512 headdrop redflowlimit 100000 min 8000 max 60000 avpkt 1500 \
     burst 20 probability 0.1 ecn harddrop",
    "tbf rate 10mbit burst 20k latency 50ms mpu 64 peakrate 12mbit mtu 1600",
    "tc qdisc add dev lo root handle 1: tbf rate 10mbit burst 20k limit 50k\n\
     tc qdisc add dev lo parent 1:1 pfifo limit 7",
];

/// The commands for a qdisc with one class: its options, and those of its class.
fn with_class(tc: &Tc, own: &str, of_class: &str) -> String {
    let name = tc.name;
    let own = if name == "htb" { "default 1" } else { own };
    let filter = match name {
        "drr" => {
            "\ntc filter add dev lo parent 1: protocol all handle 1 flow hash keys src divisor 1 baseclass 1:1"
        }
        _ => "",
    };
    format!(
        "tc qdisc add dev lo root handle 1: {name} {own}\n\
         tc class add dev lo parent 1: classid 1:1 {name} {of_class}{filter}"
    )
}

fn refusal(text: &str) -> String {
    match read(text) {
        Ok(config) => panic!("`{text}` is {config:?}"),
        Err(message) => message,
    }
}

fn print(config: &QueueConfig) -> Result<String, String> {
    config.to_tc("eth0", false).map(|lines| lines.join("\n"))
}

#[test]
fn words_set_parameters_and_the_rest_is_tcs_default() {
    let wanted = fq_codel::Params {
        limit: Limit::Packets(5000),
        target: Duration(10 * MILLISECOND),
        ecn: false,
        memory_limit: Bytes(4 << 20),
        ..Default::default()
    };
    assert_eq!(
        read("fq_codel limit 5000 target 10ms noecn memory_limit 4Mb"),
        Ok(QueueConfig::FqCodel(wanted))
    );
    // tc multiplies PIE's gains by 16.
    let wanted = pie::Params {
        alpha: 0.25,
        beta: 2.0,
        dq_rate_estimator: true,
        ..Default::default()
    };
    assert_eq!(
        read("pie alpha 4 beta 0x20 dq_rate_estimator"),
        Ok(QueueConfig::Pie(wanted))
    );
    let fifo = |limit| {
        QueueConfig::Fifo(fifo::Params {
            limit,
            ..Default::default()
        })
    };
    assert_eq!(read("pfifo limit 100"), Ok(fifo(Limit::Packets(100))));
    assert_eq!(read("bfifo limit 250000"), Ok(fifo(Limit::Bytes(250_000))));
    let wanted = head_drop::Params(fifo::Params {
        limit: Limit::Packets(3),
        ..Default::default()
    });
    assert_eq!(
        read("pfifo_head_drop limit 3"),
        Ok(QueueConfig::HeadDrop(wanted))
    );
    // If an argument is repeated, the last one counts, as in tc.
    let wanted = codel::Params {
        limit: Limit::Packets(20),
        ..Default::default()
    };
    assert_eq!(
        read("codel limit 10 ecn limit 20 noecn"),
        Ok(QueueConfig::Codel(wanted))
    );
}

#[test]
fn a_bare_name_that_only_tc_has_means_what_tc_means() {
    let bytes = |n| {
        Ok(QueueConfig::Fifo(fifo::Params {
            limit: Limit::Bytes(n),
            ..Default::default()
        }))
    };
    assert_eq!(read("pfifo"), Ok(QueueConfig::Fifo(Default::default())));
    // 1000 frames of 1514 bytes, as on an Ethernet device.
    assert_eq!(read("bfifo"), bytes(1_514_000));
    assert_eq!(read(" bfifo "), bytes(1_514_000));
    let table = json!({ "kind": "bfifo", "limit": "30kB" });
    assert_eq!(
        serde_json::from_value::<QueueConfig>(table).map_err(|e| e.to_string()),
        bytes(30_000)
    );
    let table = json!({ "kind": "bfifo" });
    assert_eq!(
        serde_json::from_value::<QueueConfig>(table).map_err(|e| e.to_string()),
        bytes(1_514_000)
    );
}

#[test]
fn units_are_tcs() {
    // Measured with iproute2 6.1: `tc qdisc replace dev lo root bfifo limit ...` and what Linux then shows.
    let sizes = [
        ("10", 10),
        ("10b", 10),
        ("10k", 10_240),
        ("10Kb", 10_240),
        ("10kbit", 1280),
        ("1m", 1_048_576),
        ("1mbit", 131_072),
        ("1gb", 1_073_741_824),
        ("1.5k", 1536),
        (".5k", 512),
        ("5.", 5),
        ("1e3", 1000),
        ("0x10", 16),
        ("1.9", 1),
        ("+5", 5),
        ("4294967295", 4_294_967_295_u64),
    ];
    for (text, bytes) in sizes {
        let config = read(&format!("bfifo limit {text}")).unwrap();
        assert_eq!(json!(config)["limit"], format!("{bytes}B"), "{text}");
    }
    for text in [
        "10KiB",
        "-5",
        "10bit",
        "10t",
        "inf",
        "nan",
        "4294967296",
        "4g",
        "e3",
        "0x",
    ] {
        let message = refusal(&format!("bfifo limit {text}"));
        assert!(
            message.starts_with(&format!("limit: `{text}` is ")),
            "{message}"
        );
    }
    let times = [
        ("5", "5us"),
        ("5us", "5us"),
        ("5usecs", "5us"),
        ("5ms", "5ms"),
        ("5msec", "5ms"),
        ("5.5MS", "5500us"),
        ("1s", "1s"),
        ("2secs", "2s"),
        ("1.9us", "1us"),
    ];
    for (text, time) in times {
        let config = read(&format!("codel target {text}")).unwrap();
        assert_eq!(json!(config)["target"], time, "{text}");
    }
    for text in ["5m", "5min", "5ns", "fast", "-5ms", "5000s"] {
        let message = refusal(&format!("codel target {text}"));
        assert!(
            message.starts_with(&format!("target: `{text}` is ")),
            "{message}"
        );
    }
    let counts = [("16", "16p"), ("0x10", "16p"), ("010", "8p"), ("+1", "1p")];
    for (text, limit) in counts {
        let config = read(&format!("codel limit {text}")).unwrap();
        assert_eq!(json!(config)["limit"], limit, "{text}");
    }
    for text in ["5k", "-1", "++1", "1.5", "09", "4294967296", "x"] {
        let message = refusal(&format!("codel limit {text}"));
        assert!(
            message.starts_with(&format!("limit: `{text}` is not a whole number")),
            "{message}"
        );
    }
}

#[test]
fn what_tc_refuses_is_refused_in_one_line_that_says_what_is_allowed() {
    let refused = [
        (
            "fq_codel foo",
            "tc's `fq_codel` has no option `foo` (allowed: limit, flows, quantum, target, interval, memory_limit, ecn, noecn, \
             ce_threshold, ce_threshold_selector, drop_batch)",
        ),
        (
            "codel tarjet 5ms",
            "tc's `codel` has no option `tarjet`; did you mean `target`? (allowed: limit, target, interval, ecn, noecn, ce_threshold)",
        ),
        (
            "codel NOECN",
            "tc's `codel` has no option `NOECN`; did you mean `noecn`?",
        ),
        (
            "codel limit",
            "limit: tc's `codel` requires a value after it",
        ),
        (
            "pie alpha 33",
            "alpha: `33` must be at most 32 (option of tc's `pie`)",
        ),
        ("pie alpha 2.5", "alpha: `2.5` is not a whole number"),
        (
            "codel target 5furlongs",
            "target: `5furlongs` is not a time such as `5ms` (tc's units: us, usec",
        ),
        (
            "codle limit 5",
            "`codle` is not a known qdisc of tc; did you mean `codel`? (allowed: pfifo, bfifo",
        ),
        (
            "fifo limit 5",
            "tc has no qdisc `fifo`: write a table instead: {kind = \"fifo\", ...} (qdiscs of tc: pfifo, bfifo",
        ),
        ("codel limit 0", "limit: 0p is out of range"),
        (
            "fq_codel flows 65537",
            "flows: 65537 is out of range (allowed: 1 to 65536)",
        ),
        (
            "fq_codel ce_threshold_selector 0x01/0x03",
            "`ce_threshold_selector` of tc's `fq_codel` is not modelled",
        ),
        (
            "pfifo 100",
            "tc's `pfifo` has no option `100` (allowed: limit)",
        ),
        (
            "tc qdisc del dev eth0 root",
            "`tc qdisc del` does not create a queue (allowed: add, replace, change)",
        ),
        ("tc qdisc add dev eth0 root", "a qdisc's name is missing"),
        (
            "tc qdisc add dev eth0 parent x:1 codel",
            "`x:1` is not a handle",
        ),
        (
            "tc qdisc add dev eth0 parent 1:1 codel",
            "`codel` has a parent that no line creates",
        ),
        ("codel limit 5; pie", "`codel` cannot hold another queue"),
        ("tc class add dev eth0 codel", "`tc class` needs a classid"),
        (" ; ", "a qdisc's name is missing"),
    ];
    for (text, wanted) in refused {
        let message = refusal(text);
        assert!(message.starts_with(wanted), "{text}: {message}");
        assert!(!message.contains('\n'));
    }
}

#[test]
fn a_pasted_command_is_read() {
    let wanted = read("fq_codel limit 5000 target 10ms ecn");
    assert!(wanted.is_ok());
    for text in [
        "tc qdisc replace dev eth0 root fq_codel limit 5000 target 10ms ecn",
        "tc qdisc add dev eth0 root handle 1: fq_codel limit 5000 target 10ms ecn",
        "qdisc add dev wan.2 handle 0xff: root  fq_codel  limit 5000 target 10ms ecn\n",
    ] {
        assert_eq!(read(text), wanted);
    }
}

#[test]
fn differences_from_tcs_defaults_or_all_arguments_are_printed() {
    let config = read("fq_codel limit 5000 target 10ms noecn").unwrap();
    assert_eq!(
        print(&config).unwrap(),
        "tc qdisc replace dev eth0 root fq_codel limit 5000 target 10ms noecn"
    );
    assert_eq!(
        config.to_tc("wan", true).unwrap(),
        [
            "tc qdisc replace dev wan root fq_codel limit 5000 flows 1024 quantum 1514 target 10ms interval 100ms memory_limit 32mb \
             noecn drop_batch 64"
        ]
    );
    let plain = |text: &str| print(&read(text).unwrap()).unwrap();
    assert_eq!(plain("codel"), "tc qdisc replace dev eth0 root codel");
    // The default depends on the device, so it is always printed.
    assert_eq!(
        plain("pfifo"),
        "tc qdisc replace dev eth0 root pfifo limit 1000"
    );
    assert_eq!(
        plain("bfifo"),
        "tc qdisc replace dev eth0 root bfifo limit 1514000"
    );
    assert_eq!(
        plain("bfifo limit 30k"),
        "tc qdisc replace dev eth0 root bfifo limit 30kb"
    );
    assert_eq!(
        plain("pie target 5500 alpha 4 bytemode"),
        "tc qdisc replace dev eth0 root pie target 5500us alpha 4 bytemode"
    );
}

#[test]
fn what_tc_cannot_express_is_named() {
    let error = |value: serde_json::Value| {
        let config: QueueConfig = serde_json::from_value(value).unwrap();
        print(&config).unwrap_err()
    };
    assert_eq!(
        error(json!({ "kind": "codel", "limit": "30kB" })),
        "limit: tc requires a number of packets, not 30000B (tc's `codel`)"
    );
    assert_eq!(
        error(json!({ "kind": "fifo", "limit": "20buffers" })),
        "limit: tc requires a number of packets, not 20buffers (tc's `pfifo`); \
         limit: tc requires a number of bytes, not 20buffers (tc's `bfifo`)"
    );
    assert_eq!(
        error(json!({ "kind": "pie", "max_burst": "1ms" })),
        "max_burst: tc's `pie` cannot express 1ms"
    );
    assert_eq!(
        error(json!({ "kind": "pie", "alpha": 0.13 })),
        "alpha: tc takes whole numbers up to 32, and 0.13 would be 2.08 (tc's `pie`)"
    );
    assert_eq!(
        error(json!({ "kind": "codel", "target": "1500ns" })),
        "target: tc requires whole microseconds, not 1500ns (tc's `codel`)"
    );
    assert_eq!(
        error(json!({ "kind": "codel", "interval": "5min" , "target": "9000s" })),
        "target: tc cannot write 9000s (tc's `codel`)"
    );
    assert_eq!(
        error(json!({ "kind": "python", "class": "mine:Queue" })),
        "Linux has no `python`"
    );
    let device = read("codel limit 5").unwrap().to_tc("eth 0", false);
    assert_eq!(
        device.unwrap_err(),
        "`eth 0` is not the name of a network device"
    );
}
