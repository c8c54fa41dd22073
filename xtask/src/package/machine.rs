//! The package on a machine with systemd, booted in a container of `systemd-nspawn`, whose changes
//! are kept in memory and thrown away: this machine's own system once more, or a Debian that has
//! nothing but itself.

use super::{done, text};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A machine, and what is done on it.
pub(super) struct Machine {
    /// Its name, and that of its folder.
    name: &'static str,
    /// The folder that is its file system.
    root: PathBuf,
    script: &'static str,
}

/// What systemd starts there: the script, and then the end.
const UNIT: &str = "\
[Unit]
DefaultDependencies=no
After=basic.target
Requires=basic.target
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
ExecStart=/bin/bash /tried/machine.sh
StandardOutput=file:/tried/said
StandardError=inherit
TimeoutStartSec=300
";

/// The version of Debian that is made.
const DEBIAN: &str = "bookworm";

/// Boots it. The container sees its own cgroups, in a mount namespace of its own, because
/// systemd-nspawn has no use for a machine that has the first version of them.
const BOOT: &str = "\
set -e
mount --make-rprivate /
mount --bind \"$2\" \"$1/root\"
if [ \"$(stat --file-system --format=%T /sys/fs/cgroup)\" != cgroup2fs ]; then
    umount --lazy /sys/fs/cgroup
    mount -t cgroup2 none /sys/fs/cgroup
fi
mkdir -p /sys/fs/cgroup/aldis-tried
echo $$ > /sys/fs/cgroup/aldis-tried/cgroup.procs
export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1
exec timeout 320 systemd-nspawn --quiet --directory=\"$1/root\" --volatile=overlay --keep-unit \\
    --register=no --private-network --machine=aldis-tried --console=pipe \\
    --bind=\"$1/tried:/tried\" --bind=/dev/net/tun \\
    --bind-ro=\"$1/tried/tried.service:/etc/systemd/system/tried.service\" \\
    --boot -- systemd.unit=tried.service
";

impl Machine {
    /// This machine, where the package is installed, upgraded and removed beside a network.
    pub(super) fn this() -> Machine {
        Machine { name: "systemd", root: "/".into(), script: include_str!("machine.sh") }
    }

    /// A Debian that has nothing but itself, where the commands of docs/installing.md are typed. It
    /// is made in a folder, where it stays. The packages that those commands install are fetched
    /// before, since the machine has no network.
    ///
    /// # Errors
    /// It cannot be made, or nothing can be fetched: it takes root, and Debian's servers.
    pub(super) fn bare(page: &Path, folder: &Path) -> io::Result<Machine> {
        let root = folder.join("root");
        if !root.join("etc/os-release").exists() || !root.join("usr/lib/systemd/systemd").exists() {
            fs::create_dir_all(folder)?;
            let mut make = Command::new("debootstrap");
            make.args(["--variant=minbase", "--include=systemd-sysv", DEBIAN]).arg(&root);
            done(make.stdout(Stdio::null()))?;
        }
        fs::copy("/etc/resolv.conf", root.join("etc/resolv.conf"))?;
        let page = fs::read_to_string(page)?;
        let names = page.lines().filter_map(|line| line.strip_prefix("sudo apt-get install "));
        let names = names.filter(|names| !names.starts_with("./")).flat_map(str::split_whitespace);
        let apt = |words: &[&str]| {
            let mut apt = Command::new("chroot");
            apt.arg(&root).args(["apt-get", "--quiet=2", "--yes"]).args(words);
            done(apt.stdout(Stdio::null()))
        };
        apt(&["update"])?;
        apt(&[&["install", "--download-only"], &*names.collect::<Vec<_>>()].concat())?;
        Ok(Machine { name: "bare", root, script: include_str!("bare.sh") })
    }

    /// Whether everything holds there that the script looks at.
    ///
    /// # Errors
    /// The machine does not boot: it takes root, systemd-nspawn, and cgroups of the second version.
    pub(super) fn is_well(&self, package: &Path, page: &Path, folder: &Path) -> io::Result<bool> {
        let folder = folder.join(self.name);
        let tried = folder.join("tried");
        fs::create_dir_all(folder.join("root"))?;
        if tried.exists() {
            fs::remove_dir_all(&tried)?;
        }
        fs::create_dir_all(&tried)?;
        fs::copy(package, tried.join("aldis.deb"))?;
        fs::copy(page, tried.join("installing.md"))?;
        fs::write(tried.join("machine.sh"), self.script)?;
        fs::write(tried.join("tried.service"), UNIT)?;
        fs::set_permissions(tried.join("tried.service"), fs::Permissions::from_mode(0o644))?;
        let mut boot = Command::new("unshare");
        boot.args(["--mount", "bash", "-c", BOOT, "boot"]).arg(&folder).arg(&self.root);
        let output = boot.stdin(Stdio::null()).output()?;
        let Ok(said) = fs::read_to_string(tried.join("said")) else {
            let log = text(&output.stdout) + &text(&output.stderr);
            return Err(io::Error::other(format!("the machine does not boot: {log}")));
        };
        said.lines().for_each(|line| println!("     {line}"));
        Ok(said.lines().last() == Some("done"))
    }
}
