//! The results of the laboratory, as they are shown over HTTP: the files below one folder.
//!
//! A request names a file of the list, and no other path. The kernel resolves it beneath the
//! folder, through no symbolic link.

use std::fs::{DirEntry, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use aldis_http::api::reports::ReportFile;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

/// Files that are listed; a full run of all plans has some two hundred.
const FILES_MAX: usize = 2000;

/// How deep folders are looked into: results, paper, plan.
const DEPTH_MAX: usize = 4;

/// Bytes of a file that is shown.
const FILE_MAX: u64 = 16 * 1024 * 1024;

/// What files end with that the laboratory writes.
const ENDS: [&str; 6] = ["html", "svg", "csv", "toml", "md", "txt"];

/// A folder of results, which need not be there yet.
#[derive(Clone, Debug)]
pub(crate) struct ReportFolder(pub(crate) PathBuf);

impl ReportFolder {
    /// Its files, by name.
    pub(crate) fn list(&self) -> Vec<ReportFile> {
        let mut files = vec![];
        look(&self.0, "", DEPTH_MAX, &mut files);
        files.sort_by(|one, other| one.name.cmp(&other.name));
        files
    }

    /// A file of the list.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.list().iter().find(|file| file.name == name)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let folder = flags | OFlags::DIRECTORY;
        let folder = openat(CWD, &self.0, folder, Mode::empty()).ok()?;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let file = openat2(&folder, name, flags, Mode::empty(), beneath).ok()?;
        let file = File::from(file);
        file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mut bytes = vec![];
        file.take(FILE_MAX).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// Adds what lies in a folder, whose name from the top on is `within`.
fn look(folder: &Path, within: &str, depth: usize, files: &mut Vec<ReportFile>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(name) =
            entry.file_name().to_str().filter(|name| is_plain(name)).map(str::to_owned)
        else {
            continue;
        };
        let name = format!("{within}{name}");
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 1 {
            look(&entry.path(), &format!("{name}/"), depth - 1, files);
        } else if kind.is_file() && files.len() < FILES_MAX {
            files.extend(about(&entry, name));
        }
    }
}

/// Letters that every browser and every file system takes as they are; no hidden file, and no way
/// up.
fn is_plain(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    name.len() <= 100 && !name.starts_with('.') && name.bytes().all(letter)
}

fn about(entry: &DirEntry, name: String) -> Option<ReportFile> {
    let (_, end) = name.rsplit_once('.')?;
    let about = entry.metadata().ok()?;
    let changed = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let is_shown = ENDS.contains(&end) && about.len() <= FILE_MAX;
    is_shown.then(|| ReportFile::new(name, about.len(), changed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    struct TestFolder(PathBuf);

    impl TestFolder {
        fn new(name: &str) -> TestFolder {
            let path = std::env::temp_dir().join(format!("aldis-{name}-{}", std::process::id()));
            create_dir_all(path.join("in/maestro/figure-7")).unwrap();
            TestFolder(path)
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn files_of_results_are_listed_and_nothing_else_is_reached() {
        let made = TestFolder::new("reports");
        let inside = made.0.join("in");
        write(made.0.join("secret.txt"), "secret").unwrap();
        write(inside.join("report.html"), "<h1>").unwrap();
        write(inside.join("maestro/figure-7/points.csv"), "a,b").unwrap();
        for hidden in [".env.txt", "key.pem", "sp ace.txt", "none"] {
            write(inside.join(hidden), "secret").unwrap();
        }
        symlink("../secret.txt", inside.join("link.txt")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        let folder = ReportFolder(inside);
        let names: Vec<_> = folder.list().into_iter().map(|file| file.name).collect();
        assert_eq!(names, ["maestro/figure-7/points.csv", "report.html"]);
        assert_eq!(folder.read("report.html").unwrap(), b"<h1>");
        assert_eq!(folder.read("maestro/figure-7/points.csv").unwrap(), b"a,b");
        for name in [
            "",
            ".",
            "link.txt",
            "up/secret.txt",
            "../secret.txt",
            "maestro",
            "/etc/hostname",
            "key.pem",
        ] {
            assert_eq!(folder.read(name), None, "{name}");
        }
        assert!(ReportFolder("/nowhere/at/all".into()).list().is_empty());
    }

    #[test]
    fn a_file_that_becomes_a_link_is_not_followed() {
        let made = TestFolder::new("reports-swapped");
        let inside = made.0.join("in");
        write(made.0.join("secret.txt"), "secret").unwrap();
        symlink("../secret.txt", inside.join("link.txt")).unwrap();
        let folder =
            openat(CWD, &inside, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        assert!(openat2(&folder, "link.txt", OFlags::RDONLY, Mode::empty(), beneath).is_err());
    }
}
