//! Reading and writing of queues as Linux's tc commands, such as `tc qdisc ... fq_codel limit 5000 target 10ms`.
//!
//! An algorithm declares its options. [`read`] and [`print`] both use the declaration, so that each can process the output of the other.

mod command;
mod per_flow;
mod print;
mod read;
mod value;

pub use per_flow::PerFlow;
pub use print::print;
pub use read::{complete, is_text, read};

use serde_json::Value;

/// A qdisc of the `tc` command. An algorithm may have several: `pfifo` and `bfifo` are both `fifo`.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    /// tc's name of the qdisc.
    pub name: &'static str,
    /// Its options, in the order in which tc prints them.
    pub words: &'static [Word],
    /// Options without which tc refuses the command; `one|other` means one of them. They are always printed.
    pub required: &'static [&'static str],
    /// Parameters, as JSON, that this qdisc fixes or whose default differs from that of `Params`: `("limit", "\"127p\"")`.
    pub presets: &'static [(&'static str, &'static str)],
}

/// One option of a qdisc and the parameter that it sets.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The option's name in tc.
    pub tc: &'static str,
    /// The parameter's name.
    pub field: &'static str,
    /// The kind of value that follows the option.
    pub form: Form,
    /// Always print the option, because tc's default depends on the device or the kernel.
    pub always: bool,
    /// The option belongs to the qdisc's class, `tc class add ... htb rate 10mbit`, which holds the inner queue.
    pub of_class: bool,
    /// tc refuses the option if it is given twice. Otherwise the last value is used.
    pub once: bool,
}

/// The kind of value that follows an option, and how it is converted to the parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// A number of packets. The parameter is a `Limit` in packets.
    Packets,
    /// A number of packets, which tc requires to be at least this. The parameter is a `Limit` in packets.
    PacketsFrom(u64),
    /// A number of packets that tc reads as a size (pfifo's `limit 1k` is 1024). The parameter is a `Limit` in packets.
    PacketsAsSize,
    /// A size. The parameter is a `Limit` in bytes.
    LimitBytes,
    /// A size. The parameter is `Bytes`.
    Size,
    /// A whole number of bytes without a unit. The parameter is `Bytes`.
    WholeBytes,
    /// A time.
    Time,
    /// A number of seconds without a unit. The parameter is a `Duration`.
    Seconds,
    /// A number of milliseconds without a unit. The parameter is a `Duration`.
    Milliseconds,
    /// A rate.
    Rate,
    /// A rate that Linux stores in 32 bits as bytes per second, so below 34.4 Gbit/s.
    Rate32,
    /// A whole number in C's notations.
    Integer,
    /// A whole number in this range, in decimal notation only.
    Decimal(i64, i64),
    /// Up to this many whole numbers, in decimal notation only. The parameter is a list; missing numbers are taken from the preset.
    Integers(usize),
    /// A number, multiplied by this in tc (100 for a percentage of our fraction).
    Number(f64),
    /// A number above zero.
    Probability,
    /// A whole number in tc: our number multiplied by the first value, and at most the second (pie's `alpha` is multiplied by 16, up to 32).
    Whole(f64, u64),
    /// No value. The option sets this JSON value (`ecn` true, `noecn` false, `diffserv4` a string).
    Flag(&'static str),
    /// No value. The option sets several parameters to these JSON values. Only for reading; each parameter is printed by its own option.
    Several(&'static [(&'static str, &'static str)]),
    /// No value. The option is tc's default and the only behaviour that is modelled, so it is not printed (cake's `split-gso`).
    Default,
    /// A value of this form, which must be tc's default, the second. It is not printed. Another value is refused, for the reason given last (fq's
    /// `buckets`).
    OnlyDefault(&'static Form, &'static str, &'static str),
    /// tc knows the option, but it is not modelled here, for this reason.
    Refused(&'static str),
    /// The number of the class that holds the inner queue (htb's `default`). It is always printed, and checked when read.
    ClassNumber,
    /// Not an option: the parameter is the inner queue, and `Word::tc` is the number of its class (tbf's `1`).
    Leaf,
    /// As `Leaf`, for an inner queue that replaces the one described by the parameters in the list. tc still requires one of them, so the second
    /// value is printed.
    LeafInstead(&'static [&'static str], &'static str),
    /// Not an option: the parameter is the list of the queues in the classes 1, 2, ... The first name is the parameter with their number. If all are
    /// equal, the second is the parameter with the queue of each (prio's bands).
    Leaves(&'static str, &'static str),
    /// Not an option: there is a class with a FIFO for each hash of a flow.
    PerFlow(&'static PerFlow),
}

impl Word {
    /// An option with the same name as the parameter.
    pub const fn same(name: &'static str, form: Form) -> Self {
        Self::new(name, name, form)
    }

    /// An option with another name than the parameter, or one of several options for it.
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

    /// Always printed, because tc's default depends on the device or the kernel.
    pub const fn always(self) -> Self {
        Self {
            always: true,
            ..self
        }
    }

    /// Refused when given twice.
    pub const fn once(self) -> Self {
        Self { once: true, ..self }
    }

    /// Written in the command of the qdisc's class.
    pub const fn of_class(self) -> Self {
        Self {
            of_class: true,
            ..self
        }
    }
}

impl Form {
    /// Whether it is the place of inner queues instead of an option.
    pub const fn is_leaf(self) -> bool {
        matches!(
            self,
            Self::Leaf | Self::LeafInstead(..) | Self::Leaves(..) | Self::PerFlow(_)
        )
    }
}

impl Tc {
    /// The inner queues, which are not options.
    fn leaves(&self) -> impl Iterator<Item = &'static Word> {
        let words = self.words.iter();
        words.filter(|word| word.form.is_leaf())
    }

    fn has_class(&self) -> bool {
        self.words.iter().any(|word| word.of_class)
    }
}

/// A kind of the registry, as needed by [`read`] and [`print`].
#[derive(Debug)]
pub struct Kind {
    /// The name in a scenario.
    pub kind: &'static str,
    /// How tc writes it. Empty if Linux does not have it.
    pub tc: &'static [Tc],
    /// The most similar qdisc of Linux.
    pub nearest: Option<&'static str>,
    /// The defaults of the parameters, as a JSON table.
    pub defaults: Value,
}

/// The kind and the qdisc that tc calls `name`.
fn find<'a>(name: &str, kinds: &'a [Kind]) -> Option<(&'a Kind, &'static Tc)> {
    kinds.iter().find_map(|kind| {
        let tc = kind.tc.iter().find(|tc| tc.name == name)?;
        Some((kind, tc))
    })
}

/// Parses a JSON constant of a declaration.
fn constant(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
