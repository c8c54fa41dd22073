//! A file that a disk, a copy or an editor damaged: it says what it said, or it is refused and left
//! as it is, byte for byte. No panic reaches a person either way.

use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use aldis_store::{Backup, Embedded, Error, Shelf, Store, StoreChange, Value};

/// Damaged copies of each of the files.
const TRIALS: usize = 160;

/// Of the database.
const PAGE: usize = 4096;

/// The panics that were shown to a person.
static SHOWN: AtomicUsize = AtomicUsize::new(0);

/// Numbers that are the same in each run (xorshift).
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// A place of the header more often than not: it is small, and the most depends on it.
    fn place(&mut self, len: usize) -> usize {
        match self.below(3) {
            0 => self.below(320.min(len)),
            _ => self.below(len),
        }
    }
}

fn flow(number: usize) -> Value {
    Value::from(format!("a flow of some length, as flows have it: {}", "x".repeat(number % 90)))
}

/// A store with some hundred entries, changed in many steps; its file as it is while it is open,
/// and after it was closed.
fn files(path: &Path) -> [(&'static str, Vec<u8>, Backup); 2] {
    let store = Embedded::open(path).expect("it is made");
    for number in 0..150 {
        let name = (number * 7 % 60).to_string();
        let mut changes = vec![StoreChange::set(Shelf::StaticFlows, name, flow(number))];
        changes.push(StoreChange::set(Shelf::Names, (number % 40).to_string(), number.into()));
        if number % 5 == 4 {
            changes.push(StoreChange::remove(Shelf::Names, (number % 40 - 3).to_string()));
        }
        store.change(&changes).expect("it is changed");
    }
    let kept = store.backup();
    let killed = std::fs::read(path).expect("it is there");
    drop(store);
    let closed = std::fs::read(path).expect("it is there");
    std::fs::remove_file(path).expect("it is ours");
    [("killed", killed, kept.clone()), ("closed", closed, kept)]
}

/// Does one thing to it, and says what.
fn damage(bytes: &mut Vec<u8>, trial: usize, numbers: &mut Xorshift) -> String {
    let len = bytes.len();
    let pages = len / PAGE;
    match trial % 8 {
        0 | 1 => {
            let (place, bit) = (numbers.place(len), numbers.below(8));
            bytes[place] ^= 1 << bit;
            format!("bit {bit} of byte {place} turned")
        }
        2 => {
            let (place, value) = (numbers.place(len), numbers.below(256) as u8);
            bytes[place] = value;
            format!("byte {place} became {value}")
        }
        3 => {
            let (page, value) = (numbers.below(pages), [0, 0xff][numbers.below(2)]);
            bytes[page * PAGE..][..PAGE].fill(value);
            format!("page {page} full of {value}")
        }
        4 => {
            let (one, other) = (numbers.below(pages), numbers.below(pages));
            let first = bytes[one * PAGE..][..PAGE].to_vec();
            bytes.copy_within(other * PAGE..(other + 1) * PAGE, one * PAGE);
            bytes[other * PAGE..][..PAGE].copy_from_slice(&first);
            format!("pages {one} and {other} swapped")
        }
        5 => {
            let cut = [0, 1, 320, PAGE, numbers.below(len), numbers.below(pages) * PAGE];
            let cut = cut[numbers.below(cut.len())];
            bytes.truncate(cut);
            format!("cut to {cut} of {len}")
        }
        6 => {
            let more = [1, PAGE, numbers.below(20 * PAGE)][numbers.below(3)];
            bytes.resize(len + more, numbers.below(256) as u8);
            format!("{more} bytes more")
        }
        _ => {
            for _ in 0..20 {
                let place = numbers.place(len);
                bytes[place] = numbers.below(256) as u8;
            }
            "twenty bytes became others".into()
        }
    }
}

/// Opens the copy: whether it was refused.
fn try_it(path: &Path, damaged: &[u8], kept: &Backup, what: &str) -> bool {
    std::fs::write(path, damaged).expect("it is ours");
    let store = match Embedded::open(path) {
        Err(Error::Damaged { .. } | Error::Empty { .. } | Error::Newer { .. }) => {
            let left = std::fs::read(path).expect("it is there");
            assert!(left == damaged, "{what}: it was refused, and changed");
            return true;
        }
        Err(other) => panic!("{what}: {other}"),
        Ok(store) => store,
    };
    assert!(store.backup() == *kept, "{what}: it says something else");
    // Whatever was damaged and accepted holds what comes next, too.
    let more: Vec<_> = (0..40)
        .map(|number| StoreChange::set(Shelf::StaticFlows, format!("next {number}"), flow(number)))
        .collect();
    store.change(&more).unwrap_or_else(|error| panic!("{what}: {error}"));
    let next = store.backup();
    drop(store);
    let store = Embedded::open(path).unwrap_or_else(|error| panic!("{what}: then {error}"));
    assert!(store.backup() == next, "{what}: it does not hold what came next");
    false
}

/// Counts the panics that are shown, from before the first store is opened.
fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|info| {
            SHOWN.fetch_add(1, Ordering::Relaxed);
            eprintln!("{info}");
        }));
    });
}

#[test]
fn a_damaged_file_says_the_same_or_is_refused_and_left_as_it_is() {
    watch();
    let path = std::env::temp_dir().join(format!("aldis-store-damaged-{}", std::process::id()));
    let mut wrong = Vec::new();
    for (base, bytes, kept) in files(&path) {
        let mut numbers = Xorshift(0x9e37_79b9_7f4a_7c15);
        let mut refused = 0;
        for trial in 0..TRIALS {
            let mut copy = bytes.clone();
            let what = damage(&mut copy, trial, &mut numbers);
            let what = format!("{base}, trial {trial}, {what}");
            let before = SHOWN.load(Ordering::Relaxed);
            match panic::catch_unwind(|| try_it(&path, &copy, &kept, &what)) {
                Ok(_) if SHOWN.load(Ordering::Relaxed) != before => {
                    wrong.push(format!("{what}: a panic was shown"));
                }
                Ok(was) => refused += usize::from(was),
                Err(why) => wrong.push(why.downcast::<String>().map_or(what, |why| *why)),
            }
        }
        // Both happen: most of the file is room that is free, the rest counts.
        assert!(refused > TRIALS / 8 && refused < TRIALS, "{base}: {refused} of {TRIALS} refused");
    }
    let _ = std::fs::remove_file(&path);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The file that an editor emptied is none that was never written.
#[test]
fn an_empty_file_is_no_new_store() {
    watch();
    let path: PathBuf =
        std::env::temp_dir().join(format!("aldis-store-empty-{}", std::process::id()));
    std::fs::write(&path, b"").expect("it is ours");
    let error = Embedded::open(&path).expect_err("it is refused").to_string();
    assert!(error.contains("is empty"), "{error}");
    assert_eq!(std::fs::read(&path).expect("it is there"), b"");
    let _ = std::fs::remove_file(&path);
}
