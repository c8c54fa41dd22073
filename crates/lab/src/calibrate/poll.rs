//! A poll: one `epoll` wait that returns at once, with nothing or with some events.
//!
//! The set is edge-triggered, as a worker's is: each event is there because something came from the
//! other core since the wait before.

use std::io;

use super::cores::CorePair;
use super::line::StraightLine;
use super::loopback::Loopback;
use super::rounds::{CostQuartiles, StepPace, median_of};

/// Numbers of events between which, and an empty wait, the line is drawn; the last is the number of
/// connections.
const EVENTS: [usize; 4] = [1, 4, 16, 64];

/// Empty waits that are timed together.
const EMPTY: usize = 500;

/// Waits with each number of events a round.
const SAMPLES: usize = 9;

/// `poll_ns` and `poll_event_ns`.
pub(super) fn measure(pace: &StepPace<'_>, cores: CorePair) -> io::Result<[CostQuartiles; 2]> {
    let mut loopback = Loopback::new(EVENTS[EVENTS.len() - 1], cores.far)?;
    loopback.poll()?;
    pace.rounds(|| {
        let empty = empty(pace, &loopback)?;
        let mut points = vec![(0.0, empty)];
        for events in EVENTS {
            points
                .push((events as f64, median_of(SAMPLES, || found(pace, &mut loopback, events))?));
        }
        Ok([empty, StraightLine::through(&points).each])
    })
}

/// Nanoseconds of a wait that finds nothing.
fn empty(pace: &StepPace<'_>, loopback: &Loopback) -> io::Result<f64> {
    let waits = || (0..EMPTY).try_for_each(|_| loopback.poll().map(drop));
    let (spent, waited) = pace.clock.time(waits);
    waited.map(|()| spent / EMPTY as f64)
}

/// Nanoseconds of a wait that finds so many events; nothing if it did not find all of them.
fn found(pace: &StepPace<'_>, loopback: &mut Loopback, events: usize) -> io::Result<Option<f64>> {
    loopback.send(events, 1)?;
    let (spent, found) = pace.clock.time(|| loopback.poll());
    (0..events).try_for_each(|connection| loopback.read_rest(connection, 1))?;
    match found? == events {
        true => Ok(Some(spent)),
        // What was announced late must not be found by the next wait.
        false => loopback.poll().map(|_| None),
    }
}
