//! What hosts do, in the log: each by itself while few do anything, and how many did what, once a
//! second, while many do.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use aldis_control::controller_event::HostNow;

/// Lines of hosts within [`PER`]: above that hosts are counted.
const LISTED_MAX: u32 = 10;

/// See [`LISTED_MAX`].
const PER: Duration = Duration::from_secs(1);

/// Counts hosts and links that change within a second, beyond what is listed one by one.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// When the time began that is counted.
    begun: Option<Instant>,
    listed: u32,
    /// Whether the time before had more than could be listed: then this one is only counted.
    goes_on: bool,
    counted: Unlisted,
}

/// What was not listed.
#[derive(Debug, Default)]
struct Unlisted {
    appeared: u64,
    moved: u64,
    /// By why they were forgotten.
    forgotten: BTreeMap<&'static str, u64>,
    /// Changes whose details are lost.
    others: u64,
}

impl Crowd {
    /// A host did something: whether it is listed. [`Crowd::due`] was asked before.
    pub(super) fn lists(&mut self, now: Instant, did: HostNow) -> bool {
        self.begun.get_or_insert(now);
        if !self.goes_on && self.listed < LISTED_MAX {
            self.listed += 1;
            return true;
        }
        let Unlisted { appeared, moved, forgotten, .. } = &mut self.counted;
        *match did {
            HostNow::Seen => appeared,
            HostNow::Moved { .. } => moved,
            HostNow::Gone { why } => forgotten.entry(why).or_default(),
        } += 1;
        false
    }

    /// So many changes of hosts and links were too many at once to be told.
    pub(super) fn not_told(&mut self, now: Instant, count: u64) {
        self.begun.get_or_insert(now);
        self.counted.others += count;
    }

    /// The sentence about what was counted, when it is time for it.
    pub(super) fn due(&mut self, now: Instant) -> Option<String> {
        self.begun.filter(|begun| now.saturating_duration_since(*begun) >= PER)?;
        self.end()
    }

    /// The sentence about what was counted, if anything was.
    pub(super) fn end(&mut self) -> Option<String> {
        let words = self.counted.words(self.listed > 0);
        // The next time begins with the next change.
        *self = Crowd { goes_on: words.is_some(), ..Crowd::default() };
        words
    }

    /// How long until there is something to be said.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        let begun = self.begun.filter(|_| !self.counted.is_empty())?;
        Some(PER.saturating_sub(now.saturating_duration_since(begun)))
    }
}

impl Unlisted {
    fn is_empty(&self) -> bool {
        self.appeared + self.moved + self.others == 0 && self.forgotten.is_empty()
    }

    fn words(&self, some_were_listed: bool) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        let mut part = |count: u64, what: &str| {
            if count > 0 {
                parts.push(format!("{} {what}", grouped(count)));
            }
        };
        part(self.appeared, "appeared");
        part(self.moved, "moved");
        for (why, count) in &self.forgotten {
            part(*count, &format!("were forgotten ({why})"));
        }
        let more = if some_were_listed { "besides these, " } else { "" };
        let mut words = format!("hosts: {more}within a second {}", parts.join(", "));
        if self.others > 0 {
            let and = if parts.is_empty() { "" } else { "; " };
            let others = grouped(self.others);
            let _ = write!(
                words,
                "{and}{others} changes of hosts and links were too many to be told apart"
            );
        }
        Some(words)
    }
}

/// A number with its thousands set apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut words = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            words.push(',');
        }
        words.push(digit);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_control::SwitchPort;

    const MOVED: HostNow = HostNow::Moved { from: SwitchPort::new(1, 1) };
    const FULL: HostNow = HostNow::Gone { why: "there was no room for it" };

    /// How many are listed, and the sentence that ended the time before.
    fn told(crowd: &mut Crowd, now: Instant, times: u64, did: HostNow) -> (usize, Option<String>) {
        let words = crowd.due(now);
        ((0..times).filter(|_| crowd.lists(now, did)).count(), words)
    }

    #[test]
    fn few_hosts_are_listed() {
        let (mut crowd, start) = (Crowd::default(), Instant::now());
        for second in 0..20 {
            let now = start + second * PER;
            assert_eq!(told(&mut crowd, now, u64::from(LISTED_MAX), HostNow::Seen), (10, None));
            assert_eq!(crowd.wait(now), None);
        }
    }

    #[test]
    fn many_hosts_are_counted_once_a_second_until_there_are_few() {
        let (mut crowd, start) = (Crowd::default(), Instant::now());
        assert_eq!(told(&mut crowd, start, 1244, HostNow::Seen), (10, None));
        assert_eq!(told(&mut crowd, start + PER / 2, 12, MOVED), (0, None));
        assert_eq!(crowd.wait(start + PER / 2), Some(PER / 2));
        let second = start + PER;
        let (listed, words) = told(&mut crowd, second, 3, FULL);
        let sentence = "hosts: besides these, within a second 1,234 appeared, 12 moved";
        assert_eq!((listed, words.as_deref()), (0, Some(sentence)));
        crowd.not_told(second, 1_048_576);
        let (listed, words) = told(&mut crowd, second + PER, 1, HostNow::Seen);
        let sentence = "hosts: within a second 3 were forgotten (there was no room for it); \
                        1,048,576 changes of hosts and links were too many to be told apart";
        assert_eq!((listed, words.as_deref()), (0, Some(sentence)));
        let words = crowd.due(second + 2 * PER);
        assert_eq!(words.as_deref(), Some("hosts: within a second 1 appeared"));
        assert_eq!((crowd.due(second + 4 * PER), crowd.end()), (None, None));
        assert_eq!(told(&mut crowd, second + 4 * PER, 1, HostNow::Seen), (1, None));
    }

    #[test]
    fn what_nobody_can_tell_apart_is_counted_alone() {
        let (mut crowd, start) = (Crowd::default(), Instant::now());
        crowd.not_told(start, 7);
        let sentence =
            "hosts: within a second 7 changes of hosts and links were too many to be told apart";
        assert_eq!(crowd.end().as_deref(), Some(sentence));
    }
}
