//! The programs that the end-to-end and fuzz suites talk to, and how to get them on Debian and
//! Ubuntu.

use crate::suites::succeeds;
use std::path::{Path, PathBuf};
use std::process::Command;

struct CheckedPeer {
    /// The file that proves it is here: a program's name, or a full path; or, behind `import `, a
    /// module that the first Python of the path has.
    proof: &'static str,
    package: &'static str,
}

const PEERS: &[CheckedPeer] = &[
    CheckedPeer { proof: "ovs-vswitchd", package: "openvswitch-switch" },
    CheckedPeer { proof: "ovsdb-server", package: "openvswitch-switch" },
    CheckedPeer { proof: "ovs-ofctl", package: "openvswitch-switch" },
    CheckedPeer { proof: "mnexec", package: "mininet" },
    // Mininet's library and Open vSwitch's belong to the system's Python, not to whichever comes
    // first in the path.
    CheckedPeer { proof: "/usr/lib/python3/dist-packages/mininet/net.py", package: "mininet" },
    CheckedPeer { proof: "/usr/bin/python3", package: "python3" },
    // Without it, Debian's Python makes no environments: the tutorial begins with one.
    CheckedPeer { proof: "import ensurepip", package: "python3-venv" },
    CheckedPeer { proof: "iperf", package: "iperf" },
    CheckedPeer { proof: "ping", package: "iputils-ping" },
    CheckedPeer { proof: "ip", package: "iproute2" },
    CheckedPeer { proof: "ethtool", package: "ethtool" },
    CheckedPeer { proof: "unshare", package: "util-linux" },
    CheckedPeer { proof: "tcpdump", package: "tcpdump" },
    CheckedPeer { proof: "tshark", package: "tshark" },
    CheckedPeer { proof: "c++", package: "g++" },
    CheckedPeer { proof: "strip", package: "binutils" },
    CheckedPeer { proof: "systemd-analyze", package: "systemd" },
];

/// Controllers of other projects, which `aldis lab run` measures where they are and leaves out with
/// a note where they are not: no test needs them.
const SUBJECTS: &[CheckedPeer] =
    &[CheckedPeer { proof: "ovs-testcontroller", package: "openvswitch-testcontroller" }];

/// The target of sandboxed applications in Rust.
const TARGET: &str = "wasm32-wasip2";
/// What the web suite needs.
const BROWSER: &[CheckedPeer] = &[
    CheckedPeer { proof: "chromium", package: "chromium" },
    CheckedPeer { proof: "node", package: "nodejs" },
    CheckedPeer { proof: "npm", package: "npm" },
];

/// The same from PyPI: the module that proves it, and its package.
const PYTHON_SUBJECTS: &[(&str, &str)] = &[("os_ken", "os-ken")];

/// Says what is missing and installs it where that is possible; whether everything that tests need
/// is here afterwards.
pub(crate) fn provide() -> bool {
    provide_subjects();
    let can_compile = provide_target();
    let missing = packages(missing());
    if missing.is_empty() {
        println!("all peers of Debian are here");
        return can_compile;
    }
    println!("missing: {}; installing with apt-get", missing.join(" "));
    if !is_root() {
        eprintln!(
            "only root can install them: run `sudo apt-get install {}` and try again",
            missing.join(" ")
        );
        return false;
    }
    install(&missing);
    let still = packages(self::missing());
    if !still.is_empty() {
        eprintln!("could not be had: {}; the suites that need them will fail", still.join(" "));
    }
    still.is_empty() && can_compile
}

/// What sandboxed applications in Rust are compiled for; whether it is here afterwards.
fn provide_target() -> bool {
    if has_target() {
        return true;
    }
    println!("missing: Rust's {TARGET}; installing with rustup");
    let added = succeeds(Command::new("rustup").args(["target", "add", TARGET]));
    if !added || !has_target() {
        eprintln!("could not be had: Rust's {TARGET}; tests of sandboxed applications will fail");
    }
    has_target()
}

fn has_target() -> bool {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = sysroot.ok().and_then(|said| String::from_utf8(said.stdout).ok());
    let folder = |root: String| Path::new(root.trim()).join("lib/rustlib").join(TARGET);
    sysroot.map(folder).is_some_and(|folder| folder.is_dir())
}

/// The controllers of other projects, as far as they can be had.
fn provide_subjects() {
    let missing = packages(SUBJECTS.iter().filter(|peer| !is_here(peer.proof)).collect());
    let here = missing.is_empty() || is_root() && install(&missing);
    if !here {
        left_out(&missing.join(" "), "apt-get install");
    }
    for (module, package) in PYTHON_SUBJECTS {
        let proof = format!("import {module}");
        let has_it = || is_here(&proof);
        if has_it() {
            continue;
        }
        println!("missing: {package}; installing with pip");
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        let patience = ["--retries", "1", "--timeout", "10", package];
        let _ = succeeds(Command::new("python3").args(pip).args(patience));
        if !has_it() {
            left_out(package, "python3 -m pip install");
        }
    }
}

/// Installs a browser and Node.js where they are missing; whether they are here afterwards.
pub(crate) fn provide_browser() -> bool {
    let missing =
        || -> Vec<_> { packages(BROWSER.iter().filter(|peer| !is_here(peer.proof)).collect()) };
    let wanted = missing();
    if !wanted.is_empty() && is_root() {
        println!("missing: {}; installing with apt-get", wanted.join(" "));
        install(&wanted);
    }
    missing().is_empty()
}

fn left_out(package: &str, how: &str) {
    println!("{package} could not be had: aldis lab leaves it out; have it with {how} {package}");
}

/// A second copy of a package says nothing new.
fn packages(peers: Vec<&CheckedPeer>) -> Vec<&'static str> {
    let mut names: Vec<&str> = peers.iter().map(|peer| peer.package).collect();
    names.dedup();
    names
}

fn missing() -> Vec<&'static CheckedPeer> {
    PEERS.iter().filter(|peer| !is_here(peer.proof)).collect()
}

fn is_here(proof: &str) -> bool {
    let system = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    if proof.starts_with("import ") {
        let output = Command::new("python3").args(["-c", proof]).output();
        return output.is_ok_and(|output| output.status.success());
    }
    if proof.starts_with('/') {
        return Path::new(proof).exists();
    }
    std::env::split_paths(&path).chain(system).any(|folder| folder.join(proof).is_file())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn install(packages: &[&str]) -> bool {
    // RUNLEVEL=1 keeps Debian's maintainer scripts from starting the services they install: the
    // tests start their own.
    let apt = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(["-qq", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=120"]).args(args);
        command.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
        succeeds(&mut command)
    };
    // An out-of-date list is the usual reason for a failed install; a failed update alone is not
    // fatal.
    let _ = apt(&["update"]);
    let mut args = vec!["install", "-y", "--no-install-recommends"];
    args.extend(packages);
    apt(&args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_here_and_a_made_up_program_is_not() {
        assert!(is_here("sh"));
        assert!(is_here("/bin/sh"));
        assert!(!is_here("no-such-program-anywhere"));
        assert!(is_here("import json") && !is_here("import no_such_module_anywhere"));
    }

    #[test]
    fn a_package_is_asked_for_once() {
        assert_eq!(
            packages(vec![&PEERS[0], &PEERS[1], &PEERS[3]]),
            ["openvswitch-switch", "mininet"]
        );
    }
}
