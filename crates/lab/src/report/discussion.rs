//! What a person says of an experiment, with the numbers of its results.
//!
//! A discussion holds no number of its own that was measured or simulated. It names it, and it is
//! taken from the results when the page is made, so that it cannot contradict the tables:
//!
//! ```text
//! Round robin serves {{median throughput of nox, 4 workers, simulated at 79-U as Mrps}},
//! {{median of a at 7 / median of b at 7 as %}} of the other; the paper has {{paper 2.76}}.
//! ```
//!
//! [`render`] puts the values in, [`check`] refuses numbers that stand bare.

mod number;

use crate::results::Point;

/// The most words of a discussion.
pub(super) const WORDS_MAX: usize = 150;

/// The longest line of a page, in letters.
const LINE_MAX: usize = 100;

/// The words behind which a number is a name: `figure 7`.
const NAMES: &[&str] =
    &["figure", "figures", "table", "tables", "section", "scenario", "scenarios", "phase"];

/// The words that are measured numbers in letters.
const FRACTIONS: &[&str] = &[
    "half",
    "halves",
    "twice",
    "thrice",
    "double",
    "third",
    "thirds",
    "quarter",
    "quarters",
    "fifth",
    "fifths",
    "sixth",
    "seventh",
    "eighth",
    "tenth",
    "tenths",
    "hundredth",
];

/// One part of a discussion.
enum Part<'a> {
    /// Words as they are.
    Words(&'a str),
    /// What stands between `{{` and `}}`, and on which line, from 1.
    Braces(&'a str, usize),
}

/// A discussion with the values of `points` in it; a metric that is not named is the first that
/// `metrics` has.
///
/// # Errors
/// `line N: …`: which expression has no value, and what is known.
pub(super) fn render(text: &str, points: &[Point], metric: &str) -> Result<String, String> {
    let mut rendered = String::new();
    for part in parts(text)? {
        match part {
            Part::Words(words) => rendered.push_str(words),
            Part::Braces(inside, line) => {
                let value = number::value(inside, points, metric);
                let failed = |why| format!("line {line}: `{{{{{inside}}}}}`: {why}");
                rendered.push_str(&value.map_err(failed)?);
            }
        }
    }
    Ok(rendered.split("\n\n").map(flowed).collect::<Vec<_>>().join("\n\n"))
}

/// A paragraph in lines of up to a hundred letters; lists and headings stay as they are.
fn flowed(block: &str) -> String {
    if block.lines().any(|line| line.trim_start().starts_with(['-', '*', '#', '|'])) {
        return block.to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    for word in block.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= LINE_MAX => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Whether a discussion keeps the rules: at most 150 words, each expression one that can be read,
/// and outside of `{{…}}` and of code no digit, but behind `figure`, `table`, `section`, `scenario`
/// or `phase`, no `%`, and no fraction in letters, such as `half` or `twice`.
///
/// # Errors
/// `line N: …`: what breaks which rule.
pub fn check(text: &str) -> Result<(), String> {
    let mut words = 0;
    let mut line = 1;
    for part in parts(text)? {
        match part {
            Part::Words(said) => {
                words += said
                    .split_whitespace()
                    .filter(|word| word.contains(char::is_alphanumeric))
                    .count();
                bare(said, &mut line)?;
            }
            Part::Braces(inside, at) => {
                words += 1;
                line = at + inside.matches('\n').count();
                number::read(inside)
                    .map_err(|why| format!("line {at}: `{{{{{inside}}}}}`: {why}"))?;
            }
        }
    }
    match words > WORDS_MAX {
        true => Err(format!("line 1: {words} words; accepted are {WORDS_MAX}")),
        false => Ok(()),
    }
}

/// Refuses a number that stands in words; `line` goes along.
fn bare(said: &str, line: &mut usize) -> Result<(), String> {
    for (at, row) in said.split('\n').enumerate() {
        *line += usize::from(at > 0);
        let mut before = String::new();
        // What stands between backquotes is code.
        for word in row.split('`').step_by(2).flat_map(str::split_whitespace) {
            let plain =
                word.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '%');
            let low = plain.to_lowercase();
            let digits = plain.contains(|letter: char| letter.is_ascii_digit() || letter == '%');
            let fraction = FRACTIONS.contains(&low.as_str());
            if fraction || digits && !NAMES.contains(&before.as_str()) && !follows(&before) {
                return Err(format!(
                    "line {line}: `{plain}` is a bare number; accepted are `{{{{…}}}}`: a value of the results, \
                     `{{{{paper …}}}}`, and `{{{{set …}}}}` for what a plan or a design sets"
                ));
            }
            // `figures 6 and 7`, `figures 6, 7`.
            let name = NAMES.contains(&before.as_str()) || follows(&before);
            before = match digits && name || low == "and" && follows(&before) {
                true => NAMED.to_owned(),
                false => low,
            };
        }
    }
    Ok(())
}

/// Stands for a number that is a name.
const NAMED: &str = "\u{0}named";

fn follows(before: &str) -> bool {
    before == NAMED
}

fn parts(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some((words, after)) = rest.split_once("{{") {
        line += words.matches('\n').count();
        let Some((inside, after)) = after.split_once("}}") else {
            return Err(format!("line {line}: `{{{{` has no `}}}}`"));
        };
        parts.extend([Part::Words(words), Part::Braces(inside, line)]);
        line += inside.matches('\n').count();
        rest = after;
    }
    parts.push(Part::Words(rest));
    Ok(parts)
}

#[cfg(test)]
mod tests;
