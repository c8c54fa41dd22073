//! What the controller knows by itself to be wrong, as it is shown: what its events told, and the
//! file system of its store.

use std::path::Path;
use std::time::Instant;

use aldis_doctor::catalogue::{named, place};
use aldis_doctor::rules::machine::{STORE_FULL, STORE_READ_ONLY};
use aldis_http::api::health::KnownFinding;
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};

use crate::report::Watchlist;

/// The part of a file system that is free where it is nearly full.
const FREE_PART: f64 = 0.05;

/// Bytes that are enough, whatever part they are.
const FREE_BYTES: u64 = 256 * 1024 * 1024;

/// All of them, the gravest and likeliest first.
pub(super) fn findings(watchlist: &Watchlist, store: Option<&Path>) -> Vec<KnownFinding> {
    let now = Instant::now();
    let watched = watchlist.now(now).into_iter().map(|((id, about), seen)| {
        let since = now.saturating_duration_since(seen.last);
        found(id, about, seen.evidence, (seen.count, since.as_secs_f64()))
    });
    let mut all: Vec<_> = watched.chain(store.and_then(of_store)).collect();
    all.sort_by_key(|found| (named(&found.id).map(|known| known.severity), place(&found.id)));
    all
}

fn found(id: &str, about: String, evidence: String, seen: (u64, f64)) -> KnownFinding {
    let known = named(id);
    KnownFinding {
        id: id.to_owned(),
        severity: known.map_or("warning", |known| known.severity.name()).to_owned(),
        what_to_do: known.map_or("", |known| known.what_to_do).replace("{about}", &about),
        about,
        evidence,
        count: seen.0,
        last_s_ago: seen.1,
    }
}

/// What is wrong with where the store is.
fn of_store(file: &Path) -> Option<KnownFinding> {
    let about = file.display().to_string();
    let system = statvfs(file).ok()?;
    let is_read_only = system.f_flag.contains(StatVfsMountFlags::RDONLY);
    if is_read_only || access(file, Access::WRITE_OK).is_err() {
        let why = if is_read_only { "its file system is" } else { "its file is" };
        return Some(found(STORE_READ_ONLY.id, about, format!("{why} read-only"), (1, 0.0)));
    }
    let (free, all) = (system.f_bavail, system.f_blocks.max(1));
    let bytes = free.saturating_mul(system.f_frsize);
    let is_full = (free as f64) < FREE_PART * all as f64 && bytes < FREE_BYTES;
    let words = format!("{} KiB are free of {}", bytes / 1024, all * system.f_frsize / 1024);
    is_full.then(|| found(STORE_FULL.id, about, words, (1, 0.0)))
}
