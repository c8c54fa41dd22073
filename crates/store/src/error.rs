//! What can go wrong, in sentences for the caller.

use std::fmt;
use std::path::PathBuf;

use crate::limits::{ENTRIES_MAX, NAME_MAX, VALUE_MAX};
use crate::{Expects, Revision, Shelf};

/// Why a store did not open, or did not change.
#[derive(Debug)]
pub enum Error {
    /// Another process has the file open.
    InUse {
        /// Where the store's file lies.
        path: PathBuf,
    },
    /// The file is no store, or what it says cannot be trusted.
    Damaged {
        /// Where the store's file lies.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// The file is empty, which a store never is.
    Empty {
        /// Where the store's file lies.
        path: PathBuf,
    },
    /// The file was written by an Aldis that knows more.
    Newer {
        /// Where the store's file lies.
        path: PathBuf,
        /// The number of its format.
        format: u64,
    },
    /// The file cannot be opened, read or written.
    Disk {
        /// Where the store's file lies.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// The entry is not what the change expects.
    NotSo {
        /// On which shelf.
        shelf: Shelf,
        /// Under which name.
        name: String,
        /// What the change expects.
        expects: Expects,
        /// The revision that there is, if the entry is there.
        there: Option<Revision>,
    },
    /// A name is empty, or longer than [`NAME_MAX`].
    Name {
        /// Its length in bytes.
        len: usize,
    },
    /// A value is longer than [`VALUE_MAX`].
    TooLong {
        /// On which shelf.
        shelf: Shelf,
        /// Under which name.
        name: String,
        /// Its length in bytes.
        len: usize,
    },
    /// The shelf has as many entries as it may.
    Full {
        /// The shelf.
        shelf: Shelf,
    },
    /// There is no such shelf.
    NoShelf {
        /// What was asked for.
        name: String,
    },
    /// A backup cannot be read.
    Backup {
        /// What is wrong, and where.
        why: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::InUse { path } => write!(
                f,
                "the store {} is in use by another process; stop that controller, or give each its own file",
                path.display()
            ),
            Error::Damaged { path, what } => write!(
                f,
                "{} is no store, or is damaged ({what}); it was left as it is: move it away and import a backup, or begin \
                 with an empty one",
                path.display()
            ),
            Error::Empty { path } => write!(
                f,
                "{0} is empty, which no store is, not even one that keeps nothing: if it was never one, remove it, and the \
                 store is made; if it was, import a backup",
                path.display()
            ),
            Error::Newer { path, format } => write!(
                f,
                "the store {} has format {format}, and this Aldis knows format 1; use the Aldis that wrote it",
                path.display()
            ),
            Error::Disk { path, why } => write!(f, "the store {}: {why}", path.display()),
            Error::NotSo { shelf, name, expects, there } => {
                write!(f, "{shelf}, \"{name}\": ")?;
                match (expects, there) {
                    (Expects::Absent, _) => f.write_str("there is one already"),
                    (_, None) => f.write_str("there is none any more"),
                    (_, Some(Revision(there))) => {
                        write!(f, "somebody changed it since; it has revision {there} now")
                    }
                }
            }
            Error::Name { len: 0 } => f.write_str("a name is empty"),
            Error::Name { len } => {
                write!(f, "a name has {len} bytes; the longest that is kept has {NAME_MAX}")
            }
            Error::TooLong { shelf, name, len } => write!(
                f,
                "{shelf}, \"{name}\": {len} bytes of JSON; the longest that is kept has {VALUE_MAX}"
            ),
            Error::Full { shelf } => {
                write!(f, "{shelf} has {ENTRIES_MAX} entries, the most that are kept")
            }
            Error::NoShelf { name } => {
                let shelves = Shelf::ALL.map(Shelf::name).join(", ");
                write!(f, "there is no shelf \"{name}\"; there are {shelves}")
            }
            Error::Backup { why } => write!(f, "the backup cannot be read: {why}"),
        }
    }
}

impl std::error::Error for Error {}
