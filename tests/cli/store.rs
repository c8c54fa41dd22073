//! `aldis store` and `aldis run --store`, as a person uses them.

use std::process::{Command, Output};

use aldis_testkit::Folder;
use aldis_testkit::running::{Running, failed};

fn store(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aldis")).arg("store").args(args).output().unwrap()
}

#[test]
fn a_backup_goes_in_and_comes_out_and_weights_count() {
    let folder = Folder::new("store-weights");
    let (file, backup, again) =
        (folder.file("store"), folder.file("backup.json"), folder.file("again.json"));
    let text = "{\n  \"aldis-store\": 1,\n  \"revision\": 1,\n  \"weights\": {\n    \"*\": 2,\n    \"7\": 5\n  }\n}\n";
    std::fs::write(&backup, text).unwrap();
    let imported = store(&["import", &file, "--from", &backup]);
    assert!(imported.status.success(), "{imported:?}");
    assert!(store(&["export", &file, "--to", &again]).status.success());
    assert_eq!(std::fs::read_to_string(&again).unwrap(), text);

    let mut running = Running::start(&["--store", &file]);
    let used = String::from_utf8(store(&["export", &file]).stderr).unwrap();
    assert!(used.contains("is in use by another process"), "{used}");
    let second = failed(&["run", "--listen", "127.0.0.1:0", "--store", &file]);
    assert!(second.contains("give each its own file"), "{second}");
    // Only a controller with weights says that the design weighs none.
    assert_eq!(running.end("-TERM"), Some(0));
    let mut other = Running::start(&["--store", &file, "--design", "beacon"]);
    other.says("weights change nothing here");
    assert_eq!(other.end("-TERM"), Some(0));
}

#[test]
fn what_is_wrong_with_a_store_is_one_sentence() {
    let folder = Folder::new("store-wrong");
    let (file, text) = (folder.file("store"), folder.file("text"));
    std::fs::write(&text, "{\"aldis-store\": 1, \"weights\": {\"7\": 0}}").unwrap();
    assert!(store(&["import", &file, "--from", &text]).status.success());
    let run = |file: &str| failed(&["run", "--listen", "127.0.0.1:0", "--store", file]);
    let sentence = run(&file);
    assert!(sentence.contains("weights, \"7\"") && sentence.lines().count() == 1, "{sentence}");
    let sentence = run(&text);
    assert!(sentence.contains("is no store, or is damaged"), "{sentence}");
    let sentence = run(&folder.file("no/such/folder"));
    assert!(sentence.contains("No such file"), "{sentence}");
    let sentence = failed(&["store", "import", &file, "--from", &file]);
    assert!(sentence.starts_with("aldis: "), "{sentence}");
    let sentence = failed(&["store", "export", &folder.file("none")]);
    assert!(sentence.contains("there is no store"), "{sentence}");
    let sentence = failed(&["store", "export", &file, "--to", &text]);
    assert!(sentence.contains("File exists"), "{sentence}");
}
