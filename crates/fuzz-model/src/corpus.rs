//! Kept cases: one file per target, with one case per line as hexadecimal digits. Lines that begin with `#` say why a case is kept.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// The file of a target's cases: found by the fuzzer (`corpus`), or former findings (`regressions`).
pub fn file(folder: &str, target: &str) -> PathBuf {
    let crate_root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    crate_root.join(folder).join(format!("{target}.hex"))
}

/// The cases of a target, each with the comment before it. Empty if there is no file.
///
/// # Panics
/// If a line is not a case.
pub fn read(folder: &str, target: &str) -> Vec<(String, Vec<u8>)> {
    let file = file(folder, target);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let (mut cases, mut comment) = (Vec::new(), String::new());
    for (number, line) in text.lines().enumerate() {
        if let Some(words) = line.strip_prefix('#') {
            words.trim().clone_into(&mut comment);
            continue;
        }
        let case = bytes(line);
        let case = case.unwrap_or_else(|| panic!("{}:{}: not a case", file.display(), number + 1));
        cases.push((std::mem::take(&mut comment), case));
    }
    cases
}

/// A case as a line.
pub fn line(case: &[u8]) -> String {
    case.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A line as a case.
pub fn bytes(line: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = line
        .chars()
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_case() {
        let case = [0, 1, 0xab, 0xff];
        assert_eq!(line(&case), "0001abff");
        assert_eq!(bytes("0001abff").as_deref(), Some(&case[..]));
        assert_eq!(bytes(""), Some(Vec::new()));
        assert_eq!((bytes("0"), bytes("xy")), (None, None));
    }
}
