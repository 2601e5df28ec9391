//! Reads tc commands into the table of a scenario.

use serde_json::{Map, Value};

use super::command::{Command, Place};
use super::per_flow;
use super::value::{self, minor};
use super::{Form, Kind, Tc, Word, constant, find};
use crate::registry::{DEEPEST, too_deep};
use bloatlab_units::suggestion;

/// Whether the text is a tc command and not only the name of a queue.
pub fn is_text(text: &str) -> bool {
    text.trim().contains([' ', '\t', '\n', ';'])
}

/// A qdisc that a line creates.
struct Node<'a> {
    kind: &'a Kind,
    tc: &'static Tc,
    handle: Option<u32>,
    /// The number of its class, once a line creates the class.
    class: Option<u32>,
    /// The index of its parent qdisc, and the class in it.
    inside: Option<(usize, u32)>,
    /// The inner queues that belong to a list, by class.
    listed: Vec<(u32, Map<String, Value>)>,
    /// Its classes, if it has one per hash of flows.
    per_flow: per_flow::Read,
    table: Map<String, Value>,
}

/// Reads one or several tc commands, separated by new lines or semicolons, into the table of a scenario: the `kind`, the values of the options, and
/// the presets of the qdisc. A line without a parent belongs to the qdisc of the previous line.
pub fn read(text: &str, kinds: &[Kind]) -> Result<Map<String, Value>, String> {
    let mut nodes: Vec<Node> = Vec::new();
    let lines = text.split(['\n', ';']).map(str::trim);
    for line in lines.filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["tc", "filter", rest @ ..] | ["filter", rest @ ..] = &words[..] {
            filter(rest, &mut nodes)?;
            continue;
        }
        let command = Command::read(&words)?;
        if command.class {
            class(&command, &mut nodes)?;
            continue;
        }
        let inside = place(&command, &nodes)?;
        let (kind, tc) = find(command.name, kinds).ok_or_else(|| unknown(command.name, kinds))?;
        let mut table = Map::from_iter([("kind".to_owned(), Value::from(kind.kind))]);
        set(tc, false, command.words, &mut table)?;
        nodes.push(Node {
            kind,
            tc,
            handle: command.handle,
            class: None,
            inside,
            listed: Vec::new(),
            per_flow: per_flow::Read::default(),
            table,
        });
        if depth(&nodes) > DEEPEST {
            return Err(too_deep());
        }
    }
    fold(nodes)
}

/// The nesting depth of the last qdisc, counted from 1.
fn depth(nodes: &[Node]) -> usize {
    let last = nodes.len().checked_sub(1);
    let outer = |at: &usize| nodes[*at].inside.map(|(parent, _)| parent);
    std::iter::successors(last, outer).count()
}

/// Moves the tables of inner qdiscs into those of their parents. Every qdisc comes after its parent.
fn fold(mut nodes: Vec<Node>) -> Result<Map<String, Value>, String> {
    while let Some(mut node) = nodes.pop() {
        let name = node.tc.name;
        if node.tc.has_class() && node.class.is_none() {
            return Err(format!(
                "tc's `{name}` needs a class: add `tc class add dev DEV parent 1: classid 1:1 {name} ...`"
            ));
        }
        let wanted = node.table.remove(CLASS_NUMBER);
        if let (Some(Value::Number(wanted)), Some(class)) = (wanted, node.class)
            && wanted.as_u64() != Some(u64::from(class))
        {
            return Err(format!(
                "tc's `{name}` sends packets to class {:x}, which does not exist; the class is {class:x}",
                wanted.as_u64().unwrap_or(0)
            ));
        }
        let set = |word: &str| {
            let mut of = node.tc.words.iter().filter(|one| one.tc == word);
            of.any(|one| node.table.contains_key(one.field))
        };
        let mut required = node.tc.required.iter();
        if let Some(words) = required.find(|words| !words.split('|').any(set)) {
            let words = words.replace('|', "` or `");
            return Err(format!("tc's `{name}` requires `{words}`"));
        }
        gather(&mut node)?;
        if let Some(fields) = node.tc.per_flow() {
            node.per_flow.finish(fields, name, &mut node.table)?;
        }
        preset(node.tc, &mut node.table);
        let Some((parent, class)) = node.inside else {
            return Ok(node.table);
        };
        attach(&mut nodes[parent], class, node.table)?;
    }
    Err("a qdisc's name is missing".to_owned())
}

/// Sets the parameters that this qdisc fixes, and its defaults where they differ from those of the kind.
fn preset(tc: &Tc, table: &mut Map<String, Value>) {
    for (field, value) in tc.presets {
        table.entry(*field).or_insert_with(|| constant(value));
    }
}

/// Returns the kind that tc calls `name`, if any, and sets the presets of that qdisc in `params`.
pub fn complete(
    name: &str,
    params: &mut Map<String, Value>,
    kinds: &[Kind],
) -> Option<&'static str> {
    let (kind, tc) = find(name, kinds)?;
    preset(tc, params);
    Some(kind.kind)
}

