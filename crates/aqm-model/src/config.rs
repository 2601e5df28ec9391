//! Turns raw numbers into a valid configuration. All values that the schema of a kind allows are possible, including its bounds.

use bloatlab_aqm::{Description, Parameter, QueueConfig, describe};
use serde_json::{Map, Value, json};

/// The kinds of the registry, except for `python`, which only the engine can build.
pub(crate) fn kinds() -> &'static [Description] {
    let all = describe();
    &all[..QueueConfig::all().len()]
}

/// The configuration that the choices select. 0 selects a parameter's default, as does a missing choice.
pub(crate) fn config(kind: usize, choices: &[u16]) -> QueueConfig {
    let mut choices = choices.iter().copied();
    let kinds = kinds();
    let value = table(&kinds[kind % kinds.len()], &mut choices, 2);
    serde_json::from_value(value).unwrap_or_else(|error| panic!("a valid configuration: {error}"))
}

/// The configuration of a queue, with inner queues nested to at most `depth` levels. A value that makes the configuration invalid together with the
/// previous parameters is replaced by its default.
fn table(description: &Description, choices: &mut dyn Iterator<Item = u16>, depth: u32) -> Value {
    let mut table = Map::from_iter([("kind".to_owned(), json!(description.kind))]);
    for parameter in &description.parameters {
        let choice = u64::from(choices.next().unwrap_or(0));
        let value = match parameter.kind.as_str() {
            _ if choice == 0 => None,
            "queue" if depth > 0 => Some(inner(choice, choices, depth)),
            "list of queue" if depth > 0 => {
                let count = 2 + choice % 3;
                (0..count)
                    .map(|n| Some(inner(choice + n, choices, depth)))
                    .collect()
            }
            _ => value(parameter, choice),
        };
        let Some(value) = value else { continue };
        let mut extended = table.clone();
        extended.insert(parameter.name.clone(), value);
        let read = serde_json::from_value::<QueueConfig>(Value::Object(extended.clone()));
        if read.is_ok_and(|config| config.validate().is_ok()) {
            table = extended;
        }
    }
    Value::Object(table)
}

/// The configuration of a queue inside another.
fn inner(choice: u64, choices: &mut dyn Iterator<Item = u16>, depth: u32) -> Value {
    let kinds = kinds();
    table(&kinds[choice as usize % kinds.len()], choices, depth - 1)
}

/// A value of the parameter's type: its minimum, its maximum, or one in between on a logarithmic scale.
fn value(parameter: &Parameter, choice: u64) -> Option<Value> {
    let [low, high] = parameter.bounds();
    let number = |greatest: u64| match (choice % 8, low, high) {
        (1, Some(low), _) => low as u64,
        (2, _, Some(high)) => high as u64,
        _ => spread(choice / 8, high.map_or(greatest, |high| high as u64)),
    };
    Some(match parameter.kind.as_str() {
        "limit" => match choice % 3 {
            0 => json!(format!("{}p", number(1_000))),
            1 => json!(format!("{}B", number(1_000_000))),
            _ => json!(format!("{}buffers", number(100))),
        },
        "duration" => json!(format!("{}ns", number(10_000_000_000))),
        "bytes" => json!(format!("{}B", number(1_000_000))),
        // Rates below 8 kbit/s only prolong the draining of the queue.
        "rate" => json!(format!("{}bit/s", number(1_000_000_000).max(8_000))),
        "integer" => json!(number(1_000)),
        "number" => {
            let (low, high) = (low.unwrap_or(0.0), high.unwrap_or(10.0));
            let part = match choice % 8 {
                1 => 0.0,
                2 => 1.0,
                3 | 4 => (choice as f64 / 65_536.0).powi(4),
                _ => choice as f64 / 65_536.0,
            };
            json!(low + (high - low) * part)
        }
        "boolean" => json!(choice % 2 == 1),
        // The range lists the allowed words.
        "string" => {
            let words: Vec<&str> = parameter.range.as_deref()?.split(", ").collect();
            json!(words[choice as usize % words.len()])
        }
        _ => return None,
    })
}

/// A number from 1 to `greatest`, with all binary orders of magnitude equally likely.
fn spread(choice: u64, greatest: u64) -> u64 {
    let bits = u64::from(greatest.ilog2() + 1);
    let order = choice % bits;
    let within = choice.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1 >> (63 - order);
    (1 << order | within).min(greatest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_valid_and_no_choice_is_the_default() {
        for (kind, default) in QueueConfig::all().into_iter().enumerate() {
            assert_eq!(config(kind, &[]), default);
            let mut differing = 0;
            for n in 0..200_u64 {
                let choice = |m: u64| (n * 331 + m * 7919) as u16;
                let choices: Vec<u16> = (0..40).map(choice).collect();
                let config = config(kind, &choices);
                assert_eq!(config.validate(), Ok(()));
                differing += u32::from(config != default);
            }
            let has_choice = !kinds()[kind].parameters.is_empty();
            assert_eq!(
                differing > 100,
                has_choice,
                "{}: {differing}",
                default.kind()
            );
        }
    }

    #[test]
    fn bounds_are_among_the_values() {
        let codel = kinds().iter().find(|kind| kind.kind == "codel").unwrap();
        let target = codel
            .parameters
            .iter()
            .find(|p| p.name == "target")
            .unwrap();
        assert_eq!(value(target, 1), Some(json!("1000ns")));
        assert_eq!(value(target, 2), Some(json!("3600000000000ns")));
    }

    #[test]
    fn orders_of_magnitude_are_as_likely() {
        let mut counts = [0; 20];
        (0..20_000).for_each(|choice| counts[spread(choice, 1_000_000).ilog2() as usize] += 1);
        assert_eq!(counts, [1000; 20]);
    }
}
