//! `cargo xtask package`: packages for Debian and Ubuntu, a static program and an image for
//! containers, and the suite that tries them.
//!
//! Two builds of one commit give the same bytes: times are those of the commit, owners are root,
//! and paths of the machine are taken out of the program.

mod container;
mod machine;
mod target;
mod tried;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use target::Target;

pub(crate) use tried::run;

/// Where a file of the repository goes.
const FILES: [(&str, &str); 10] = [
    ("packaging/aldis.service", "usr/lib/systemd/system/aldis.service"),
    ("packaging/aldis.sysusers", "usr/lib/sysusers.d/aldis.conf"),
    ("packaging/aldis.toml", "etc/aldis/aldis.toml"),
    ("packaging/alerts.yml", "usr/share/doc/aldis/alerts.yml"),
    ("docs/grafana.json", "usr/share/doc/aldis/grafana.json"),
    ("docs/configuration.md", "usr/share/doc/aldis/configuration.md"),
    ("LICENSE", "usr/share/doc/aldis/copyright"),
    ("packaging/debian/postinst", "DEBIAN/postinst"),
    ("packaging/debian/prerm", "DEBIAN/prerm"),
    ("packaging/debian/postrm", "DEBIAN/postrm"),
];

/// What completes the command, by shell.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/aldis"),
    ("zsh", "usr/share/zsh/vendor-completions/_aldis"),
    ("fish", "usr/share/fish/vendor_completions.d/aldis.fish"),
];

/// Makes something of the repository's program in a folder, and says where it is.
type Make = fn(&Path, &Path) -> io::Result<PathBuf>;

/// What can be made, as it is called on the command line.
const PRODUCTS: [(&str, Make); 4] = [
    ("here", |root, folder| debian(root, Target::Here, &Target::Here.build(root, folder)?, folder)),
    ("arm64", |root, folder| {
        debian(root, Target::Arm64, &Target::Arm64.build(root, folder)?, folder)
    }),
    ("static", target::static_program),
    ("container", container::image),
];

/// Builds what is named in `target/package`, or the package for this machine; whether that was
/// possible.
pub(crate) fn build(root: &Path, names: &[String]) -> bool {
    let here = ["here".to_owned()];
    let names = if names.is_empty() { &here } else { names };
    names.iter().all(|name| {
        let Some((_, make)) = PRODUCTS.iter().find(|(known, _)| known == name) else {
            let known = PRODUCTS.map(|(name, _)| name).join(", ");
            eprintln!("there is no package {name:?}; there are {known}");
            return false;
        };
        match make(root, &root.join("target/package")) {
            Ok(made) => println!("{}", made.display()),
            Err(why) => {
                eprintln!("there is no package {name}: {why}");
                return false;
            }
        }
        true
    })
}

/// The package of Debian with this program, in a folder.
///
/// # Errors
/// A file that cannot be read or written, or a tool that fails.
fn debian(root: &Path, target: Target, program: &Path, folder: &Path) -> io::Result<PathBuf> {
    let stage = folder.join("stage");
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    let aldis = stage.join("usr/bin/aldis");
    target.strip(program, &aldis)?;
    for (from, to) in FILES {
        place(&root.join(from), &stage.join(to))?;
    }
    for (shell, to) in COMPLETIONS {
        write(&stage.join(to), &said(target.runner(&aldis).args(["completions", shell]))?)?;
    }
    let pages = stage.join("usr/share/man/man1");
    fs::create_dir_all(&pages)?;
    done(target.runner(&aldis).arg("man").arg(&pages).stdout(Stdio::null()))?;
    for page in fs::read_dir(&pages)? {
        done(Command::new("gzip").args(["--no-name", "--best"]).arg(page?.path()))?;
    }
    write(&stage.join("DEBIAN/conffiles"), b"/etc/aldis/aldis.toml\n")?;
    write(&stage.join("DEBIAN/control"), control(&stage, target, &aldis)?.as_bytes())?;
    give_modes(&stage)?;
    let commit = said(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?;
    let name = format!("aldis_{}_{}.deb", env!("CARGO_PKG_VERSION"), target.architecture()?);
    let package = folder.join(name);
    let mut pack = Command::new("dpkg-deb");
    pack.args(["--root-owner-group", "--build"]).arg(&stage).arg(&package);
    pack.env("SOURCE_DATE_EPOCH", text(&commit)).stdout(Stdio::null());
    done(&mut pack)?;
    Ok(package)
}

/// What Debian wants to know of it.
fn control(stage: &Path, target: Target, program: &Path) -> io::Result<String> {
    let size = kibibytes(stage)?;
    Ok(format!(
        "Package: aldis\nVersion: {}\nArchitecture: {}\nMaintainer: The Aldis developers <aldis@localhost>\n\
         Installed-Size: {size}\nDepends: libc6 (>= {}), libgcc-s1\nSuggests: openvswitch-switch, mininet\n\
         Section: net\nPriority: optional\nDescription: OpenFlow controller, fast and fair\n \
         One program that programs a network of OpenFlow switches: it finds links and\n \
         hosts by itself, installs paths, and serves a REST interface and a web page.\n",
        env!("CARGO_PKG_VERSION"),
        target.architecture()?,
        c_library(target, program)?,
    ))
}

/// The oldest version of the C library that has all that the program calls.
fn c_library(target: Target, program: &Path) -> io::Result<String> {
    let symbols = said(target.tool("objdump").arg("-T").arg(program))?;
    let numbers = |version: &str| -> Vec<u32> {
        version.split('.').filter_map(|number| number.parse().ok()).collect()
    };
    let symbols = text(&symbols);
    let versions = symbols.split("GLIBC_").skip(1).map(|rest| {
        rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default()
    });
    let newest = versions.max_by_key(|version| numbers(version));
    newest.map(str::to_owned).ok_or_else(|| io::Error::other("the program calls no C library"))
}

fn kibibytes(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += match entry.file_type()?.is_dir() {
            true => kibibytes(&entry.path())?,
            false => entry.metadata()?.len().div_ceil(1024),
        };
    }
    Ok(sum)
}

/// Folders, programs and scripts may be entered and run, everything else read.
fn give_modes(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            give_modes(&path)?;
            continue;
        }
        let runs = ["usr/bin/aldis", "DEBIAN/postinst", "DEBIAN/prerm", "DEBIAN/postrm"];
        let mode = if runs.iter().any(|run| path.ends_with(run)) { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

fn place(from: &Path, to: &Path) -> io::Result<()> {
    let named = |error| io::Error::other(format!("{}: {error}", from.display()));
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::copy(from, to).map(drop).map_err(named)
}

/// Writes a file, the folders above it too.
pub(crate) fn write(to: &Path, bytes: &[u8]) -> io::Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(to, bytes)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn done(command: &mut Command) -> io::Result<()> {
    let status = command.status()?;
    let failed = || io::Error::other(format!("{:?}: {status}", command.get_program()));
    status.success().then_some(()).ok_or_else(failed)
}

/// What a command prints.
fn said(command: &mut Command) -> io::Result<Vec<u8>> {
    let output = command.output()?;
    let failed = || io::Error::other(format!("{command:?}: {}", text(&output.stderr)));
    output.status.success().then(|| output.stdout.clone()).ok_or_else(failed)
}
