//! `aldis decode` as its users run it: over the golden vectors, beside `ovs-ofctl`, and with input
//! that is wrong.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

/// Starts `aldis decode` with pipes on all sides.
fn start(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_aldis"))
        .arg("decode")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("aldis starts")
}

/// Runs `aldis decode` over `input` to its end.
fn decode(args: &[&str], input: &[u8]) -> Output {
    let mut child = start(args);
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    // It may end before it has read everything, which is its right.
    let writer = thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("aldis ends");
    let _ = writer.join().expect("the writer ends");
    output
}

/// Its stdout, after checking that it was content.
fn decoded(args: &[&str], input: &str) -> String {
    let output = decode(args, input.as_bytes());
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The digits of a file of hex, without comments and spaces.
fn digits(text: &str) -> String {
    let bare = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    bare.flat_map(|line| line.chars().filter(|c| !c.is_whitespace())).collect()
}

/// Every golden vector there is, one message a string of hex.
fn golden() -> Vec<String> {
    let files = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        paths
    };
    let versions = files(&in_repository("crates/wire/tests/golden"));
    let mut vectors: Vec<PathBuf> = versions.iter().flat_map(|version| files(version)).collect();
    vectors.retain(|path| path.extension().is_some_and(|extension| extension == "hex"));
    assert!(vectors.len() > 40, "there are {} vectors only", vectors.len());
    vectors.iter().map(|path| digits(&fs::read_to_string(path).expect("text"))).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(&text(pair), 16).expect("hex")).collect()
}

