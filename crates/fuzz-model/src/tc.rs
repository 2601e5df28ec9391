//! Target for tc: any words are either refused with a message of one line, or read as a queue that is printed and read back.

use bloatlab_aqm::{Form, QueueConfig, Tc};
use serde_json::{Value, json};

use crate::choices::Choices;
use crate::repair::repaired_algorithm;
use crate::schema::Schema;
use crate::shared_schema;

/// Reads the text, the words or the queue that these bytes choose.
///
/// # Panics
/// If a reader panics, or if the printed command is not read back as the same queue.
pub fn tc(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let text = match choices.byte() % 4 {
        0 => String::from_utf8_lossy(choices.rest()).into_owned(),
        1 => {
            if let Some(queue) = queue(&mut choices) {
                round_trip(&queue);
            }
            return;
        }
        _ => words(&mut choices),
    };
    match read(&text) {
        Ok(queue) => round_trip(&queue),
        Err(why) => assert!(
            !why.is_empty() && !why.contains(['\n', '\r']),
            "one line: {why:?} of {text:?}"
        ),
    }
}

/// Checks that a printed queue is read back.
fn round_trip(queue: &QueueConfig) {
    for every in [false, true] {
        let Ok(lines) = queue.to_tc("eth0", every) else {
            // Linux does not have the queue or one of its parameters.
            continue;
        };
        let back = read(&lines.join("\n")).map(|queue| used(json!(queue)));
        assert_eq!(back, Ok(used(json!(queue))), "{lines:?}");
    }
}

/// Normalizes a queue to what tc can express. If each band has its own queue, the common queue is unused and dropped; if all bands have the same
/// queue, the common queue replaces them. The limit of all classes of `drr` together is that which their own limits imply.
fn used(mut value: Value) -> Value {
    match &mut value {
        Value::Object(table) => {
            table
                .values_mut()
                .for_each(|inner| *inner = used(inner.take()));
            if table.get("kind").is_some_and(|kind| kind == "drr") {
                table.remove("limit");
            }
            let queues = table.get("queues").and_then(Value::as_array).cloned();
            if let Some([first, others @ ..]) = queues.as_deref() {
                if others.iter().all(|other| other == first) {
                    table.insert("queue".to_owned(), first.clone());
                    table.insert("queues".to_owned(), json!([]));
                } else {
                    table.remove("queue");
                }
            }
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|inner| *inner = used(inner.take())),
        _ => {}
    }
    value
}

fn read(text: &str) -> Result<QueueConfig, String> {
    let read = serde_json::from_value::<QueueConfig>(Value::from(text));
    let queue = read.map_err(|error| error.to_string())?;
    queue.validate().map(|()| queue)
}

/// A valid queue of any kind.
pub fn queue(choices: &mut Choices) -> Option<QueueConfig> {
    let mut value = Schema::new(shared_schema()).value("Queue", choices);
    repaired_algorithm(&mut value, QueueConfig::validate)
}

/// A line of options that some qdisc has, each with a value that may be valid.
fn words(choices: &mut Choices) -> String {
    let all = QueueConfig::all();
    let qdiscs: Vec<&Tc> = all.iter().flat_map(QueueConfig::tc).collect();
    let lines = 1 + choices.below(3);
    let line = |number: usize, choices: &mut Choices| {
        let tc = *choices.one_of(&qdiscs);
        let place = match (choices.byte() % 6, number) {
            (_, 0) => "",
            (0, _) => "tc class add dev lo parent 1: classid 1:1 ",
            (1, _) => "tc qdisc add dev lo root handle 1: ",
            (2, _) => "tc qdisc add dev lo parent 1:1 ",
            _ => "parent 1:1 handle 2: ",
        };
        let mut line = format!("{place}{}", tc.name);
        for _ in 0..choices.below(8) {
            let word = choices.one_of(tc.words);
            line.push(' ');
            line.push_str(word.tc);
            line.push(' ');
            line.push_str(&value(word.form, choices));
        }
        line
    };
    let mut text = Vec::new();
    for number in 0..lines {
        text.push(line(number, choices));
    }
    text.join("\n")
}

/// A value for an option of this form.
fn value(form: Form, choices: &mut Choices) -> String {
    let units: &[&str] = match form {
        Form::Flag(_) | Form::Several(_) | Form::Default => return String::new(),
        Form::Time => &["us", "ms", "s", "", "usec", "min"],
        Form::Rate | Form::Rate32 => &["mbit", "bit", "kbps", "gbit", "", "tibit", "Bps"],
        Form::Size | Form::LimitBytes | Form::PacketsAsSize => &["", "k", "kb", "mbit", "g", "b"],
        _ => &["", "%", "k"],
    };
    let unit = if choices.once_in(8) {
        "x"
    } else {
        choices.one_of(units)
    };
    let number = match choices.byte() % 8 {
        0 => format!("{:#x}", choices.bits(4)),
        1 => format!("-{}", choices.whole(0, 100)),
        2 => format!("{}", choices.number(0.0, 1.0)),
        3 => format!("{}", choices.number(0.0, 1e20)),
        4 => format!("{}", choices.whole(0, u64::MAX)),
        _ => format!("{}", choices.whole(0, 100_000)),
    };
    format!("{number}{unit}")
}
