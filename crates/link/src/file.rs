//! A file that parameters name, held to its digest.

use xxhash_rust::xxh3::xxh3_128;

/// Its bytes, and their XXH3 (128 bits, hexadecimal), which must be the given one.
pub(crate) fn open(file: &str, given: Option<&str>) -> Result<(Vec<u8>, String), String> {
    let bytes =
        std::fs::read(file).map_err(|error| format!("file: `{file}` cannot be read: {error}"))?;
    let digest = format!("{:032x}", xxh3_128(&bytes));
    match given.filter(|given| *given != digest) {
        Some(given) => Err(format!(
            "digest: `{file}` is another file now: its digest is {digest}, not {given}"
        )),
        None => Ok((bytes, digest)),
    }
}

/// The beginning of a line, for a message.
pub(crate) fn shown(line: &str) -> String {
    let shown: String = line.chars().take(40).collect();
    shown.escape_debug().to_string()
}
