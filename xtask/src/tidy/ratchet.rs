//! Ratchets: counts of what should not be there, which may fall and never rise.
//!
//! The counts stand in `xtask/tidy.counts`, one a line, `RULE PLACE NUMBER`. A place without a line
//! has the number 0. More than the number fails the rule. Less is a note, "lower the number", and
//! no failure: otherwise two branches that each mend something could not be merged.

use super::SourceTree;
use super::allow::read;
use std::collections::BTreeMap;

/// Where the counts are written.
pub(super) const COUNTS_FILE: &str = "xtask/tidy.counts";

/// How many findings a failure lists.
const LISTED: usize = 20;

/// One thing that should not be there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TidyFinding {
    /// What the count is kept for: a room, or the whole tree.
    pub(super) place: String,
    pub(super) sentence: String,
}

/// What a rule's findings amount to beside the numbers that are written down.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Judgement {
    pub(super) wrong: Vec<String>,
    /// Numbers that may be lowered.
    pub(super) notes: Vec<String>,
}

/// Compares the findings of the rule `rule` with its numbers.
pub(super) fn judge(tree: &SourceTree, rule: &str, findings: &[TidyFinding]) -> Judgement {
    let written = read(tree, COUNTS_FILE, rule);
    let mut places: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for number in &written {
        places.entry(number.place).or_default().1 = number.limit;
    }
    for finding in findings {
        places.entry(&finding.place).or_default().0 += 1;
    }
    let mut judgement = Judgement::default();
    for (place, (count, limit)) in places {
        if count > limit {
            judgement.wrong.push(format!("{place}: {count}, and {limit} is the most:"));
            let here = findings.iter().filter(|finding| finding.place == place);
            let listed = here.map(|finding| format!("  {}", finding.sentence)).take(LISTED);
            judgement.wrong.extend(listed);
        } else if count < limit {
            judgement.notes.push(format!(
                "lower the number in {COUNTS_FILE}: {rule} {place} {count} (now {limit})"
            ));
        }
    }
    judgement
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(place: &str, count: usize) -> Vec<TidyFinding> {
        let finding =
            |n| TidyFinding { place: place.into(), sentence: format!("{place}/f.rs:{n}") };
        (0..count).map(finding).collect()
    }

    #[test]
    fn a_count_above_its_number_fails_and_says_where() {
        let tree = SourceTree::of(&[(COUNTS_FILE, "columns crates/wire 2\nwords crates/wire 9\n")]);
        let judgement = judge(&tree, "columns", &findings("crates/wire", 3));
        assert_eq!(judgement.wrong[0], "crates/wire: 3, and 2 is the most:");
        assert_eq!(judgement.wrong.len(), 4, "{judgement:?}");
        assert_eq!(judge(&tree, "columns", &findings("crates/wire", 2)), Judgement::default());
    }

    #[test]
    fn a_place_without_a_number_has_none_to_spare() {
        let judgement = judge(&SourceTree::of(&[]), "columns", &findings("docs", 1));
        assert_eq!(judgement.wrong[0], "docs: 1, and 0 is the most:");
    }

    #[test]
    fn a_count_below_its_number_asks_for_the_lower_one_and_fails_nothing() {
        let tree = SourceTree::of(&[(COUNTS_FILE, "columns docs 5 # why\ncolumns src 1\n")]);
        let judgement = judge(&tree, "columns", &findings("docs", 4));
        assert!(judgement.wrong.is_empty(), "{judgement:?}");
        assert!(judgement.notes[0].ends_with("columns docs 4 (now 5)"), "{judgement:?}");
        assert!(judgement.notes[1].ends_with("columns src 0 (now 1)"), "{judgement:?}");
    }

    #[test]
    fn a_failure_lists_only_so_many() {
        let judgement = judge(&SourceTree::of(&[]), "columns", &findings("docs", 3 * LISTED));
        assert_eq!(judgement.wrong.len(), 1 + LISTED);
    }
}
