//! Links that come and go, over real sockets: the short form of `benches/churn.py`, which goes on
//! for ten minutes with 1,347 switches.

use std::path::Path;
use std::process::Command;

/// What is back may take so long to be found on a machine that is busy with other things, in
/// seconds.
const BACK_S: &str = "15";

/// The same for what is gone.
const GONE_S: &str = "10";

#[test]
fn no_link_is_false_and_none_is_lost_where_links_switches_and_connections_come_and_go() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let aldis = env!("CARGO_BIN_EXE_aldis");
    let churn = Command::new("python3")
        .arg(root.join("benches/churn.py"))
        .args(["--aldis", aldis, "--minutes", "0.2", "--topology", "waxman,60"])
        .args(["--back", BACK_S, "--gone", GONE_S])
        .output()
        .expect("Python is there: the end-to-end tests need it too");
    let said = String::from_utf8_lossy(&churn.stdout);
    let errors = String::from_utf8_lossy(&churn.stderr);
    assert!(churn.status.success(), "{said}{errors}");
    assert!(said.contains("0 links false, 0 lost; at the end 0 missing"), "{said}{errors}");
}
