use super::rows::{ABOUT, DIGEST, FORMAT};
use super::*;
use crate::limits;
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};

/// A file of its own for each test, gone with it.
struct StoreFile(PathBuf);

impl StoreFile {
    fn new() -> StoreFile {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("aldis-store-{}-{number}", std::process::id());
        StoreFile(std::env::temp_dir().join(name))
    }

    fn open(&self) -> Embedded {
        Embedded::open(&self.0).unwrap()
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn weight(name: &str, weight: u32) -> StoreChange {
    StoreChange::set(Shelf::Weights, name, json!(weight))
}

#[test]
fn what_was_acknowledged_is_there_when_it_is_opened_again() {
    let scratch = StoreFile::new();
    let store = scratch.open();
    assert_eq!((store.revision(), store.backup().len()), (Revision(0), 0));
    store.change(&[weight("1", 4), weight("2", 5)]).unwrap();
    store.change(&[StoreChange::remove(Shelf::Weights, "1"), weight("2", 6)]).unwrap();
    store
        .change(&[StoreChange::set(Shelf::Names, "2", json!({"deep": [1, null, "\u{1f4a1}"]}))])
        .unwrap();
    let before = store.backup();
    drop(store);
    let store = scratch.open();
    assert_eq!((store.revision(), store.backup()), (Revision(3), before));
    let expected = StoreEntry { value: json!(6), revision: Revision(2) };
    assert_eq!(store.entry(Shelf::Weights, "2"), Some(expected.clone()));
    assert_eq!(store.entries(Shelf::Weights), [("2".to_owned(), expected)]);
    assert_eq!(store.entry(Shelf::Weights, "1"), None);
}

#[test]
fn a_change_is_made_whole_or_not_at_all() {
    let scratch = StoreFile::new();
    let store = scratch.open();
    store.change(&[weight("1", 1)]).unwrap();
    let first = Expects::Unchanged(Revision(1));
    let long = json!("x".repeat(limits::VALUE_MAX));
    for (wrong, words) in [
        (weight("1", 9).if_it(Expects::Absent), "there is one already"),
        (weight("2", 9).if_it(first), "there is none any more"),
        (weight("1", 9).if_it(Expects::Unchanged(Revision(7))), "it has revision 1 now"),
        (weight("", 9), "empty"),
        (weight(&"x".repeat(limits::NAME_MAX + 1), 9), "257 bytes"),
        (StoreChange::set(Shelf::Acl, "x", long), "acl, \"x\": 65538 bytes"),
    ] {
        let error = store.change(&[weight("1", 3).if_it(first), weight("3", 3), wrong]);
        let error = error.unwrap_err().to_string();
        // The first change of the three makes the last one's expectation untrue, or does not matter
        // to it.
        assert!(error.contains(words) || error.contains("it has revision 2 now"), "{error}");
        assert_eq!((store.revision(), store.entries(Shelf::Weights).len()), (Revision(1), 1));
    }
    store.change(&[weight("1", 2).if_it(first), weight("2", 2).if_it(Expects::Absent)]).unwrap();
    drop(store);
    assert_eq!(scratch.open().entries(Shelf::Weights).len(), 2);
}

#[test]
fn a_shelf_holds_as_many_as_it_may_and_one_that_goes_makes_room() {
    let scratch = StoreFile::new();
    let store = scratch.open();
    let all: Vec<_> = (0..limits::ENTRIES_MAX).map(|n| weight(&n.to_string(), 1)).collect();
    store.change(&all).unwrap();
    let error = store.change(&[weight("one more", 1)]).unwrap_err().to_string();
    assert!(error.contains("100000 entries"), "{error}");
    store.change(&[StoreChange::remove(Shelf::Weights, "7"), weight("one more", 1)]).unwrap();
    store.change(&[StoreChange::set(Shelf::Names, "1", json!("another shelf"))]).unwrap();
}

#[test]
fn a_backup_is_restored_whole_and_what_is_not_in_it_goes() {
    let (one, other) = (StoreFile::new(), StoreFile::new());
    let (from, to) = (one.open(), other.open());
    from.change(&[weight("1", 4), StoreChange::set(Shelf::Keys, "lldp", json!("00ff"))]).unwrap();
    to.change(&[weight("1", 1), weight("9", 1)]).unwrap();
    let backup = Backup::read(&from.backup().write()).unwrap();
    assert_eq!(to.restore(&backup).unwrap(), Revision(2));
    for shelf in Shelf::ALL {
        let values = |store: &Embedded| {
            store
                .entries(shelf)
                .into_iter()
                .map(|(name, entry)| (name, entry.value))
                .collect::<Vec<_>>()
        };
        assert_eq!(values(&from), values(&to));
    }
}

#[test]
fn one_process_has_it_and_only_its_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = StoreFile::new();
    let store = scratch.open();
    let error = Embedded::open(&scratch.0).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    let mode = std::fs::metadata(&scratch.0).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(store);
    scratch.open();
}

#[test]
fn what_is_no_store_is_refused_and_left_as_it_is() {
    let scratch = StoreFile::new();
    for bytes in [&b"[weights]\n\"1\" = 4\n"[..], &[0; 4096], &[0xff; 100_000], b"redb"] {
        std::fs::write(&scratch.0, bytes).unwrap();
        let error = Embedded::open(&scratch.0).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
        assert_eq!(std::fs::read(&scratch.0).unwrap(), bytes);
    }
    let nowhere = Embedded::open("/nowhere/at/all").unwrap_err().to_string();
    assert!(nowhere.contains("/nowhere/at/all: No such file"), "{nowhere}");
}

#[test]
fn another_format_and_a_wrong_digest_are_refused() {
    let scratch = StoreFile::new();
    scratch.open().change(&[weight("1", 4)]).unwrap();
    for (row, number, words) in
        [(FORMAT, 2, "has format 2"), (DIGEST, 77, "its digest"), (FORMAT, 0, "its format is 0")]
    {
        let database = Database::create(&scratch.0).unwrap();
        let transaction = database.begin_write().unwrap();
        let mut about = transaction.open_table(ABOUT).unwrap();
        let before = about.insert(row, number).unwrap().unwrap().value();
        drop(about);
        transaction.commit().unwrap();
        drop(database);
        let error = Embedded::open(&scratch.0).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        let database = Database::create(&scratch.0).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(ABOUT).unwrap().insert(row, before).unwrap();
        transaction.commit().unwrap();
    }
    scratch.open();
}

/// A byte that changed on the disk is found, or was none that counts: no reader ever gets another
/// value than was kept.
#[test]
fn a_changed_byte_is_found_or_does_not_count() {
    let scratch = StoreFile::new();
    let store = scratch.open();
    for number in 0..40 {
        store.change(&[weight(&number.to_string(), number)]).unwrap();
    }
    let kept = store.backup();
    drop(store);
    let bytes = std::fs::read(&scratch.0).unwrap();
    let (mut refused, mut tried) = (0, 0);
    let places = (0..512).step_by(3).chain((512..bytes.len()).step_by(bytes.len() / 120));
    for place in places {
        let mut changed = bytes.clone();
        changed[place] ^= 0x55;
        std::fs::write(&scratch.0, &changed).unwrap();
        tried += 1;
        match Embedded::open(&scratch.0) {
            Ok(store) => assert_eq!(store.backup(), kept, "byte {place}"),
            Err(Error::Damaged { .. } | Error::Newer { .. }) => refused += 1,
            Err(other) => panic!("byte {place}: {other}"),
        }
    }
    assert!(refused > 0 && tried > refused, "{refused} of {tried}");
}
