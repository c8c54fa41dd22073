//! The keeper: it writes what applications keep to the folder, every second where it changed and at
//! the end.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tracing::warn;

use super::{InstalledApps, folder::Folder};

const KEEP_EVERY: Duration = Duration::from_secs(1);

/// How many seconds pass between two warnings that it cannot.
const WARN_EVERY: u32 = 60;

/// Begins to keep, where there is a folder, on a thread that ends with the applications.
///
/// # Errors
/// One sentence: the machine has no thread left.
pub(super) fn begin(apps: &Arc<InstalledApps>) -> Result<(), String> {
    if apps.folder.is_none() {
        return Ok(());
    }
    let apps = Arc::downgrade(apps);
    let keep = move || {
        let mut quiet = 0;
        loop {
            thread::sleep(KEEP_EVERY);
            let Some(apps) = apps.upgrade() else { return };
            quiet = match apps.keep_spaces() {
                Err(why) if quiet == 0 => {
                    warn!("what applications keep is not on disk: {why}");
                    WARN_EVERY
                }
                Ok(()) => 0,
                Err(_) => quiet - 1,
            };
        }
    };
    let started = thread::Builder::new().name("apps-keeper".into()).spawn(keep);
    started.map(drop).map_err(|why| format!("cannot keep what applications keep: {why}"))
}

impl InstalledApps {
    /// Stops the applications, and keeps what they keep. The controller ends.
    pub(crate) fn finish(&self) {
        for (name, installed) in self.lock().iter() {
            installed.end_candidate();
            if let Err(fault) = installed.application.stop() {
                warn!("{name}: failed while it was stopped: {fault}");
            }
        }
        if let Err(why) = self.keep_spaces() {
            warn!("what applications keep is not on disk: {why}");
        }
    }

    /// Writes the spaces that changed.
    ///
    /// # Errors
    /// One sentence about the last of them that was not written; it is next time.
    fn keep_spaces(&self) -> Result<(), String> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let apps = self.lock();
        let mut kept = Ok(());
        for (name, installed) in apps.iter() {
            kept = keep(folder, name, &installed.space).and(kept);
        }
        kept
    }
}

fn keep(folder: &Folder, name: &str, space: &super::Space) -> Result<(), String> {
    let Some(bytes) = space.take_changed() else { return Ok(()) };
    folder.keep_space(name, &bytes).inspect_err(|_| space.set_changed())
}
