//! Reads and writes: what a visit does with a socket.
//!
//! Bytes come from the other core, a poll says so, one call reads them, one call writes as many
//! back: 64 bytes to 64 KB, which the sockets take whole. The two belong together: a socket that is
//! only read from acknowledges every time, for about 1.5 µs, and one that is answered lets the
//! acknowledgement go with the answer. Over the loop-back a write brings its bytes to the other
//! socket and tells the set that watches that one; no thread sleeps there, so that none has to be
//! woken.

use std::io;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::cores::CorePair;
use super::line::StraightLine;
use super::loopback::{BYTES_MAX, CONNECTIONS, Loopback};
use super::rounds::{CostQuartiles, StepPace, median};

/// Sizes between which the line is drawn, in bytes.
const SIZES: [usize; 6] = [64, 256, 1024, 4096, 16 * 1024, BYTES_MAX];

/// Exchanges of each size a round.
const SAMPLES: usize = 5;

/// Exchanges that may be void, because bytes came late, for each that counts.
const VOID: usize = 4;

/// Empty reads that are timed together.
const EMPTY: usize = 500;

/// `read_ns`, `read_byte_ps`, `empty_read_ns`, `write_ns` and `write_byte_ps`.
pub(super) fn measure(pace: &StepPace<'_>, cores: CorePair) -> io::Result<[CostQuartiles; 5]> {
    let mut desk =
        ExchangeRig { loopback: Loopback::new(CONNECTIONS, cores.far)?, room: vec![0; BYTES_MAX] };
    pace.rounds(|| {
        let [mut reads, mut writes] = [[(0.0, 0.0); SIZES.len()]; 2];
        for (index, bytes) in SIZES.into_iter().enumerate() {
            let (read, write) = desk.exchanges(pace, bytes)?;
            reads[index] = (bytes as f64, read);
            writes[index] = (bytes as f64, write);
        }
        let empty = desk.empty(pace)?;
        let [read, write] = [reads, writes].map(|points| StraightLine::through(&points));
        Ok([read.base, read.each * 1e3, empty, write.base, write.each * 1e3])
    })
}

struct ExchangeRig {
    loopback: Loopback,
    room: Vec<u8>,
}

impl ExchangeRig {
    /// Nanoseconds of a read and of a write of so many bytes.
    fn exchanges(&mut self, pace: &StepPace<'_>, bytes: usize) -> io::Result<(f64, f64)> {
        let [mut reads, mut writes] = [const { Vec::new() }; 2];
        for _ in 0..SAMPLES * VOID {
            let read = self.read(pace, bytes)?;
            let write = self.write(pace, bytes)?;
            if let Some(read) = read {
                reads.push(read);
                writes.push(write);
            }
            if reads.len() == SAMPLES {
                return Ok((median(&mut reads), median(&mut writes)));
            }
        }
        Err(super::rounds::busy())
    }

    /// Nanoseconds of a read, the mean over all connections; nothing if not every read found
    /// everything.
    fn read(&mut self, pace: &StepPace<'_>, bytes: usize) -> io::Result<Option<f64>> {
        self.loopback.send(CONNECTIONS, bytes)?;
        self.loopback.poll()?;
        let mut got = [0; CONNECTIONS];
        let (spent, ()) = pace.clock.time(|| {
            for (got, socket) in got.iter_mut().zip(&self.loopback.near) {
                *got = rustix::io::read(socket, &mut self.room[..]).unwrap_or(0);
            }
        });
        for (connection, got) in got.iter().enumerate() {
            self.loopback.read_rest(connection, bytes - got)?;
        }
        Ok((got == [bytes; CONNECTIONS]).then_some(spent / CONNECTIONS as f64))
    }

    /// Nanoseconds of a write, the mean over all connections.
    fn write(&mut self, pace: &StepPace<'_>, bytes: usize) -> io::Result<f64> {
        let mut taken = [0; CONNECTIONS];
        let (spent, ()) = pace.clock.time(|| {
            for (taken, socket) in taken.iter_mut().zip(&self.loopback.near) {
                *taken = send(socket, &self.room[..bytes], SendFlags::NOSIGNAL).unwrap_or(0);
            }
        });
        if taken != [bytes; CONNECTIONS] {
            return Err(io::Error::other(format!("a socket did not take {bytes} bytes at once")));
        }
        self.loopback.drain(CONNECTIONS, bytes)?;
        Ok(spent / CONNECTIONS as f64)
    }

    /// Nanoseconds of a read that finds nothing.
    fn empty(&mut self, pace: &StepPace<'_>) -> io::Result<f64> {
        let mut sockets = self.loopback.near.iter().cycle().take(EMPTY);
        let room = &mut self.room[..];
        let (spent, found) = pace.clock.time(|| {
            sockets.find(|socket| rustix::io::read(socket, &mut *room) != Err(Errno::AGAIN))
        });
        match found {
            None => Ok(spent / EMPTY as f64),
            Some(_) => Err(io::Error::other("a socket that was read empty is not empty")),
        }
    }
}
