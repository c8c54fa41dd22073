//! The suite of the package: built twice, installed in a folder, started from there, and removed.

use super::machine::Machine;
use super::target::{self, Target};
use super::{container, debian, said, text};
use crate::suites::{SuiteTally, cargo, succeeds};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Longest that what is installed may be, in KiB: a program of the tests is larger than that of a
/// release, which the goal of 40 MB is for.
const KIB_MAX: u64 = 120 * 1024;

/// Longest that the memory may be that the program has written to when it listens, in KiB, where
/// two workers serve no switch: 2 MB in the program that is shipped. That of the tests had 30 MB
/// while queues and tables for a network of thousands of switches were written to at the start.
const WRITTEN_KIB_MAX: u64 = 20 * 1024;

/// Longest that all resident memory of the shipped program may be then, in KiB.
const RESIDENT_KIB_MAX: u64 = 25 * 1024;

/// Each check, and what it is to show.
type Check = (&'static str, fn(&Tried) -> io::Result<bool>);

const CHECKS: [Check; 7] = [
    ("two builds give the same bytes", Tried::is_same),
    ("the unit of systemd is one, and hardened", Tried::has_good_unit),
    ("it is installed, with a page of the manual and completions", Tried::installs),
    ("the installed configuration starts the installed program", Tried::starts),
    ("an upgrade keeps what was changed in the configuration", Tried::upgrades),
    ("it is removed, and what was kept goes with a purge", Tried::goes),
    ("the image for containers names what is there", Tried::has_sound_image),
];

/// Checks that take minutes, or programs and rights that few machines have, by the names that
/// [`MORE`] takes.
const MORE_CHECKS: [(&str, Check); 5] = [
    ("static", ("the static program starts", Tried::static_starts)),
    ("arm64", ("the package for ARM is one, and its program starts", Tried::arm64_starts)),
    ("container", ("the image starts, read-only and without root", Tried::image_starts)),
    ("systemd", ("a machine with systemd runs it", Tried::machine_is_well)),
    ("bare", ("a Debian that has nothing but itself gets to a ping", Tried::bare_machine_pings)),
];

/// The variable that names more checks, with spaces or commas between them.
const MORE: &str = "ALDIS_PACKAGES";

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
    let made =
        fs::create_dir_all(&folder).and_then(|()| debian(root, Target::Here, &program, &folder));
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
    let names = std::env::var(MORE).unwrap_or_default();
    let names: Vec<_> = names.split([' ', ',']).filter(|name| !name.is_empty()).collect();
    let is_known = |name: &&str| MORE_CHECKS.iter().any(|(known, _)| known == name);
    let unknown = names.iter().filter(|name| !is_known(name)).map(|name| {
        println!("FAIL {MORE} names {name:?}, of which there is no check");
        SuiteTally::one(false)
    });
    let more = MORE_CHECKS.iter().filter(|(name, _)| names.contains(name)).map(|(_, check)| check);
    let tallies = CHECKS.iter().chain(more).map(one);
    tallies.chain(unknown).fold(SuiteTally::default(), SuiteTally::plus)
}

impl Tried {
    /// The folder in which it is installed.
    fn machine(&self) -> PathBuf {
        self.folder.join("machine")
    }

    fn is_same(&self) -> io::Result<bool> {
        let first = fs::read(&self.package)?;
        let again = debian(&self.root, Target::Here, &self.program, &self.folder)?;
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
        let mut run = Command::new(machine.join("usr/bin/aldis"));
        let state = machine.join("var/lib/aldis");
        let status = self.listens(&mut run, &machine.join("etc/aldis/aldis.toml"), &state)?;
        let written = resident(&status, "RssAnon");
        println!("     {written} KiB of memory written to");
        Ok(written < WRITTEN_KIB_MAX)
    }

    /// What the kernel says of this program when it listens with this configuration, and keeps its
    /// store in that folder.
    fn listens(&self, run: &mut Command, config: &Path, state: &Path) -> io::Result<String> {
        let config = fs::read_to_string(config)?;
        fs::create_dir_all(state)?;
        let here = self.folder.join("aldis.toml");
        fs::write(&here, config.replace("/var/lib/aldis", &state.to_string_lossy()))?;
        run.args(["run", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--workers", "2"]);
        run.arg("--config").arg(here);
        let mut run = run.stderr(Stdio::piped()).stdin(Stdio::null()).spawn()?;
        let lines = run.stderr.take().map(|lines| BufReader::new(lines).lines());
        let mut lines = lines.into_iter().flatten().map_while(Result::ok);
        let listens = lines.any(|line| line.contains("Listening for switches"));
        let status = fs::read_to_string(format!("/proc/{}/status", run.id()));
        run.kill()?;
        run.wait()?;
        let is_whole = listens && state.join("store").exists();
        is_whole.then_some(status?).ok_or_else(|| io::Error::other("it does not listen"))
    }

    fn listens_as_shipped(&self, run: &mut Command, name: &str) -> io::Result<String> {
        self.listens(run, &self.root.join("packaging/aldis.toml"), &self.folder.join(name))
    }

    fn has_sound_image(&self) -> io::Result<bool> {
        let context = container::stage(&self.root, &self.program, &self.folder)?;
        container::is_sound(&self.root, &context)
    }

    fn image_starts(&self) -> io::Result<bool> {
        container::starts(&self.root, &self.root.join("target/package"))
    }

    fn machine_is_well(&self) -> io::Result<bool> {
        self.is_well_on(&Machine::this())
    }

    fn bare_machine_pings(&self) -> io::Result<bool> {
        self.is_well_on(&Machine::bare(&self.page(), &self.root.join("target/package/bare"))?)
    }

    /// The page that says how it is installed.
    fn page(&self) -> PathBuf {
        self.root.join("docs/installing.md")
    }

    fn is_well_on(&self, machine: &Machine) -> io::Result<bool> {
        machine.is_well(&self.package, &self.page(), &self.folder)
    }

    fn static_starts(&self) -> io::Result<bool> {
        let program = target::static_program(&self.root, &self.root.join("target/package"))?;
        let needs = said(Command::new("readelf").args(["--program-headers"]).arg(&program))?;
        let status = self.listens_as_shipped(&mut Command::new(&program), "static")?;
        let resident = resident(&status, "VmHWM");
        println!("     {resident} KiB of memory resident");
        Ok(resident < RESIDENT_KIB_MAX && !text(&needs).contains("INTERP"))
    }

    fn arm64_starts(&self) -> io::Result<bool> {
        let folder = self.root.join("target/package");
        let program = Target::Arm64.build(&self.root, &folder)?;
        let package = debian(&self.root, Target::Arm64, &program, &folder)?;
        let of = |field: &str| {
            said(Command::new("dpkg-deb").arg("--field").arg(&package).arg(field))
                .map(|value| text(&value))
        };
        println!("     {} KiB, {}", of("Installed-Size")?, of("Depends")?);
        let mut run = Target::Arm64.runner(&program);
        self.listens_as_shipped(&mut run, "arm64")?;
        Ok(of("Architecture")? == "arm64")
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

/// Memory of a process in KiB, by the name that the kernel has for it.
fn resident(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kib.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_this_process_is_read_and_an_unknown_name_is_too_much() {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        assert!((1..1 << 30).contains(&resident(&status, "VmHWM")));
        assert!(resident(&status, "VmHWM") >= resident(&status, "RssAnon"));
        assert_eq!(resident(&status, "Vm"), u64::MAX);
    }
}
