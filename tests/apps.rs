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
