//! A disk that is full, and has room again: what was acknowledged is there, what was refused is
//! not, and nothing has to start anything again.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use aldis_store::{Embedded, Error, Revision, Shelf, Store, StoreChange, Value};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Says to this program that it is the one whose disk is full, and where its store is.
const FILLER: &str = "ALDIS_TEST_FULL_STORE";

/// How much longer the file may become: some ten changes.
const ROOM: u64 = 1 << 20;

/// Files longer than this cannot be written from now on, or any.
fn limit_files(to: Option<u64>) {
    let hard = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: to, maximum: hard.maximum }).expect("it is lower");
}

fn large(number: u64) -> StoreChange {
    let value = Value::from("x".repeat(50_000 + number as usize));
    StoreChange::set(Shelf::StaticFlows, number.to_string(), value)
}

/// Not a test of its own: the process whose files cannot grow.
#[test]
fn filler() {
    let Some(path) = std::env::var_os(FILLER).map(PathBuf::from) else { return };
    let store = Embedded::open(&path).expect("it opens");
    for round in 0..5 {
        let len = std::fs::metadata(&path).expect("it is there").len();
        limit_files(Some(len + ROOM / 4 * round));
        let first = store.revision().0;
        let refused = (first..first + 500).find_map(|number| store.change(&[large(number)]).err());
        let refused = refused.expect("the room ends");
        assert!(
            matches!(&refused, Error::Disk { why, .. } if why.contains("File too large")),
            "{refused}"
        );
        let (acknowledged, revision) = (store.backup(), store.revision());
        // It stays full for a while, and everything that is asked for is refused and changes
        // nothing.
        for number in 0..10 {
            store.change(&[large(revision.0 + number)]).expect_err("there is no room");
            assert!(store.backup() == acknowledged && store.revision() == revision);
        }
        // Another process is told meanwhile that it is in use: it is held while it is opened again.
        let other = Embedded::open(&path).expect_err("it is in use");
        assert!(matches!(other, Error::InUse { .. }), "{other}");
        limit_files(None);
        let change = StoreChange::set(Shelf::Names, "1", Value::from(round));
        let next = store.change(&[change]).expect("there is room again");
        assert_eq!(next, Revision(revision.0 + 1));
        assert_eq!(store.entries(Shelf::StaticFlows).len() as u64, revision.0 - round);
    }
    let kept = store.backup();
    drop(store);
    assert!(Embedded::open(&path).expect("it opens").backup() == kept);
    println!("filled {} times", 5);
}

#[test]
fn a_store_is_changed_again_when_a_full_disk_has_room() -> io::Result<()> {
    let path = std::env::temp_dir().join(format!("aldis-store-full-{}", std::process::id()));
    let program = std::env::current_exe()?;
    // The signal that a file too long sends is ignored, as it is for a program that a disk is full
    // for.
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ && exec \"$0\" \"$@\""]).arg(program);
    shell.args(["--exact", "filler", "--nocapture", "--test-threads=1"]).env(FILLER, &path);
    let output = shell.output()?;
    let _ = std::fs::remove_file(&path);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("filled 5 times"), "{said}\n{wrong}");
    Ok(())
}
