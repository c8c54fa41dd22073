//! A place for a file that is there as a whole or not at all: what was there before stays until all
//! of the new is written, beside it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

pub(super) struct AtomicFile {
    /// As the user says.
    pub(super) named: PathBuf,
    /// What that is, links followed.
    path: PathBuf,
    /// What is written first; none beside a device or a pipe, which is written to as it stands.
    beside: Option<PathBuf>,
}

impl AtomicFile {
    /// Nothing is changed by this.
    ///
    /// # Errors
    /// What the system says: what is there may not be written to, or nothing may be created beside
    /// it.
    pub(super) fn new(named: &Path) -> io::Result<AtomicFile> {
        let path = fs::canonicalize(named).unwrap_or(named.into());
        let beside = match fs::metadata(&path) {
            Ok(there) if there.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => None,
            Ok(_) => {
                OpenOptions::new().write(true).open(&path)?;
                Some(free_beside(&path)?)
            }
            Err(_) => Some(free_beside(&path)?),
        };
        Ok(AtomicFile { named: named.into(), path, beside })
    }

    /// Writes all of it, beside what is there.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn write(&self, text: &str) -> io::Result<()> {
        let mut file = match &self.beside {
            Some(beside) => File::create_new(beside)?,
            None => OpenOptions::new().write(true).open(&self.path)?,
        };
        file.write_all(text.as_bytes())?;
        file.flush()
    }

    /// Puts what was written where it belongs.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn settle(&self) -> io::Result<()> {
        self.beside.as_ref().map_or(Ok(()), |beside| fs::rename(beside, &self.path))
    }

    /// Leaves what was there before, and nothing beside it.
    pub(super) fn forget(&self) {
        if let Some(beside) = &self.beside {
            let _ = fs::remove_file(beside);
        }
    }
}

/// A name beside a file, under which one was created and is gone again.
fn free_beside(path: &Path) -> io::Result<PathBuf> {
    let beside = super::with(path, &format!(".{}.new", std::process::id()));
    File::create_new(&beside)?;
    fs::remove_file(&beside)?;
    Ok(beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_stays_until_the_new_is_whole() {
        let dir = std::env::temp_dir().join(format!("aldis-place-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (file, link) = (dir.join("result.json"), dir.join("link.json"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let read = || fs::read_to_string(&file).unwrap();
        let place = AtomicFile::new(&link).unwrap();
        place.write("lost").unwrap();
        place.forget();
        assert_eq!(read(), "old");
        place.write("new").unwrap();
        assert_eq!(read(), "old");
        place.settle().unwrap();
        assert_eq!(read(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "it is written through");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2, "nothing is left beside them");
        assert_eq!(
            AtomicFile::new(&dir).err().map(|error| error.kind()),
            Some(ErrorKind::IsADirectory)
        );
        fs::remove_dir_all(&dir).unwrap();
    }
}
