//! The table of the installed applications. It is changed by one caller at a time, for as long as a
//! package is compiled and switches answer; it is read meanwhile as it was before, so that nothing
//! that serves people waits for a change.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Installed;

/// The applications, by name.
pub(super) type ByName = BTreeMap<&'static str, Installed>;

/// The table.
#[derive(Default)]
pub(super) struct InstalledTable {
    changing: Mutex<ByName>,
    /// The lock is held to copy a pointer.
    shown: Mutex<Arc<ByName>>,
}

impl InstalledTable {
    /// Waits for the change that is under way, and begins another one.
    pub(super) fn change(&self) -> TableChange<'_> {
        let table = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        TableChange { table, shown: &self.shown }
    }

    /// The table as it was when the last change was over.
    pub(super) fn shown(&self) -> Arc<ByName> {
        Arc::clone(&self.shown.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The table while it is changed; what became of it is shown when this is dropped.
pub(super) struct TableChange<'a> {
    table: MutexGuard<'a, ByName>,
    shown: &'a Mutex<Arc<ByName>>,
}

impl Deref for TableChange<'_> {
    type Target = ByName;

    fn deref(&self) -> &ByName {
        &self.table
    }
}

impl DerefMut for TableChange<'_> {
    fn deref_mut(&mut self) -> &mut ByName {
        &mut self.table
    }
}

impl Drop for TableChange<'_> {
    fn drop(&mut self) {
        let new = Arc::new(self.table.clone());
        // What is replaced is dropped after the lock.
        let _old = {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *shown, new)
        };
    }
}