/// The parent of a line's qdisc and the class in it; `None` for the root.
fn place(command: &Command, nodes: &[Node]) -> Result<Option<(usize, u32)>, String> {
    let name = command.name;
    match (command.place, nodes.last()) {
        (Place::Unsaid | Place::Root, None) => Ok(None),
        (Place::Root, Some(first)) => Err(format!(
            "`{name}` cannot be the root, because `{}` already is",
            first.tc.name
        )),
        (Place::Parent(..), None) => Err(format!("`{name}` has a parent that no line creates")),
        (Place::Unsaid, Some(node)) => {
            let class = node.class.or_else(|| {
                let leaf = node.tc.leaves().next()?;
                minor(leaf.tc).or(Some(1))
            });
            match class {
                Some(class) => Ok(Some((nodes.len() - 1, class))),
                None => Err(format!("`{}` cannot hold another queue", node.tc.name)),
            }
        }
        (Place::Parent(qdisc, class), Some(_)) => {
            let parent = nodes.iter().position(|node| node.handle == Some(qdisc));
            let parent = parent.ok_or_else(|| {
                format!("`{name}`: no line gave the handle {qdisc:x}: of its parent")
            })?;
            Ok(Some((parent, class)))
        }
    }
}

/// Reads a line `tc class add ...`, whose options are parameters of the qdisc.
fn class(command: &Command, nodes: &mut [Node]) -> Result<(), String> {
    let (qdisc, number) = command
        .classid
        .ok_or("`tc class` needs a classid such as `classid 1:1`")?;
    if command.place != Place::Parent(qdisc, 0) {
        return Err(format!(
            "class {qdisc:x}:{number:x} must have the parent {qdisc:x}: (a class within a class is not modelled)"
        ));
    }
    let node = nodes.iter_mut().find(|node| node.handle == Some(qdisc));
    let Some(node) = node.filter(|node| node.tc.has_class() && node.tc.name == command.name) else {
        return Err(format!(
            "class {qdisc:x}:{number:x}: no line creates a qdisc `{}` with the handle {qdisc:x}:",
            command.name
        ));
    };
    if node.tc.per_flow().is_some() {
        let mut options = Map::new();
        set(node.tc, true, command.words, &mut options)?;
        node.class = Some(1);
        return node.per_flow.class(number, options, command.name);
    }
    if let Some(other) = node.class {
        return Err(format!(
            "class {qdisc:x}:{number:x}: only one class is modelled, and {qdisc:x}:{other:x} exists already"
        ));
    }
    node.class = Some(number);
    set(node.tc, true, command.words, &mut node.table)
}

/// Reads the words after `tc filter`, which belong to a queue with a class per hash of flows.
fn filter(words: &[&str], nodes: &mut [Node]) -> Result<(), String> {
    let parent = words.iter().position(|word| *word == "parent");
    let parent = parent.and_then(|at| words.get(at + 1)).copied();
    let handle = parent.and_then(|parent| minor(parent.strip_suffix(':')?));
    let node = nodes
        .iter_mut()
        .find(|node| handle.is_some() && node.handle == handle);
    let node = node
        .ok_or("`tc filter` needs a parent such as `parent 1:`, which a line before it creates")?;
    let name = node.tc.name;
    let fields = node.tc.per_flow();
    let fields = fields.ok_or_else(|| format!("a filter of tc's `{name}` is not modelled"))?;
    node.per_flow.filter(words, fields, name)
}

/// Sets the parameter of the parent to the table of an inner queue.
fn attach(parent: &mut Node, class: u32, table: Map<String, Value>) -> Result<(), String> {
    let name = parent.tc.name;
    if parent.tc.per_flow().is_some() {
        return parent.per_flow.queue(class, table, name);
    }
    let mut leaves = parent.tc.leaves();
    let word = match parent.class {
        Some(own) => leaves.next().filter(|_| own == class),
        None => leaves
            .find(|word| matches!(word.form, Form::Leaves(..)) || minor(word.tc) == Some(class)),
    };
    let Some(word) = word else {
        return Err(format!("`{name}` has no class {class:x} for another queue"));
    };
    let twice = if let Form::Leaves(..) = word.form {
        let twice = parent.listed.iter().any(|(other, _)| *other == class);
        parent.listed.push((class, table));
        twice
    } else {
        let before = parent
            .table
            .insert(word.field.to_owned(), Value::Object(table));
        before.is_some()
    };
    if twice {
        return Err(format!("`{name}` has two queues in class {class:x}"));
    }
    Ok(())
}

