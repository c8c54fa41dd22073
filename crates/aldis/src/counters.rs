//! The counters as JSON: one document a line, to a file that is replaced as a whole, or to standard
//! output.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use aldis_engine::metrics::Snapshot;

use crate::outlet::OutputLines;

/// Whether counters could be written there.
///
/// # Errors
/// One sentence: the folder is missing, or something that is not an ordinary file has the name.
pub(crate) fn check(file: &Path) -> Result<(), String> {
    let shown = file.display();
    match fs::metadata(file) {
        Ok(found) if !found.is_file() => Err(format!(
            "counters cannot be written to {shown}: it is no ordinary file, and would be replaced"
        )),
        _ if file.file_name().is_none() => {
            Err(format!("counters cannot be written to {shown}: it does not name a file"))
        }
        _ if !folder(file).is_dir() => Err(format!(
            "counters cannot be written to {shown}: there is no folder {}",
            folder(file).display()
        )),
        _ => Ok(()),
    }
}

/// Writes them to the file, or, where there is none, to standard output.
///
/// # Errors
/// One sentence; a file that was there is as it was.
pub(crate) fn write(
    snapshot: &Snapshot,
    file: Option<&Path>,
    out: &OutputLines,
) -> Result<(), String> {
    let mut text = serde_json::to_vec(snapshot).map_err(|error| error.to_string())?;
    text.push(b'\n');
    let Some(file) = file else {
        return match out.put(text) {
            true => Ok(()),
            false => {
                Err("counters are not written to standard output: those before are not read".into())
            }
        };
    };
    check(file)?;
    replace(file, &text)
        .map_err(|error| format!("counters cannot be written to {}: {error}", file.display()))
}

/// A reader never sees half of it: it is written beside the file, and takes its name.
fn replace(file: &Path, text: &[u8]) -> io::Result<()> {
    let beside = beside(file);
    // One that is there was left by a process of the same number, which was killed.
    let _ = fs::remove_file(&beside);
    // Never through a symbolic link.
    let written = File::create_new(&beside).and_then(|mut new| new.write_all(text));
    let replaced = written.and_then(|()| fs::rename(&beside, file));
    if replaced.is_err() {
        let _ = fs::remove_file(&beside);
    }
    replaced
}

fn beside(file: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    file.with_file_name(name)
}

fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_left() {
        let folder = std::env::temp_dir().join(format!("aldis-counters-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let file = folder.join("stats.json");
        let snapshot = Snapshot::default();
        let outlets = crate::outlet::Outlets::start().unwrap();
        for _ in 0..2 {
            write(&snapshot, Some(&file), &outlets.counters).unwrap();
            let read: serde_json::Value =
                serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            assert_eq!(read["total"]["requests"], 0);
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        let refused = write(&snapshot, Some(&folder), &outlets.counters).unwrap_err();
        assert!(refused.contains("no ordinary file"), "{refused}");
        fs::remove_dir_all(&folder).unwrap();
        let refused = write(&snapshot, Some(&file), &outlets.counters).unwrap_err();
        assert!(refused.contains("there is no folder"), "{refused}");
    }

    #[test]
    fn devices_are_never_replaced() {
        for path in ["/dev/null", "/", "/proc/self/fd/0/.."] {
            assert!(check(Path::new(path)).is_err(), "{path}");
        }
        assert_eq!(check(Path::new("stats.json")), Ok(()));
    }
}
