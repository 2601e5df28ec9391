//! Prints a queue as the tc commands that set it up.

use serde_json::{Map, Value};

use super::per_flow::Classes;
use super::value::{self, minor};
use super::{Form, Kind, Tc, Word, constant};

/// Returns the commands that set up this queue on a device: one for the queue itself, and one per class and inner queue. Options with tc's default
/// are omitted, unless `all` is set. The error names what tc cannot express.
pub fn print(
    queue: &Map<String, Value>,
    kinds: &[Kind],
    device: &str,
    all: bool,
) -> Result<Vec<String>, String> {
    let plain = |c: char| !c.is_whitespace() && c != '/';
    if !(1..16).contains(&device.len()) || !device.chars().all(plain) {
        return Err(format!("`{device}` is not the name of a network device"));
    }
    let mut lines = Vec::new();
    let printer = Printer { kinds, device, all };
    printer.queue(queue, None, &mut lines)?;
    Ok(lines)
}

/// The parts of a qdisc's command.
struct Said<'a> {
    tc: &'static Tc,
    words: Vec<String>,
    class: Vec<String>,
    /// The inner queues, by the number of their class.
    leaves: Vec<(u32, &'a Value)>,
    /// The classes of a queue that has one per hash of flows.
    per_flow: Option<Classes>,
}

struct Printer<'a> {
    kinds: &'a [Kind],
    device: &'a str,
    all: bool,
}

impl Printer<'_> {
    /// `place` contains the qdisc and class in which the queue is.
    fn queue(
        &self,
        queue: &Map<String, Value>,
        place: Option<(u32, u32)>,
        lines: &mut Vec<String>,
    ) -> Result<(), String> {
        let name = queue.get("kind").and_then(Value::as_str).unwrap_or("");
        let kind = self.kinds.iter().find(|kind| kind.kind == name);
        let Some(kind) = kind.filter(|kind| !kind.tc.is_empty()) else {
            let nearest = kind.and_then(|kind| kind.nearest);
            let nearest =
                nearest.map_or_else(String::new, |near| format!("; the nearest is `{near}`"));
            return Err(format!("Linux has no `{name}`{nearest}"));
        };
        let said = self.say(kind, queue)?;
        let device = self.device;
        let handle = place.map_or(1, |(qdisc, class)| qdisc * 16 + class);
        let mut line = vec![format!("tc qdisc replace dev {device}")];
        line.push(match place {
            None => "root".to_owned(),
            Some((qdisc, class)) => format!("parent {qdisc:x}:{class:x}"),
        });
        if said.tc.has_class() || !said.leaves.is_empty() {
            if handle > 0xffff {
                return Err(format!("{name}: too many nested queues for tc"));
            }
            line.push(format!("handle {handle:x}:"));
        }
        line.push(said.tc.name.to_owned());
        line.extend(said.words);
        lines.push(line.join(" "));
        if said.tc.has_class() {
            let words = said.class.join(" ");
            let name = said.tc.name;
            let number = said.per_flow.as_ref().map_or(1, |classes| classes.number);
            lines.extend((1..=number).map(|class| {
                format!(
                    "tc class replace dev {device} parent {handle:x}: classid {handle:x}:{class:x} {name} {words}"
                )
            }));
        }
        if let Some(classes) = said.per_flow {
            for class in 1..=classes.number {
                self.queue(&classes.fifo, Some((handle, class)), lines)?;
            }
            lines.push(classes.filter(device, handle));
        }
        for (class, leaf) in said.leaves {
            let leaf = leaf.as_object().ok_or("a queue inside must be a table")?;
            self.queue(leaf, Some((handle, class)), lines)?;
        }
        Ok(())
    }

    /// Tries the qdiscs of the kind in order, and returns the first that can express the queue.
    fn say<'q>(&self, kind: &Kind, queue: &'q Map<String, Value>) -> Result<Said<'q>, String> {
        let mut errors = Vec::new();
        for tc in kind.tc {
            match self.say_as(tc, kind, queue) {
                Ok(said) => return Ok(said),
                Err(error) => errors.push(error),
            }
        }
        errors.dedup();
        Err(errors.join("; "))
    }

    fn say_as<'q>(
        &self,
        tc: &'static Tc,
        kind: &Kind,
        queue: &'q Map<String, Value>,
    ) -> Result<Said<'q>, String> {
        let mut said = Said {
            tc,
            words: Vec::new(),
            class: Vec::new(),
            leaves: Vec::new(),
            per_flow: None,
        };
        let default = |field: &str| {
            let preset = tc.presets.iter().find(|(name, _)| *name == field);
            preset.map_or_else(
                || kind.defaults[field].clone(),
                |(_, value)| constant(value),
            )
        };
        let mut done: Vec<&str> = Vec::new();
        let mut why: Option<String> = None;
        for word in tc.words {
            if word.form == Form::ClassNumber {
                said.words.push(format!("{} 1", word.tc));
                continue;
            }
            if let Form::PerFlow(fields) = word.form {
                said.per_flow = Some(Classes::of(queue, fields, tc.name)?);
                done.extend([fields.number, fields.keys.0, fields.each, fields.all]);
                continue;
            }
            let Some(value) = queue
                .get(word.field)
                .filter(|_| !done.contains(&word.field))
            else {
                continue;
            };
            if word.form.is_leaf() {
                let inside = said.leaves.len();
                leaves(word, queue, &kind.defaults, &mut said.leaves);
                done.push(word.field);
                match word.form {
                    Form::Leaves(_, each) => done.push(each),
                    Form::LeafInstead(_, instead) if said.leaves.len() > inside => {
                        said.words.push(instead.to_owned());
                    }
                    _ => {}
                }
                continue;
            }
            match written(word, value) {
                Some(Ok(text)) => {
                    done.push(word.field);
                    let mut required = tc.required.iter();
                    let required = required.any(|words| words.split('|').any(|one| one == word.tc));
                    let wanted = self.all || word.always || required;
                    if wanted || *value != default(word.field) {
                        let to = if word.of_class {
                            &mut said.class
                        } else {
                            &mut said.words
                        };
                        to.push(text);
                    }
                }
                Some(Err(error)) if *value != default(word.field) => {
                    why.get_or_insert_with(|| format!("{}: {error}", word.field));
                }
                _ => {}
            }
        }
        let name = tc.name;
        let has = |word: &str| {
            let mut said = said.words.iter().chain(&said.class);
            said.any(|text| text.split(' ').next() == Some(word))
        };
        let mut required = tc.required.iter();
        let missing = required.find(|words| !words.split('|').any(has));
        for (field, value) in queue {
            if field == "kind" || done.contains(&field.as_str()) || *value == default(field) {
                continue;
            }
            let error = why
                .as_ref()
                .filter(|why| why.starts_with(&format!("{field}: ")));
            return Err(error.map_or_else(
                || format!("{field}: tc's `{name}` cannot express {}", plain(value)),
                |why| format!("{why} (tc's `{name}`)"),
            ));
        }
        if let Some(words) = missing {
            let words = words.replace('|', "` or `");
            return Err(format!(
                "tc's `{name}` requires `{words}`, which is not set"
            ));
        }
        Ok(said)
    }
}

