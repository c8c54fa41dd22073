//! `aldis apps`: what there is, and what it refuses.

use std::process::Command;

fn aldis(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_aldis")).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn it_prints_the_applications_and_the_graph() {
    let (code, words, _) = aldis(&["apps", "--apps", "learning-switch"]);
    assert_eq!(code, Some(0));
    assert!(words.contains("* learning-switch"), "{words}");
    assert!(words.contains("starts on        flow-request, lldp, port-change, second"), "{words}");
    assert!(words.contains("flow-request       learning-switch"), "{words}");
    let (_, json, _) = aldis(&["apps", "--apps", "learning-switch", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["apps"][0]["exclusive"], false);
    assert_eq!(json["sequences"][0]["on"], "joining");
    assert_eq!(json["sequences"][0]["apps"][0], "leftovers");
    assert_eq!(json["sequences"][1]["on"], "port-change");
    assert_eq!(json["sequences"][1]["apps"][0], "learning-switch");
}

#[test]
fn a_file_that_cannot_work_is_refused_with_its_line() {
    let file = std::env::temp_dir().join(format!("aldis-apps-{}.toml", std::process::id()));
    let text =
        "apps = [\"learning-switch\"]\n[[sequence]]\non = \"up\"\napps = [\"learning-switch\"]\n";
    std::fs::write(&file, text).unwrap();
    let (code, words, sentence) = aldis(&["apps", "--config", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!((code, words.as_str()), (Some(2), ""));
    let place = format!("{}:4: apps: the application \"learning-switch\"", file.display());
    assert!(sentence.contains(&place), "{sentence}");
}

/// The goals that documents and examples are kept to: they are read at one sitting.
#[test]
fn every_application_has_a_page_and_examples_are_short() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let lines = |path: &str| {
        let text = std::fs::read_to_string(root.join(path));
        let text = text.unwrap_or_else(|error| panic!("{path}: {error}"));
        // What the suite of the book is told is not read by people.
        text.lines().filter(|line| !line.starts_with("<!--")).count()
    };
    let (_, words, _) = aldis(&["apps"]);
    let listed = words.lines().skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = listed
        .filter_map(|line| line[2..].split_whitespace().next())
        .chain(["leftovers"])
        .collect();
    assert!(names.len() >= 14, "{names:?}");
    for name in names {
        assert!(lines(&format!("docs/{name}.md")) <= 72, "docs/{name}.md is longer than 72 lines");
    }
    let examples = std::fs::read_dir(root.join("examples")).unwrap();
    let names: Vec<_> =
        examples.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let long: Vec<_> =
        names.iter().filter(|name| lines(&format!("examples/{name}")) > 60).collect();
    assert!(names.len() >= 3 && long.is_empty(), "longer than 60 lines: {long:?}");
    assert!(lines("crates/apps/src/learning_switch.rs") < 80);
}
