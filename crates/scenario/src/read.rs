//! Reads a scenario from JSON. Errors give the full path of the key.

use bloatlab_link::{Disk, Files};
use serde_json::Value;
use serde_path_to_error::Segment;

use crate::error::{Complaint, complaint, translate};
use crate::path::{Step, named_steps, show, split_name};
use crate::{Limits, Plan, Scenario, ScenarioError, text};

/// A scenario that was checked, and its plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The scenario, with every default and the digests of its files.
    pub scenario: Scenario,
    /// What an engine runs.
    pub plan: Plan,
}

impl Scenario {
    /// Reads, checks and compiles a document written in JSON. Each file that it names is read once, and its digest is noted in the scenario.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn load(text: &str, files: &dyn Files, limits: &Limits) -> Result<Checked, ScenarioError> {
        Self::read(&text::parse(text)?)?.checked(files, limits)
    }

    /// Reads and checks a document written in JSON, with files from the disk and within the default limits.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let checked = Self::load(text, &Disk, &Limits::default())?;
        Ok(checked.scenario)
    }

    /// Reads and checks a document that is a JSON value, with files from the disk and within the default limits.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn from_value(value: Value) -> Result<Self, ScenarioError> {
        let checked = Self::read(&value)?.checked(&Disk, &Limits::default())?;
        Ok(checked.scenario)
    }

    fn checked(mut self, files: &dyn Files, limits: &Limits) -> Result<Checked, ScenarioError> {
        let plan = self.plan(Some(files), limits)?;
        // Only what can be read again is stored.
        text::check_length(self.to_canonical_json().len(), " with its defaults")?;
        let scenario = self;
        Ok(Checked { scenario, plan })
    }

    /// The document with all defaults and with keys in a fixed order. Reading it gives the same scenario.
    pub fn to_canonical_json(&self) -> String {
        serde_json::to_string(self).expect("a scenario has string keys and finite numbers")
    }

    /// The JSON Schema of the document.
    pub fn json_schema() -> Value {
        schemars::schema_for!(Self).to_value()
    }

    pub(crate) fn read(value: &Value) -> Result<Self, ScenarioError> {
        check_shape(value, &mut Vec::new())?;
        attempt(value).map_err(|(path, message)| locate(value.clone(), path, message))
    }
}

/// Keys whose values may be lists.
const LISTS: [&str; 24] = [
    "flows",
    "timeline",
    "boxes",
    "hops",
    "path",
    "return_path",
    // Parameters of queues.
    "queues",
    "rate_steps",
    "priomap",
    // Rates and delays that vary.
    "steps",
    "deliveries",
    "states",
    "to",
    "table",
    // Bearers and UEs of a cell.
    "bearers",
    "qfi",
    "ues",
    "interferers",
    "position_m",
    "from_m",
    "to_m",
    "samples",
    // Programs and their arguments.
    "client",
    "server",
];

/// Refuses a table that is written as a list of its values, which serde would accept. Also refuses a document that is nested too deeply.
fn check_shape(value: &Value, path: &mut Vec<Step>) -> Result<(), ScenarioError> {
    let is_container = value.is_object() || value.is_array();
    if is_container && path.len() >= text::DEEPEST {
        return Err(text::too_deep(path));
    }
    match value {
        Value::Object(table) => {
            for (key, inner) in table {
                path.push(Step::Key(key.clone()));
                check_shape(inner, path)?;
                path.pop();
            }
        }
        Value::Array(list) => {
            if !may_be_list(path) {
                return Err(ScenarioError::new(show(path), "must not be a list"));
            }
            for (index, inner) in list.iter().enumerate() {
                path.push(Step::Index(index));
                check_shape(inner, path)?;
                path.pop();
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether the value at this path may be a list.
fn may_be_list(path: &[Step]) -> bool {
    let is_pair =
        matches!(path.last_chunk(), Some([Step::Key(key), Step::Index(_)]) if key == "samples");
    let is_list = matches!(path.last(), Some(Step::Key(key)) if LISTS.contains(&key.as_str()));
    // Arguments of a user's Python class may be anything.
    is_pair || is_list || path.contains(&Step::Key("params".to_owned()))
}

/// Reads a scenario. An error has the path, as far as serde knows it, and its message.
fn attempt(value: &Value) -> Result<Scenario, (Vec<Step>, String)> {
    serde_path_to_error::deserialize::<_, Scenario>(value)
        .map_err(|error| (steps(error.path()), error.inner().to_string()))
}

fn steps(path: &serde_path_to_error::Path) -> Vec<Step> {
    path.iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(Step::Index(*index)),
            Segment::Map { key } => Some(Step::Key(key.clone())),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect()
}

/// Finds the key that an error is about. Serde knows no paths inside a table with a `kind`. There, the wrong key is the one whose removal changes the
/// error.
fn locate(mut tree: Value, path: Vec<Step>, message: String) -> ScenarioError {
    let known = (path.clone(), message.clone());
    let mut path = path;
    let is_table = loop {
        let Some(Value::Object(table)) = at(&mut tree, &path) else {
            break false;
        };
        match complaint(&message) {
            Complaint::MissingKey(_) => break true,
            Complaint::UnknownKey(name) if path.last() == Some(&Step::Key(name.to_owned())) => {
                break true;
            }
            Complaint::UnknownKey(name) if table.contains_key(name) => {
                push_key(&mut path, name);
                break true;
            }
            _ => {}
        }
        // `kind` comes last, because its removal always changes the error.
        let mut keys: Vec<String> = table.keys().cloned().collect();
        keys.sort_by_key(|key| key == "kind");
        match keys
            .into_iter()
            .find(|key| is_guilty(&mut tree, &path, key, &known))
        {
            Some(key) => path.push(Step::Key(key)),
            None => break true,
        }
    };
    let message = match complaint(&message) {
        Complaint::MissingKey(name) => {
            push_key(&mut path, name);
            &message
        }
        _ => strip_name(&message, &mut path, is_table),
    };
    ScenarioError::new(show(&path), translate(message))
}

/// Whether the document without this key gives another error, or none.
fn is_guilty(tree: &mut Value, path: &[Step], key: &str, known: &(Vec<Step>, String)) -> bool {
    let Some(Value::Object(table)) = at(tree, path) else {
        return false;
    };
    let Some(value) = table.remove(key) else {
        return false;
    };
    let outcome = attempt(tree).err();
    if let Some(Value::Object(table)) = at(tree, path) {
        table.insert(key.to_owned(), value);
    }
    outcome.as_ref() != Some(known)
}

/// Moves the name of the parameter, with which messages of the registries start, into the path.
fn strip_name<'a>(message: &'a str, path: &mut Vec<Step>, is_table: bool) -> &'a str {
    let Some((name, rest)) = split_name(message) else {
        return message;
    };
    let mut named = named_steps(name);
    // The path may already end with the name, or with the first part of it.
    let common = (0..=named.len().min(path.len()))
        .rev()
        .find(|&length| path.ends_with(&named[..length]));
    named.drain(..common.unwrap_or(0));
    // A bare name such as `queue = "fifoo"` has no key `kind`.
    if !is_table && named.last() == Some(&Step::Key("kind".to_owned())) {
        named.pop();
    }
    path.append(&mut named);
    rest
}

fn push_key(path: &mut Vec<Step>, name: &str) {
    path.push(Step::Key(name.to_owned()));
}

fn at<'a>(tree: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(tree, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    })
}
