//! A queue with a class per hash of flows, as tc's `drr` sets it up: each class holds a FIFO, and a filter chooses the class.

use serde_json::{Map, Value, json};

use bloatlab_units::Limit;

use super::{Form, Tc};

/// The parameters of such a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerFlow {
    /// The parameter with the number of classes.
    pub number: &'static str,
    /// The parameter with what is hashed, and its values with their names in tc.
    pub keys: (&'static str, &'static [(&'static str, &'static str)]),
    /// The parameter with the limit of a class.
    pub each: &'static str,
    /// The parameter with the limit of all classes together, which tc does not have.
    pub all: &'static str,
}

/// Most classes whose set-up is printed.
const MOST: u64 = 4096;
/// Packets in the FIFO of a class to which no line gives a queue: `txqueuelen` of Ethernet.
const TXQUEUELEN: &str = "1000p";

/// The classes of a queue and its filter.
#[derive(Debug, PartialEq)]
pub(super) struct Classes {
    pub number: u32,
    /// What the filter hashes, as tc writes it.
    keys: &'static str,
    /// The FIFO in each class, as the table of a scenario.
    pub fifo: Map<String, Value>,
}

impl Classes {
    /// The classes of a queue. The error starts with the name of a parameter.
    pub fn of(queue: &Map<String, Value>, fields: &PerFlow, name: &str) -> Result<Self, String> {
        let number = queue.get(fields.number).and_then(Value::as_u64);
        let number = number.filter(|number| *number <= MOST).ok_or_else(|| {
            format!(
                "{}: at most {MOST} classes are set up for tc's `{name}`",
                fields.number
            )
        })?;
        let (field, names) = fields.keys;
        let given = queue.get(field).and_then(Value::as_str).unwrap_or_default();
        let known = names.iter().find(|(ours, _)| *ours == given);
        let (_, keys) = known.ok_or_else(|| {
            let known: Vec<&str> = names.iter().map(|(ours, _)| *ours).collect();
            let known = known.join(" or ");
            format!("{field}: tc's `{name}` cannot express {given}, only {known}")
        })?;
        let limit = |field: &str| -> Option<Limit> {
            serde_json::from_value(queue.get(field)?.clone()).ok()
        };
        let (each, all) = (fields.each, fields.all);
        let own = limit(each).ok_or_else(|| {
            let enough = number * 100;
            format!(
                "{each}: tc's `{name}` has a limit for each class only, so it must be set, such as {each} = \"100p\", {all} = \"{enough}p\""
            )
        })?;
        let least = many(own, number);
        if limit(all).is_none_or(|limit| !holds(limit, least)) {
            let number = fields.number;
            return Err(format!(
                "{all}: tc's `{name}` has a limit for each class only, so it must be at least {least} ({number} times {each})"
            ));
        }
        let fifo = Map::from_iter([
            ("kind".to_owned(), json!("fifo")),
            ("limit".to_owned(), json!(own)),
        ]);
        Ok(Self {
            number: number as u32,
            keys,
            fifo,
        })
    }

    /// The command that makes a hash of each packet's flow choose the class.
    pub fn filter(&self, device: &str, handle: u32) -> String {
        let Self { number, keys, .. } = self;
        format!(
            "tc filter replace dev {device} parent {handle:x}: protocol all prio 1 handle 1 flow hash keys {keys} divisor {number} baseclass {handle:x}:1"
        )
    }
}

/// The limit of `number` queues together, each of which has the limit `limit`.
fn many(limit: Limit, number: u64) -> Limit {
    match limit {
        Limit::Packets(own) => Limit::Packets(own.saturating_mul(number)),
        Limit::Bytes(own) => Limit::Bytes(own.saturating_mul(number)),
        Limit::Buffers(own) => Limit::Buffers(own.saturating_mul(number)),
    }
}

/// Whether a queue that holds at most `least` never reaches `limit`.
fn holds(limit: Limit, least: Limit) -> bool {
    match (limit, least) {
        (Limit::Packets(limit), Limit::Packets(least))
        | (Limit::Bytes(limit), Limit::Bytes(least)) => limit >= least,
        _ => false,
    }
}

