//! The watch over a version that was put in the place of another: where it fails soon, the one
//! before comes back.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::{Installed, InstalledApps};

/// So many batches without a failure are enough.
const BATCHES: u64 = 100;

/// And so much time is enough, where fewer come.
const AT_MOST: Duration = Duration::from_secs(30);

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Watches the new version on a thread of its own, for as long as it is there; stops the one
/// before when it is over.
pub(super) fn begin(
    apps: &Arc<InstalledApps>,
    name: &'static str,
    before: Installed,
    new: Installed,
) {
    let apps = Arc::clone(apps);
    let watch = move || {
        let begun = Instant::now();
        while apps.is_in_place(name, &new) {
            let status = new.application.status();
            if let Some((kind, _)) = status.faults.iter().next() {
                let last = new.application.lines().pop().map(|line| line.text);
                let why = last.unwrap_or_else(|| (*kind).to_owned());
                return apps.go_back(name, before, &new, &format!("{kind}: {why}"));
            }
            if status.batches >= BATCHES || begun.elapsed() >= AT_MOST {
                info!("{name}: version {} stays", new.application.manifest().version);
                break;
            }
            thread::sleep(LOOK_EVERY);
        }
        if let Err(fault) = before.application.stop() {
            warn!("{name}: the version before failed while it was stopped: {fault}");
        }
    };
    let started = thread::Builder::new().name(format!("watch-{name}")).spawn(watch);
    if let Err(why) = started {
        warn!("{name}: the new version is not watched: {why}");
    }
}
