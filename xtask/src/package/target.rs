//! What a program is built for, and the tools that belong to it.

use super::{done, said, text};
use crate::suites::{cargo, succeeds};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kinds of machine that a program is built for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The machine that builds it, with its C library.
    Here,
    /// x86-64, with the C library musl inside: it runs on any Linux.
    Static,
    /// 64-bit ARM, compiled on this machine.
    Arm64,
}

impl Target {
    /// As Rust calls it; nothing for this machine.
    fn triple(self) -> Option<&'static str> {
        match self {
            Target::Here => None,
            Target::Static => Some("x86_64-unknown-linux-musl"),
            Target::Arm64 => Some("aarch64-unknown-linux-gnu"),
        }
    }

    /// Builds the program as it is shipped.
    ///
    /// # Errors
    /// It does not compile, or the target or its C compiler is not installed.
    pub(super) fn build(self, root: &Path, folder: &Path) -> io::Result<PathBuf> {
        // A folder of its own: with other flags everything is compiled anew. What runs while
        // programs for other machines are built is compiled without these.
        let build = folder.join(if self.triple().is_some() { "build-cross" } else { "build" });
        let mut command = cargo(root);
        command.args(["build", "--profile", "shipped", "--locked", "--bin", "aldis"]);
        if let Some(triple) = self.triple() {
            command.args(["--target", triple]);
        }
        command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
        command.env("RUSTFLAGS", self.flags(root)).env("CARGO_TARGET_DIR", &build);
        if !succeeds(&mut command) {
            let needs = "docs/releasing.md says what each target needs";
            return Err(io::Error::other(format!("the program does not build; {needs}")));
        }
        Ok(build.join(self.triple().unwrap_or_default()).join("shipped/aldis"))
    }

    /// What the compiler is told: paths of the machine are taken out of the program.
    fn flags(self, root: &Path) -> String {
        let home =
            std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|it| it + "/.cargo"));
        let mut flags = format!("--remap-path-prefix={}=/aldis", root.display());
        if let Ok(home) = home {
            flags += &format!(" --remap-path-prefix={home}=/cargo");
        }
        // Relocations, of which a program at any address has 88,000, take a fortieth of their
        // place. The linker for ARM of Debian 12 does not pack them.
        if self != Target::Arm64 {
            flags += " -Clink-arg=-Wl,-z,pack-relative-relocs";
        }
        flags
    }

    /// A tool of binutils for its programs.
    pub(super) fn tool(self, name: &str) -> Command {
        match self {
            Target::Arm64 => Command::new(format!("aarch64-linux-gnu-{name}")),
            Target::Here | Target::Static => Command::new(name),
        }
    }

    /// What runs its program on this machine: QEMU, where it is for another processor.
    pub(super) fn runner(self, program: &Path) -> Command {
        if self != Target::Arm64 {
            return Command::new(program);
        }
        let mut qemu = Command::new("qemu-aarch64-static");
        qemu.args(["-L", "/usr/aarch64-linux-gnu"]).arg(program);
        qemu
    }

    /// As Debian calls the machine.
    pub(super) fn architecture(self) -> io::Result<String> {
        match self {
            Target::Arm64 => Ok("arm64".to_owned()),
            Target::Static => Ok("amd64".to_owned()),
            Target::Here => {
                said(Command::new("dpkg").arg("--print-architecture")).map(|name| text(&name))
            }
        }
    }

    /// Copies the program there, without its symbols.
    pub(super) fn strip(self, program: &Path, to: &Path) -> io::Result<()> {
        super::place(program, to)?;
        done(self.tool("strip").arg("--strip-all").arg(to))
    }
}

/// The program that needs no C library of its machine, in a folder.
///
/// # Errors
/// As for [`Target::build`].
pub(super) fn static_program(root: &Path, folder: &Path) -> io::Result<PathBuf> {
    let program = Target::Static.build(root, folder)?;
    let to = folder.join(format!("aldis-{}-x86_64-linux-static", env!("CARGO_PKG_VERSION")));
    Target::Static.strip(&program, &to)?;
    Ok(to)
}
