//! The package on a machine with systemd: this machine's own system, booted once more in a
//! container of `systemd-nspawn`, whose changes are kept in memory and thrown away.

use super::text;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// What is done on the machine.
const SCRIPT: &str = include_str!("machine.sh");

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

/// Boots it. The container sees its own cgroups, in a mount namespace of its own, because
/// systemd-nspawn has no use for a machine that has the first version of them.
const BOOT: &str = "\
set -e
mount --make-rprivate /
mount --bind / \"$1/root\"
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

/// Whether everything holds there that the script looks at.
///
/// # Errors
/// The machine does not boot: it takes root, systemd-nspawn, and cgroups of the second version.
pub(super) fn is_well(package: &Path, folder: &Path) -> io::Result<bool> {
    let folder = folder.join("systemd");
    let tried = folder.join("tried");
    fs::create_dir_all(folder.join("root"))?;
    if tried.exists() {
        fs::remove_dir_all(&tried)?;
    }
    fs::create_dir_all(&tried)?;
    fs::copy(package, tried.join("aldis.deb"))?;
    fs::write(tried.join("machine.sh"), SCRIPT)?;
    fs::write(tried.join("tried.service"), UNIT)?;
    fs::set_permissions(tried.join("tried.service"), fs::Permissions::from_mode(0o644))?;
    let mut boot = Command::new("unshare");
    boot.args(["--mount", "bash", "-c", BOOT, "boot"]).arg(&folder);
    let output = boot.stdin(Stdio::null()).output()?;
    let Ok(said) = fs::read_to_string(tried.join("said")) else {
        let log = text(&output.stdout) + &text(&output.stderr);
        return Err(io::Error::other(format!("the machine does not boot: {log}")));
    };
    said.lines().for_each(|line| println!("     {line}"));
    Ok(said.lines().last() == Some("done"))
}
