//! When replies are sent (Beacon §5.3).
//!
//! 1. [`batched`]: at most once a visit, all replies together;
//! 2. [`immediate`]: each message by itself.

use std::io;

use aldis_control::Time;
use aldis_control::outbox::Outbox;
use aldis_control::session::Close;
use aldis_control::stats::SwitchHistograms;

use crate::conn::Conn;
use crate::net::{Net, lost};

pub(crate) mod batched;
pub(crate) mod immediate;

/// A write design: the only code that writes to sockets.
pub(crate) trait Write: 'static {
    /// These are replies for the switch: they are written, or wait behind what waits already. They
    /// are those of the batch that `ran`, where that is given: what it took is counted for the
    /// switch.
    ///
    /// # Errors
    /// The connection is lost, or more waits than may.
    fn flush<N: Net>(
        net: &mut N,
        conn: &Conn<N::Socket>,
        now: Time,
        fresh: &[u8],
        ran: Option<&mut BatchTimes>,
    ) -> Result<(), Close>;
}

/// What is known of a batch when its answers are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchTimes {
    /// When its first read was.
    pub(crate) first_read: Time,
    /// How long the applications ran over it, in nanoseconds.
    pub(crate) handling_ns: u64,
    /// When that ended, or, where some of its answers are written, the last write.
    pub(crate) until: Time,
}

impl BatchTimes {
    /// The answers to one switch are written: for the holder of the right to write to it.
    #[inline]
    fn wrote(&mut self, spreads: Option<&SwitchHistograms>, now: Time) {
        if let Some(spreads) = spreads {
            spreads.handling_time_ns.record(self.handling_ns);
            spreads.write_time_ns.record(now.0.saturating_sub(self.until.0));
            spreads.batching_delay_ns.record(now.0.saturating_sub(self.first_read.0));
        }
        self.until = now;
    }
}

/// The socket has room again: what waits goes on.
pub(crate) fn drain<N: Net>(net: &mut N, conn: &Conn<N::Socket>, now: Time) -> Result<(), Close> {
    conn.outgoing.send(&[], |outbox, left| {
        let written = write_some(net, &conn.socket, outbox.waiting())?;
        outbox.taken(now, written);
        conn.stats.bytes_waiting.set(outbox.waiting().len() as u64);
        write_or_keep(net, conn, outbox, now, left)
    })
}

/// Writes what the socket takes; 0 when it takes nothing now.
#[inline]
fn write_some<N: Net>(net: &mut N, socket: &N::Socket, bytes: &[u8]) -> Result<usize, Close> {
    match net.write(socket, bytes) {
        Ok(count) => Ok(count),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        Err(error) => Err(lost(&error)),
    }
}

/// Writes as much of `fresh` as may go now; the rest waits. For the holder of the right to write.
#[inline]
fn write_or_keep<N: Net>(
    net: &mut N,
    conn: &Conn<N::Socket>,
    outbox: &mut Outbox,
    now: Time,
    fresh: &[u8],
) -> Result<(), Close> {
    if fresh.is_empty() {
        return Ok(());
    }
    if outbox.is_cut_off() {
        return Err(Close::NotReading);
    }
    conn.stats.bytes_out.add(fresh.len() as u64);
    let written = if outbox.is_empty() { write_some(net, &conn.socket, fresh)? } else { 0 };
    outbox.passed(written);
    if written < fresh.len() {
        let kept = outbox.push(now, &fresh[written..]);
        if kept.is_err() && written > 0 {
            // Others may have something for the switch before its connection is ended.
            outbox.cut_off();
        }
        kept?;
        conn.stats.bytes_waiting.set(outbox.waiting().len() as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use aldis_control::session::{Config, Session};

    use super::*;
    use crate::conn::ConnId;
    use crate::conn::outgoing::Outgoing;
    use crate::net::{Bell, Readiness};

    /// A socket that takes so many bytes at once.
    struct Narrow {
        takes: usize,
        taken: Vec<u8>,
    }

    #[derive(Clone, Debug)]
    struct Silent;

    impl Bell for Silent {
        fn ring(&self) {}
    }

    impl Net for Narrow {
        type Socket = ();
        type Bell = Silent;

        fn now(&self) -> Time {
            Time::START
        }

        fn bell(&self) -> Silent {
            Silent
        }

        fn register(&mut self, (): &(), _: u64) -> io::Result<()> {
            Ok(())
        }

        fn deregister(&mut self, (): &()) -> io::Result<()> {
            Ok(())
        }

        fn poll(&mut self, _: Time, _: &mut Vec<Readiness>) -> io::Result<()> {
            Ok(())
        }

        fn read(&mut self, (): &(), _: &mut [u8]) -> io::Result<usize> {
            Ok(0)
        }

        fn write(&mut self, (): &(), bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.takes);
            self.taken.extend_from_slice(&bytes[..count]);
            Ok(count)
        }
    }

    /// Nothing follows the beginning of a message whose end found no room, though there would be
    /// room for it.
    #[test]
    fn what_is_cut_off_is_followed_by_nothing() {
        let session = Session::new(Arc::new(Config::default()), Time::START, 0, &mut vec![]);
        let within = Duration::from_secs(10);
        let peer = ([127, 0, 0, 1], 1).into();
        let outgoing = Outgoing::new(1000, within);
        let conn = Conn::new((ConnId(1), 0), (), peer, 0, session, outgoing);
        let mut net = Narrow { takes: 100, taken: vec![] };
        let long = vec![1; 100 + 1000 + crate::limits::FAR_MAX + 1];
        let mut flush = |bytes: &[u8]| {
            let flushed = batched::Batched::flush(&mut net, &conn, Time::START, bytes, None);
            let drained = drain(&mut net, &conn, Time::START);
            assert!(flushed.is_err() || drained.is_ok());
            flushed
        };
        assert_eq!(flush(&long), Err(Close::NotReading));
        assert_eq!(flush(&[2; 8]), Err(Close::NotReading));
        assert_eq!(net.taken, [1; 100]);
    }
}
