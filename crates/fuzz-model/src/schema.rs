//! Values that a JSON Schema allows, chosen by bytes.

use bloatlab_units::{Bytes, Duration, Frequency, Rate, SECOND};
use serde_json::{Map, Value, json};

use crate::choices::Choices;

/// Depth of nested tables below which optional keys are left out.
const DEEPEST: u32 = 12;
/// Maximum length of a list. Longer lists would only take more time.
const LONGEST_LIST: u64 = 6;
/// Keys that refer to something outside the document, such as a file.
const OUTSIDE: [&str; 2] = ["file", "digest"];

/// A schema and the definitions that it refers to.
pub struct Schema<'a> {
    root: &'a Value,
}

impl<'a> Schema<'a> {
    /// A root schema.
    pub fn new(root: &'a Value) -> Self {
        Self { root }
    }

    /// A value of this definition.
    pub fn value(&self, definition: &str, choices: &mut Choices) -> Value {
        let schema = self.definition(definition);
        self.any(schema, "", choices, 0)
    }

    fn definition(&self, name: &str) -> &'a Value {
        let found = self.root["$defs"].get(name);
        found.unwrap_or_else(|| panic!("the schema defines `{name}`"))
    }

    fn any(&self, schema: &'a Value, key: &str, choices: &mut Choices, depth: u32) -> Value {
        if let Some(name) = reference(schema) {
            return quantity(name, schema, choices)
                .unwrap_or_else(|| self.any(self.definition(name), key, choices, depth));
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(all) = schema["enum"].as_array() {
            let usable: Vec<&Value> = all.iter().filter(|one| *one != "python").collect();
            return (*choices.one_of(&usable)).clone();
        }
        let alternatives = schema.get("oneOf").or_else(|| schema.get("anyOf"));
        if let Some(all) = alternatives.and_then(Value::as_array) {
            let usable: Vec<&Value> = all.iter().filter(|one| self.usable(one)).collect();
            let chosen = *choices.one_of(&usable);
            return self.any(chosen, key, choices, depth);
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds[0].as_str(),
            kind => kind.as_str(),
        };
        match kind {
            Some("object") => self.table(schema, choices, depth + 1),
            Some("array") => self.list(schema, key, choices, depth),
            Some("boolean") => json!(choices.byte() % 2 == 1),
            Some("integer") => {
                let high = schema["maximum"].as_u64().unwrap_or(1_000_000);
                json!(choices.whole(schema["minimum"].as_u64().unwrap_or(0), high))
            }
            Some("number") => number(schema, choices),
            Some("string") => json!(text(key, choices)),
            _ => panic!("a schema of another form: {schema}"),
        }
    }

    /// Whether an alternative refers to nothing outside the document.
    fn usable(&self, schema: &Value) -> bool {
        let is_text = schema["type"] == "string" && schema.get("pattern").is_some();
        let required = schema["required"].as_array();
        let outside = required.is_some_and(|keys| {
            let mut keys = keys.iter().filter_map(Value::as_str);
            keys.any(|key| OUTSIDE.contains(&key))
        });
        let kind = &schema["properties"]["kind"];
        let plugin = kind["const"] == "python" || kind["enum"][0] == "python";
        schema["type"] != "null" && !is_text && !outside && !plugin
    }

    fn table(&self, schema: &'a Value, choices: &mut Choices, depth: u32) -> Value {
        let mut table = Map::new();
        let required = schema["required"].as_array();
        let is_required = |key: &str| required.is_some_and(|keys| keys.iter().any(|k| k == key));
        // Some tables have few keys, others nearly all.
        let often = *choices.one_of(&[6, 2, 3, 12]);
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let outside = OUTSIDE.contains(&key.as_str());
            let given = !outside && depth < DEEPEST && choices.once_in(often);
            if given || is_required(key) {
                table.insert(key.clone(), self.any(property, key, choices, depth));
            }
        }
        Value::Object(table)
    }

    fn list(&self, schema: &'a Value, key: &str, choices: &mut Choices, depth: u32) -> Value {
        let least = schema["minItems"].as_u64().unwrap_or(0);
        let most = schema["maxItems"].as_u64().unwrap_or(LONGEST_LIST);
        let most = most.min(LONGEST_LIST).max(least);
        let count = choices.whole(least, most);
        let mut list: Vec<Value> = (0..count)
            .map(|_| self.any(&schema["items"], key, choices, depth + 1))
            .collect();
        ascend(&mut list);
        Value::Array(list)
    }
}

