//! A folder for what a child needs and writes, gone in the end.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder below the system's folder for such.
pub(super) struct RunFolder(PathBuf);

impl RunFolder {
    /// A folder that no other run has.
    pub(super) fn new() -> std::io::Result<RunFolder> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("aldis-lab-run-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // One that is there was left by a process of the same number, which was killed.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path)?;
        Ok(RunFolder(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
