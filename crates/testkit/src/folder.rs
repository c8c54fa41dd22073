//! A temporary folder for the files of one test.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own, removed with its contents when this is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder; the name says in its path which test it belongs to.
    ///
    /// # Panics
    /// Where it cannot be made.
    pub fn new(name: &str) -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("aldis-{name}-{process}-{number}"));
        // A process that was killed may have left one of this name.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a temporary folder can be made");
        Folder(path)
    }

    /// The path of the file of this name, whether it exists or not.
    ///
    /// # Panics
    /// Where the path is no UTF-8.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).into_os_string().into_string().expect("a path in UTF-8")
    }

    /// Writes a file; its path.
    ///
    /// # Panics
    /// Where it cannot be written.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let file = self.file(name);
        fs::write(&file, contents).expect("a file can be written");
        file
    }

    /// The names of all files in it, sorted.
    ///
    /// # Panics
    /// Where it cannot be read.
    pub fn names(&self) -> Vec<String> {
        let files = fs::read_dir(&self.0).expect("the folder can be read");
        let names = files.map(|file| file.expect("a folder entry").file_name().into_string());
        let mut names: Vec<String> = names.map(|name| name.expect("a name in UTF-8")).collect();
        names.sort();
        names
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
