//! The tutorial of Python, followed word by word: its lines are run by a shell, in a network of
//! their own, so that the ports are those that it names.

use std::path::Path;
use std::process::Command;

use aldis_testkit::Folder;

/// The lines of a shell that a page has, in order.
fn lines(page: &str) -> String {
    let blocks = page.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    blocks.collect::<Vec<_>>().join("")
}

#[test]
fn the_tutorial_of_python_ends_in_an_application_that_was_asked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new("tutorial");
    let home = folder.join("knock");
    let page = std::fs::read_to_string(root.join("docs/tutorial-python.md")).unwrap();
    let script = lines(&page).replace("/tmp/knock", home.to_str().unwrap());
    // What is fetched comes from outside; the rest has nothing but its own loopback.
    let (fetches, rest) = script.split_at(script.find("aldis app new").unwrap());
    let bin = Path::new(env!("CARGO_BIN_EXE_aldis")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let run = |command: &mut Command| {
        let output = command.current_dir(root).env("PATH", &path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{errors}");
        said
    };
    run(Command::new("bash").args(["-ec", fetches]));
    let enter = format!("ip link set lo up\n. {0}/bin/activate\ncd {0}\n", home.display());
    let rest = enter + rest;
    let mut inside = Command::new("unshare");
    let said = run(inside.args(["--user", "--map-root-user", "--net", "bash", "-ec", &rest]));
    assert!(said.contains("knock.app: knock 0.1.0, ") && said.contains("knock 0.2.0, "), "{said}");
    assert!(said.contains("knock 0.1.0: 2 of 2 passed\n"), "{said}");
    assert!(said.contains(" 0% dropped (6/6 received)"), "{said}");
    // Requests, and bytes written.
    let number = |name: &str, column: usize| {
        let row = said.lines().rfind(|line| line.starts_with(name) && line.contains(" running "));
        let word = row.and_then(|row| row.split_whitespace().nth(column)).map(str::to_owned);
        word.and_then(|word| word.parse::<u64>().ok())
    };
    assert!(number("knock ", 2) >= Some(6) && number("knock ", 3) > Some(0), "{said}");
    assert_eq!(number("hub ", 3), Some(0), "{said}");
}
