//! The key–value space of an installed application: in memory, and in the file `NAME.kv` of the
//! folder a second after it changed at most, so that no worker waits for the disk.

use std::sync::atomic::{AtomicBool, Ordering};

use aldis_sandbox::{KeyValue, MemorySpace};

/// The first bytes of a file, with its version.
const MAGIC: &[u8; 8] = b"aldiskv1";

/// The space of one application.
#[derive(Debug)]
pub(super) struct Space {
    memory: MemorySpace,
    changed: AtomicBool,
}

impl Space {
    /// With room for so many bytes, and with these values in it.
    pub(super) fn new(bytes_max: usize, values: Vec<(String, Vec<u8>)>) -> Space {
        let memory = MemorySpace::new(bytes_max).with_values(values);
        Space { memory, changed: AtomicBool::new(false) }
    }

    /// What is in it.
    pub(super) fn values(&self) -> Vec<(String, Vec<u8>)> {
        self.memory.values()
    }

    /// As a file, where it changed since this was asked.
    pub(super) fn take_changed(&self) -> Option<Vec<u8>> {
        self.changed.swap(false, Ordering::Relaxed).then(|| write(&self.values()))
    }

    /// It is to be written again.
    pub(super) fn set_changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

impl KeyValue for Space {
    fn value(&self, key: &str) -> Option<Vec<u8>> {
        self.memory.value(key)
    }

    fn set(&self, key: &str, value: Vec<u8>) -> Result<(), String> {
        self.memory.set(key, value)?;
        self.set_changed();
        Ok(())
    }

    fn remove(&self, key: &str) {
        self.memory.remove(key);
        self.set_changed();
    }
}

fn write(values: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for part in values.iter().flat_map(|(key, value)| [key.as_bytes(), value]) {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

/// What a file holds; nothing where it is none.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let mut values = Vec::new();
    while !rest.is_empty() {
        let key = String::from_utf8(part(&mut rest)?.to_vec()).ok()?;
        values.push((key, part(&mut rest)?.to_vec()));
    }
    Some(values)
}

fn part<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (len, more) = rest.split_first_chunk()?;
    let (part, more) = more.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    *rest = more;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_what_is_cut_is_none() {
        let space = Space::new(100, vec![]);
        assert_eq!(space.take_changed(), None);
        space.set("one", vec![1, 2, 3]).unwrap();
        space.set("none", vec![]).unwrap();
        let bytes = space.take_changed().unwrap();
        assert_eq!(space.take_changed(), None);
        assert_eq!(read(&bytes), Some(space.values()));
        let cuts = (0..bytes.len()).filter(|cut| read(&bytes[..*cut]).is_some());
        // Only between two values.
        assert_eq!(cuts.collect::<Vec<_>>(), [8, 8 + 8 + 4 + 8]);
        let mut long = bytes.clone();
        long[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(read(&long), None);
    }
}