/// Builds the list of inner queues when all are known, and removes the parameters that they replace.
fn gather(node: &mut Node) -> Result<(), String> {
    for word in node.tc.leaves() {
        match word.form {
            Form::LeafInstead(void, _) if node.table.contains_key(word.field) => {
                node.table
                    .retain(|field, _| !void.contains(&field.as_str()));
            }
            Form::Leaves(number, each) if !node.listed.is_empty() => {
                let default = |field: &str| &node.kind.defaults[field];
                let number = node.table.get(number).unwrap_or(default(number));
                let number = number.as_u64().unwrap_or(0);
                let mut list = vec![default(each).clone(); number.min(0xffff) as usize];
                for (class, table) in node.listed.drain(..) {
                    let slot = class
                        .checked_sub(1)
                        .and_then(|at| list.get_mut(at as usize));
                    *slot.ok_or_else(|| {
                        format!(
                            "`{}` has no class {class:x} for another queue",
                            node.tc.name
                        )
                    })? = Value::Object(table);
                }
                if list.windows(2).all(|pair| pair[0] == pair[1]) {
                    node.table
                        .extend(list.pop().map(|one| (each.to_owned(), one)));
                } else {
                    node.table.insert(word.field.to_owned(), Value::Array(list));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Temporary key for the class number in htb's `default`.
const CLASS_NUMBER: &str = " class";

/// Reads the options of a qdisc, or of its class, into the table. As in tc, most options may be repeated, and the last value is used.
fn set(
    tc: &'static Tc,
    of_class: bool,
    words: &[&str],
    table: &mut Map<String, Value>,
) -> Result<(), String> {
    let mut rest = words.iter().copied().peekable();
    let mut said: Vec<&str> = Vec::new();
    while let Some(text) = rest.next() {
        let word = keywords(tc, of_class)
            .find(|word| word.tc == text)
            .ok_or_else(|| no_word(tc, of_class, text))?;
        let name = tc.name;
        if word.once && said.contains(&word.field) {
            return Err(format!("{text}: tc's `{name}` takes it only once"));
        }
        said.push(word.field);
        let field = word.field.to_owned();
        let mut argument = || {
            rest.next()
                .ok_or_else(|| format!("{text}: tc's `{name}` requires a value after it"))
        };
        let wrong = |why: String| format!("{text}: {why} (option of tc's `{name}`)");
        match word.form {
            Form::Flag(value) => {
                table.insert(field, constant(value));
            }
            Form::Several(values) => {
                let values = values.iter();
                table.extend(values.map(|(field, value)| ((*field).to_owned(), constant(value))));
            }
            Form::Default => {}
            Form::Refused(why) => {
                return Err(format!("`{text}` of tc's `{name}` is not modelled: {why}"));
            }
            Form::ClassNumber => {
                let number = argument()?;
                let class = minor(number)
                    .ok_or_else(|| wrong(format!("`{number}` is not a class number")))?;
                table.insert(CLASS_NUMBER.to_owned(), Value::from(class));
            }
            Form::Integers(most) => {
                let one = Form::Decimal(0, i64::from(i32::MAX));
                let first = argument()?;
                let mut list = vec![value::read(one, first).map_err(wrong)?];
                while list.len() < most
                    && let Some(next) = rest.peek()
                    && let Ok(number) = value::read(one, next)
                {
                    list.push(number);
                    rest.next();
                }
                let mut presets = tc.presets.iter().filter(|(name, _)| *name == field);
                if let Some(Value::Array(all)) = presets.next().map(|(_, all)| constant(all)) {
                    list.extend(all.into_iter().skip(list.len()));
                }
                table.insert(field, Value::Array(list));
            }
            Form::OnlyDefault(&form, default, why) => {
                let given = argument()?;
                if value::read(form, given).map_err(wrong)? != value::read(form, default)? {
                    return Err(format!(
                        "`{text} {given}` of tc's `{name}` is not modelled: {why} (allowed: tc's default, `{text} {default}`)"
                    ));
                }
            }
            form => {
                let value = value::read(form, argument()?).map_err(wrong)?;
                table.insert(field, value);
            }
        }
    }
    Ok(())
}

/// The options of a qdisc, or of its class.
fn keywords(tc: &'static Tc, of_class: bool) -> impl Iterator<Item = &'static Word> {
    tc.words
        .iter()
        .filter(move |word| word.of_class == of_class && !word.form.is_leaf())
}

fn no_word(tc: &'static Tc, of_class: bool, text: &str) -> String {
    let known: Vec<&str> = keywords(tc, of_class).map(|word| word.tc).collect();
    let near = suggestion(text, known.iter().copied());
    let allowed = if known.is_empty() {
        "it has no options".to_owned()
    } else {
        format!("allowed: {}", known.join(", "))
    };
    let what = if of_class {
        "the class of tc's"
    } else {
        "tc's"
    };
    format!(
        "{what} `{}` has no option `{text}`{near} ({allowed})",
        tc.name
    )
}

fn unknown(name: &str, kinds: &[Kind]) -> String {
    let known: Vec<&str> = kinds
        .iter()
        .flat_map(|kind| kind.tc.iter().map(|tc| tc.name))
        .collect();
    let allowed = known.join(", ");
    if kinds.iter().any(|kind| kind.kind == name) {
        return format!(
            "tc has no qdisc `{name}`: write a table instead: {{kind = \"{name}\", ...}} (qdiscs of tc: {allowed})"
        );
    }
    let near = suggestion(name, known);
    format!("`{name}` is not a known qdisc of tc{near} (allowed: {allowed})")
}
