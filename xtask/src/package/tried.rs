//! The suite of the package: built twice, installed in a folder, started from there, and removed.

use super::{debian, said, text};
use crate::suites::{SuiteTally, cargo, succeeds};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Longest that what is installed may be, in KiB: a program of the tests is larger than that of a
/// release, which the goal of 40 MB is for.
const KIB_MAX: u64 = 120 * 1024;

/// Each check, and what it is to show.
type Check = (&'static str, fn(&Tried) -> io::Result<bool>);

const CHECKS: [Check; 6] = [
    ("two builds give the same bytes", Tried::is_same),
    ("the unit of systemd is one, and hardened", Tried::has_good_unit),
    ("it is installed, with a page of the manual and completions", Tried::installs),
    ("the installed configuration starts the installed program", Tried::starts),
    ("an upgrade keeps what was changed in the configuration", Tried::upgrades),
    ("it is removed, and what was kept goes with a purge", Tried::goes),
];

/// A package of the program that the tests use.
struct Tried {
    root: PathBuf,
    program: PathBuf,
    folder: PathBuf,
    package: PathBuf,
}

/// Tries a package of the program that the other suites use.
pub(crate) fn run(root: &Path) -> SuiteTally {
    let folder = root.join("target/package/tried");
    if !succeeds(cargo(root).args(["build", "--quiet", "--locked"])) {
        return SuiteTally::one(false);
    }
    let program = root.join("target/debug/aldis");
    let _ = fs::remove_dir_all(&folder);
    let made = fs::create_dir_all(&folder).and_then(|()| debian(root, &program, &folder));
    let package = match made {
        Ok(package) => package,
        Err(why) => {
            println!("there is no package: {why}");
            return SuiteTally::one(false);
        }
    };
    let tried = Tried { root: root.to_owned(), program, folder, package };
    let one = |(what, holds): &Check| {
        let good = holds(&tried);
        match &good {
            Ok(good) => println!("{} {what}", if *good { "ok  " } else { "FAIL" }),
            Err(why) => println!("FAIL {what}: {why}"),
        }
        SuiteTally::one(good.unwrap_or(false))
    };
    CHECKS.iter().map(one).fold(SuiteTally::default(), SuiteTally::plus)
}

impl Tried {
    /// The folder in which it is installed.
    fn machine(&self) -> PathBuf {
        self.folder.join("machine")
    }

    fn is_same(&self) -> io::Result<bool> {
        let first = fs::read(&self.package)?;
        let again = debian(&self.root, &self.program, &self.folder)?;
        Ok(first == fs::read(again)?)
    }

    fn has_good_unit(&self) -> io::Result<bool> {
        let unit = self.root.join("packaging/aldis.service");
        // What it starts is not on this machine; everything else about it is to be right.
        let judged =
            Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit).output()?;
        let complaints = text(&judged.stderr);
        let others: Vec<_> =
            complaints.lines().filter(|line| !line.contains("/usr/bin/aldis")).collect();
        let exposure =
            said(Command::new("systemd-analyze").args(["security", "--offline=true"]).arg(&unit))?;
        let last = text(&exposure).lines().last().unwrap_or_default().to_owned();
        println!("     {others:?} {last}");
        Ok(others.is_empty() && last.contains("OK"))
    }

    /// `dpkg` on the folder: its database is there, and scripts are told where.
    fn dpkg(&self, args: &[&str]) -> io::Result<()> {
        let machine = self.machine();
        fs::create_dir_all(machine.join("var/lib/dpkg/updates"))?;
        fs::create_dir_all(machine.join("var/lib/dpkg/info"))?;
        let status = machine.join("var/lib/dpkg/status");
        if !status.exists() {
            fs::write(status, [])?;
        }
        let mut dpkg = Command::new("dpkg");
        dpkg.arg("--root").arg(machine).args(["--force-script-chrootless", "--force-depends"]);
        dpkg.args(["--force-not-root", "--force-confold"]).args(args);
        said(&mut dpkg).map(drop)
    }

    fn install(&self) -> io::Result<()> {
        self.dpkg(&["--install", &self.package.to_string_lossy()])
    }

    fn installs(&self) -> io::Result<bool> {
        self.install()?;
        let machine = self.machine();
        let there = |file: &str| machine.join(file).metadata().is_ok_and(|data| data.len() > 0);
        let size =
            said(Command::new("dpkg-deb").arg("--field").arg(&self.package).arg("Installed-Size"))?;
        let size = text(&size).parse::<u64>().unwrap_or(u64::MAX);
        let files = [
            "usr/share/man/man1/aldis.1.gz",
            "usr/share/man/man1/aldis-run.1.gz",
            "usr/share/bash-completion/completions/aldis",
            "usr/lib/systemd/system/aldis.service",
            "usr/share/doc/aldis/grafana.json",
            "usr/share/doc/aldis/alerts.yml",
        ];
        let users = fs::read_to_string(machine.join("etc/passwd")).unwrap_or_default();
        println!("     {size} KiB");
        Ok(files.into_iter().all(there) && users.contains("aldis:") && size < KIB_MAX)
    }

    /// Starts it as the unit does, but for the places that systemd makes and the ports.
    fn starts(&self) -> io::Result<bool> {
        let machine = self.machine();
        let config = fs::read_to_string(machine.join("etc/aldis/aldis.toml"))?;
        let state = machine.join("var/lib/aldis");
        fs::create_dir_all(&state)?;
        let here = self.folder.join("aldis.toml");
        fs::write(&here, config.replace("/var/lib/aldis", &state.to_string_lossy()))?;
        let mut run = Command::new(machine.join("usr/bin/aldis"));
        run.args(["run", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--config"]).arg(here);
        let mut run = run.stderr(Stdio::piped()).stdin(Stdio::null()).spawn()?;
        let lines = run.stderr.take().map(|lines| BufReader::new(lines).lines());
        let mut lines = lines.into_iter().flatten().map_while(Result::ok);
        let listens = lines.any(|line| line.contains("Listening for switches"));
        run.kill()?;
        run.wait()?;
        Ok(listens && state.join("store").exists())
    }

    fn upgrades(&self) -> io::Result<bool> {
        let config = self.machine().join("etc/aldis/aldis.toml");
        let changed = fs::read_to_string(&config)? + "\nlog = \"debug\"\n";
        fs::write(&config, &changed)?;
        self.install()?;
        Ok(fs::read_to_string(config)? == changed)
    }

    fn goes(&self) -> io::Result<bool> {
        let machine = self.machine();
        self.dpkg(&["--remove", "aldis"])?;
        let is_kept = machine.join("etc/aldis/aldis.toml").exists()
            && machine.join("var/lib/aldis/store").exists()
            && !machine.join("usr/bin/aldis").exists();
        self.dpkg(&["--purge", "aldis"])?;
        let left =
            ["etc/aldis/aldis.toml", "var/lib/aldis"].map(|file| machine.join(file).exists());
        Ok(is_kept && left == [false, false])
    }
}
