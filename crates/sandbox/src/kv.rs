//! The key–value space of an application: behind a trait, so that a controller with a store puts it
//! on disk.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::limits::KEY_LEN_MAX;

/// A key–value space of one application. It outlives its instances.
pub trait KeyValue: Send + Sync {
    /// The value of a key.
    fn value(&self, key: &str) -> Option<Vec<u8>>;

    /// Sets the value of a key.
    ///
    /// # Errors
    /// Which bound does not allow it, in words for the application's author.
    fn set(&self, key: &str, value: Vec<u8>) -> Result<(), String>;

    /// Removes a key, if it is there.
    fn remove(&self, key: &str);
}

/// A space in memory: it lasts as long as the controller.
#[derive(Debug)]
pub struct MemorySpace {
    bytes_max: usize,
    values: Mutex<Values>,
}

#[derive(Debug, Default)]
struct Values {
    bytes: usize,
    map: BTreeMap<String, Vec<u8>>,
}

impl MemorySpace {
    /// With room for so many bytes of keys and values.
    pub fn new(bytes_max: usize) -> MemorySpace {
        MemorySpace { bytes_max, values: Mutex::default() }
    }

    /// The same with these values in it, also where they take more than that.
    pub fn with_values(self, values: impl IntoIterator<Item = (String, Vec<u8>)>) -> MemorySpace {
        self.with(|here| {
            here.map = values.into_iter().collect();
            here.bytes = here.map.iter().map(|(key, value)| key.len() + value.len()).sum();
        });
        self
    }

    /// All keys and values, by key.
    pub fn values(&self) -> Vec<(String, Vec<u8>)> {
        let value = |(key, value): (&String, &Vec<u8>)| (key.clone(), value.clone());
        self.with(|values| values.map.iter().map(value).collect())
    }

    fn with<R>(&self, act: impl FnOnce(&mut Values) -> R) -> R {
        act(&mut self.values.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KeyValue for MemorySpace {
    fn value(&self, key: &str) -> Option<Vec<u8>> {
        self.with(|values| values.map.get(key).cloned())
    }

    fn set(&self, key: &str, value: Vec<u8>) -> Result<(), String> {
        if key.is_empty() || key.len() > KEY_LEN_MAX {
            return Err(format!("a key has 1 to {KEY_LEN_MAX} bytes"));
        }
        self.with(|values| {
            let before = values.map.get(key).map_or(0, |before| key.len() + before.len());
            let bytes = values.bytes - before + key.len() + value.len();
            if bytes > self.bytes_max {
                return Err(format!("the space is full: {} bytes are granted", self.bytes_max));
            }
            values.bytes = bytes;
            values.map.insert(key.to_owned(), value);
            Ok(())
        })
    }

    fn remove(&self, key: &str) {
        self.with(|values| {
            if let Some(value) = values.map.remove(key) {
                values.bytes -= key.len() + value.len();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_keeps_to_its_bound() {
        let space = MemorySpace::new(10);
        assert_eq!(space.set("key", vec![1; 7]), Ok(()));
        assert!(space.set("k", vec![]).unwrap_err().contains("10 bytes"));
        assert_eq!(space.set("key", vec![2; 5]), Ok(()));
        assert_eq!(space.set("k", vec![3]), Ok(()));
        assert!(space.set("", vec![]).is_err() && space.set(&"k".repeat(300), vec![]).is_err());
        space.remove("key");
        space.remove("key");
        assert_eq!((space.value("key"), space.value("k")), (None, Some(vec![3])));
        assert_eq!(space.set("other", vec![0; 3]), Ok(()));
        // What is brought along stays, and leaves no room for more.
        let small = MemorySpace::new(3).with_values(space.values());
        assert_eq!(small.values(), [("k".to_owned(), vec![3]), ("other".to_owned(), vec![0; 3])]);
        assert!(small.set("a", vec![]).is_err());
        small.remove("other");
        assert_eq!(small.set("a", vec![]), Ok(()));
    }
}
