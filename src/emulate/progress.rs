//! How far an emulation has come, on standard error: one line that is drawn again and again on a
//! terminal, and a line every ten seconds elsewhere.

use aldis_emulator::network;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// How often a line is written where none can be drawn again.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Where progress is shown.
pub(super) struct EmulateProgress {
    /// On a terminal.
    bar: Option<ProgressBar>,
    /// When a line was last written, elsewhere.
    last: Instant,
}

impl EmulateProgress {
    pub(super) fn new() -> EmulateProgress {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{msg}");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        });
        EmulateProgress { bar, last: Instant::now() }
    }

    /// Shows what `text` says, as far as it is time.
    pub(super) fn show(&mut self, text: impl FnOnce() -> String) {
        match &self.bar {
            Some(bar) => bar.set_message(text()),
            None if self.last.elapsed() >= LINE_EVERY => {
                self.last = Instant::now();
                eprintln!("{}", text());
            }
            None => {}
        }
    }

    /// Has something said beside it.
    pub(super) fn aside(&self, say: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    /// Shows no more.
    pub(super) fn clear(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// How far two networks have come that ran together.
pub(super) fn join(
    one: network::NetworkProgress,
    other: network::NetworkProgress,
) -> network::NetworkProgress {
    let sum = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
    network::NetworkProgress {
        elapsed: one.elapsed.max(other.elapsed),
        length: one.length.max(other.length),
        packets: sum(one.packets, other.packets),
        pings: sum(one.pings, other.pings),
    }
}

/// How far a run has come.
pub(super) fn words(progress: &network::NetworkProgress) -> String {
    let network::NetworkProgress { elapsed, length, packets, pings } = *progress;
    let mut text = format!("{:.0} s", elapsed.as_secs_f64());
    if !length.is_zero() {
        text += &format!(" of {:.0} s", length.as_secs_f64());
    }
    if packets.0 > 0 {
        text += &format!(" · {} packets sent, {} arrived", packets.0, packets.1);
    }
    if pings.0 > 0 {
        text += &format!(" · {} of {} pings answered", pings.1, pings.0);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_goes_on_is_told() {
        let elapsed = Duration::from_millis(12_300);
        let bare = network::NetworkProgress { elapsed, ..network::NetworkProgress::default() };
        assert_eq!(words(&bare), "12 s");
        let length = Duration::from_secs(600);
        let full =
            network::NetworkProgress { length, packets: (2400, 2399), pings: (72, 12), ..bare };
        assert_eq!(
            words(&full),
            "12 s of 600 s · 2400 packets sent, 2399 arrived · 12 of 72 pings answered"
        );
    }

    #[test]
    fn a_line_is_written_when_it_is_time_and_not_before() {
        let last = Instant::now();
        let mut progress = EmulateProgress { bar: None, last };
        progress.show(|| panic!("it is not time"));
        let Some(long_ago) = last.checked_sub(LINE_EVERY) else { return };
        progress.last = long_ago;
        let mut shown = 0;
        for _ in 0..2 {
            progress.show(|| {
                shown += 1;
                String::new()
            });
        }
        assert_eq!(shown, 1);
    }
}
