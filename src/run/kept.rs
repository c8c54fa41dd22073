//! What a controller keeps over restarts (`--store`), as far as it runs by it.

use std::path::Path;

use aldis_store::{Embedded, Shelf, Store};

use super::weights::Rule;

/// The store, open as long as the controller runs: nobody else changes it meanwhile.
pub(super) struct Kept(Option<Embedded>);

impl Kept {
    /// Opens the store, if there is to be one.
    ///
    /// # Errors
    /// One sentence.
    pub(super) fn open(store: Option<&Path>) -> Result<Kept, String> {
        let opened = store.map(Embedded::open).transpose();
        opened.map(Kept).map_err(|error| error.to_string())
    }

    /// The weights that it keeps: what names fewer switches first, so that the rule that fits best counts.
    ///
    /// # Errors
    /// One sentence that names the entry.
    pub(super) fn rules(&self) -> Result<Vec<Rule>, String> {
        let Some(store) = &self.0 else { return Ok(vec![]) };
        let mut entries = store.entries(Shelf::Weights);
        entries.sort_by_key(|(switches, _)| breadth(switches));
        let rule = |(switches, entry): (String, aldis_store::Entry)| {
            let rule = format!("{switches}={}", entry.value).parse();
            rule.map_err(|why: String| {
                format!("the store {}: weights, \"{switches}\": {why}", store.path().display())
            })
        };
        entries.into_iter().map(rule).collect()
    }
}

/// How many switches a rule names, roughly.
fn breadth(switches: &str) -> u8 {
    match switches {
        "*" => 2,
        some if some.contains(['*', '-']) => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_fewer_switches_comes_first() {
        let mut all = ["*", "00:00:*", "0000000000000007", "1-100", "5"];
        all.sort_by_key(|switches| breadth(switches));
        assert_eq!(all, ["0000000000000007", "5", "00:00:*", "1-100", "*"]);
    }
}
