//! All of a store as one readable file: JSON, in the order of the names, an entry a line or more.
//!
//! ```json
//! {
//!   "aldis-store": 1,
//!   "revision": 17,
//!   "weights": { "1-100": 4 }
//! }
//! ```

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::limits::BACKUP_MAX;
use crate::{Error, Revision, Shelf, StoreChange, StoreEntry};

/// The number of the form.
const FORM: u64 = 1;

/// What says that this is a backup, and of which form.
const MARK: &str = "aldis-store";

/// Everything that a store keeps.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Backup {
    revision: Revision,
    entries: BTreeMap<(Shelf, String), Value>,
}

impl Backup {
    pub(crate) fn of(
        revision: Revision,
        entries: impl Fn(Shelf) -> Vec<(String, StoreEntry)>,
    ) -> Backup {
        let keyed = |shelf| {
            entries(shelf).into_iter().map(move |(name, entry)| ((shelf, name), entry.value))
        };
        Backup { revision, entries: Shelf::ALL.into_iter().flat_map(keyed).collect() }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Error::Backup`] says where and what; [`Error::NoShelf`].
    pub fn read(text: &str) -> Result<Backup, Error> {
        let wrong = |why: String| Error::Backup { why };
        if text.len() as u64 > BACKUP_MAX {
            return Err(wrong(format!("it is longer than {BACKUP_MAX} bytes")));
        }
        let top: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        match top.get(MARK).and_then(Value::as_u64) {
            Some(FORM) => {}
            Some(form) => {
                return Err(wrong(format!("its form is {form}, and this Aldis reads form {FORM}")));
            }
            None => return Err(wrong(format!("it does not begin with \"{MARK}\": {FORM}"))),
        }
        let mut backup = Backup::default();
        for (key, value) in top {
            match (key.as_str(), value) {
                (MARK, _) => {}
                ("revision", value) => {
                    let number = value.as_u64();
                    let number = number.ok_or_else(|| wrong("revision is no number".into()))?;
                    backup.revision = Revision(number);
                }
                (shelf, Value::Object(entries)) => {
                    let shelf: Shelf = shelf.parse()?;
                    let keyed = entries.into_iter().map(|(name, value)| ((shelf, name), value));
                    backup.entries.extend(keyed);
                }
                (shelf, _) => {
                    shelf.parse::<Shelf>()?;
                    return Err(wrong(format!("{shelf} has to be an object of names and values")));
                }
            }
        }
        Ok(backup)
    }

    /// Writes it, to be read by people and by [`Backup::read`].
    pub fn write(&self) -> String {
        let mut top = Map::new();
        top.insert(MARK.into(), FORM.into());
        top.insert("revision".into(), self.revision.0.into());
        for ((shelf, name), value) in &self.entries {
            let shelf = top.entry(shelf.name()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(entries) = shelf {
                entries.insert(name.clone(), value.clone());
            }
        }
        // Nothing in it can fail to be written: names are strings, and values were read from JSON.
        serde_json::to_string_pretty(&top).unwrap_or_default() + "\n"
    }

    pub(crate) fn changes(&self) -> impl Iterator<Item = StoreChange> {
        self.entries
            .iter()
            .map(|((shelf, name), value)| StoreChange::set(*shelf, name.clone(), value.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_again() {
        let mut backup = Backup { revision: Revision(17), ..Backup::default() };
        for (shelf, name, value) in [
            (Shelf::Weights, "1-100", json!(4)),
            (Shelf::Names, "0000000000000001", json!("core \"1\"\n\u{1f4a1}")),
            (Shelf::StaticFlows, "", json!({"match": {}, "actions": ["output:2"]})),
            (Shelf::Keys, "lldp", json!(null)),
        ] {
            backup.entries.insert((shelf, name.into()), value);
        }
        let text = backup.write();
        assert_eq!(Backup::read(&text).unwrap(), backup);
        assert!(text.contains("\n    \"1-100\": 4\n"), "{text}");
        assert_eq!(Backup::read(&Backup::default().write()).unwrap(), Backup::default());
    }

    #[test]
    fn what_is_no_backup_is_refused_with_what_is_wrong() {
        for (text, words) in [
            ("", "EOF"),
            ("[]", "expected a map"),
            ("{}", "does not begin with \"aldis-store\": 1"),
            (r#"{"aldis-store": 2}"#, "its form is 2"),
            (r#"{"aldis-store": 1, "revision": "x"}"#, "revision is no number"),
            (r#"{"aldis-store": 1, "weights": 3}"#, "weights has to be an object"),
            (
                r#"{"aldis-store": 1, "wieghts": {}}"#,
                "no shelf \"wieghts\"; there are static-flows",
            ),
            (r#"{"aldis-store": 1, "weights": {"1": 4}"#, "line 1 column 38"),
        ] {
            let error = Backup::read(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
