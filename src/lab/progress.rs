//! How far `aldis lab run` is: a bar with the time that is left, on a terminal; lines elsewhere.

use std::io::{IsTerminal, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use aldis_lab::run::RunEvent;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::list::words;

/// How often the time that is left is written anew.
const TICK: Duration = Duration::from_secs(1);

/// Tells people, as far as they are there: the run goes on where a terminal is gone.
pub(super) fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// What is told of plans that run one after the other.
pub(super) struct PlansProgress {
    terminal: bool,
    bar: ProgressBar,
    /// What each plan takes, about.
    lengths: Vec<Duration>,
    /// The number of the plan that runs, from 1; 0 before the first.
    plan: usize,
    /// What that takes, what of it is done, and since when it runs.
    all: Duration,
    done: Duration,
    begun: Instant,
    ends: Arc<ExpectedEnds>,
}

/// When the plan and all plans are expected to end: the bar asks each time that it is drawn.
struct ExpectedEnds {
    begun: Instant,
    /// Milliseconds since then.
    plan_ms: AtomicU64,
    all_ms: AtomicU64,
}

impl PlansProgress {
    /// For plans that take so long each, about.
    pub(super) fn new(lengths: Vec<Duration>) -> PlansProgress {
        let begun = Instant::now();
        PlansProgress {
            terminal: std::io::stderr().is_terminal(),
            bar: ProgressBar::hidden(),
            lengths,
            plan: 0,
            all: Duration::ZERO,
            done: Duration::ZERO,
            begun,
            ends: Arc::new(ExpectedEnds {
                begun,
                plan_ms: AtomicU64::new(0),
                all_ms: AtomicU64::new(0),
            }),
        }
    }

    pub(super) fn tell(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Calibrating => self.say("measuring what the steps of a worker cost here"),
            RunEvent::Begins(plan, points, all) => {
                self.begun = Instant::now();
                self.plan += 1;
                (self.all, self.done) = (all, Duration::ZERO);
                let name = match self.lengths.len() {
                    1 => plan.name.clone(),
                    count => format!("{} ({} of {count})", plan.name, self.plan),
                };
                self.expect();
                if self.terminal {
                    self.bar = bar(name, all, Arc::clone(&self.ends), self.is_last());
                } else {
                    say(&format!("{name}: {points} points, about {} s\n", all.as_secs().max(1)));
                }
            }
            RunEvent::Point(point, _) => self.bar.set_message(point.label()),
            RunEvent::Done(length) => {
                self.done += length;
                self.expect();
                self.bar.set_position(self.done.as_millis() as u64);
            }
            RunEvent::Told(sentence) => self.say(sentence),
        }
    }

    fn is_last(&self) -> bool {
        self.plan >= self.lengths.len()
    }

    /// Writes down when what runs is likely to end.
    fn expect(&self) {
        let pace = pace(self.done, self.begun.elapsed());
        let plan = self.all.saturating_sub(self.done).mul_f64(pace);
        let later: Duration = self.lengths.iter().skip(self.plan).sum();
        self.ends.expect(plan, plan + later.mul_f64(pace));
    }

    fn say(&self, sentence: &str) {
        match self.bar.is_hidden() {
            true => say(&format!("aldis: {sentence}\n")),
            false => self.bar.suspend(|| say(&format!("aldis: {sentence}\n"))),
        }
    }

    /// Takes the bar away: the plan is over.
    pub(super) fn clear(&mut self) {
        self.bar.finish_and_clear();
        self.bar = ProgressBar::hidden();
    }
}

/// How much longer things take than was thought: by what is done so far, as soon as that is a
/// second's worth.
fn pace(done: Duration, took: Duration) -> f64 {
    match done.as_secs_f64() {
        done if done > 1.0 => took.as_secs_f64() / done,
        _ => 1.0,
    }
}

impl ExpectedEnds {
    /// In so long each, from now.
    fn expect(&self, plan: Duration, all: Duration) {
        let since = |left: Duration| (self.begun.elapsed() + left).as_millis() as u64;
        self.plan_ms.store(since(plan), Ordering::Relaxed);
        self.all_ms.store(since(all), Ordering::Relaxed);
    }

    /// What is left of one of them.
    fn left(&self, ends_ms: &AtomicU64) -> Duration {
        let ends = Duration::from_millis(ends_ms.load(Ordering::Relaxed));
        ends.saturating_sub(self.begun.elapsed())
    }

    /// What is left, in words: of the plan, and of all where others follow.
    fn words(&self, is_last: bool) -> String {
        let plan = words(self.left(&self.plan_ms));
        match is_last {
            true => format!("{plan} left"),
            false => format!("{plan} left, {} of all", words(self.left(&self.all_ms))),
        }
    }
}

/// A bar for a plan, as long as the plan takes.
fn bar(name: String, all: Duration, ends: Arc<ExpectedEnds>, is_last: bool) -> ProgressBar {
    let target = ProgressDrawTarget::stderr();
    let bar = ProgressBar::with_draw_target(Some(all.as_millis() as u64), target);
    let left = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{}", ends.words(is_last));
    };
    let style = ProgressStyle::with_template("{prefix} {bar:20} {left} · {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("left", left));
    bar.set_prefix(name);
    bar.enable_steady_tick(TICK);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_took_longer_than_was_thought_makes_the_rest_longer() {
        assert_eq!(pace(seconds(10), seconds(15)), 1.5);
        assert_eq!(pace(Duration::ZERO, seconds(15)), 1.0, "nothing is known yet");
    }

    #[test]
    fn the_time_left_is_that_of_the_plan_and_of_all_that_follow() {
        let mut progress = PlansProgress::new(vec![seconds(60), seconds(1000), seconds(2000)]);
        (progress.plan, progress.all) = (1, seconds(60));
        progress.expect();
        let said = progress.ends.words(progress.is_last());
        assert!(said == "60 s left, 51 min of all", "{said}");
        (progress.plan, progress.all) = (3, seconds(2000));
        progress.expect();
        assert_eq!(progress.ends.words(progress.is_last()), "34 min left");
    }
}
