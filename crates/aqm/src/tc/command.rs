//! A line of tc as a user may paste it: `tc qdisc add dev eth0 root handle 1: tbf rate 10mbit ...`.

use super::value::minor;

/// Where a command attaches its qdisc.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// Not given: the root, or the inner queue of the qdisc of the previous line.
    Unsaid,
    Root,
    /// The class with the second number, in the qdisc with the first.
    Parent(u32, u32),
}

/// One command, up to the options of the qdisc.
#[derive(Debug)]
pub(super) struct Command<'a> {
    /// `tc class` instead of `tc qdisc`.
    pub class: bool,
    pub place: Place,
    pub handle: Option<u32>,
    /// The numbers of qdisc and class in `classid`.
    pub classid: Option<(u32, u32)>,
    pub name: &'a str,
    pub words: &'a [&'a str],
}

impl<'a> Command<'a> {
    /// Parses a line that was split at spaces.
    pub fn read(line: &'a [&'a str]) -> Result<Self, String> {
        let mut command = Self {
            class: false,
            place: Place::Unsaid,
            handle: None,
            classid: None,
            name: "",
            words: &[],
        };
        let mut rest = line;
        if let ["tc", after @ ..] = rest {
            rest = after;
        }
        if let [object @ ("qdisc" | "class"), verb, after @ ..] = rest {
            if !["add", "replace", "change", "link"].contains(verb) {
                return Err(format!(
                    "`tc {object} {verb}` does not create a queue (allowed: add, replace, change)"
                ));
            }
            command.class = *object == "class";
            rest = after;
        }
        loop {
            rest = match rest {
                ["root", after @ ..] => {
                    command.place = Place::Root;
                    after
                }
                ["dev", _, after @ ..] => after,
                ["parent", at, after @ ..] => {
                    let (qdisc, class) = numbers(at)?;
                    command.place = Place::Parent(qdisc, class);
                    after
                }
                ["handle", at, after @ ..] => {
                    command.handle = Some(numbers(at)?.0);
                    after
                }
                ["classid", at, after @ ..] => {
                    command.classid = Some(numbers(at)?);
                    after
                }
                [name, words @ ..] => {
                    command.name = name;
                    command.words = words;
                    return Ok(command);
                }
                [] => return Err("a qdisc's name is missing".to_owned()),
            };
        }
    }
}

/// Parses `1:10` as (1, 0x10). An omitted part is 0.
fn numbers(text: &str) -> Result<(u32, u32), String> {
    let part = |digits: &str| {
        if digits.is_empty() {
            Some(0)
        } else {
            minor(digits)
        }
    };
    text.split_once(':')
        .and_then(|(qdisc, class)| Some((part(qdisc)?, part(class)?)))
        .ok_or_else(|| format!("`{text}` is not a handle such as `1:` or `1:10`"))
}
