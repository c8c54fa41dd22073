//! The store in one file of this machine (redb): transactions, each on disk before it is
//! acknowledged.
//!
//! All entries are in memory too, so that reading never waits, and a file is judged once: when it
//! is opened, by a trial that writes nothing ([`open`]). Beside the entries it holds a digest of
//! all of them, changed with each of them in the same transaction: a file in which an editor or a
//! disk changed bytes is refused, and not served in part.
//!
//! Each change is committed twice. The database keeps its last two commits, and goes back to the
//! one before the last where the last is damaged: both say the same, so that nothing acknowledged
//! is lost.

mod digest;
mod file;
mod open;
mod quiet;
mod rows;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use redb::Database;

use crate::limits::{ENTRIES_MAX, NAME_MAX, VALUE_MAX};
use crate::{Backup, Error, Expects, Revision, Shelf, Store, StoreChange, StoreEntry};
use digest::Digest;
use file::LockedFile;
use quiet::quietly;
use rows::{FileRow, encode};

/// A store in a file.
pub struct Embedded {
    path: PathBuf,
    /// The writer; one at a time.
    opened: Mutex<Opened>,
    image: RwLock<Image>,
}

/// The file while the store is open.
struct Opened {
    /// None after a write failed, until the next change: the database refuses all that follow.
    database: Option<Database>,
    /// After the database, which is closed while its locks are held.
    file: Arc<LockedFile>,
}

/// What the file says.
#[derive(Debug, Default)]
struct Image {
    entries: BTreeMap<ShelfKey, StoreEntry>,
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
    /// Opens the file, and makes it where there is none: only its owner may read it. While it is
    /// open no other process can open it.
    ///
    /// # Errors
    /// It is in use, damaged, of a later format, or cannot be read or written. It is left as it is.
    pub fn open(path: impl Into<PathBuf>) -> Result<Embedded, Error> {
        let path = path.into();
        let (file, database, image) = open::open(&path)?;
        let opened = Mutex::new(Opened { database: Some(database), file });
        Ok(Embedded { opened, image: RwLock::new(image), path })
    }

    /// What the file says. It is not changed, and no other process can open it meanwhile.
    ///
    /// # Errors
    /// As [`Embedded::open`], and there is none.
    pub fn look(path: &Path) -> Result<Backup, Error> {
        let (_file, image) = open::look(path)?;
        Ok(Backup::of(image.revision, |shelf| image.shelf(shelf)))
    }

    /// Where the store's file lies.
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

    fn opened(&self) -> MutexGuard<'_, Opened> {
        // A transaction that panicked was not committed.
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Embedded {
    fn revision(&self) -> Revision {
        self.image().revision
    }

    fn entry(&self, shelf: Shelf, name: &str) -> Option<StoreEntry> {
        self.image().entries.get(&(shelf, name.to_owned())).cloned()
    }

    fn entries(&self, shelf: Shelf) -> Vec<(String, StoreEntry)> {
        self.image().shelf(shelf)
    }

    fn change(&self, changes: &[StoreChange]) -> Result<Revision, Error> {
        let mut opened = self.opened();
        let (draft, rows) = {
            let image = self.image();
            let mut draft = ChangeDraft::of(&image);
            let rows = changes.iter().map(|change| draft.apply(&image, change));
            let rows = rows.collect::<Result<Vec<_>, _>>()?;
            (draft, rows)
        };
        opened
            .write(&self.image(), &rows, &draft)
            .map_err(|why| Error::Disk { path: self.path.clone(), why })?;
        let revision = draft.revision;
        self.image_mut().become_draft(draft);
        Ok(revision)
    }
}

impl Opened {
    /// Writes the draft. A database that failed is closed, and opened again by the next change: a
    /// disk that was full may have room by then.
    fn write(
        &mut self,
        image: &Image,
        rows: &[FileRow],
        draft: &ChangeDraft,
    ) -> Result<(), String> {
        let database = match self.database.take() {
            Some(database) => database,
            None => open::again(&self.file, image)?,
        };
        let written = quietly(move || {
            rows::write(&database, rows, draft.revision, draft.digest)?;
            Ok::<_, redb::Error>(database)
        });
        match written {
            Some(Ok(database)) => self.database = Some(database),
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("the database stumbled over it".into()),
        }
        Ok(())
    }
}

type ShelfKey = (Shelf, String);

/// Changes that are about to be made.
struct ChangeDraft {
    entries: BTreeMap<ShelfKey, Option<StoreEntry>>,
    revision: Revision,
    digest: Digest,
    counts: [usize; Shelf::ALL.len()],
}

impl ChangeDraft {
    fn of(image: &Image) -> ChangeDraft {
        let Image { revision: Revision(revision), digest, counts, .. } = *image;
        ChangeDraft { entries: BTreeMap::new(), revision: Revision(revision + 1), digest, counts }
    }

    /// Makes one more change, unless a bound or an expectation is against it.
    fn apply(&mut self, image: &Image, change: &StoreChange) -> Result<FileRow, Error> {
        let StoreChange { shelf, name, value, expects } = change;
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(Error::Name { len: name.len() });
        }
        let place = (*shelf, name.clone());
        let key = rows::key(&place);
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
        let entry = value.clone().map(|value| StoreEntry { value, revision: self.revision });
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
    /// All entries of a shelf, in the order of their names.
    fn shelf(&self, shelf: Shelf) -> Vec<(String, StoreEntry)> {
        let from = self.entries.range((shelf, String::new())..);
        let of_shelf = from.take_while(|((of, _), _)| *of == shelf);
        of_shelf.map(|((_, name), entry)| (name.clone(), entry.clone())).collect()
    }

    fn become_draft(&mut self, draft: ChangeDraft) {
        (self.revision, self.digest, self.counts) = (draft.revision, draft.digest, draft.counts);
        for (place, entry) in draft.entries {
            match entry {
                Some(entry) => self.entries.insert(place, entry),
                None => self.entries.remove(&place),
            };
        }
    }
}

#[cfg(test)]
mod tests;
