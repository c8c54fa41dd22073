//! `aldis top`: what a controller counts, on a screen that is renewed each second.

mod screen;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;

use super::Base;
use screen::TopView;

/// How often the controller is asked.
const EVERY: Duration = Duration::from_secs(1);

/// How long a key may wait for an answer that comes, and the other way round.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Arguments of `aldis top`.
#[derive(clap::Args)]
#[command(after_help = "\
q, Esc or Ctrl-C ends it. Rates are those of the last second; delays are those since the controller was started. For a script:
aldis stats --json.")]
pub(crate) struct Args {
    #[command(flatten)]
    http: Base,
}

/// What the controller counted, or why that is not known.
type CountersSample = Result<Value, String>;

/// Draws until it is ended.
///
/// # Errors
/// One sentence: no terminal, or no answer at the start.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(
            "aldis top needs a terminal; for scripts there is \"aldis stats --json\"".into()
        );
    }
    let mut view = TopView::new(args.http.to_string());
    view.take(sample(&args.http));
    if let Some(why) = view.trouble() {
        return Err(why.to_owned());
    }
    let samples = follow(args.http);
    let mut terminal = ratatui::try_init().map_err(|error| format!("no screen: {error}"))?;
    let outcome = watch(&mut terminal, &mut view, &samples);
    ratatui::restore();
    outcome.map(|()| ExitCode::SUCCESS).map_err(|error| format!("the screen: {error}"))
}

fn sample(http: &Base) -> CountersSample {
    let answer = http.get("/api/v1/statistics")?;
    serde_json::from_str(&answer)
        .map_err(|error| format!("{http} answered something else: {error}"))
}

/// Samples, one a second, from a thread that may wait for them: it ends when they are not taken any
/// more.
fn follow(http: Base) -> Receiver<CountersSample> {
    let (tell, told) = mpsc::sync_channel(1);
    thread::spawn(move || {
        loop {
            thread::sleep(EVERY);
            if tell.send(sample(&http)).is_err() {
                break;
            }
        }
    });
    told
}

fn watch(
    terminal: &mut DefaultTerminal,
    view: &mut TopView,
    samples: &Receiver<CountersSample>,
) -> std::io::Result<()> {
    loop {
        terminal.draw(|frame| view.draw(frame))?;
        loop {
            if event::poll(LOOK_EVERY)? {
                match event::read()? {
                    Event::Key(key) if is_end(key) => return Ok(()),
                    Event::Resize(..) => break,
                    _ => {}
                }
            }
            match samples.try_recv() {
                Ok(sample) => {
                    view.take(sample);
                    break;
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }
}

fn is_end(key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => true,
        KeyCode::Char('c') => key.modifiers.contains(KeyModifiers::CONTROL),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_as_people_end_programs() {
        let key = |code, modifiers| is_end(KeyEvent::new(code, modifiers));
        assert!(
            key(KeyCode::Char('q'), KeyModifiers::NONE) && key(KeyCode::Esc, KeyModifiers::NONE)
        );
        assert!(key(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert!(!key(KeyCode::Char('c'), KeyModifiers::NONE));
    }
}
