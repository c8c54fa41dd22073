//! Golden vectors: `golden/VERSION/NAME.hex`, one message in hex with comments, and beside it
//! `NAME.txt`, what it decodes to. `GOLDEN=write cargo test -p aldis-wire` rewrites the text files;
//! the hex files are written by people.
//!
//! Together they are a corpus with at least one valid example of every message and every structure.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// One vector.
pub struct Golden {
    /// The file's name without `.hex`.
    pub name: String,
    /// The whole message.
    pub bytes: Vec<u8>,
    path: PathBuf,
}

/// All vectors of a version (`v10`, `v13`), by name.
pub fn corpus(version: &str) -> Vec<Golden> {
    corpus_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/golden").join(version))
}

/// All vectors in a folder, by name.
pub fn corpus_in(folder: &Path) -> Vec<Golden> {
    let mut all: Vec<Golden> = std::fs::read_dir(folder)
        .expect("the folder of golden vectors")
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hex"))
        .map(Golden::read)
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

impl Golden {
    fn read(path: PathBuf) -> Golden {
        let name = path.file_stem().expect("a file name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a readable file");
        Golden {
            bytes: unhex(&text).unwrap_or_else(|line| panic!("{name}.hex: {line}")),
            name,
            path,
        }
    }

    /// Fails where `decoded` is not what the text file says, or writes it there.
    pub fn expect(&self, decoded: &impl Debug) {
        let decoded = readable(&format!("{decoded:#?}"));
        let path = self.path.with_extension("txt");
        if std::env::var_os("GOLDEN").is_some_and(|what| what == "write") {
            std::fs::write(path, decoded).expect("a writable file");
            return;
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            expected == decoded,
            "{}: decoded to\n{decoded}\nbut {} says\n{expected}\nGOLDEN=write accepts the former",
            self.name,
            path.display()
        );
    }
}

/// The bytes of commented hex: what follows `#` on a line is a comment. The error is the line that
/// is no hex.
fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for line in text.lines() {
        for octet in line.split('#').next().unwrap_or_default().split_whitespace() {
            bytes.push(u8::from_str_radix(octet, 16).map_err(|_| line.to_owned())?);
        }
    }
    Ok(bytes)
}

/// Puts the numbers of a list on one line.
fn readable(debug: &str) -> String {
    let mut text = String::new();
    let mut in_numbers = false;
    for line in debug.lines() {
        let number = line.trim().strip_suffix(',').filter(|word| word.parse::<u64>().is_ok());
        let joined = match number {
            Some(number) if in_numbers => Some(format!(", {number}")),
            Some(number) if text.ends_with("[\n") => Some(number.to_owned()),
            None if in_numbers => Some(line.trim().to_owned()),
            _ => None,
        };
        in_numbers = joined.is_some() && number.is_some();
        match joined {
            Some(word) => {
                text.pop();
                text.push_str(&word);
            }
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}
