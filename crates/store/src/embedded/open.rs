//! How a file becomes an open store: it is tried without a write, and opened only when all of it
//! was accepted. A new one is made beside its place, and put there whole.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, StorageError};

use super::Image;
use super::file::{Direct, LockedFile, Trial};
use super::quiet::quietly;
use super::rows::{self, Unloaded};
use crate::Error;

/// What is told of a panic of the database.
const STUMBLED: &str = "the database stumbled over it";

/// Opens the file to change it, and makes it where there is none.
pub(super) fn open(path: &Path) -> Result<(Arc<LockedFile>, Database, Image), Error> {
    if !path.exists() {
        create(path).map_err(|error| disk(path, &error))?;
    }
    let (file, image) = look(path)?;
    let direct = Direct { file: Arc::clone(&file) };
    let opened = quietly(|| builder().create_with_backend(direct));
    let database = opened.ok_or_else(|| disk(path, &STUMBLED))?;
    let database = database.map_err(|error| refusal(path, error))?;
    Ok((file, database, image))
}

/// What the file says, found without a write to it. It is locked until what is returned is dropped.
pub(super) fn look(path: &Path) -> Result<(Arc<LockedFile>, Image), Error> {
    let file = File::options().read(true).write(true).open(path);
    let file = file.map_err(|error| disk(path, &error))?;
    let about = file.metadata().map_err(|error| disk(path, &error))?;
    if !about.is_file() {
        return Err(damaged(path, "it is no regular file"));
    }
    if about.len() == 0 {
        return Err(Error::Empty { path: path.to_owned() });
    }
    let file = LockedFile::new(file).map_err(|error| refusal(path, error))?;
    let trial = Trial::of(&file).map_err(|error| disk(path, &error))?;
    let image = quietly(|| {
        // Each page is read and compared with its checksum, those of the database's own tables too.
        let database = builder().set_check_integrity_on_open(true).create_with_backend(trial);
        let database = database.map_err(|error| refusal(path, error))?;
        rows::load(&database).map_err(|error| match error {
            Unloaded::Unreadable(why) => damaged(path, &why),
            Unloaded::Newer(format) => Error::Newer { path: path.to_owned(), format },
        })
    });
    let image = image.unwrap_or_else(|| Err(damaged(path, STUMBLED)))?;
    Ok((file, image))
}

/// Opens a file again after a write to it failed. Some of the change may have been written: the
/// file is made to say what was acknowledged.
pub(super) fn again(file: &Arc<LockedFile>, image: &Image) -> Result<Database, String> {
    let direct = Direct { file: Arc::clone(file) };
    let opened = quietly(|| {
        let database = builder().set_check_integrity_on_open(true).create_with_backend(direct);
        let database = database.map_err(|error| error.to_string())?;
        let there = rows::load(&database).map_err(|error| match error {
            Unloaded::Unreadable(why) => why,
            Unloaded::Newer(format) => format!("its format is {format}"),
        })?;
        if (there.revision, there.digest) != (image.revision, image.digest) {
            let rows = rows::differences(&there, image);
            rows::write(&database, &rows, image.revision, image.digest)
                .map_err(|error| error.to_string())?;
        }
        Ok(database)
    });
    opened.unwrap_or_else(|| Err(STUMBLED.into()))
}

fn builder() -> Builder {
    Database::builder()
}

/// Makes an empty store. A reader finds all of it or nothing, after a crash too.
fn create(path: &Path) -> io::Result<()> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".new-{}-{number}", std::process::id()));
    let beside = PathBuf::from(beside);
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(&beside)?;
    let made = quietly(|| fill(file)).unwrap_or_else(|| Err(io::Error::other(STUMBLED)));
    let placed = made.and_then(|()| place(&beside, path));
    // Placed or not, it is not looked for here.
    let _ = fs::remove_file(&beside);
    placed
}

/// Writes an empty store into an empty file.
fn fill(file: File) -> io::Result<()> {
    let again = file.try_clone()?;
    let backend = FileBackend::new(file).map_err(io::Error::other)?;
    let database = builder().create_with_backend(backend).map_err(io::Error::other)?;
    let empty = Image::default();
    rows::write(&database, &[], empty.revision, empty.digest).map_err(io::Error::other)?;
    database.close().map_err(io::Error::other)?;
    again.sync_all()
}

/// Puts the file at its place, unless another process did so first, whose file counts then.
fn place(beside: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(beside, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        // Some file systems have no links.
        Err(_) if !path.exists() => fs::rename(beside, path)?,
        other => other?,
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn refusal(path: &Path, error: DatabaseError) -> Error {
    match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
            Error::InUse { path: path.to_owned() }
        }
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