/// A file that is gone when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Scratch {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, bytes).expect("a scratch file");
        Scratch(path)
    }

    fn name(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn every_golden_vector_has_words() {
    for vector in golden() {
        let words = decoded(&[], &vector);
        assert!(words.starts_with("OFPT_") || words.starts_with("OFPST_"), "{vector}: {words}");
        let xid = u32::from_str_radix(&vector[8..16], 16).expect("hex");
        assert!(words.contains(&format!("(xid={xid:#x}):")), "{vector}: {words}");
    }
}

#[test]
fn reencoding_the_golden_vectors_loses_nothing() {
    let vectors = golden().join("\n") + "\n";
    assert_eq!(decoded(&["--reencode"], &vectors), vectors);
}

#[test]
fn the_golden_vectors_are_json_objects() {
    let vectors = golden();
    let lines = decoded(&["--json"], &vectors.join("\n"));
    assert_eq!(lines.lines().count(), vectors.len());
    for (line, vector) in lines.lines().zip(&vectors) {
        let object: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let version = if vector.starts_with("01") { "1.0" } else { "1.3" };
        assert_eq!(object["version"], version, "{vector}");
        assert_eq!(
            object["xid"],
            u32::from_str_radix(&vector[8..16], 16).expect("hex"),
            "{vector}"
        );
        assert!(object["type"].as_str().is_some_and(|name| name.starts_with("OFPT_")), "{line}");
        // The names are those of the specification, not of the types that hold them.
        assert!(!line.contains("_\":"), "{line}");
        // A message of eight bytes may have no body; a longer one has.
        assert!(vector.len() == 16 || object["body"].is_object(), "{line}");
    }
}

#[test]
fn raw_bytes_in_files_have_the_same_words_as_hex() {
    let vectors = golden();
    let raw: Vec<u8> = vectors.iter().flat_map(|vector| bytes(vector)).collect();
    let (first, second) = raw.split_at(bytes(&vectors[0]).len());
    let (first, second) = (Scratch::new("first.bin", first), Scratch::new("second.bin", second));
    let words = decoded(&[first.name(), second.name()], "");
    assert_eq!(words, decoded(&[], &vectors.join("\n")));
}

/// What `ovs-ofctl ofp-print` says of one message.
fn ovs_ofctl(hex: &str) -> String {
    let output = Command::new("ovs-ofctl").args(["ofp-print", hex]).output();
    let output = output.expect("ovs-ofctl is needed: cargo xtask peers installs it");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Compares our words with those of `ovs-ofctl` for every message in a file, as far as `part` says.
fn beside_ovs_ofctl(file: &str, part: fn(&str) -> &str) {
    let corpus =
        fs::read_to_string(in_repository("tests/cli/decode").join(file)).expect("a corpus");
    let messages: Vec<&str> = corpus.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(messages.len() > 10);
    for message in messages {
        let (ours, theirs) = (decoded(&[], message), ovs_ofctl(message));
        assert_eq!(part(ours.trim_end()), part(theirs.trim_end()), "{message}");
    }
}

#[test]
fn the_words_are_those_of_ovs_ofctl() {
    beside_ovs_ofctl("as_ovs_ofctl.hex", |words| words);
}

#[test]
fn the_first_line_is_that_of_ovs_ofctl() {
    beside_ovs_ofctl("first_line_as_ovs_ofctl.hex", |words| {
        words.lines().next().unwrap_or_default().trim_end()
    });
}

#[test]
fn an_error_names_its_code_and_the_message_it_is_about() {
    let words = decoded(&[], "0101000c0000000500010001");
    assert!(words.starts_with("OFPT_ERROR (xid=0x5): OFPBRC_BAD_TYPE\n"), "{words}");
    let words = decoded(&[], "010100140000000500010001 0112000800000009");
    assert!(words.ends_with("\nOFPT_BARRIER_REQUEST (xid=0x9):\n"), "{words}");
}

/// An error in an error in an error… is as deep as its sender likes.
#[test]
fn errors_within_errors_are_not_followed() {
    let mut message = bytes("010100080000000500010001");
    while message.len() < 60_000 {
        let mut outer = vec![1, 1, 0, 0, 0, 0, 0, 5, 0, 1, 0, 1];
        outer.extend(&message);
        let length = outer.len() as u16;
        outer[2..4].copy_from_slice(&length.to_be_bytes());
        message = outer;
    }
    let file = Scratch::new("errors.bin", &message);
    let words = decoded(&[file.name()], "");
    assert!(words.ends_with("\nOFPT_ERROR (xid=0x5): another error\n"), "{words}");
}

#[test]
fn a_malformed_message_is_said_and_the_next_one_read() {
    let good = "0402000800000007";
    let flow_mod = format!("040e0038 00000005{}", "00".repeat(48));
    let input = format!("{good}\n{flow_mod}\nxyz\n04020010 00000006\n{good}\n");
    let output = decode(&[], input.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).lines().count(), 2);
    let complaints = text(&output.stderr);
    let expected = [
        "aldis: stdin line 2, message 1 at byte 0: OFPT_FLOW_MOD (OF1.3) (xid=0x5): malformed: match.length at offset 50",
        "aldis: stdin line 3, message 1 at byte 0: 'x' in column 1 is no hexadecimal digit",
        "aldis: stdin line 4, message 1 at byte 0: only 8 of the message's 16 bytes are there",
    ];
    assert_eq!(complaints.lines().count(), expected.len(), "{complaints}");
    for (complaint, expected) in complaints.lines().zip(expected) {
        assert!(complaint.starts_with(expected), "{complaint}");
    }
}

#[test]
fn a_file_ends_where_its_framing_is_lost() {
    let raw =
        "0402000800000001 0402000900000002ff 0414000900000003ff 0402000700000004 0402000800000005";
    let raw = bytes(&digits(raw));
    let file = Scratch::new("lost.bin", &raw);
    let output = decode(&[file.name(), file.name()], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).matches("OFPT_ECHO_REQUEST").count(), 4);
    let complaints = text(&output.stderr);
    let complaints: Vec<&str> = complaints.lines().collect();
    let [third, fourth] = complaints[..2] else { panic!("{complaints:?}") };
    assert!(third.contains("lost.bin, message 3 at byte 17: OFPT_BARRIER_REQUEST"), "{third}");
    assert!(
        fourth.contains("lost.bin, message 4 at byte 26: header.length at offset 2"),
        "{fourth}"
    );
    assert!(fourth.ends_with("where the next message begins cannot be known"), "{fourth}");
    assert_eq!(complaints.len(), 4);
}

