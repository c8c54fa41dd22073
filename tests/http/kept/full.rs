//! A disk that is full answers 507, and is asked again with the next change.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use serde_json::{Value, json};

use super::{Api, Folder, WITHIN, names, put};
use aldis_testkit::running::Running;

/// The controller's own file may grow by so much.
const ROOM: u64 = 200_000;

/// A flow of some kilobytes.
fn flow(number: usize) -> Value {
    let actions: Vec<_> = (1..=400).map(|port| format!("output:{}", port + number)).collect();
    json!({"switch": 1, "match": {"in_port": number}, "actions": actions})
}

fn kept(api: &Api) -> Vec<String> {
    let page = api.get("/api/v1/static-flows?limit=1000").json();
    names(&page["items"]).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_full_disk_refuses_what_it_cannot_keep_until_it_has_room_again() {
    let folder = Folder::new("kept-full");
    let store = folder.file("store");
    let args = ["--http", "127.0.0.1:0", "--store", &store];
    let mut controller = Running::start_with_limited_files(&args);
    let api = Api::of(&mut controller);
    let set =
        |number: usize| put(&api, &format!("/api/v1/static-flows/{number:04}"), &flow(number));
    assert_eq!(set(1).status, 200);
    let len = std::fs::metadata(&store).unwrap().len();
    controller.limit_files(Some(len + ROOM));
    let full = (2..1000).find(|number| set(*number).status != 200).unwrap();
    // Whatever follows is refused, and nothing of it is shown.
    for number in [full, full + 1, full] {
        let answer = set(number);
        assert!(answer.is_problem(507, "the store "), "{answer:?}");
    }
    let mut expected: Vec<_> = (1..full).map(|number| format!("{number:04}")).collect();
    assert_eq!(kept(&api), expected);
    controller.limit_files(None);
    assert_eq!(set(full).status, 200);
    expected.push(format!("{full:04}"));
    assert_eq!(kept(&api), expected);
    assert_eq!(controller.end("-KILL"), None);
    let (_controller, api) = super::serving(&["--store", &store]);
    assert_eq!(kept(&api), expected);
}

/// The same on a file system that really is full, because of others: that needs root.
#[test]
fn a_file_system_without_room_refuses_changes_until_others_make_room() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can mount a file system to fill; run this test as root");
        return;
    }
    let folder = Folder::new("kept-no-room");
    let (store, filler) = (folder.file("store"), folder.file("filler"));
    let args = ["--http", "127.0.0.1:0", "--store", &store];
    let path = folder.to_str().unwrap();
    let mut controller = Running::start_in_memory_of(path, 8 * 1024, &args);
    let api = Api::of(&mut controller);
    let set =
        |number: usize| put(&api, &format!("/api/v1/static-flows/{number:04}"), &flow(number));
    assert_eq!(set(1).status, 200);
    let filler = controller.sees(&filler);
    let mut expected = vec!["0001".to_owned()];
    // More than once: what is opened again has to work as the first did.
    for round in 1..=3 {
        fill(&filler);
        let first = round * 1000;
        let full = (first..first + 1000).find(|number| {
            let done = set(*number).status == 200;
            expected.extend(done.then(|| format!("{number:04}")));
            !done
        });
        for number in [full.unwrap(), full.unwrap() + 1] {
            let answer = set(number);
            assert!(answer.is_problem(507, "the store "), "{round}: {answer:?}");
        }
        assert_eq!(kept(&api), expected, "{round}: what was refused is not shown");
        std::fs::remove_file(&filler).unwrap();
        let begun = Instant::now();
        assert_eq!(set(first + 999).status, 200, "{round}: there is room again");
        assert!(begun.elapsed() < WITHIN);
        expected.push(format!("{:04}", first + 999));
        assert_eq!(kept(&api), expected, "{round}");
    }
    // It is on disk: the file is read by another controller.
    let copy = folder.file("copy");
    std::fs::copy(controller.sees(&store), &copy).unwrap();
    assert_eq!(controller.end("-INT"), Some(0));
    let (_controller, api) = super::serving(&["--store", &copy]);
    assert_eq!(kept(&api), expected);
}

/// Writes until there is no room.
fn fill(file: &str) {
    let mut filler = File::create(file).unwrap();
    while filler.write(&[0x55; 4096]).is_ok_and(|len| len > 0) {}
}
