//! A disk that is full answers 507, and is asked again with the next change.

use serde_json::{Value, json};

use super::running::Running;
use super::{Api, Folder, names, put};

/// The controller's own file may grow by so much.
const ROOM: u64 = 200_000;

/// A flow of some kilobytes.
fn flow(number: usize) -> Value {
    let actions: Vec<_> = (1..=400).map(|port| format!("output:{}", port + number)).collect();
    json!({"switch": 1, "match": {"in_port": number}, "actions": actions})
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
    let kept = |api: &Api| {
        let page = api.get("/api/v1/static-flows?limit=1000").json();
        names(&page["items"]).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
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
