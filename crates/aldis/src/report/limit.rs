//! How many lines of one kind are logged, and when it is said how many were left out.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Lines of one kind that are logged within [`LINES_PER`].
pub(super) const LINES_MAX: u32 = 20;

/// See [`LINES_MAX`].
pub(super) const LINES_PER: Duration = Duration::from_secs(10);

/// Applications that have a limit each within that time, so that all of them together have a bound,
/// 34 lines a second. Those that come later share one.
const NAMES_MAX: usize = 16;

/// How many lines of one kind may come within [`LINES_PER`] of the first of them.
#[derive(Debug)]
pub(super) struct Limit {
    /// What the lines are, as the end of a sentence.
    what: String,
    most: u32,
    begun: Option<Instant>,
    lines: u32,
}

impl Limit {
    pub(super) fn new(what: impl Into<String>, most: u32) -> Limit {
        Limit { what: what.into(), most, begun: None, lines: 0 }
    }

    /// Whether one more may be logged. [`Limit::due`] was asked before.
    pub(super) fn allows(&mut self, now: Instant) -> bool {
        self.begun.get_or_insert(now);
        self.lines += 1;
        self.lines <= self.most
    }

    /// How many were left out, in words, where their time is over and there were some.
    pub(super) fn due(&mut self, now: Instant) -> Option<String> {
        self.begun.take_if(|begun| now.saturating_duration_since(*begun) >= LINES_PER)?;
        let hidden = std::mem::take(&mut self.lines).saturating_sub(self.most);
        let (what, within) = (&self.what, LINES_PER.as_secs());
        (hidden > 0).then(|| format!("{hidden} more {what} within {within} s were left out"))
    }

    /// How long until there are words.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        let begun = self.begun.filter(|_| self.lines > self.most)?;
        Some(LINES_PER.saturating_sub(now.saturating_duration_since(begun)))
    }
}

/// Warnings of applications: a limit for each, so that one that says much hides none of another.
#[derive(Debug)]
pub(super) struct Warnings {
    /// By the name that their sentences begin with. None of them is of a time that is over.
    of: BTreeMap<String, Limit>,
    others: Limit,
}

impl Default for Warnings {
    fn default() -> Warnings {
        Warnings { of: BTreeMap::new(), others: Limit::new("warnings of applications", LINES_MAX) }
    }
}

impl Warnings {
    /// Whether this sentence may be logged. [`Warnings::due`] was asked before.
    pub(super) fn allows(&mut self, now: Instant, words: &str) -> bool {
        let name = words.split_once(':').map_or("", |(name, _)| name);
        if let Some(limit) = self.of.get_mut(name) {
            return limit.allows(now);
        }
        if self.of.len() == NAMES_MAX || name.is_empty() {
            return self.others.allows(now);
        }
        let limit = Limit::new(format!("warnings of {name}"), LINES_MAX);
        self.of.entry(name.to_owned()).or_insert(limit).allows(now)
    }

    /// As [`Limit::due`], of each.
    pub(super) fn due(&mut self, now: Instant) -> Vec<String> {
        let mut words: Vec<_> = self.others.due(now).into_iter().collect();
        self.of.retain(|_, limit| {
            words.extend(limit.due(now));
            limit.begun.is_some()
        });
        words
    }

    /// As [`Limit::wait`], the shortest.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        self.of.values().chain([&self.others]).filter_map(|limit| limit.wait(now)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_told_when_its_time_is_over() {
        let (mut limit, begun) = (Limit::new("lines", 3), Instant::now());
        assert_eq!((0..5).filter(|_| limit.allows(begun)).count(), 3);
        assert_eq!((limit.wait(begun), limit.due(begun)), (Some(LINES_PER), None));
        let over = begun + LINES_PER;
        assert_eq!(limit.due(over).as_deref(), Some("2 more lines within 10 s were left out"));
        assert_eq!((limit.wait(over), limit.due(over + LINES_PER)), (None, None));
        assert_eq!((0..3).filter(|_| limit.allows(over)).count(), 3);
        assert_eq!((limit.wait(over), limit.due(over + LINES_PER)), (None, None));
    }

    #[test]
    fn an_application_that_says_much_hides_no_warning_of_another() {
        let (mut warnings, now) = (Warnings::default(), Instant::now());
        let logged = (0..100).filter(|_| warnings.allows(now, "echo: odd: yes")).count();
        assert_eq!(logged, LINES_MAX as usize);
        assert!(warnings.allows(now, "topology: a link"));
        assert_eq!(warnings.wait(now), Some(LINES_PER));
        let over = now + LINES_PER;
        assert_eq!(warnings.due(over), ["80 more warnings of echo within 10 s were left out"]);
        assert!(warnings.of.is_empty() && warnings.allows(over, "echo: odd"));
    }

    #[test]
    fn names_without_end_share_a_limit() {
        let (mut warnings, now) = (Warnings::default(), Instant::now());
        let logged = (0..10_000).filter(|n| warnings.allows(now, &format!("app-{n}: odd"))).count();
        assert_eq!((logged, warnings.of.len()), (NAMES_MAX + LINES_MAX as usize, NAMES_MAX));
        assert_eq!(warnings.due(now + LINES_PER).len(), 1);
        assert!(warnings.of.is_empty());
    }
}
