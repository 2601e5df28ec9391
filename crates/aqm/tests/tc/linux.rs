//! Tests against this machine's tc, if there is one: it accepts what is printed here, and refuses what is refused here.

use std::process::Command;

use bloatlab_aqm::{Form, QueueConfig, Tc, Word};

use crate::{CONFIGURED, read, with_class};

/// Runs commands in their own network namespace. If that cannot be created, the test is skipped.
fn in_namespace(script: &str) -> Result<String, String> {
    let script = format!("ip link set lo up || exit 77\n{script}");
    // Passed as a file, because many commands may exceed the maximum length of an argument.
    let file = std::env::temp_dir().join(format!(
        "bloatlab-tc-{}-{:?}.sh",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::write(&file, script).map_err(|error| error.to_string())?;
    let ran = Command::new("unshare")
        .args(["--map-root-user", "--net", "sh"])
        .arg(&file)
        .output();
    let _ = std::fs::remove_file(&file);
    let ran = ran.map_err(|error| format!("unshare: {error}"))?;
    let told = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let told = told.concat();
    if ran.status.success() {
        Ok(told)
    } else {
        Err(told)
    }
}

/// The output of tc for each text of commands; empty if tc could parse it.
fn tcs_complaints(commands: &[&str]) -> Result<Vec<String>, String> {
    let lines = commands.iter().map(|lines| {
        format!("echo @\n{{ {lines}\n}} 2>&1\ntc qdisc del dev lo root 2>/dev/null\n")
    });
    let script: String = lines.collect();
    let told = in_namespace(&format!("{script}tc -Version"))?;
    let told = told.split('@').skip(1).map(|told| {
        // Arguments that tc accepted are passed to the kernel, which may lack the qdisc.
        let fine = |line: &&str| {
            [
                "tc utility",
                "RED: set bandwidth",
                "Error: Specified qdisc kind is unknown",
            ]
            .iter()
            .any(|fine| line.starts_with(fine))
        };
        told.lines()
            .filter(|line| !fine(line))
            .collect::<Vec<_>>()
            .join(" ")
    });
    Ok(told.collect())
}

#[test]
fn tc_takes_what_is_printed() {
    let configured = CONFIGURED.iter().map(|text| read(text).unwrap());
    let all = QueueConfig::all().into_iter();
    let with_defaults = all.filter(|config| config.to_tc("lo", false).is_ok());
    for config in with_defaults.chain(configured) {
        for all in [false, true] {
            let lines = config.to_tc("lo", all).unwrap();
            match in_namespace(&format!(
                "set -e\n{}\ntc qdisc show dev lo",
                lines.join("\n")
            )) {
                Ok(shown) => {
                    let mut names = config.tc().iter();
                    let named = names.any(|tc| shown.contains(&format!("qdisc {} ", tc.name)));
                    assert!(named, "{lines:?}: {shown}");
                    // Linux reports the configuration that it was given.
                    let fifo = lines[0].split_once("pfifo limit ");
                    if let Some((_, limit)) = fifo {
                        let limit = format!("limit {limit}p");
                        assert!(shown.contains(&limit), "{lines:?}: {shown}");
                    }
                }
                Err(why) => {
                    let lacking = [
                        "Specified qdisc kind is unknown",
                        "Unknown qdisc",
                        "unshare",
                        "not found",
                        "ip: ",
                    ];
                    assert!(
                        lacking.iter().any(|one| why.contains(one)),
                        "{lines:?}: {why}"
                    );
                    eprintln!("skipped {}: {}", config.kind(), why.trim());
                }
            }
        }
    }
}

#[test]
fn tc_takes_and_refuses_the_same() {
    let texts = [
        "fq_codel foo",
        "fq_codel limit",
        "fq_codel limit x",
        "fq_codel limit 5k",
        "fq_codel limit 0x10",
        "fq_codel limit -1",
        "fq_codel limit 4294967296",
        "fq_codel target 5",
        "fq_codel target 5ns",
        "fq_codel target 5.5MS",
        "fq_codel target 5m",
        "fq_codel target 1e3usecs",
        "fq_codel memory_limit 32Mb",
        "fq_codel memory_limit 5x",
        "fq_codel memory_limit 1.5k",
        "fq_codel quantum 8kbit",
        "fq_codel ecn drop_batch 3 ce_threshold 4ms flows 7 interval 1sec",
        "fq_codel NOECN",
        "codel limit 10 limit 20 noecn",
        "codel flows 5",
        "pie alpha 33",
        "pie alpha 32",
        "pie beta 40",
        "pie nobytemode no_dq_rate_estimator tupdate 5ms noecn",
        "pfifo foo",
        "pfifo 100",
        "pfifo limit 10",
        "bfifo limit 10kbit",
        "bfifo limit 5KiB",
        "bfifo limit 4294967296",
        "bfifo limit nan",
        "pfifo_head_drop limit 3",
        "prio priomap 1 2",
        "prio priomap 0x1",
        "prio priomap 5",
        "sfq limit 1",
        "sfq limit 10 redflowlimit 100k min 8000 max 60000 avpkt 1500 burst 55 probability 0.1 ecn",
        "sfq redflowlimit 1000",
        "sfq redflowlimit 100k harddrop headdrop",
        "sfq ecn",
        "sfq min 3000",
        "sfq redflowlimit 100k burst 1",
        "fq horizon 10s horizon_drop timer_slack 10us buckets 1024 nopacing",
        "fq horizon_drop orphan_mask 511",
        "fq buckets 1k",
        "cake overhead -8 mpu 84",
        "cake overhead 257",
        "fq_pie alpha 2 beta 20 ecn_prob 10 flows 100",
        "fq_pie ecn_prob 101",
        "tbf rate 1mbit burst 10k limit 3k latency 50ms",
        "tbf rate 1mbit burst 10k latency 50ms",
        "red limit 400k avpkt 1000 min 30000 max 90000 burst 55 probability 0.1 harddrop",
        "red limit 400k avpkt 1000 probability 0",
        "choke limit 1000 bandwidth 10mbit min 50 max 150 burst 100",
        "choke limit 10 bandwidth 10mbit",
        "sfb increment 0.01 decrement 0.001 max 25 target 20",
        "sfb increment 1.5",
        "hhf hh_limit 100 non_hh_weight 3",
        "tbf rate 1mbit rate 2mbit burst 10k latency 50ms",
        "tbf rate 1mbit burst 10k buffer 10k latency 50ms",
    ];
    let commands = texts.map(|text| format!("tc qdisc add dev lo root {text}"));
    match tcs_complaints(&commands.each_ref().map(String::as_str)) {
        Ok(complaints) => {
            for (text, complaint) in texts.iter().zip(complaints) {
                let ours = read(text);
                let same = ours.is_err() != complaint.trim().is_empty();
                assert!(same, "{text}: tc says `{complaint}`, we {ours:?}");
            }
        }
        Err(why) => eprintln!("skipped: {}", why.trim()),
    }
}

/// Whether an argument of sfq is one of RED, which `redflowlimit` switches on.
fn needs_red(word: &Word) -> bool {
    let words = [
        "min",
        "max",
        "avpkt",
        "burst",
        "probability",
        "ecn",
        "harddrop",
    ];
    words.contains(&word.tc)
}

/// The other arguments that a qdisc requires.
pub fn beside(tc: &Tc, word: &Word) -> String {
    let wanted: &[(&str, &str)] = match tc.name {
        "red" => &[
            ("limit", "400k"),
            ("avpkt", "1000"),
            ("bandwidth", "10mbit"),
        ],
        "choke" => &[("limit", "1000"), ("bandwidth", "10mbit")],
        "sfq" if needs_red(word) => &[("redflowlimit", "400000")],
        "tbf" => &[
            ("rate", "1mbit"),
            ("burst", "10k"),
            ("latency", "50ms"),
            ("peakrate", "2mbit"),
            ("mtu", "1600"),
        ],
        "htb" => &[("rate", "1mbit")],
        _ => &[],
    };
    let instead = |field: &str| word.field == field || (word.field, field) == ("limit", "latency");
    let words = wanted.iter().filter(|(field, _)| !instead(field));
    words
        .map(|(word, value)| format!("{word} {value} "))
        .collect()
}

/// Tests each argument of each qdisc with values of all kinds: what tc refuses is refused here, and what cannot be read here, tc cannot read.
#[test]
fn tc_finds_the_same_values_illegal() {
    let values = [
        "3",
        "10k",
        "5ms",
        "10mbit",
        "2kbps",
        "1.5",
        "0x10",
        "4g",
        "7x",
        "0",
        "-3",
        "010",
        "09",
        "300",
        "70000",
        "70000000000",
        "50%",
        "1e3",
        "+2",
        "0.5",
    ];
    let mut texts = Vec::new();
    let all = QueueConfig::all();
    for tc in all.iter().flat_map(|config| config.tc()) {
        let takes_a_value = |word: &&Word| {
            let wordless = matches!(
                word.form,
                Form::Flag(_) | Form::Several(_) | Form::Default | Form::Refused(_)
            );
            !wordless && word.form != Form::ClassNumber && !word.form.is_leaf()
        };
        for word in tc.words.iter().filter(takes_a_value) {
            let beside = beside(tc, word);
            texts.extend(values.map(|value| {
                let said = format!("{beside}{} {value}", word.tc);
                let text = if word.of_class {
                    with_class(tc, "", &said)
                } else {
                    format!("tc qdisc add dev lo root {} {said}", tc.name)
                };
                (word, value, text)
            }));
        }
    }
    let lines: Vec<&str> = texts.iter().map(|(_, _, text)| text.as_str()).collect();
    let complaints = match tcs_complaints(&lines) {
        Ok(complaints) => complaints,
        Err(why) => return eprintln!("skipped: {}", why.trim()),
    };
    let mut differences = Vec::new();
    for ((word, value, text), complaint) in texts.iter().zip(complaints) {
        // A newer tc has more qdiscs and arguments.
        if complaint.contains("Unknown qdisc") || complaint.contains("What is") {
            continue;
        }
        let ours = read(text);
        let unreadable = ours
            .as_ref()
            .is_err_and(|why| why.starts_with(&format!("{}: `{value}`", word.tc)));
        let complaint = complaint.to_lowercase();
        let theirs = ["illegal", "failed to", "double", "duplicate"]
            .iter()
            .any(|one| complaint.contains(one));
        if theirs && ours.is_ok() || unreadable && !theirs && !is_lax(word, value) {
            differences.push(format!("{text}: tc says `{complaint}`, we {ours:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Values that tc accepts but changes into others. They are refused here.
fn is_lax(word: &Word, value: &str) -> bool {
    let timed = matches!(word.form, Form::Time | Form::OnlyDefault(&Form::Time, ..));
    match value {
        // A negative value becomes the largest one of the integer type, or none.
        "-3" => timed || matches!(word.form, Form::Rate | Form::Rate32 | Form::Seconds),
        // More microseconds than fit into 32 bits.
        "70000000000" => timed,
        // A fraction ends at the first character that is not a digit.
        _ => matches!(word.form, Form::Number(_) | Form::Probability),
    }
}
