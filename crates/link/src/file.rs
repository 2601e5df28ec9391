//! Files that parameters name: regular files of limited size, checked against their digest.
//!
//! The author of a scenario chooses the file, and another person may run it. So no message shows the content of a file or its digest.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::sync::Arc;

use bloatlab_units::Bytes;
use xxhash_rust::xxh3::xxh3_128;

/// Largest size of a file in bytes.
pub const MOST_BYTES: u64 = 256_000_000;

/// The source of the files that a scenario names.
pub trait Files {
    /// Length of a file in bytes, if it is known without reading the file.
    fn length(&self, file: &str) -> Option<u64>;

    /// The bytes of a file, at most [`MOST_BYTES`].
    ///
    /// # Errors
    /// The reason why it is not read. The name of the file precedes it in messages.
    fn read(&self, file: &str) -> Result<Arc<[u8]>, String>;
}

/// The files of this machine. A relative path starts at the working directory.
pub struct Disk;

impl Files for Disk {
    fn length(&self, file: &str) -> Option<u64> {
        fs::metadata(file).ok().map(|metadata| metadata.len())
    }

    fn read(&self, file: &str) -> Result<Arc<[u8]>, String> {
        read(file, MOST_BYTES).map(Arc::from)
    }
}

/// Reads each file once, however often it is named.
pub struct ReadOnce<'a> {
    files: &'a dyn Files,
    read: RefCell<HashMap<String, Arc<[u8]>>>,
}

impl<'a> ReadOnce<'a> {
    /// Reads from these files.
    pub fn new(files: &'a dyn Files) -> Self {
        let read = RefCell::default();
        Self { files, read }
    }
}

impl Files for ReadOnce<'_> {
    fn length(&self, file: &str) -> Option<u64> {
        self.files.length(file)
    }

    fn read(&self, file: &str) -> Result<Arc<[u8]>, String> {
        if let Some(bytes) = self.read.borrow().get(file) {
            return Ok(Arc::clone(bytes));
        }
        let bytes = self.files.read(file)?;
        let mut read = self.read.borrow_mut();
        read.insert(file.to_owned(), Arc::clone(&bytes));
        Ok(bytes)
    }
}

/// Returns a file's bytes and their XXH3 digest (128 bits, hexadecimal), which must be equal to the given one.
///
/// # Errors
/// `parameter: reason`, in one line.
pub fn open(
    files: &dyn Files,
    file: &str,
    given: Option<&str>,
) -> Result<(Arc<[u8]>, String), String> {
    let bytes = files.read(file);
    let bytes = bytes.map_err(|why| format!("file: `{file}` {why}"))?;
    let digest = format!("{:032x}", xxh3_128(&bytes));
    if given.is_some_and(|given| given != digest) {
        return Err(format!(
            "digest: `{file}` is another file now; remove `digest` to take it as it is"
        ));
    }
    Ok((bytes, digest))
}

fn read(file: &str, most: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error: io::Error| format!("cannot be read: {error}");
    // Checked before opening it, because opening a FIFO waits for a writer.
    refuse(&fs::metadata(file).map_err(unreadable)?, most)?;
    let opened = File::open(file).map_err(unreadable)?;
    // Checked again on the open file, because the name may mean another file by now.
    refuse(&opened.metadata().map_err(unreadable)?, most)?;
    let mut bytes = Vec::new();
    // Limited, because a file may grow while it is read, and some files claim to be empty.
    let read = opened.take(most + 1).read_to_end(&mut bytes);
    read.map_err(unreadable)?;
    match bytes.len() as u64 > most {
        true => Err(too_large(most)),
        false => Ok(bytes),
    }
}

/// Refuses anything but a regular file, and a file that is too large.
fn refuse(metadata: &Metadata, most: u64) -> Result<(), String> {
    if !metadata.is_file() {
        return Err(
            "is not a regular file; directories, devices and pipes are not read".to_owned(),
        );
    }
    if metadata.len() > most {
        return Err(too_large(most));
    }
    Ok(())
}

fn too_large(most: u64) -> String {
    format!("is larger than {}, the most that is read", Bytes(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beyond_the_bound_is_refused() {
        let path = std::env::temp_dir().join(format!("bloatlab-file-{}", std::process::id()));
        fs::write(&path, "12345").unwrap();
        let file = path.to_str().unwrap();
        assert_eq!(read(file, 5).unwrap(), b"12345");
        assert_eq!(
            read(file, 4).unwrap_err(),
            "is larger than 4B, the most that is read"
        );
        // A sparse file takes no space on the disk.
        File::create(&path)
            .unwrap()
            .set_len(MOST_BYTES + 1)
            .unwrap();
        let refused = open(&Disk, file, None).unwrap_err();
        assert_eq!(
            refused,
            format!("file: `{file}` is larger than 256MB, the most that is read")
        );
        fs::remove_file(&path).unwrap();
    }

    /// Reading a character device or a FIFO may never end.
    #[cfg(target_os = "linux")]
    #[test]
    fn only_regular_files_are_read() {
        let folder = std::env::temp_dir().join(format!("bloatlab-fifo-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let fifo = folder.join("fifo");
        let made = std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap();
        assert!(made.success());
        for file in [
            "/dev/zero",
            "/dev/full",
            fifo.to_str().unwrap(),
            folder.to_str().unwrap(),
        ] {
            let refused = open(&Disk, file, None).unwrap_err();
            assert!(
                refused.starts_with(&format!("file: `{file}` is not a regular file;")),
                "{refused}"
            );
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_digest_is_not_told_to_who_does_not_know_it() {
        let path = std::env::temp_dir().join(format!("bloatlab-digest-{}", std::process::id()));
        fs::write(&path, "secret").unwrap();
        let file = path.to_str().unwrap();
        let (_, digest) = open(&Disk, file, None).unwrap();
        assert!(open(&Disk, file, Some(&digest)).is_ok());
        let refused = open(&Disk, file, Some("0")).unwrap_err();
        assert!(
            refused.contains("is another file now") && !refused.contains(&digest),
            "{refused}"
        );
        fs::remove_file(&path).unwrap();
    }
}
