//! Killed at any moment: what was acknowledged is there, and the store opens.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use aldis_store::{Embedded, Revision, Shelf, Store, StoreChange, Value};

/// Says to this program that it is the one to be killed, and where its store is.
const WRITER: &str = "ALDIS_TEST_STORE";

/// Lives of the writer.
const LIVES: u64 = 25;

/// Not a test of its own: the process that is killed. It writes one number after the other and says
/// each that was acknowledged.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(WRITER) else { return };
    let store = Embedded::open(PathBuf::from(path)).expect("it opens");
    let mut out = std::io::stdout().lock();
    for number in store.revision().0.. {
        let name = (number % 50).to_string();
        let changes = [
            StoreChange::set(Shelf::StaticFlows, name, Value::from(number)),
            StoreChange::set(Shelf::Names, "last", Value::from(number)),
        ];
        store.change(&changes).expect("it is written");
        // The reader stops once it is about to be killed.
        if writeln!(out, "acknowledged {number}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

fn start(path: &Path) -> Child {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.args(["--exact", "writer", "--nocapture", "--test-threads=1"]).env(WRITER, path);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts")
}

#[test]
fn whatever_was_acknowledged_before_a_kill_is_there() {
    let path = std::env::temp_dir().join(format!("aldis-store-killed-{}", std::process::id()));
    let mut next = 0;
    for life in 0..LIVES {
        let mut child = start(&path);
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let number = |line: String| line.split_once("acknowledged ")?.1.parse::<u64>().ok();
        let mut acknowledged = out.lines().map_while(Result::ok).filter_map(number);
        // As many as it takes to be killed elsewhere each time, and then what it says until it is
        // dead.
        let mut last = None;
        for _ in 0..=life * 7 % 40 {
            last = Some(acknowledged.next().expect("it writes"));
        }
        child.kill().expect("it is ours");
        last = acknowledged.last().or(last);
        child.wait().expect("it ended");
        let last = last.expect("it wrote");
        let store = Embedded::open(&path).expect("the store opens");
        let Revision(revision) = store.revision();
        assert!(last >= next, "it begins behind what was there");
        // One more may be on disk: it was killed before it could say so.
        assert!(revision == last + 1 || revision == last + 2, "{revision} after {last}");
        next = revision;
        let value = |shelf, name: &str| store.entry(shelf, name).map(|entry| entry.value);
        assert_eq!(value(Shelf::Names, "last"), Some(Value::from(revision - 1)), "no half of it");
        for number in revision.saturating_sub(50)..revision {
            let name = (number % 50).to_string();
            assert_eq!(value(Shelf::StaticFlows, &name), Some(Value::from(number)));
        }
    }
    let _ = std::fs::remove_file(&path);
}
