//! Findings: one thing that is wrong, what shows it, and what to do.

use serde::Serialize;

/// Lines of evidence that a finding keeps; what is beyond them is counted.
const EVIDENCE_MAX: usize = 5;

/// Letters of a line of evidence: parts of it may be those of a switch or a host.
const LINE_MAX: usize = 300;

/// How grave a finding is; the gravest is the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something does not work: packets are lost, or a switch is not served.
    Fault,
    /// Something will stop to work, or works worse than it could.
    Warning,
    /// Something that may be meant, and explains why a packet does not arrive.
    Hint,
}

impl Severity {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Fault => "fault",
            Severity::Warning => "warning",
            Severity::Hint => "hint",
        }
    }
}

/// A kind of finding. In its texts, `{bridge}` and the like stand for what a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Diagnosis {
    /// Its name for scripts: small letters and `-`.
    pub id: &'static str,
    /// How grave it is.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop.
    pub title: &'static str,
    /// What shows it: where the facts are from.
    pub shown_by: &'static str,
    /// What to do, in one or two sentences.
    pub what_to_do: &'static str,
    /// The command that does it, or that shows more.
    pub command: &'static str,
}

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// The name of its [`Diagnosis`].
    pub id: &'static str,
    /// How grave it is.
    pub severity: Severity,
    /// What is wrong, with what it is about.
    pub title: String,
    /// What shows it, a line each.
    pub evidence: Vec<String>,
    /// What to do.
    pub what_to_do: String,
    /// The command that does it, or that shows more.
    pub command: String,
}

impl Diagnosis {
    /// A finding of this kind about these: each `{key}` is replaced by its value. What shows it is
    /// kept as far as there is room.
    pub fn found(
        &self,
        about: &[(&str, &str)],
        evidence: impl IntoIterator<Item = String>,
    ) -> Finding {
        let fill = |text: &str| {
            about.iter().fold(text.to_owned(), |text, (key, value)| {
                text.replace(&format!("{{{key}}}"), &plain(value))
            })
        };
        Finding {
            id: self.id,
            severity: self.severity,
            title: fill(self.title),
            evidence: shortened(evidence.into_iter().collect()),
            what_to_do: fill(self.what_to_do),
            command: fill(self.command),
        }
    }
}

/// The first lines, and how many more there were.
fn shortened(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(EVIDENCE_MAX);
    lines.truncate(EVIDENCE_MAX);
    let mut lines: Vec<String> = lines.iter().map(|line| plain(line)).collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// Without what could steer a terminal, and not without an end.
fn plain(text: &str) -> String {
    let shown = text.chars().take(LINE_MAX);
    shown.map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOST: Diagnosis = Diagnosis {
        id: "lost",
        severity: Severity::Fault,
        title: "{bridge} is lost",
        shown_by: "a test",
        what_to_do: "Find {bridge}.",
        command: "find {bridge}",
    };

    #[test]
    fn a_finding_says_what_it_is_about_everywhere() {
        let found = LOST.found(&[("bridge", "s1")], ["seen".to_owned()]);
        let said = (&*found.title, &*found.what_to_do, &*found.command);
        assert_eq!(said, ("s1 is lost", "Find s1.", "find s1"));
        assert_eq!(found.evidence, ["seen"]);
    }

    #[test]
    fn evidence_has_an_end_and_steers_no_terminal() {
        let long = "\u{1b}[31m".to_owned() + &"x".repeat(LINE_MAX);
        let found = LOST.found(&[("bridge", "a\nb")], vec![long; 7]);
        assert_eq!(found.title, "a?b is lost");
        assert_eq!(found.evidence.len(), EVIDENCE_MAX + 1);
        assert!(found.evidence[0].starts_with("?[31mx") && found.evidence[0].len() == LINE_MAX);
        assert_eq!(found.evidence[EVIDENCE_MAX], "and 2 more");
    }

    #[test]
    fn the_gravest_comes_first() {
        assert!(Severity::Fault < Severity::Warning && Severity::Warning < Severity::Hint);
    }
}
