//! A class with a FIFO for each hash of a flow: tc's `drr`.

use bloatlab_aqm::{QueueConfig, drr};
use bloatlab_units::{Bytes, Limit};
use serde_json::{Value, json};

use crate::{print, read, refusal};

const ROOT: &str = "tc qdisc add dev eth0 root handle 1: drr";
const FILTER: &str = "tc filter add dev eth0 parent 1: protocol all prio 1 handle 1 flow hash keys \
                      src,dst,proto,proto-src,proto-dst divisor 2 baseclass 1:1";

fn class(number: u32, options: &str) -> String {
    format!("tc class add dev eth0 parent 1: classid 1:{number} drr {options}")
}

fn fifo(class: u32, limit: u32) -> String {
    format!("tc qdisc add dev eth0 parent 1:{class} pfifo limit {limit}")
}

fn lines(lines: &[String]) -> String {
    lines.join("\n")
}

#[test]
fn a_class_for_each_hash_is_printed_with_its_queue_and_the_filter() {
    let table = json!({
        "kind": "drr", "buckets": 2, "quantum": "3000B", "flow_limit": "50p", "limit": "100p", "classifier": "source",
    });
    let config: QueueConfig = serde_json::from_value(table).unwrap();
    let wanted = [
        "tc qdisc replace dev eth0 root handle 1: drr",
        "tc class replace dev eth0 parent 1: classid 1:1 drr quantum 3000",
        "tc class replace dev eth0 parent 1: classid 1:2 drr quantum 3000",
        "tc qdisc replace dev eth0 parent 1:1 pfifo limit 50",
        "tc qdisc replace dev eth0 parent 1:2 pfifo limit 50",
        "tc filter replace dev eth0 parent 1: protocol all prio 1 handle 1 flow hash keys src divisor 2 baseclass 1:1",
    ];
    let printed = print(&config).unwrap();
    assert_eq!(printed.lines().collect::<Vec<_>>(), wanted);
    assert_eq!(read(&printed), Ok(config));
}

#[test]
fn classes_without_lines_of_their_own_have_tcs_defaults() {
    let text = lines(&[ROOT.into(), class(1, ""), class(2, ""), FILTER.into()]);
    let wanted = drr::Params {
        limit: Limit::Packets(2000),
        flow_limit: Some(Limit::Packets(1000)),
        buckets: 2,
        quantum: Bytes(1514),
        ..Default::default()
    };
    assert_eq!(read(&text), Ok(QueueConfig::Drr(wanted)));
}

#[test]
fn what_differs_between_classes_is_refused_in_one_line() {
    let two = || vec![ROOT.to_owned(), class(1, ""), class(2, "")];
    let with = |more: &[String]| lines(&[&two()[..], more].concat());
    let filter = |instead: (&str, &str)| with(&[FILTER.replace(instead.0, instead.1)]);
    let refused = [
        (ROOT.to_owned(), "tc's `drr` needs a class: add `tc class add"),
        (with(&[]), "tc's `drr` needs a filter that chooses one of its 2 classes: add `tc filter add"),
        (
            filter(("divisor 2", "divisor 8")),
            "tc's `drr` needs a filter that chooses one of its 2 classes",
        ),
        (
            filter(("divisor 2", "divisor x")),
            "divisor: `x` is not a whole number",
        ),
        (
            filter(("baseclass 1:1", "baseclass 1:2")),
            "baseclass: `1:2` is not the first class",
        ),
        (
            filter(("keys src,dst,proto,proto-src,proto-dst", "keys mark")),
            "keys: `mark` is not modelled (allowed: `src,dst,proto,proto-src,proto-dst` or `src`)",
        ),
        (
            filter(("flow hash", "u32 match")),
            "tc's `drr` with another filter than `flow hash keys",
        ),
        (
            filter(("parent 1:", "parent 2:")),
            "`tc filter` needs a parent such as `parent 1:`, which a line before it creates",
        ),
        (
            lines(&[ROOT.into(), class(1, ""), class(2, "quantum 9000"), FILTER.into()]),
            "tc's `drr`: class 2 has other options than class 1",
        ),
        (
            lines(&[ROOT.into(), class(2, "")]),
            "tc's `drr`: the class after 0 must be 1, not 2",
        ),
        (
            with(&[fifo(1, 5), fifo(2, 6), FILTER.into()]),
            "tc's `drr` with different queues in its classes is not modelled",
        ),
        (
            with(&[fifo(1, 5), FILTER.into()]),
            "tc's `drr` with different queues in its classes is not modelled",
        ),
        (with(&[fifo(1, 5), fifo(1, 5)]), "`drr` has two queues in class 1"),
        (with(&[fifo(3, 5)]), "`drr` has no class 3 for another queue"),
        (
            with(&["tc qdisc add dev eth0 parent 1:1 codel".into()]),
            "tc's `drr` with a queue other than pfifo or bfifo in a class is not modelled",
        ),
        (
            "tc qdisc add dev eth0 root handle 1: codel\ntc filter add dev eth0 parent 1: flow hash".into(),
            "a filter of tc's `codel` is not modelled",
        ),
    ];
    for (text, wanted) in refused {
        let message = refusal(&text);
        assert!(message.starts_with(wanted), "{text}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn what_the_classes_cannot_express_is_named() {
    let error = |change: Value| {
        let mut table = json!({ "kind": "drr", "flow_limit": "50p", "limit": "51200p" });
        let fields = table.as_object_mut().unwrap();
        fields.extend(change.as_object().unwrap().clone());
        let config: QueueConfig = serde_json::from_value(table).unwrap();
        print(&config).err().unwrap_or_default()
    };
    assert_eq!(error(json!({})), "");
    assert_eq!(
        error(json!({ "flow_limit": null })),
        "flow_limit: tc's `drr` has a limit for each class only, so it must be set, such as flow_limit = \"100p\", limit = \"102400p\""
    );
    assert_eq!(
        error(json!({ "limit": "1000p" })),
        "limit: tc's `drr` has a limit for each class only, so it must be at least 51200p (buckets times flow_limit)"
    );
    assert_eq!(
        error(json!({ "limit": "80MB" })),
        "limit: tc's `drr` has a limit for each class only, so it must be at least 51200p (buckets times flow_limit)"
    );
    assert_eq!(
        error(json!({ "classifier": "exact" })),
        "classifier: tc's `drr` cannot express exact, only flow or source"
    );
    assert_eq!(
        error(json!({ "buckets": 8192, "limit": "8192000p" })),
        "buckets: at most 4096 classes are set up for tc's `drr`"
    );
}
