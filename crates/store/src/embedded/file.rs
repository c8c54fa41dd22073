//! The file of a store as the database sees it: as it is, or as a trial whose writes stay in
//! memory.
//!
//! A database that opens a file writes to it before it has read what is in it. So a file is tried
//! first: what the database writes meanwhile is kept beside the file and forgotten. The locks are
//! the file's, taken once and held until [`LockedFile`] is dropped, however often a database is
//! opened in it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};

use crate::limits::TRIAL_MAX;

/// A file that no other process opens as long as this lives and a database was opened in it.
#[derive(Debug)]
pub(super) struct LockedFile(FileBackend);

impl LockedFile {
    pub(super) fn new(file: File) -> Result<Arc<LockedFile>, DatabaseError> {
        Ok(Arc::new(LockedFile(FileBackend::new(file)?)))
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // The file is closed with it, which gives its locks back in any case.
        let _ = self.0.close();
    }
}

/// A bound of a range of locks.
type Edge = Bound<u64>;

/// The locks of the file, whatever becomes of its bytes. What is held by this process may be taken
/// by it again.
macro_rules! locks_of_the_file {
    ($($name:ident -> $kind:ty),*) => {
        $(fn $name(&self, start: Edge, end: Edge) -> Result<$kind, BackendError> {
            self.file.0.$name(start, end)
        })*
    };
}

/// The open file of a store, with its lock.
#[derive(Debug)]
pub(super) struct Direct {
    pub(super) file: Arc<LockedFile>,
}

impl StorageBackend for Direct {
    fn len(&self) -> io::Result<u64> {
        self.file.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.0.write(offset, data)
    }

    locks_of_the_file! {
        try_lock_range -> bool, try_lock_shared_range -> bool, lock_range -> (), lock_shared_range -> (),
        unlock_range -> (), query_lock_range -> bool
    }
}

/// The file, and what was written since in memory.
#[derive(Debug)]
pub(super) struct Trial {
    file: Arc<LockedFile>,
    written: Mutex<Written>,
}

/// What differs from the file.
#[derive(Debug)]
struct Written {
    /// The length now.
    len: u64,
    /// Bytes from here on are none of the file's, which was cut there or ended.
    of_file: u64,
    blocks: BTreeMap<u64, Box<[u8; BLOCK]>>,
}

/// Bytes that are copied at the first write to one of them: a page of the database.
const BLOCK: usize = 4096;

