//! The rows of the file: how an entry is written, and what stands beside the entries.

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::Value;

use super::digest::Digest;
use super::{Image, ShelfKey};
use crate::{Revision, StoreEntry};

/// Entries by `shelf/name`: eight bytes of revision, and JSON.
const ENTRIES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("entries");

/// Numbers about the whole: [`FORMAT`], [`REVISION`], [`DIGEST`] and [`SETTLED`].
pub(super) const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");

pub(super) const FORMAT: &str = "format";
const REVISION: &str = "revision";
pub(super) const DIGEST: &str = "digest";

/// The revision that was committed for the second time; none in files of before there were two.
const SETTLED: &str = "settled";

/// The format that is written.
const FORMAT_NOW: u64 = 1;

/// A row of the file: its key, and what is there from now on.
pub(super) type FileRow = (String, Option<Vec<u8>>);

pub(super) fn encode(entry: &StoreEntry) -> Vec<u8> {
    let mut bytes = entry.revision.0.to_be_bytes().to_vec();
    bytes.extend_from_slice(entry.value.to_string().as_bytes());
    bytes
}

fn decode(key: &str, bytes: &[u8]) -> Option<(ShelfKey, StoreEntry)> {
    let (shelf, name) = key.split_once('/')?;
    let (revision, json) = bytes.split_first_chunk()?;
    let value: Value = serde_json::from_slice(json).ok()?;
    let entry = StoreEntry { value, revision: Revision(u64::from_be_bytes(*revision)) };
    Some(((shelf.parse().ok()?, name.to_owned()), entry))
}

/// Why the rows of a file are not what they should be.
pub(super) enum Unloaded {
    Unreadable(String),
    Newer(u64),
}

impl<E: std::error::Error> From<E> for Unloaded {
    fn from(error: E) -> Self {
        Unloaded::Unreadable(error.to_string())
    }
}

/// All that the rows say.
pub(super) fn load(database: &Database) -> Result<Image, Unloaded> {
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

/// The rows that make a file which says `there` say `image`.
pub(super) fn differences(there: &Image, image: &Image) -> Vec<FileRow> {
    let gone = there.entries.keys().filter(|place| !image.entries.contains_key(place));
    let gone = gone.map(|place| (key(place), None));
    let other =
        image.entries.iter().filter(|(place, entry)| there.entries.get(place) != Some(entry));
    gone.chain(other.map(|(place, entry)| (key(place), Some(encode(entry))))).collect()
}

pub(super) fn key((shelf, name): &ShelfKey) -> String {
    format!("{shelf}/{name}")
}

/// Writes these rows and the numbers about the whole. On disk twice when it returns.
pub(super) fn write(
    database: &Database,
    rows: &[FileRow],
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
    // The same once more: where this commit is damaged the database goes back to the one above.
    let transaction = database.begin_write()?;
    transaction.open_table(ABOUT)?.insert(SETTLED, revision.0)?;
    transaction.commit()?;
    Ok(())
}
