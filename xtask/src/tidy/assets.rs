//! The built web interface is the one that its sources say: `web/` writes a list of both when it
//! is built, and this holds the list against the files, without Node.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::SourceTree;

/// The list, as `sha256sum` writes it.
const SUMS: &str = "crates/http/ui/SHA256SUMS";

/// Folders and files of `web/` of which the interface is built.
const SOURCES: &[&str] = &[
    "web/build/",
    "web/index.html",
    "web/package-lock.json",
    "web/package.json",
    "web/public/",
    "web/src/",
    "web/tsconfig.json",
    "web/vite.config.ts",
];

const REMEDY: &str = "build it anew with `npm ci && npm run build` in web/";

/// Sources that changed, came or went since the interface was built, and assets that were changed
/// by hand.
pub(super) fn assets(root: &Path, tree: &SourceTree) -> Vec<String> {
    let sums = tree.file(SUMS).map_or("", |file| file.text.as_str());
    let sources = tree.sources.iter().map(|source| source.path.as_str());
    let sources = sources.filter(|path| SOURCES.iter().any(|from| is_below(path, from)));
    compare(sums, sources, |path| std::fs::read(root.join(path)).ok())
}

fn is_below(path: &str, from: &str) -> bool {
    path == from || from.ends_with('/') && path.starts_with(from)
}

fn compare<'a>(
    sums: &str,
    sources: impl Iterator<Item = &'a str>,
    read: impl Fn(&str) -> Option<Vec<u8>>,
) -> Vec<String> {
    let listed: BTreeMap<&str, &str> = sums
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(sum, path)| (path, sum))
        .collect();
    let changed = listed.iter().filter_map(|(path, sum)| match read(path) {
        None => Some(format!("{SUMS} names {path}, which is not there: {REMEDY}")),
        Some(bytes) if digest(&bytes) != **sum => {
            Some(format!("{path} is not the one that the interface was built from: {REMEDY}"))
        }
        Some(_) => None,
    });
    let fresh = sources.filter(|path| !listed.contains_key(path));
    let fresh = fresh.map(|path| format!("{path} is newer than the built interface: {REMEDY}"));
    changed.chain(fresh).collect()
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_changed_came_or_went_is_found() {
        let sums = format!("{}  web/src/a.ts\n{}  web/src/gone.ts\n", digest(b"a"), digest(b"b"));
        let read =
            |now: &'static [u8]| move |path: &str| (path == "web/src/a.ts").then(|| now.to_vec());
        let wrong = compare(&sums, ["web/src/a.ts"].into_iter(), read(b"a"));
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].contains("web/src/gone.ts, which is not there"), "{wrong:?}");
        let sources = ["web/src/a.ts", "web/src/new.ts"];
        let wrong = compare(&sums, sources.into_iter(), read(b"other"));
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert!(wrong[0].starts_with("web/src/a.ts is not the one"), "{wrong:?}");
        assert!(wrong[2].starts_with("web/src/new.ts is newer"), "{wrong:?}");
    }

    #[test]
    fn a_digest_is_the_one_that_sha256sum_writes() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest(b""), empty);
    }
}