impl Trial {
    pub(super) fn of(file: &Arc<LockedFile>) -> io::Result<Trial> {
        let len = file.0.len()?;
        let written = Written { len, of_file: len, blocks: BTreeMap::new() };
        Ok(Trial { file: Arc::clone(file), written: Mutex::new(written) })
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        // It is gone with the trial, and so is what a panic left of it.
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Written {
    /// The bytes of one block from `within` on, as they are now.
    fn read(
        &self,
        file: &FileBackend,
        block: u64,
        within: usize,
        out: &mut [u8],
    ) -> io::Result<()> {
        if let Some(bytes) = self.blocks.get(&block) {
            out.copy_from_slice(&bytes[within..within + out.len()]);
            return Ok(());
        }
        let from = block * BLOCK as u64 + within as u64;
        let there = self.of_file.saturating_sub(from).min(out.len() as u64) as usize;
        let (there, beyond) = out.split_at_mut(there);
        beyond.fill(0);
        if there.is_empty() { Ok(()) } else { file.read(from, there) }
    }

    fn write(
        &mut self,
        file: &FileBackend,
        block: u64,
        within: usize,
        data: &[u8],
    ) -> io::Result<()> {
        if !self.blocks.contains_key(&block) {
            if self.blocks.len() >= TRIAL_MAX / BLOCK {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let mut bytes = Box::new([0; BLOCK]);
            self.read(file, block, 0, &mut bytes[..])?;
            self.blocks.insert(block, bytes);
        }
        if let Some(bytes) = self.blocks.get_mut(&block) {
            bytes[within..within + data.len()].copy_from_slice(data);
        }
        Ok(())
    }

    fn set_len(&mut self, len: u64) {
        if len < self.len {
            let (block, within) = (len / BLOCK as u64, (len % BLOCK as u64) as usize);
            self.blocks.split_off(&len.div_ceil(BLOCK as u64));
            if let Some(bytes) = self.blocks.get_mut(&block) {
                bytes[within..].fill(0);
            }
            self.of_file = self.of_file.min(len);
        }
        self.len = len;
    }
}

/// The parts of a range of bytes that lie in one block each: the block, where in it, and which of
/// the range's bytes.
fn parts(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let within = (at % BLOCK as u64) as usize;
        let next = len.min(done + BLOCK - within);
        let part = done..next;
        done = next;
        (!part.is_empty()).then_some((at / BLOCK as u64, within, part))
    })
}

/// Whether the range ends within the length.
fn is_within(offset: u64, data: usize, len: u64) -> bool {
    offset.checked_add(data as u64).is_some_and(|end| end <= len)
}

impl StorageBackend for Trial {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written();
        if !is_within(offset, out.len(), written.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        parts(offset, out.len()).try_for_each(|(block, within, part)| {
            written.read(&self.file.0, block, within, &mut out[part])
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.written().set_len(len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written();
        if !is_within(offset, data.len(), written.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        parts(offset, data.len()).try_for_each(|(block, within, part)| {
            written.write(&self.file.0, block, within, &data[part])
        })
    }

    locks_of_the_file! {
        try_lock_range -> bool, try_lock_shared_range -> bool, lock_range -> (), lock_shared_range -> (),
        unlock_range -> (), query_lock_range -> bool
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn scratch(bytes: &[u8]) -> (std::path::PathBuf, Arc<LockedFile>) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("aldis-store-trial-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        (path, LockedFile::new(file).unwrap())
    }

    #[test]
    fn a_trial_reads_as_a_file_would_and_leaves_the_file_as_it_is() {
        let before: Vec<u8> = (0..20_000_u32).map(|place| (place * 31 / 7) as u8).collect();
        let (path, held) = scratch(&before);
        let trial = Trial::of(&held).unwrap();
        // The same steps on bytes in memory, which need no thought.
        let mut model = before.clone();
        let mut number = 0x1234_5678_u64;
        let mut below = |bound: usize| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (number >> 33) as usize % bound
        };
        for step in 0..2000 {
            if step % 50 == 49 {
                let len = below(30_000);
                trial.set_len(len as u64).unwrap();
                model.resize(len, 0);
            } else if !model.is_empty() {
                let offset = below(model.len());
                let len = below((model.len() - offset).min(9000) + 1);
                let data: Vec<u8> = (0..len).map(|_| below(256) as u8).collect();
                trial.write(offset as u64, &data).unwrap();
                model[offset..offset + len].copy_from_slice(&data);
            }
            let mut all = vec![0; model.len()];
            trial.read(0, &mut all).unwrap();
            assert!(all == model && trial.len().unwrap() == model.len() as u64, "step {step}");
        }
        let beyond = trial.read(model.len() as u64, &mut [0]).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
        assert!(trial.write(u64::MAX, &[0]).is_err());
        assert!(std::fs::read(&path).unwrap() == before);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_trial_has_a_bound() {
        let (path, held) = scratch(b"");
        let trial = Trial::of(&held).unwrap();
        trial.set_len(u64::MAX / 2).unwrap();
        let mut blocks = 0..;
        let error = blocks.find_map(|block: u64| trial.write(block << 12, b"x").err()).unwrap();
        assert_eq!((error.kind(), blocks.start), (io::ErrorKind::StorageFull, 16385));
        std::fs::remove_file(&path).unwrap();
    }
}
