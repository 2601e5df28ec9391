//! How an algorithm's parameters are written in Linux's own words, `tc qdisc ... fq_codel limit 5000 target 10ms`.
//!
//! An algorithm declares its words; [`read`] and [`print`] follow the declaration, so that what one writes the other reads.

mod command;
mod print;
mod read;
mod value;

pub use print::print;
pub use read::{complete, is_text, read};

use serde_json::Value;

/// A qdisc of Linux as the `tc` command knows it. An algorithm may be several: `pfifo` and `bfifo` are one `fifo`.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    /// tc's name of the qdisc.
    pub name: &'static str,
    /// The words it knows, in the order in which tc prints them.
    pub words: &'static [Word],
    /// Words without which tc refuses the command, or `one|other` of them; they are always printed.
    pub required: &'static [&'static str],
    /// Parameters of ours, as JSON, that this qdisc fixes or whose default differs from that of `Params`: `("limit", "\"127p\"")`.
    pub presets: &'static [(&'static str, &'static str)],
}

/// One word of a qdisc and the parameter it sets.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// What the user writes.
    pub tc: &'static str,
    /// Our parameter.
    pub field: &'static str,
    /// What follows the word.
    pub form: Form,
    /// tc's default depends on the device or the kernel, so the word is always printed.
    pub always: bool,
    /// The word belongs to the qdisc's class, `tc class add ... htb rate 10mbit`, which holds the queue inside.
    pub of_class: bool,
    /// tc refuses it if it is given twice; otherwise the second time counts.
    pub once: bool,
}

/// What follows a word, and how it becomes our value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// A number of packets; our parameter is a `Limit` in packets.
    Packets,
    /// The same, but tc takes none below this.
    PacketsFrom(u64),
    /// A number of packets that tc reads as it reads a size (pfifo's `limit 1k` is 1024); our parameter is a `Limit` in packets.
    PacketsAsSize,
    /// A size; our parameter is a `Limit` in bytes.
    LimitBytes,
    /// A size; our parameter is `Bytes`.
    Size,
    /// A bare whole number of bytes; our parameter is `Bytes`.
    WholeBytes,
    /// A time.
    Time,
    /// A number of seconds without a unit; our parameter is a `Duration`.
    Seconds,
    /// A number of milliseconds without a unit; our parameter is a `Duration`.
    Milliseconds,
    /// A rate.
    Rate,
    /// A rate that Linux keeps in 32 bits of bytes a second: below 34.4 Gbit/s.
    Rate32,
    /// A whole number, in C's notations.
    Integer,
    /// A whole number between these, in decimal only.
    Decimal(i64, i64),
    /// Up to this many whole numbers, in decimal only; our parameter is a list, and those that are not given are the preset's.
    Integers(usize),
    /// A number, multiplied by this for tc (a percentage of our fraction: 100).
    Number(f64),
    /// A number above zero.
    Probability,
    /// A number, but tc takes whole numbers only, and none above the second (pie's `alpha` is written 16 times, up to 32).
    Whole(f64, u64),
    /// Nothing: the word itself sets this JSON value (`ecn` true, `noecn` false, `diffserv4` a string).
    Flag(&'static str),
    /// Nothing: the word sets several parameters to these JSON values. Read only; each parameter is printed by its own word.
    Several(&'static [(&'static str, &'static str)]),
    /// Nothing: tc knows the word, and it changes nothing here (`nonat`).
    Nothing,
    /// A value of this form, which changes nothing here (fq's `buckets`).
    Unused(&'static Form),
    /// tc knows the word, but the laboratory cannot do what it asks for; the reason.
    Refused(&'static str),
    /// The number of the class that holds the queue inside (htb's `default`): always printed, and checked when read.
    ClassNumber,
    /// No word: our parameter is the queue inside, and `Word::tc` the number of the class it stands in (tbf's `1`).
    Leaf,
    /// The same for a queue that replaces the one which these parameters describe. Those are no more then; as tc wants one of them all
    /// the same, it is told the words that come second.
    LeafInstead(&'static [&'static str], &'static str),
    /// No word: our parameter is the list of queues in the classes 1, 2, ...; their number is the first parameter named here, and where
    /// they are all alike, the second is the queue of each instead (prio's bands).
    Leaves(&'static str, &'static str),
}

impl Word {
    /// A word of the same name as the parameter.
    pub const fn same(name: &'static str, form: Form) -> Self {
        Self::new(name, name, form)
    }

    /// A word of another name than the parameter's, or one of several for it.
    pub const fn new(tc: &'static str, field: &'static str, form: Form) -> Self {
        Self {
            tc,
            field,
            form,
            always: false,
            of_class: false,
            once: false,
        }
    }

    /// Printed even where it says tc's default, because that depends on the device or the kernel.
    pub const fn always(self) -> Self {
        Self {
            always: true,
            ..self
        }
    }

    /// Refused the second time.
    pub const fn once(self) -> Self {
        Self { once: true, ..self }
    }

    /// Written at the qdisc's class.
    pub const fn of_class(self) -> Self {
        Self {
            of_class: true,
            ..self
        }
    }
}

impl Form {
    /// Whether it stands for queues inside, and is no word.
    pub const fn is_leaf(self) -> bool {
        matches!(self, Self::Leaf | Self::LeafInstead(..) | Self::Leaves(..))
    }
}

impl Tc {
    /// The queues inside, which are no words.
    fn leaves(&self) -> impl Iterator<Item = &'static Word> {
        let words = self.words.iter();
        words.filter(|word| word.form.is_leaf())
    }

    fn has_class(&self) -> bool {
        self.words.iter().any(|word| word.of_class)
    }
}

/// A kind of the registry as [`read`] and [`print`] see it.
#[derive(Debug)]
pub struct Kind {
    /// The name in a scenario.
    pub kind: &'static str,
    /// How tc writes it; empty if Linux lacks it.
    pub tc: &'static [Tc],
    /// What Linux has instead.
    pub nearest: Option<&'static str>,
    /// The parameters' defaults, a JSON table.
    pub defaults: Value,
}

/// The kind that tc calls so, and which of its qdiscs that is.
fn find<'a>(name: &str, kinds: &'a [Kind]) -> Option<(&'a Kind, &'static Tc)> {
    kinds.iter().find_map(|kind| {
        let tc = kind.tc.iter().find(|tc| tc.name == name)?;
        Some((kind, tc))
    })
}

/// A JSON constant of a declaration.
fn constant(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
