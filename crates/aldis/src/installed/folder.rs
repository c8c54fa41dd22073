//! The folder of installed applications: `NAME.app`, its package; `NAME.stopped`, where it is not
//! to run; `NAME.kv`, its key–value space; and `code/`, what was compiled of the packages.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::space;

/// The largest file that is read, in bytes: a package, as over HTTP, or a key–value space of as
/// much as a manifest may ask for, with its lengths.
const FILE_MAX: u64 = 128 * 1024 * 1024;

const PACKAGE: &str = "app";
const STOPPED: &str = "stopped";
const SPACE: &str = "kv";

/// The folder.
pub(super) struct Folder(PathBuf);

/// A package in it.
pub(super) struct Kept {
    pub(super) file: PathBuf,
    /// Whether it is to run.
    pub(super) runs: bool,
}

impl Folder {
    /// It is made when something is kept in it.
    pub(super) fn new(path: PathBuf) -> Folder {
        Folder(path)
    }

    /// Where compiled code is kept.
    pub(super) fn code(&self) -> PathBuf {
        self.0.join("code")
    }

    /// The packages, by name. A folder that is not there has none.
    pub(super) fn packages(&self) -> Vec<Kept> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().map_while(Result::ok);
        let is_package = |path: &PathBuf| path.extension().is_some_and(|is| is == PACKAGE);
        let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(is_package).collect();
        files.sort();
        let kept = |file: PathBuf| Kept { runs: !file.with_extension(STOPPED).exists(), file };
        files.into_iter().map(kept).collect()
    }

    /// Keeps a package, in place of the one that is there. It is on disk when this returns.
    ///
    /// # Errors
    /// One sentence; what was there is there.
    pub(super) fn keep(&self, name: &str, package: &[u8]) -> Result<(), String> {
        self.write(self.file(name, PACKAGE), package)
    }

    /// Keeps the key–value space of an application likewise.
    ///
    /// # Errors
    /// One sentence; what was there is there.
    pub(super) fn keep_space(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        self.write(self.file(name, SPACE), bytes)
    }

    /// The key–value space of an application; empty where it has none.
    ///
    /// # Errors
    /// One sentence: it cannot be read.
    pub(super) fn space(&self, name: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
        let file = self.file(name, SPACE);
        if !file.exists() {
            return Ok(vec![]);
        }
        let values = space::read(&read(&file)?);
        values.ok_or_else(|| format!("{} is no key–value space", file.display()))
    }

    fn write(&self, file: PathBuf, bytes: &[u8]) -> Result<(), String> {
        let write = || -> io::Result<()> {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
            let mut beside = file.clone().into_os_string();
            beside.push(".new");
            let mut open = OpenOptions::new();
            let mut new = open.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
            let written = new.write_all(bytes).and_then(|()| new.sync_all());
            written.and_then(|()| fs::rename(&beside, &file)).inspect_err(|_| {
                let _ = fs::remove_file(&beside);
            })?;
            File::open(&self.0)?.sync_all()
        };
        write().map_err(|why| format!("cannot keep {}: {why}", file.display()))
    }

    /// Whether the application is to run at the next start.
    ///
    /// # Errors
    /// One sentence.
    pub(super) fn mark(&self, name: &str, runs: bool) -> Result<(), String> {
        let file = self.file(name, STOPPED);
        let done = match runs {
            true => fs::remove_file(&file),
            false => File::create(&file).and_then(|file| file.sync_all()),
        };
        match done {
            Err(why) if !(runs && why.kind() == io::ErrorKind::NotFound) => {
                Err(format!("{}: {why}", file.display()))
            }
            _ => Ok(()),
        }
    }

    /// Removes a package.
    pub(super) fn forget(&self, name: &str) {
        for what in [PACKAGE, STOPPED, SPACE] {
            // Where it is not there, nothing is to be removed.
            let _ = fs::remove_file(self.file(name, what));
        }
    }

    fn file(&self, name: &str, what: &str) -> PathBuf {
        self.0.join(format!("{name}.{what}"))
    }
}

impl Kept {
    /// Its bytes.
    ///
    /// # Errors
    /// One sentence.
    pub(super) fn read(&self) -> Result<Vec<u8>, String> {
        read(&self.file)
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut bytes));
    match read {
        Err(why) => Err(format!("it cannot be read: {why}")),
        Ok(size) if size as u64 > FILE_MAX => {
            Err(format!("it is larger than {FILE_MAX} bytes, and so none of ours"))
        }
        Ok(_) => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_again_with_whether_it_runs() {
        let path = std::env::temp_dir().join(format!("aldis-folder-{}", std::process::id()));
        let folder = Folder::new(path.clone());
        assert!(folder.packages().is_empty());
        folder.keep("b", b"one").unwrap();
        folder.keep("b", b"two").unwrap();
        folder.keep("a", b"three").unwrap();
        folder.mark("b", true).unwrap();
        folder.mark("a", false).unwrap();
        let found: Vec<_> =
            folder.packages().iter().map(|kept| (kept.read().unwrap(), kept.runs)).collect();
        assert_eq!(found, [(b"three".to_vec(), false), (b"two".to_vec(), true)]);
        folder.mark("a", true).unwrap();
        assert_eq!(folder.space("b"), Ok(vec![]));
        folder.keep_space("b", b"none").unwrap();
        assert!(folder.space("b").unwrap_err().contains("b.kv is no key"));
        folder.forget("b");
        folder.forget("b");
        assert_eq!(folder.space("b"), Ok(vec![]));
        assert_eq!(folder.packages().len(), 1);
        assert!(folder.packages()[0].runs);
        fs::remove_dir_all(path).unwrap();
        assert!(
            Folder::new("/dev/null/apps".into()).keep("a", b"").unwrap_err().contains("/a.app")
        );
    }
}
