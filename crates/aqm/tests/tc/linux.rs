//! The tc of this machine, where it has one: it takes what is printed, and refuses what is refused here.

use std::process::Command;

use bloatlab_aqm::{Form, QueueConfig, Word};

use crate::read;

/// Runs commands in a network namespace of their own; a namespace that cannot be made is the reason to skip.
fn in_namespace(script: &str) -> Result<String, String> {
    let script = format!("ip link set lo up || exit 77\n{script}");
    let ran = Command::new("unshare")
        .args(["--map-root-user", "--net", "sh", "-c", &script])
        .output()
        .map_err(|error| format!("unshare: {error}"))?;
    let told = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let told = told.concat();
    if ran.status.success() {
        Ok(told)
    } else {
        Err(told)
    }
}

/// What tc says to each queue; empty if its reading of it went well.
fn tcs_complaints(queues: &[String]) -> Result<Vec<String>, String> {
    let lines = queues.iter().map(|queue| {
        format!(
            "echo @; tc qdisc add dev lo root {queue} 2>&1; tc qdisc del dev lo root 2>/dev/null\n"
        )
    });
    let script: String = lines.collect();
    let told = in_namespace(&format!("{script}tc -Version"))?;
    let told = told.split('@').skip(1).map(|told| {
        // Words that tc took reach the kernel, which may lack the qdisc.
        let fine =
            |line: &&str| line.starts_with("tc utility") || line.contains("qdisc kind is unknown");
        told.lines()
            .filter(|line| !fine(line))
            .collect::<Vec<_>>()
            .join(" ")
    });
    Ok(told.collect())
}

#[test]
fn tc_takes_what_is_printed() {
    for config in QueueConfig::all()
        .iter()
        .filter(|config| !config.tc().is_empty() && config.kind() != "red")
    {
        for all in [false, true] {
            // Some have no defaults that tc could take.
            let Ok(lines) = config.to_tc("lo", all) else {
                continue;
            };
            match in_namespace(&format!(
                "set -e\n{}\ntc qdisc show dev lo",
                lines.join("\n")
            )) {
                Ok(shown) => {
                    let name = config.tc()[0].name;
                    assert!(
                        shown.contains(&format!("qdisc {name} ")),
                        "{lines:?}: {shown}"
                    );
                    // Linux says back what it was told.
                    if name.contains("fifo") {
                        assert!(shown.contains("limit 1000p"), "{lines:?}: {shown}");
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
    ];
    let texts = texts.map(str::to_owned);
    match tcs_complaints(&texts) {
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

/// Each word of each qdisc, with values of every sort: those that tc calls illegal are called so here. (A time beyond 4294 s, which
/// tc lets overflow, is refused here.)
#[test]
fn tc_finds_the_same_values_illegal() {
    let values = [
        "3", "10k", "5ms", "10mbit", "2kbps", "1.5", "0x10", "4g", "7x",
    ];
    let mut texts = Vec::new();
    let held = [
        "pfifo",
        "bfifo",
        "pfifo_head_drop",
        "codel",
        "fq_codel",
        "pie",
    ];
    let all = QueueConfig::all();
    let known = all.iter().flat_map(|config| config.tc());
    for tc in known.filter(|tc| held.contains(&tc.name)) {
        let takes_a_value = |word: &&Word| {
            let wordless = matches!(
                word.form,
                Form::Flag(_) | Form::Several(_) | Form::Nothing | Form::Refused(_)
            );
            let other =
                matches!(word.form, Form::ClassNumber | Form::Integers(_)) || word.form.is_leaf();
            !wordless && !other && !word.of_class
        };
        for word in tc.words.iter().filter(takes_a_value) {
            texts.extend(
                values.map(|value| (word.tc, value, format!("{} {} {value}", tc.name, word.tc))),
            );
        }
    }
    let queues: Vec<String> = texts.iter().map(|(_, _, text)| text.clone()).collect();
    let complaints = match tcs_complaints(&queues) {
        Ok(complaints) => complaints,
        Err(why) => return eprintln!("skipped: {}", why.trim()),
    };
    for ((word, value, text), complaint) in texts.into_iter().zip(complaints) {
        // red, choke and sfb hold their bandwidth in 32 bits of bytes a second, and read fractions up to the first stranger.
        let lax = (word, value) == ("bandwidth", "70000000000")
            || ["probability", "increment", "decrement"].contains(&word);
        if complaint.contains("Unknown qdisc") || lax {
            continue;
        }
        let ours = serde_json::from_value::<QueueConfig>(text.as_str().into())
            .map_err(|error| error.to_string());
        let illegal = ours
            .as_ref()
            .is_err_and(|why| why.starts_with(&format!("{word}: `{value}`")));
        let theirs = complaint.to_lowercase().contains("illegal") && complaint.contains(word);
        assert_eq!(
            illegal, theirs,
            "{text}: tc says `{complaint}`, we {ours:?}"
        );
    }
}
