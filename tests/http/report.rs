//! `aldis report`: one file, with what is needed, and without secrets.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Output};

use aldis_testkit::Folder;
use aldis_testkit::client::Api;
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, failed, program};
use aldis_wire::Version;
use flate2::read::GzDecoder;

/// Of "secret".
const HASH: &str =
    "$argon2id$v=19$m=8,t=1,p=1$BwcHBwcHBwcHBwcHBwcHBw$4R1PEQPItpvkTH5juMUak3oEb8rtWEdaRzGIjigkYIU";
const TOKEN: &str = "ops.secret";

fn files(archive: &str) -> BTreeMap<String, Vec<u8>> {
    let file = std::fs::File::open(archive).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let read = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let path = entry.path().unwrap().display().to_string();
        (path.strip_prefix("aldis-report/").unwrap().to_owned(), bytes)
    };
    archive.entries().unwrap().map(read).collect()
}

fn holds(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|window| window == words.as_bytes())
}

#[test]
fn a_report_has_all_that_helps_and_no_secret() {
    let folder = Folder::new("report");
    folder.write(
        "aldis.toml",
        format!("recording-mib = 4\n[[http.token]]\nname = \"ops\"\nrole = \"admin\"\nhash = \"{HASH}\"\n"),
    );
    let [config, out] = ["aldis.toml", "report.tar.gz"].map(|name| folder.file(name));
    let apps = ["--apps", "learning-switch", "--http", "127.0.0.1:0", "--config", &config];
    let mut controller = Running::start(&apps);
    let url = format!("http://{}", Api::of(&mut controller).address);
    let _network = Network::start(&controller, Version::V13, "linear,2", &["0s ping h1 h2"]);
    let run = |more: &[&str]| {
        let mut command = Command::new(program());
        command.args(["report", "--http", &url, "--config", &config, "--out", &out]).args(more);
        command.env("ALDIS_TOKEN", TOKEN).output().unwrap()
    };
    let Output { status, stdout, .. } = run(&[]);
    let words = String::from_utf8(stdout).unwrap();
    assert!(status.success() && words.contains("packets of the network"), "{words}");
    let found = files(&out);
    for (name, word) in [
        ("programs.txt", "aldis "),
        ("doctor.json", "looked_at"),
        ("version.json", "openflow"),
        ("health.json", "up_since"),
        ("design.json", "fair-rounds"),
        ("apps.json", "learning-switch"),
        ("switches.json", "0000000000000002"),
        ("log.json", "items"),
        ("metrics.txt", "aldis_"),
        ("configuration.toml", "(left out)"),
        ("recording.pcapng", "aldis"),
    ] {
        assert!(found.get(name).is_some_and(|bytes| holds(bytes, word)), "{name}: {words}");
    }
    for (name, bytes) in &found {
        let planted = [HASH, "argon2", TOKEN].into_iter().find(|planted| holds(bytes, planted));
        assert_eq!(planted, None, "{name}");
    }
    let Output { stderr, .. } = run(&[]);
    assert!(holds(&stderr, "is there already; name another file with --out"));
    std::fs::remove_file(&out).unwrap();
    run(&["--without-recording"]);
    assert!(!files(&out).contains_key("recording.pcapng"));
}

#[test]
fn without_a_controller_a_report_says_what_it_does_not_have() {
    let folder = Folder::new("report-alone");
    let out = folder.file("report.tar.gz");
    let url = "http://127.0.0.1:9";
    let run = Command::new(program()).args(["report", "--http", url, "--out", &out]).output();
    let words = String::from_utf8(run.unwrap().stdout).unwrap();
    assert!(words.contains("not in it: health.json: "), "{words}");
    let found = files(&out);
    assert!(
        holds(&found["left-out.txt"], "recording.pcapng: ") && found.contains_key("doctor.json")
    );
    let words = failed(&["report", "--http", url, "--out", &folder.file("none/report.tar.gz")]);
    assert!(words.contains("cannot write"), "{words}");
}
