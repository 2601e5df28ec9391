//! The files of the host, under the paths that they have there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bloatlab_scenario::{Disk, Files};

use crate::system::HOST;

/// The host's files. A relative path starts at a folder of the host.
pub struct HostDisk {
    /// The folder.
    pub folder: PathBuf,
}

impl HostDisk {
    fn path(&self, file: &str) -> String {
        let path = self.folder.join(file);
        let inside = path.strip_prefix("/").unwrap_or(&path);
        Path::new(HOST).join(inside).to_string_lossy().into_owned()
    }
}

impl Files for HostDisk {
    fn length(&self, file: &str) -> Option<u64> {
        Disk.length(&self.path(file))
    }

    fn read(&self, file: &str) -> Result<Arc<[u8]>, String> {
        Disk.read(&self.path(file))
    }
}
