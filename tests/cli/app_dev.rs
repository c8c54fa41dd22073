//! `aldis app dev`: an application in a running controller follows its source.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use aldis_testkit::Folder;
use aldis_testkit::client::Api;
use aldis_testkit::running::Running;
use aldis_testkit::sdk::{author, root};
use rustix::process::{Pid, Signal, kill_process};

/// Longer than a build takes on a machine that is busy with other things.
const WITHIN: Duration = Duration::from_secs(120);

/// The command, until the test ends.
struct Dev {
    child: Child,
    said: Receiver<String>,
}

impl Dev {
    fn start(folder: &Path, api: &Api, more: &[&str]) -> Dev {
        let url = format!("http://{}", api.address);
        let mut command = author();
        command.args(["app", "dev"]).arg(folder).args(["--http", &url]).args(more);
        command.env("CARGO_NET_OFFLINE", "true").env("CARGO_TERM_COLOR", "never");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, said) = channel();
        let (out, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let other = sender.clone();
        std::thread::spawn(move || {
            let lines = BufReader::new(out).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        std::thread::spawn(move || {
            let lines = BufReader::new(errors).lines().map_while(Result::ok);
            lines.for_each(|line| drop(other.send(line)));
        });
        Dev { child, said }
    }

    /// Waits for a line with these words.
    fn says(&self, words: &str) {
        let deadline = Instant::now() + WITHIN;
        let mut all = vec![];
        while let Ok(line) = self.said.recv_timeout(deadline - Instant::now()) {
            if line.contains(words) {
                return;
            }
            all.push(line);
        }
        panic!("it did not say \"{words}\": {all:#?}");
    }

    /// Its exit code after Ctrl-C.
    fn stop(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_is_saved_takes_the_place_of_what_runs() {
    let folder = Folder::new("app-dev");
    let sdk = root().join("sdk/rust");
    let mut new = author();
    new.args(["app", "new", "door", "--lang", "rust", "--sdk"]).arg(&sdk).current_dir(&*folder);
    assert!(new.output().unwrap().status.success());
    std::fs::copy(sdk.join("Cargo.lock"), folder.join("door/Cargo.lock")).unwrap();
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", "hub"]);
    let api = Api::of(&mut controller);
    let version = || {
        let apps = api.get("/api/v1/apps").json();
        let mut all = apps["apps"].as_array().unwrap().iter();
        all.find(|app| app["name"] == "door")
            .and_then(|app| app["version"].as_str().map(str::to_owned))
    };
    let dev = Dev::start(&folder.join("door"), &api, &[]);
    dev.says("door 0.1.0: installed");
    let source = folder.join("door/src/lib.rs");
    let good = std::fs::read_to_string(&source).unwrap();
    // It does not build: the errors are shown, and the version before goes on.
    std::fs::write(&source, good.replace("Ok(NewApp)", "Ok(OldApp)")).unwrap();
    dev.says("cannot find value `OldApp`");
    dev.says("it is tried again when a file is saved");
    assert_eq!(version().as_deref(), Some("0.1.0"));
    let manifest = folder.join("door/manifest.toml");
    let next = std::fs::read_to_string(&manifest).unwrap().replace("0.1.0", "0.2.0");
    std::fs::write(&manifest, next).unwrap();
    let tells = good.replace("Ok(NewApp)", "println!(\"it opens\");\n        Ok(NewApp)");
    std::fs::write(&source, tells).unwrap();
    dev.says("door 0.2.0: replaced");
    dev.says("door: info: it opens");
    assert_eq!((version().as_deref(), dev.stop()), (Some("0.2.0"), Some(0)));
    assert_eq!(version().as_deref(), Some("0.2.0"), "it stays");
    let dev = Dev::start(&folder.join("door"), &api, &["--remove"]);
    dev.says("door 0.2.0: replaced");
    assert_eq!((dev.stop(), version()), (Some(0), None));
}
