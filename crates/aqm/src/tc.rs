//! How an algorithm's parameters are written in Linux's own words, `tc qdisc ... fq_codel limit 5000 target 10ms`.

/// A qdisc of Linux as the `tc` command knows it. An algorithm may be several: `pfifo` and `bfifo` are one `fifo`.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    /// tc's name of the qdisc.
    pub name: &'static str,
    /// The words it knows, in the order in which tc prints them.
    pub words: &'static [Word],
    /// Words without which tc refuses the command.
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
}

/// What follows a word, and how it becomes our value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// A number of packets; our parameter is a `Limit` in packets.
    Packets,
    /// A size; our parameter is a `Limit` in bytes.
    LimitBytes,
    /// A size; our parameter is `Bytes`.
    Size,
    /// A time.
    Time,
    /// A number of milliseconds without a unit; our parameter is a `Duration`.
    Milliseconds,
    /// A rate.
    Rate,
    /// An integer.
    Integer,
    /// A number, multiplied by this for tc (pie's `alpha` is written 16 times).
    Number(f64),
    /// Nothing: the word itself sets this JSON value (`ecn` true, `noecn` false, `diffserv4` a string).
    Flag(&'static str),
}

impl Word {
    /// A word of the same name as the parameter.
    pub const fn same(name: &'static str, form: Form) -> Self {
        Self {
            tc: name,
            field: name,
            form,
        }
    }

    /// A word of another name than the parameter's, or one of several for it.
    pub const fn new(tc: &'static str, field: &'static str, form: Form) -> Self {
        Self { tc, field, form }
    }
}
