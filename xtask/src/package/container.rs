//! The image for containers: the static program, the configuration of the package, and a folder for
//! what is kept.

use super::target::static_program;
use super::{done, place, said, text};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What the file is called that says how the image is made.
const FILE: &str = "packaging/Containerfile";

/// How long the controller in a container may take until it answers.
const STARTS_WITHIN: Duration = Duration::from_secs(30);

/// The image, as an archive that `podman load` and `docker load` read.
///
/// # Errors
/// The program does not build, or podman is not there or fails.
pub(super) fn image(root: &Path, folder: &Path) -> io::Result<PathBuf> {
    let program = static_program(root, folder)?;
    let name = format!("localhost/aldis:{}", env!("CARGO_PKG_VERSION"));
    let commit = said(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?;
    let mut podman = Command::new("podman");
    podman.args(["build", "--quiet", "--format", "docker", "--timestamp", &text(&commit)]);
    podman.args(["--tag", &name, "--file"]).arg(root.join(FILE));
    said(podman.arg(stage(root, &program, folder)?))?;
    let archive = folder.join(format!("aldis-{}-container.tar", env!("CARGO_PKG_VERSION")));
    let _ = fs::remove_file(&archive);
    let mut podman = Command::new("podman");
    podman.args(["save", "--quiet", "--format", "docker-archive", "--output"]).arg(&archive);
    said(podman.arg(&name))?;
    Ok(archive)
}

/// The folder that the image is made of.
pub(super) fn stage(root: &Path, program: &Path, folder: &Path) -> io::Result<PathBuf> {
    let context = folder.join("container");
    if context.exists() {
        fs::remove_dir_all(&context)?;
    }
    fs::create_dir_all(context.join("state"))?;
    place(program, &context.join("aldis"))?;
    place(&root.join("packaging/aldis.toml"), &context.join("aldis.toml"))?;
    Ok(context)
}

/// Whether the image has a place for everything: what is copied is in the folder that it is made
/// of, the configuration keeps nothing outside the volume, and the user is not root.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn is_sound(root: &Path, context: &Path) -> io::Result<bool> {
    let file = fs::read_to_string(root.join(FILE))?;
    let of = |word: &'static str| file.lines().filter_map(move |line| line.strip_prefix(word));
    let mut copied = Vec::new();
    for line in of("COPY ") {
        let mut words = line.split(' ').filter(|word| !word.starts_with("--"));
        let (Some(from), Some(to)) = (words.next(), words.next()) else { return Ok(false) };
        if !context.join(from).exists() {
            println!("     {from} is not there");
            return Ok(false);
        }
        copied.push(to);
    }
    let Some(volume) = of("VOLUME ").next() else { return Ok(false) };
    let config = fs::read_to_string(context.join("aldis.toml"))?;
    let paths = config.lines().filter(|line| !line.starts_with('#'));
    let mut paths = paths.filter_map(|line| line.split('"').nth(1)).filter(|it| it.contains('/'));
    let runs = |word| of(word).flat_map(|line| line.split('"')).filter(|it| it.starts_with('/'));
    Ok(copied.contains(&volume)
        && paths.all(|path| path.starts_with(volume))
        && runs("ENTRYPOINT ").chain(runs("CMD ")).all(|path| copied.contains(&path))
        && of("USER ").all(|user| !user.starts_with("0") && !user.starts_with("root"))
        && of("USER ").count() == 1)
}

/// Whether the image starts in a file system that is read-only, without a network, says that it is
/// well, keeps what it is told in the volume, and ends on SIGTERM.
///
/// # Errors
/// The image cannot be made, or podman fails.
pub(super) fn starts(root: &Path, folder: &Path) -> io::Result<bool> {
    image(root, folder)?;
    let name = format!("aldis-tried-{}", std::process::id());
    let image = format!("localhost/aldis:{}", env!("CARGO_PKG_VERSION"));
    let mut run = Command::new("podman");
    run.args(["run", "--detach", "--read-only", "--network", "none", "--cap-drop", "all"]);
    run.args(["--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096", "--name", &name]);
    // Where its usual runtime does not run, as on a machine with the first version of cgroups.
    if let Ok(runtime) = std::env::var("ALDIS_CONTAINER_RUNTIME") {
        run.arg("--runtime").arg(runtime);
    }
    let good = said(run.arg(&image)).and_then(|_| serves(&name));
    let _ = said(Command::new("podman").args(["rm", "--force", "--volumes", &name]));
    good
}

/// Whether the controller in this container serves, and ends when it is told to.
fn serves(name: &str) -> io::Result<bool> {
    let exec = |args: &[&str]| {
        said(Command::new("podman").args(["exec", name, "/usr/bin/aldis"]).args(args))
    };
    let deadline = Instant::now() + STARTS_WITHIN;
    while let Err(why) = exec(&["health"]) {
        if Instant::now() > deadline {
            let log = said(Command::new("podman").args(["logs", name])).unwrap_or_default();
            return Err(io::Error::other(format!("{why}; {}", text(&log))));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    done(Command::new("podman").args(["healthcheck", "run", name]))?;
    exec(&["weights", "--set", "1=4"])?;
    let kept = text(&exec(&["weights"])?);
    done(Command::new("podman").args(["stop", "--time", "20", name]))?;
    let code = said(Command::new("podman").args([
        "inspect",
        "--format",
        "{{.State.ExitCode}} {{.HostConfig.ReadonlyRootfs}} {{.Config.User}}",
        name,
    ]))?;
    println!("     {}; {}", kept.replace('\n', ", "), text(&code));
    Ok(text(&code) == "0 true 10653:10653" && kept.contains('4'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_misses_a_file_or_keeps_things_elsewhere_is_not_sound() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let folder = std::env::temp_dir().join(format!("aldis-image-{}", std::process::id()));
        let any = root.join("LICENSE");
        let context = stage(root, &any, &folder).unwrap();
        assert!(is_sound(root, &context).unwrap());
        fs::write(context.join("aldis.toml"), "store = \"/elsewhere/store\"\n").unwrap();
        assert!(!is_sound(root, &context).unwrap());
        let context = stage(root, &any, &folder).unwrap();
        fs::remove_dir(context.join("state")).unwrap();
        assert!(!is_sound(root, &context).unwrap());
        fs::remove_dir_all(folder).unwrap();
    }
}