/// The name of the definition that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// Sorts instants, and whole numbers that may have to ascend.
fn ascend(list: &mut [Value]) {
    let instant = |value: &Value| match value {
        Value::Object(table) => table.get("at")?.as_str()?.parse::<Duration>().ok(),
        Value::Number(number) => Some(Duration(number.as_u64()?)),
        _ => None,
    };
    if list.iter().all(|value| instant(value).is_some()) {
        list.sort_by_key(instant);
    }
}

/// A quantity with its unit. `None` if the definition is not a quantity.
fn quantity(name: &str, schema: &Value, choices: &mut Choices) -> Option<Value> {
    let bound = |key: &str| schema[key].as_str();
    let bounds = [bound("x-minimum"), bound("x-maximum")];
    fn read<T: std::str::FromStr>(text: Option<&str>, or: T) -> T {
        text.and_then(|text| text.parse().ok()).unwrap_or(or)
    }
    let text = match name {
        "Duration" | "Timer" => {
            let [low, high] = bounds;
            let Duration(low) = read(low, Duration(0));
            let Duration(high) = read(high, Duration(10 * SECOND));
            format!("{}ns", choices.whole(low, high))
        }
        "Rate" | "PrioritisedBitRate" => {
            let [low, high] = bounds;
            let Rate(low) = read(low, Rate(1_000));
            let Rate(high) = read(high, Rate(10_000_000_000_000));
            format!("{}bit/s", choices.whole(low, high))
        }
        "Bytes" => {
            let [low, high] = bounds;
            let Bytes(low) = read(low, Bytes(1));
            let Bytes(high) = read(high, Bytes(1 << 30));
            format!("{}B", choices.whole(low, high))
        }
        "Frequency" => {
            let [low, high] = bounds;
            let Frequency(low) = read(low, Frequency(1_000_000));
            let Frequency(high) = read(high, Frequency(100_000_000_000));
            format!("{}Hz", choices.whole(low, high))
        }
        "Limit" => {
            let unit = *choices.one_of(&["p", "B", "buffers"]);
            let high = if unit == "B" { 10_000_000 } else { 10_000 };
            format!("{}{unit}", choices.whole(1, high))
        }
        "Dscp" => return Some(json!(choices.whole(0, 63))),
        _ => return None,
    };
    let infinite = matches!(name, "Timer" | "PrioritisedBitRate") && choices.once_in(4);
    Some(json!(if infinite {
        "infinite".to_owned()
    } else {
        text
    }))
}

fn number(schema: &Value, choices: &mut Choices) -> Value {
    let of = |inclusive: &str, exclusive: &str| {
        let bound = |key: &str| schema[key].as_f64();
        bound(inclusive).or_else(|| bound(exclusive))
    };
    let low = of("minimum", "exclusiveMinimum").unwrap_or(-1_000.0);
    let high = of("maximum", "exclusiveMaximum").unwrap_or(1_000.0);
    choices.json_number(low, high)
}

/// A string that is not a quantity.
fn text(key: &str, choices: &mut Choices) -> String {
    if key == "pattern" {
        let slots = choices.whole(1, 40);
        let slot = |_| *choices.one_of(&['F', 'D', 'S', 'U']);
        return (0..slots).map(slot).collect();
    }
    format!("{key}{}", choices.byte() % 4)
}
