//! A round trip: one request over the loop-back and one answer back, with no thread asleep at
//! either end.
//!
//! In it are a write and a read at each end; what is left is the way itself.

use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::io::Errno;

use super::cores::{CorePair, pin, spin_until};
use super::loopback::pair;
use super::rounds::{CostQuartiles, StepPace, median_of};

/// Bytes of a request: a PACKET_IN of OpenFlow 1.0 with a frame of 64.
const REQUEST: usize = 82;

/// Bytes of an answer: a FLOW_MOD of OpenFlow 1.0 with one action.
const ANSWER: usize = 80;

/// Round trips a round.
const SAMPLES: usize = 101;

/// `round_trip_ns`.
pub(super) fn measure(pace: &StepPace<'_>, cores: CorePair) -> io::Result<[CostQuartiles; 1]> {
    let (near, far) = pair()?;
    for end in [&near, &far] {
        end.set_nonblocking(true)?;
    }
    let Some(core) = cores.far else {
        return trips(pace, &near, || answer(&far, &AtomicBool::new(false)));
    };
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            pin(Some(core));
            spin_until(|| over.load(Ordering::Relaxed) || answer(&far, &over).is_err());
            // A thread that still waits for an answer learns that none comes.
            let _ = far.shutdown(std::net::Shutdown::Both);
        });
        let measured = trips(pace, &near, || Ok(()));
        over.store(true, Ordering::Relaxed);
        measured
    })
}

/// Measures; `meanwhile` is what this thread has to do for the other end.
fn trips(
    pace: &StepPace<'_>,
    near: &TcpStream,
    mut meanwhile: impl FnMut() -> io::Result<()>,
) -> io::Result<[CostQuartiles; 1]> {
    let never = AtomicBool::new(false);
    pace.rounds(|| {
        let trip = || {
            let (spent, came) = pace.clock.time(|| {
                rustix::net::send(near, &[0; REQUEST], rustix::net::SendFlags::NOSIGNAL)?;
                meanwhile()?;
                receive(near, ANSWER, &never)
            });
            came.map(|()| Some(spent))
        };
        median_of(SAMPLES, trip).map(|median| [median])
    })
}

/// The far end's part in one round trip.
fn answer(far: &TcpStream, over: &AtomicBool) -> io::Result<()> {
    receive(far, REQUEST, over)?;
    rustix::net::send(far, &[0; ANSWER], rustix::net::SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for so many bytes without sleeping.
fn receive(socket: &TcpStream, bytes: usize, over: &AtomicBool) -> io::Result<()> {
    let mut missing = bytes;
    let mut room = [0; REQUEST];
    let mut failed = None;
    spin_until(|| {
        match rustix::io::read(socket, &mut room[..missing]) {
            Ok(0) => failed = Some(Errno::PIPE),
            Ok(count) => missing -= count,
            Err(Errno::AGAIN) if over.load(Ordering::Relaxed) => failed = Some(Errno::PIPE),
            Err(Errno::AGAIN) => {}
            Err(error) => failed = Some(error),
        }
        missing == 0 || failed.is_some()
    });
    failed.map_or(Ok(()), |error| Err(error.into()))
}