/// Collects the inner queues by the number of their class.
fn leaves<'q>(
    word: &Word,
    queue: &'q Map<String, Value>,
    defaults: &Value,
    into: &mut Vec<(u32, &'q Value)>,
) {
    let own = queue.get(word.field).filter(|value| !value.is_null());
    match (word.form, own) {
        (Form::Leaves(number, each), Some(Value::Array(list))) => {
            let number = queue.get(number).unwrap_or(&defaults[number]).as_u64();
            let rest = queue.get(each).into_iter().cycle().skip(list.len());
            let all = list.iter().chain(rest).take(number.unwrap_or(0) as usize);
            into.extend((1..).zip(all));
        }
        (_, Some(one)) => into.push((minor(word.tc).unwrap_or(1), one)),
        _ => {}
    }
}

/// The option and its value. Returns `None` if the option is not printed or means another value.
fn written(word: &Word, value: &Value) -> Option<Result<String, String>> {
    let tc = word.tc;
    match word.form {
        Form::Flag(flag) => (constant(flag) == *value).then(|| Ok(tc.to_owned())),
        Form::Several(_) | Form::Default | Form::OnlyDefault(..) | Form::Refused(_) => None,
        Form::Integers(most) => {
            let list = value.as_array()?;
            let words: Vec<String> = list.iter().map(Value::to_string).collect();
            let fits = (1..=most).contains(&list.len());
            let error = || format!("tc takes up to {most} numbers");
            Some(
                fits.then(|| format!("{tc} {}", words.join(" ")))
                    .ok_or_else(error),
            )
        }
        // The parameter is absent.
        _ if value.is_null() => None,
        form => Some(value::write(form, value).map(|text| format!("{tc} {text}"))),
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