/// The classes that lines of tc have set up so far.
#[derive(Debug, Default)]
pub(super) struct Read {
    number: u32,
    options: Map<String, Value>,
    fifos: Vec<(u32, Map<String, Value>)>,
    /// The parameter with what is hashed, and the number of classes that the filter chooses from.
    filter: Option<(&'static str, u32)>,
}

impl Read {
    /// Adds a class, whose options must be those of the classes before it.
    pub fn class(
        &mut self,
        number: u32,
        options: Map<String, Value>,
        name: &str,
    ) -> Result<(), String> {
        if number != self.number + 1 {
            return Err(format!(
                "tc's `{name}`: the class after {:x} must be {:x}, not {number:x}",
                self.number,
                self.number + 1
            ));
        }
        if self.number > 0 && options != self.options {
            return Err(format!(
                "tc's `{name}`: class {number:x} has other options than class 1, which is not modelled"
            ));
        }
        self.number = number;
        self.options = options;
        Ok(())
    }

    /// Adds the queue in a class.
    pub fn queue(
        &mut self,
        class: u32,
        table: Map<String, Value>,
        name: &str,
    ) -> Result<(), String> {
        let is_fifo = table.get("kind").is_some_and(|kind| kind == "fifo");
        if !is_fifo
            || table
                .keys()
                .any(|key| !["kind", "limit"].contains(&key.as_str()))
        {
            return Err(format!(
                "tc's `{name}` with a queue other than pfifo or bfifo in a class is not modelled"
            ));
        }
        if class == 0 || class > self.number {
            return Err(format!("`{name}` has no class {class:x} for another queue"));
        }
        if self.fifos.iter().any(|(other, _)| *other == class) {
            return Err(format!("`{name}` has two queues in class {class:x}"));
        }
        self.fifos.push((class, table));
        Ok(())
    }

    /// Adds a filter: the words after `tc filter add dev DEV parent 1:`.
    pub fn filter(&mut self, words: &[&str], fields: &PerFlow, name: &str) -> Result<(), String> {
        let (_, names) = fields.keys;
        let [
            ..,
            "flow",
            "hash",
            "keys",
            keys,
            "divisor",
            divisor,
            "baseclass",
            base,
        ] = words
        else {
            return Err(format!(
                "tc's `{name}` with another filter than `flow hash keys KEYS divisor CLASSES baseclass 1:1` is not modelled"
            ));
        };
        let known = names.iter().find(|(_, theirs)| theirs == keys);
        let (ours, _) = known.ok_or_else(|| {
            let known: Vec<&str> = names.iter().map(|(_, theirs)| *theirs).collect();
            let known = known.join("` or `");
            format!("keys: `{keys}` is not modelled (allowed: `{known}`)")
        })?;
        let number = divisor.parse();
        let number = number.map_err(|_| format!("divisor: `{divisor}` is not a whole number"))?;
        if base.split_once(':').is_none_or(|(_, class)| class != "1") {
            return Err(format!("baseclass: `{base}` is not the first class"));
        }
        self.filter = Some((ours, number));
        Ok(())
    }

    /// Sets the parameters in the table of the queue.
    pub fn finish(
        self,
        fields: &PerFlow,
        name: &str,
        table: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let number = self.number;
        let Some((keys, _)) = self.filter.filter(|(_, divisor)| *divisor == number) else {
            return Err(format!(
                "tc's `{name}` needs a filter that chooses one of its {number} classes: add `tc filter add dev DEV parent 1: protocol all handle 1 \
                 flow hash keys src,dst,proto,proto-src,proto-dst divisor {number} baseclass 1:1`"
            ));
        };
        let mut limits = self.fifos.iter().map(|(_, fifo)| fifo["limit"].clone());
        let first = limits.next();
        if limits.any(|limit| Some(&limit) != first.as_ref())
            || (first.is_some() && self.fifos.len() < number as usize)
        {
            return Err(format!(
                "tc's `{name}` with different queues in its classes is not modelled"
            ));
        }
        let each = first.unwrap_or_else(|| json!(TXQUEUELEN));
        let own: Limit = serde_json::from_value(each.clone()).map_err(|why| why.to_string())?;
        table.extend(self.options);
        table.insert(fields.number.to_owned(), json!(number));
        table.insert(fields.keys.0.to_owned(), json!(keys));
        table.insert(fields.all.to_owned(), json!(many(own, u64::from(number))));
        table.insert(fields.each.to_owned(), each);
        Ok(())
    }
}

impl Tc {
    /// The parameters of its classes, if it has one per hash of flows.
    pub(super) fn per_flow(&self) -> Option<&'static PerFlow> {
        self.words.iter().find_map(|word| match word.form {
            Form::PerFlow(fields) => Some(fields),
            _ => None,
        })
    }
}
