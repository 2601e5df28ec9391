//! Settings of the kernel that belong to a network namespace.

use std::fs;
use std::io;
use std::path::PathBuf;

/// Sets a key of the calling thread's network namespace, such as `net.ipv4.tcp_sack`, and reads it back.
///
/// # Errors
/// The kernel lacks the key or refuses the value, or it kept another one. The error names the key.
pub fn set(key: &str, value: &str) -> io::Result<()> {
    let failed = |why: String| io::Error::other(format!("{key}={value}: {why}"));
    fs::write(path(key)?, value).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failed(String::from("this kernel has no such setting")),
        _ => failed(format!("this kernel refuses it ({error})")),
    })?;
    let kept = get(key)?;
    if kept.split_whitespace().eq(value.split_whitespace()) {
        return Ok(());
    }
    Err(failed(format!("this kernel made it {}", kept.trim())))
}

/// The value of a key in the calling thread's network namespace.
///
/// # Errors
/// The kernel lacks the key.
pub fn get(key: &str) -> io::Result<String> {
    fs::read_to_string(path(key)?).map(|value| value.trim_end().to_owned())
}

/// The file of a key. The kernel shows the files of the namespace of the thread that opens them.
fn path(key: &str) -> io::Result<PathBuf> {
    if !key.starts_with("net.") {
        let why = format!("{key} is not a setting of a network namespace");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(PathBuf::from("/proc/sys").join(key.replace('.', "/")))
}