#[test]
fn other_versions_are_skipped_and_no_fault() {
    let output = decode(&[], b"0602000800000007\n0402000800000008\n");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), "OFPT_ECHO_REQUEST (OF1.3) (xid=0x8): 0 bytes of payload\n");
    let expected = "aldis: stdin line 1, message 1 at byte 0: version 0x06, type 2, 8 bytes, xid=0x7: skipped, for Aldis \
                    reads OpenFlow 1.0 and OpenFlow 1.3 only\n";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn what_cannot_be_read_is_one_sentence_and_one() {
    for (name, expected) in [
        (
            "no-such-file",
            "aldis: cannot read no-such-file: No such file or directory (os error 2)\n",
        ),
        ("/", "aldis: cannot read /: Is a directory (os error 21)\n"),
    ] {
        let output = decode(&[name], b"");
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            (text(&output.stdout), text(&output.stderr)),
            (String::new(), expected.to_owned())
        );
    }
    assert_eq!(decode(&["--json", "--reencode"], b"").status.code(), Some(2));
}

/// `aldis decode … | head -1`
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = start(&[]);
    let mut stdin = child.stdin.take().expect("piped");
    let writer = thread::spawn(move || while stdin.write_all(b"0402000800000007\n").is_ok() {});
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    assert!(line.starts_with("OFPT_ECHO_REQUEST"));
    // The reader is dropped, and with it the pipe; what is written next finds no reader.
    let output = child.wait_with_output().expect("aldis ends");
    writer.join().expect("the writer ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn what_arrives_is_shown_before_the_next_read() {
    let mut child = start(&[]);
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    for xid in ["01", "02"] {
        stdin.write_all(format!("04020008000000{xid}\n").as_bytes()).expect("it reads");
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        assert!(line.contains(&format!("(xid=0x{})", &xid[1..])), "{line}");
    }
    drop(stdin);
    assert!(child.wait().expect("aldis ends").success());
}

/// Forty megabytes go through, and the most memory it ever had stays a small part of that.
#[test]
fn memory_does_not_grow_with_the_input() {
    let mut child = start(&["--reencode", "/dev/stdin"]);
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    let reader = thread::spawn(move || {
        let (mut total, mut buffer) = (0, vec![0; 1 << 16]);
        loop {
            match stdout.read(&mut buffer).expect("it writes") {
                0 => return total,
                read => total += read,
            }
        }
    });
    let mut message = bytes("0402ffff00000001");
    message.resize(0xffff, 0xaa);
    for _ in 0..640 {
        stdin.write_all(&message).expect("it reads");
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
    drop(stdin);
    assert!(child.wait().expect("aldis ends").success());
    assert_eq!(reader.join().expect("the reader ends"), 640 * (2 * 0xffff + 1));
    let kib = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("it is said");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    };
    // How much of the program's file is in memory depends on the build, and on the kernel.
    let peak_kib = kib("VmHWM:").saturating_sub(kib("RssFile:"));
    assert!(peak_kib < 16 * 1024, "{peak_kib} KiB");
}

/// Golden vectors with bytes changed and lengths that lie: whatever it makes of them, it does not
/// fall.
#[test]
fn damaged_messages_never_bring_it_down() {
    let vectors = golden();
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let mut raw = Vec::new();
    for round in 0..20_000 {
        let mut message = bytes(&vectors[round % vectors.len()]);
        for _ in 0..=random(3) {
            let at = random(message.len());
            let values = [0, 1, 7, 8, 0xff, random(256) as u8];
            message[at] = values[random(values.len())];
        }
        // The framing stays, so that every one of them is looked at.
        let length = message.len() as u16;
        message[2..4].copy_from_slice(&length.to_be_bytes());
        raw.extend(message);
    }
    let file = Scratch::new("damaged.bin", &raw);
    for args in [&[][..], &["--json"], &["--reencode"]] {
        let output = decode(&[args, &[file.name()]].concat(), b"");
        let complaints = text(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{}",
            complaints.lines().last().unwrap_or_default()
        );
        assert!(complaints.lines().all(|line| line.starts_with("aldis: ")));
        assert!(
            !output.stdout.iter().any(|&byte| byte < b' ' && byte != b'\n'),
            "a control character"
        );
    }
}
