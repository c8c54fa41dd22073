//! The store in one file of this machine (redb): transactions, each on disk before it is acknowledged.
//!
//! All entries are in memory too, so that reading waits for nobody, and a file is judged once: when it is opened. Beside the
//! entries it holds a digest of all of them, changed with each of them in the same transaction: a file in which somebody or a
//! disk changed bytes is refused, and not served in part.

mod digest;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use redb::backends::FileBackend;
use redb::{
    Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition,
};
use serde_json::Value;

use crate::limits::{ENTRIES_MAX, NAME_MAX, VALUE_MAX};
use crate::{Change, Entry, Error, Expects, Revision, Shelf, Store};
use digest::Digest;

/// Entries by `shelf/name`: eight bytes of revision, and JSON.
const ENTRIES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("entries");

/// Numbers about the whole: [`FORMAT`], [`REVISION`] and [`DIGEST`].
const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");

const FORMAT: &str = "format";
const REVISION: &str = "revision";
const DIGEST: &str = "digest";

/// The format that is written.
const FORMAT_NOW: u64 = 1;

/// A store in a file.
pub struct Embedded {
    path: PathBuf,
    /// Who changes it; one at a time.
    database: Mutex<Database>,
    image: RwLock<Image>,
}

/// What the file says.
#[derive(Debug, Default)]
struct Image {
    entries: BTreeMap<Place, Entry>,
    revision: Revision,
    digest: Digest,
    /// Entries of each shelf.
    counts: [usize; Shelf::ALL.len()],
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Embedded {
    /// Opens the file, and makes it where there is none: only its owner may read it. While it is open nobody else can open it.
    ///
    /// # Errors
    /// It is in use, damaged, of a later format, or cannot be read or written. It is left as it is.
    pub fn open(path: impl Into<PathBuf>) -> Result<Embedded, Error> {
        let path = path.into();
        let file = open_file(&path).map_err(|error| disk(&path, &error))?;
        let empty = file.metadata().map_err(|error| disk(&path, &error))?.len() == 0;
        // Damage of some kinds is found by an assertion of the database, which changed nothing by then.
        let opened = catch_unwind(AssertUnwindSafe(|| read(&path, file, empty)));
        let damaged = |_| damaged(&path, "the database stumbled over it");
        let (database, image) = opened.map_err(damaged)??;
        Ok(Embedded { database: Mutex::new(database), image: RwLock::new(image), path })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn image(&self) -> RwLockReadGuard<'_, Image> {
        // It is replaced whole.
        self.image.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn image_mut(&self) -> RwLockWriteGuard<'_, Image> {
        self.image.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn database(&self) -> MutexGuard<'_, Database> {
        // A transaction that panicked was not committed.
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Embedded {
    fn revision(&self) -> Revision {
        self.image().revision
    }

    fn entry(&self, shelf: Shelf, name: &str) -> Option<Entry> {
        self.image().entries.get(&(shelf, name.to_owned())).cloned()
    }

    fn entries(&self, shelf: Shelf) -> Vec<(String, Entry)> {
        let image = self.image();
        let from = image.entries.range((shelf, String::new())..);
        let of_shelf = from.take_while(|((of, _), _)| *of == shelf);
        of_shelf.map(|((_, name), entry)| (name.clone(), entry.clone())).collect()
    }

    fn change(&self, changes: &[Change]) -> Result<Revision, Error> {
        let database = self.database();
        let (draft, rows) = {
            let image = self.image();
            let mut draft = Draft::of(&image);
            let rows = changes.iter().map(|change| draft.apply(&image, change));
            let rows = rows.collect::<Result<Vec<_>, _>>()?;
            (draft, rows)
        };
        let written = write(&database, &rows, draft.revision, draft.digest);
        written.map_err(|error| disk(&self.path, &error))?;
        let revision = draft.revision;
        self.image_mut().become_draft(draft);
        Ok(revision)
    }
}

/// A row of the file: its key, and what is there from now on.
type Row = (String, Option<Vec<u8>>);

type Place = (Shelf, String);

/// Changes that are about to be made.
struct Draft {
    entries: BTreeMap<Place, Option<Entry>>,
    revision: Revision,
    digest: Digest,
    counts: [usize; Shelf::ALL.len()],
}

impl Draft {
    fn of(image: &Image) -> Draft {
        let Image { revision: Revision(revision), digest, counts, .. } = *image;
        Draft { entries: BTreeMap::new(), revision: Revision(revision + 1), digest, counts }
    }

    /// Makes one more change, unless a bound or an expectation is against it.
    fn apply(&mut self, image: &Image, change: &Change) -> Result<Row, Error> {
        let Change { shelf, name, value, expects } = change;
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(Error::Name { len: name.len() });
        }
        let place = (*shelf, name.clone());
        let key = format!("{shelf}/{name}");
        let old = match self.entries.get(&place) {
            Some(drafted) => drafted.as_ref(),
            None => image.entries.get(&place),
        };
        let there = old.map(|entry| entry.revision);
        let is_so = match expects {
            Expects::Anything => true,
            Expects::Absent => there.is_none(),
            Expects::Unchanged(revision) => there == Some(*revision),
        };
        if !is_so {
            let (shelf, name, expects) = (*shelf, name.clone(), *expects);
            return Err(Error::NotSo { shelf, name, expects, there });
        }
        if let Some(old) = old {
            self.digest.turn(&key, &encode(old));
            self.counts[*shelf as usize] -= 1;
        }
        let entry = value.clone().map(|value| Entry { value, revision: self.revision });
        let bytes = entry.as_ref().map(encode);
        self.entries.insert(place, entry);
        if let Some(bytes) = &bytes {
            let len = bytes.len() - size_of::<u64>();
            if len > VALUE_MAX {
                return Err(Error::TooLong { shelf: *shelf, name: name.clone(), len });
            }
            if self.counts[*shelf as usize] == ENTRIES_MAX {
                return Err(Error::Full { shelf: *shelf });
            }
            self.digest.turn(&key, bytes);
            self.counts[*shelf as usize] += 1;
        }
        Ok((key, bytes))
    }
}

impl Image {
    fn become_draft(&mut self, draft: Draft) {
        (self.revision, self.digest, self.counts) = (draft.revision, draft.digest, draft.counts);
        for (place, entry) in draft.entries {
            match entry {
                Some(entry) => self.entries.insert(place, entry),
                None => self.entries.remove(&place),
            };
        }
    }
}

fn encode(entry: &Entry) -> Vec<u8> {
    let mut bytes = entry.revision.0.to_be_bytes().to_vec();
    bytes.extend_from_slice(entry.value.to_string().as_bytes());
    bytes
}

fn decode(key: &str, bytes: &[u8]) -> Option<(Place, Entry)> {
    let (shelf, name) = key.split_once('/')?;
    let (revision, json) = bytes.split_first_chunk()?;
    let value: Value = serde_json::from_slice(json).ok()?;
    let entry = Entry { value, revision: Revision(u64::from_be_bytes(*revision)) };
    Some(((shelf.parse().ok()?, name.to_owned()), entry))
}

fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Everything that the file says, or what is wrong with it.
fn read(path: &Path, file: File, empty: bool) -> Result<(Database, Image), Error> {
    let backend = FileBackend::new(file).map_err(|error| refusal(path, error))?;
    let database = Database::builder().create_with_backend(backend);
    let database = database.map_err(|error| refusal(path, error))?;
    if empty {
        let image = Image::default();
        let written = write(&database, &[], image.revision, image.digest);
        written.map_err(|error| disk(path, &error))?;
        return Ok((database, image));
    }
    let image = load(&database).map_err(|error| match error {
        Unloaded::Unreadable(why) => damaged(path, &why),
        Unloaded::Newer(format) => Error::Newer { path: path.to_owned(), format },
    })?;
    Ok((database, image))
}

/// Why the rows of a file are not what they should be.
enum Unloaded {
    Unreadable(String),
    Newer(u64),
}

impl<E: std::error::Error> From<E> for Unloaded {
    fn from(error: E) -> Self {
        Unloaded::Unreadable(error.to_string())
    }
}

fn load(database: &Database) -> Result<Image, Unloaded> {
    let transaction = database.begin_read()?;
    let about = transaction.open_table(ABOUT)?;
    let number = |name| {
        let missing = || Unloaded::Unreadable(format!("its {name} is missing"));
        about.get(name)?.map(|guard| guard.value()).ok_or_else(missing)
    };
    match number(FORMAT)? {
        FORMAT_NOW => {}
        format if format > FORMAT_NOW => return Err(Unloaded::Newer(format)),
        format => return Err(Unloaded::Unreadable(format!("its format is {format}"))),
    }
    let mut image = Image { revision: Revision(number(REVISION)?), ..Image::default() };
    for row in transaction.open_table(ENTRIES)?.iter()? {
        let (key, bytes) = row?;
        let (key, bytes) = (key.value(), bytes.value());
        let unread = || Unloaded::Unreadable(format!("the entry \"{}\"", key.escape_default()));
        let (place, entry) = decode(key, bytes).ok_or_else(unread)?;
        image.digest.turn(key, bytes);
        image.counts[place.0 as usize] += 1;
        image.entries.insert(place, entry);
    }
    if image.digest.sealed(image.revision) != number(DIGEST)? {
        return Err(Unloaded::Unreadable(
            "its digest is another one than that of its entries".into(),
        ));
    }
    Ok(image)
}

/// Writes these rows and the numbers about the whole. On disk when it returns.
fn write(
    database: &Database,
    rows: &[Row],
    revision: Revision,
    digest: Digest,
) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut entries = transaction.open_table(ENTRIES)?;
        for (key, value) in rows {
            match value {
                Some(bytes) => entries.insert(key.as_str(), bytes.as_slice())?,
                None => entries.remove(key.as_str())?,
            };
        }
        let mut about = transaction.open_table(ABOUT)?;
        about.insert(FORMAT, FORMAT_NOW)?;
        about.insert(REVISION, revision.0)?;
        about.insert(DIGEST, digest.sealed(revision))?;
    }
    // Durable unless told otherwise.
    transaction.commit()?;
    Ok(())
}

fn refusal(path: &Path, error: DatabaseError) -> Error {
    match error {
        DatabaseError::DatabaseAlreadyOpen => Error::InUse { path: path.to_owned() },
        DatabaseError::Storage(StorageError::Io(error))
            if error.kind() != io::ErrorKind::InvalidData
                && error.kind() != io::ErrorKind::UnexpectedEof =>
        {
            disk(path, &error)
        }
        other => damaged(path, &other.to_string()),
    }
}

fn damaged(path: &Path, what: &str) -> Error {
    Error::Damaged { path: path.to_owned(), what: what.to_owned() }
}

fn disk(path: &Path, why: &impl fmt::Display) -> Error {
    Error::Disk { path: path.to_owned(), why: why.to_string() }
}

#[cfg(test)]
mod tests;
