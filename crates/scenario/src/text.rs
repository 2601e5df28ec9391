//! Parses JSON. Limits size and depth, refuses duplicate keys, and gives the path of an error.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Number, Value};

use crate::ScenarioError;
use crate::path::{Step, show};

/// Most bytes of a document. The limit also holds for the canonical form with all defaults, so that it can be read again.
const MOST_BYTES: usize = 64_000_000;
/// Most levels of tables and lists.
pub(crate) const DEEPEST: usize = 64;

/// Parses a text.
pub(crate) fn parse(text: &str) -> Result<Value, ScenarioError> {
    check_length(text.len(), "")?;
    let mut path = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let tree = Tree { path: &mut path }.deserialize(&mut deserializer);
    let tree = tree.and_then(|tree| deserializer.end().map(|()| tree));
    tree.map_err(|error| refusal(&error, &path))
}

/// Refuses a text that is too long.
pub(crate) fn check_length(length: usize, how: &str) -> Result<(), ScenarioError> {
    if length <= MOST_BYTES {
        return Ok(());
    }
    let (length, most) = (length / 1_000_000, MOST_BYTES / 1_000_000);
    let why = format!(
        "has {length} MB{how}; at most {most} MB are allowed; write equal flows as one entry with `count`"
    );
    Err(ScenarioError::new("document", why))
}

/// The error for a document that is nested too deeply at this path.
pub(crate) fn too_deep(path: &[Step]) -> ScenarioError {
    ScenarioError::new(show(path), nested())
}

fn nested() -> String {
    format!("is nested too deep; at most {DEEPEST} tables and lists may be inside each other")
}

fn refusal(error: &serde_json::Error, path: &[Step]) -> ScenarioError {
    match error.classify() {
        // Line and column are removed: a document that was built in Python has none.
        Category::Data => {
            let place = format!(" at line {} column {}", error.line(), error.column());
            let message = error.to_string();
            ScenarioError::new(show(path), message.strip_suffix(&place).unwrap_or(&message))
        }
        // The last key says nothing about why a text ends too early.
        Category::Eof => ScenarioError::new("document", format!("is not JSON: {error}")),
        Category::Syntax | Category::Io => {
            ScenarioError::new(show(path), format!("is not JSON: {error}"))
        }
    }
}

/// Reads one value. `path` is the path of the value that is being read; after an error it is the path of the error.
struct Tree<'a> {
    path: &'a mut Vec<Step>,
}

impl Tree<'_> {
    fn enter<E: Error>(&self) -> Result<(), E> {
        match self.path.len() < DEEPEST {
            true => Ok(()),
            false => Err(E::custom(nested())),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).map(Value::Number);
        number.ok_or_else(|| E::custom("must be a finite number"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.enter()?;
        let path = self.path;
        let mut list = Vec::new();
        loop {
            path.push(Step::Index(list.len()));
            let item = items.next_element_seed(Tree { path: &mut *path })?;
            path.pop();
            match item {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.enter()?;
        let path = self.path;
        let mut table = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            path.push(Step::Key(key.clone()));
            if table.contains_key(&key) {
                return Err(A::Error::custom("is given twice"));
            }
            let value = entries.next_value_seed(Tree { path: &mut *path })?;
            table.insert(key, value);
            path.pop();
        }
        Ok(Value::Object(table))
    }
}
