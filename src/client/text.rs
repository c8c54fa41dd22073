//! What switches have, in the words of tables.

use std::collections::BTreeMap;

use aldis_apps::spelling::{Matching, Spelled, spelled};
use aldis_wire::msg::{Instruction, Match};

/// Which packets a match is about.
pub(super) fn fields(matching: &BTreeMap<String, String>) -> String {
    let fields: Vec<_> = matching.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if fields.is_empty() { "every packet".into() } else { fields.join(",") }
}

/// The same of a match that was read.
pub(super) fn match_(match_: &Match) -> String {
    fields(&Matching(match_.clone()).in_words())
}

/// What becomes of them.
pub(super) fn does(actions: &[String], then: &[String]) -> String {
    let does: Vec<_> = actions.iter().chain(then).map(String::as_str).collect();
    if does.is_empty() { "drop".into() } else { does.join(" ") }
}

/// The same of instructions that were read.
pub(super) fn instructions(instructions: &[Instruction]) -> String {
    let (actions, then) = spelled(instructions);
    let actions: Vec<_> = actions.iter().map(|Spelled(action)| action.to_string()).collect();
    let then: Vec<_> = then.iter().map(|Spelled(then)| then.to_string()).collect();
    does(&actions, &then)
}

/// A number that not every switch counts.
pub(super) fn count(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "-".into(), |number| number.to_string())
}

/// Seconds, where they are known.
pub(super) fn age(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".into(), |seconds| format!("{seconds:.0} s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_in_words_too() {
        assert_eq!(
            (fields(&BTreeMap::new()).as_str(), does(&[], &[]).as_str()),
            ("every packet", "drop")
        );
        assert_eq!((count(None::<u64>), age(None)), ("-".into(), "-".into()));
        assert_eq!((count(Some(0_u64)), age(Some(1.6))), ("0".into(), "2 s".into()));
        assert_eq!(does(&["output:1".into()], &["goto-table:2".into()]), "output:1 goto-table:2");
    }
}
