//! Paths of keys in a document: `flows[0].tcp.mss`.

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// The path as text; `document` for the whole document.
pub(crate) fn show(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Index(index) => text.push_str(&format!("[{index}]")),
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => {
                text.push('.');
                text.push_str(key);
            }
        }
    }
    match text.is_empty() {
        true => "document".to_owned(),
        false => text,
    }
}

/// The steps of a path, such as `queues[1].target`.
pub(crate) fn named_steps(name: &str) -> Vec<Step> {
    let parts = name.split(['.', '[', ']']).filter(|part| !part.is_empty());
    parts
        .map(|part| match part.parse() {
            Ok(index) => Step::Index(index),
            Err(_) => Step::Key(part.to_owned()),
        })
        .collect()
}

/// Splits `name: message`.
pub(crate) fn split_name(message: &str) -> Option<(&str, &str)> {
    let (name, rest) = message.split_once(": ")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.[]".contains(c);
    (!name.is_empty() && name.chars().all(plain)).then_some((name, rest))
}
