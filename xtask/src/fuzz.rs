//! The fuzz suite: the targets of `fuzz/` side by side, for a minute in CI, on the stable
//! toolchain.
//!
//! libFuzzer needs coverage counters compiled in, which a stable rustc can be told to have LLVM do:
//! neither a nightly nor another tool is needed. Seeds are the golden vectors and `fuzz/seeds`; an
//! input that breaks something stays in `fuzz/artifacts`.

use crate::suites::{SuiteTally, cargo_program, giving_way, succeeds};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

struct FuzzTarget {
    name: &'static str,
    /// Folders of hex files, below the top folder, that it starts from.
    seeds: &'static [&'static str],
}

const TARGETS: &[FuzzTarget] = &[
    FuzzTarget {
        name: "decode",
        seeds: &["crates/wire/tests/golden/v10", "crates/wire/tests/golden/v13"],
    },
    FuzzTarget { name: "guest", seeds: &["fuzz/seeds/guest"] },
    FuzzTarget { name: "recording", seeds: &["fuzz/seeds/recording"] },
    FuzzTarget { name: "records", seeds: &["fuzz/seeds/records"] },
    FuzzTarget { name: "session", seeds: &["fuzz/seeds/session"] },
];

/// Where they are built.
const BUILT: &str = "target/fuzz";

/// How long each target runs where no time is given.
const SECONDS: &str = "60";

/// The longest input tried, in bytes: the longest structures of the corpus are a tenth of it.
const INPUT_MAX: u32 = 4096;

/// Lines of a failed target's output that are shown.
const TAIL_LINES: usize = 40;

/// Counters and a table of every edge, and the operands of comparisons.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Runs every target for the seconds given, or for a minute.
pub(crate) fn run(root: &Path, args: &[String]) -> SuiteTally {
    let seconds = args.first().map_or(SECONDS, String::as_str);
    let Some(host) = host() else {
        eprintln!("rustc does not say what machine this is");
        return SuiteTally::one(false);
    };
    // Named even where it is this very machine: so that build scripts are spared the counters.
    let mut build = giving_way(cargo_program());
    build.current_dir(root).args([
        "build",
        "--quiet",
        "--locked",
        "--release",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target-dir",
        BUILT,
    ]);
    if !succeeds(build.args(["--target", &host]).env("RUSTFLAGS", COVERAGE)) {
        return SuiteTally::one(false);
    }
    let programs = root.join(BUILT).join(host).join("release");
    let running: Vec<_> =
        TARGETS.iter().map(|target| (target, start(root, target, &programs, seconds))).collect();
    let finished = running.into_iter().map(|(target, child)| finish(root, target, child));
    finished.fold(SuiteTally::default(), SuiteTally::plus)
}

/// This machine's target triple.
fn host() -> Option<String> {
    let output = Command::new("rustc").arg("-vV").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
}

fn start(root: &Path, target: &FuzzTarget, programs: &Path, seconds: &str) -> io::Result<Child> {
    let corpus = root.join("fuzz/corpus").join(target.name);
    let artifacts = artifacts(root, target);
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    for folder in target.seeds {
        sow(&root.join(folder), &corpus)?;
    }
    let log = File::create(log(root, target))?;
    giving_way(programs.join(target.name))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={INPUT_MAX}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        // An input that takes this long, in seconds, is a loop; this much memory, in MiB, a leak.
        .args(["-timeout=5", "-rss_limit_mb=1024", "-malloc_limit_mb=64"])
        .arg(corpus)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
}

fn finish(root: &Path, target: &FuzzTarget, child: io::Result<Child>) -> SuiteTally {
    let good = match child.and_then(|mut child| child.wait()) {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cannot run {}: {error}", target.name);
            false
        }
    };
    let log = fs::read_to_string(log(root, target)).unwrap_or_default();
    let done = log.lines().rev().find(|line| line.starts_with("Done ")).unwrap_or("did not end");
    println!("{} {}: {done}", if good { "ok  " } else { "FAIL" }, target.name);
    if !good {
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..]
            .iter()
            .for_each(|line| println!("     {line}"));
        println!("     the input is kept in {}", artifacts(root, target).display());
    }
    SuiteTally::one(good)
}

fn artifacts(root: &Path, target: &FuzzTarget) -> PathBuf {
    root.join("fuzz/artifacts").join(target.name)
}

fn log(root: &Path, target: &FuzzTarget) -> PathBuf {
    root.join(BUILT).join(target.name).with_extension("log")
}

/// Puts the messages that a folder holds as commented hex into a corpus, as bytes.
fn sow(folder: &Path, corpus: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("hex")) {
            let bytes = unhex(&fs::read_to_string(&path)?).ok_or(io::ErrorKind::InvalidData)?;
            // The folder's name keeps apart seeds that several folders call the same.
            let names = [folder.file_name(), path.file_stem()].map(Option::unwrap_or_default);
            fs::write(corpus.join(names.map(OsStr::to_string_lossy).join("_")), bytes)?;
        }
    }
    Ok(())
}

/// Pairs of hex digits; what follows `#` in a line is a comment.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let code = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let digits: Vec<u32> = code
        .flat_map(str::chars)
        .filter(|letter| !letter.is_whitespace())
        .map(|letter| letter.to_digit(16))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair.get(1)?).ok());
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_read_and_comments_are_not() {
        assert_eq!(unhex("# a hello\n01 00  0008 # length 8\nFF\n"), Some(vec![1, 0, 0, 8, 255]));
        assert_eq!(unhex("0g"), None);
        assert_eq!(unhex("012"), None);
    }

    #[test]
    fn every_target_has_its_file() {
        for target in TARGETS {
            let path = crate::root().join("fuzz/fuzz_targets").join(target.name);
            assert!(path.with_extension("rs").is_file(), "{}", target.name);
        }
    }
}
