//! A folder for what is made and read again within a command: no other user of this machine can
//! put a file or a link of theirs in its place.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A folder that its owner alone may enter, and that is gone when it is dropped.
pub(super) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// One below the system's folder for such; a process has one for each purpose.
    ///
    /// # Errors
    /// One sentence: the system makes none.
    pub(super) fn new(purpose: &str) -> Result<PrivateFolder, String> {
        let folder = std::env::temp_dir().join(format!("aldis-{purpose}-{}", std::process::id()));
        // Of a process before this one that had its number and was killed.
        let _ = std::fs::remove_dir_all(&folder);
        let made = std::fs::DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|why| format!("cannot make {}: {why}", folder.display()))?;
        Ok(PrivateFolder(folder))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // Where it stays, the system removes it some day.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_the_owners_alone_takes_the_place_of_what_was_left_and_goes_with_its_use() {
        let left = PrivateFolder::new("private").unwrap().path().to_owned();
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join("old"), "left").unwrap();
        let folder = PrivateFolder::new("private").unwrap();
        assert_eq!(folder.path(), left);
        assert_eq!(left.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(&left).unwrap().count(), 0);
        drop(folder);
        assert!(!left.exists());
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let beyond = PrivateFolder::new("beyond").unwrap();
        let link = std::env::temp_dir().join(format!("aldis-link-{}", std::process::id()));
        std::os::unix::fs::symlink(beyond.path(), &link).unwrap();
        let folder = PrivateFolder::new("link").unwrap();
        assert!(!folder.path().symlink_metadata().unwrap().is_symlink());
        assert!(beyond.path().exists());
    }
}
