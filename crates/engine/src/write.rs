//! When replies are sent (Beacon §5.3).
//!
//! 1. [`batched`]: at most once a visit, all replies together;
//! 2. [`immediate`]: each message by itself;
//! 3. [`per_loop`]: the first message of an I/O loop by itself, the others in the next loop.

use std::io;
use std::sync::Arc;

use aldis_control::Time;
use aldis_control::outbox::Outbox;
use aldis_control::session::Close;
use aldis_control::stats::SwitchHistograms;

use crate::conn::Conn;
use crate::design;
use crate::net::{Net, lost};
use per_loop::{Listed, write_first};

pub(crate) mod batched;
pub(crate) mod immediate;
pub(crate) mod per_loop;

/// The write design of a worker, and what it keeps for it: the only code that writes to sockets.
///
/// It is asked once a visit, so that it is a value; what is asked for each message is a type, as
/// the read designs are.
#[derive(Debug)]
pub(crate) enum Write<S> {
    Batched,
    Immediate,
    PerLoop(Listed<S>),
}

impl<S> Write<S> {
    pub(crate) fn new(design: design::Write) -> Self {
        match design {
            design::Write::Batched => Write::Batched,
            design::Write::Immediate => Write::Immediate,
            design::Write::PerLoop => Write::PerLoop(Listed::default()),
        }
    }

    /// These are replies for the switch: they are written, or wait behind what waits already. They
    /// are those of the batch that `ran`, where that is given: what it took is counted for the
    /// switch.
    ///
    /// # Errors
    /// The connection is lost, or more waits than may.
    #[inline]
    pub(crate) fn flush<N: Net<Socket = S>>(
        &mut self,
        net: &mut N,
        conn: &Arc<Conn<S>>,
        now: Time,
        fresh: &[u8],
        ran: Option<&mut BatchTimes>,
    ) -> Result<(), Close> {
        match self {
            Write::Batched => batched::flush(net, conn, now, fresh, ran),
            Write::Immediate => immediate::flush(net, conn, now, fresh, ran),
            Write::PerLoop(listed) => listed.flush(net, conn, now, fresh, ran),
        }
    }

    /// An I/O loop of the worker begins: before it polls. Connections that are lost are added to
    /// `lost`. Returns whether it may wait in its poll.
    #[inline]
    pub(crate) fn begin_loop<N: Net<Socket = S>>(
        &mut self,
        net: &mut N,
        now: Time,
        lost: &mut Vec<(Arc<Conn<S>>, Close)>,
    ) -> bool {
        match self {
            Write::Batched | Write::Immediate => true,
            Write::PerLoop(listed) => listed.begin_loop(net, now, lost),
        }
    }

    /// A connection ends: what was put off is written, if it can be. Returns false where another
    /// worker is writing to it, so that this is to be tried again.
    pub(crate) fn finish<N: Net<Socket = S>>(
        &self,
        net: &mut N,
        conn: &Conn<S>,
        now: Time,
    ) -> bool {
        match self {
            Write::Batched | Write::Immediate => true,
            Write::PerLoop(_) => per_loop::finish(net, conn, now),
        }
    }
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
        // What is put off goes before what was left.
        match outbox.has_put_off() {
            true => write_first(net, conn, outbox, now, left),
            false => write_or_keep(net, conn, outbox, now, left),
        }
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
        let kept = outbox.push_rest(now, fresh, written);
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
    use proptest::prelude::*;

    use super::*;
    use crate::conn::ConnId;
    use crate::conn::outgoing::Outgoing;
    use crate::net::{Bell, Readiness};

    /// A socket that takes so many bytes at once.
    struct Narrow {
        takes: usize,
        taken: Vec<u8>,
        writes: usize,
    }

    fn conn() -> Arc<Conn<()>> {
        conn_with(Outgoing::new)
    }

    type MakeOutgoing = fn(usize, Duration) -> Outgoing;

    fn conn_with(outgoing: MakeOutgoing) -> Arc<Conn<()>> {
        let session = Session::new(Arc::new(Config::default()), Time::START, 0, &mut vec![]);
        let outgoing = outgoing(1000, Duration::from_secs(10));
        Arc::new(Conn::new((ConnId(1), 0), (), ([127, 0, 0, 1], 1).into(), 0, session, outgoing))
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
            self.writes += 1;
            Ok(count)
        }
    }

    /// Nothing follows the beginning of a message whose end found no room, though there would be
    /// room for it.
    #[test]
    fn what_is_cut_off_is_followed_by_nothing() {
        let conn = conn();
        let mut net = Narrow { takes: 100, taken: vec![], writes: 0 };
        let long = vec![1; 100 + 1000 + crate::limits::FAR_MAX + 1];
        let mut flush = |bytes: &[u8]| {
            let flushed = batched::flush(&mut net, &conn, Time::START, bytes, None);
            let drained = drain(&mut net, &conn, Time::START);
            assert!(flushed.is_err() || drained.is_ok());
            flushed
        };
        assert_eq!(flush(&long), Err(Close::NotReading));
        assert_eq!(flush(&[2; 8]), Err(Close::NotReading));
        assert_eq!(net.taken, [1; 100]);
    }

    /// A switch that reads slowly: what has begun is finished, then come an echo, flows, a
    /// question; without priorities everything leaves as it came.
    #[test]
    fn what_waits_leaves_in_the_order_of_its_classes() {
        let message = |kind, xid| [4, kind, 0, 8, 0, 0, 0, xid];
        // OFPT_FLOW_MOD, OFPT_MULTIPART_REQUEST, OFPT_BARRIER_REQUEST, OFPT_ECHO_REPLY.
        let flushes: [&[(u8, u8)]; 4] =
            [&[(14, 1), (18, 2)], &[(14, 3), (20, 4)], &[(18, 5), (14, 6)], &[(3, 7)]];
        let orders: [(MakeOutgoing, [u8; 7]); 2] = [
            (Outgoing::new, [1, 2, 3, 4, 5, 6, 7]),
            (Outgoing::by_priority, [1, 7, 3, 2, 4, 6, 5]),
        ];
        for (outgoing, expected) in orders {
            let conn = conn_with(outgoing);
            let mut net = Narrow { takes: 3, taken: vec![], writes: 0 };
            for messages in flushes {
                let bytes: Vec<u8> =
                    messages.iter().flat_map(|(kind, xid)| message(*kind, *xid)).collect();
                batched::flush(&mut net, &conn, Time::START, &bytes, None).unwrap();
            }
            while conn.outgoing.is_stuck() {
                net.takes = 5;
                drain(&mut net, &conn, Time::START).unwrap();
            }
            let xids: Vec<u8> = net.taken.chunks(8).map(|message| message[7]).collect();
            assert_eq!(xids, expected);
        }
    }

    /// Messages of 8 bytes, which end with these.
    fn messages(ends: &[u8]) -> Vec<u8> {
        ends.iter().flat_map(|end| [1, 2, 0, 8, 0, 0, 0, *end]).collect()
    }

    /// A worker that writes once per loop.
    struct Loops {
        net: Narrow,
        write: Write<()>,
        conn: Arc<Conn<()>>,
    }

    impl Loops {
        fn new(takes: usize) -> Loops {
            let net = Narrow { takes, taken: vec![], writes: 0 };
            Loops { net, write: Write::new(design::Write::PerLoop), conn: conn() }
        }

        fn say(&mut self, ends: &[u8]) -> Result<(), Close> {
            let Loops { net, write, conn } = self;
            write.flush(net, conn, Time::START, &messages(ends), None)
        }

        /// Whether the worker may wait.
        fn begins(&mut self) -> bool {
            let mut lost = vec![];
            let may_wait = self.write.begin_loop(&mut self.net, Time::START, &mut lost);
            assert!(lost.is_empty());
            may_wait
        }

        #[track_caller]
        fn has_sent(&self, ends: &[u8], writes: usize) {
            assert_eq!((&self.net.taken, self.net.writes), (&messages(ends), writes));
        }
    }

    #[test]
    fn the_first_message_of_a_loop_is_written_at_once_and_the_others_in_the_next() {
        let mut loops = Loops::new(1000);
        assert_eq!(loops.say(&[1, 2, 3]), Ok(()));
        loops.has_sent(&[1], 1);
        assert_eq!(loops.say(&[4]), Ok(()));
        loops.has_sent(&[1], 1);
        // What was put off is this loop's write: what comes now is put off too.
        assert!(!loops.begins());
        loops.has_sent(&[1, 2, 3, 4], 2);
        assert_eq!(loops.say(&[5]), Ok(()));
        loops.has_sent(&[1, 2, 3, 4], 2);
        assert!(!loops.begins());
        loops.has_sent(&[1, 2, 3, 4, 5], 3);
        // A loop without a message: the next one is written at once, and the worker may wait.
        assert!(loops.begins());
        assert_eq!(loops.say(&[6]), Ok(()));
        loops.has_sent(&[1, 2, 3, 4, 5, 6], 4);
        assert!(loops.begins());
    }

    #[test]
    fn what_is_put_off_waits_behind_what_the_socket_did_not_take() {
        let mut loops = Loops::new(3);
        assert_eq!(loops.say(&[1, 2]), Ok(()));
        assert!(loops.conn.outgoing.is_stuck());
        loops.begins();
        assert_eq!(loops.say(&[3]), Ok(()));
        loops.net.takes = 1000;
        assert_eq!(drain(&mut loops.net, &loops.conn, Time::START), Ok(()));
        loops.begins();
        assert_eq!(loops.net.taken, messages(&[1, 2, 3]));
    }

    /// What happens to a connection: messages are said, so many; a loop begins; the socket takes so
    /// many bytes at once from now on; it has room.
    #[derive(Clone, Copy, Debug)]
    enum Happens {
        Say(usize),
        Begin,
        Take(usize),
        Drain,
    }

    fn happens() -> impl Strategy<Value = Happens> {
        prop_oneof![
            (1..4_usize).prop_map(Happens::Say),
            Just(Happens::Begin),
            (0..30_usize).prop_map(Happens::Take),
            Just(Happens::Drain),
        ]
    }

    proptest! {
        /// Whatever the socket takes and whenever a loop begins, all is sent, in its order.
        #[test]
        fn all_is_sent_in_the_order_in_which_it_was_said(
            story in prop::collection::vec(happens(), 0..40),
        ) {
            for write in [design::Write::Batched, design::Write::Immediate, design::Write::PerLoop] {
                let mut loops = Loops { write: Write::new(write), ..Loops::new(0) };
                let mut said = 0;
                for it in story.iter().chain(&[Happens::Take(1000), Happens::Drain]) {
                    match *it {
                        Happens::Say(count) => {
                            let ends: Vec<u8> = (said..said + count as u8).collect();
                            said += count as u8;
                            prop_assert_eq!(loops.say(&ends), Ok(()));
                        }
                        Happens::Begin => {
                            loops.begins();
                        }
                        Happens::Take(count) => loops.net.takes = count,
                        Happens::Drain => {
                            let drained = drain(&mut loops.net, &loops.conn, Time::START);
                            prop_assert_eq!(drained, Ok(()));
                        }
                    }
                }
                loops.begins();
                prop_assert_eq!(&loops.net.taken, &messages(&(0..said).collect::<Vec<_>>()));
            }
        }
    }

    /// The socket took nothing while they were put off, and takes everything again in that loop.
    #[test]
    fn what_is_put_off_is_not_overtaken_by_a_first_message() {
        let mut loops = Loops::new(3);
        assert_eq!(loops.say(&[1]), Ok(()));
        assert!(loops.begins() && loops.conn.outgoing.is_stuck());
        assert_eq!(loops.say(&[2, 3]), Ok(()));
        loops.net.takes = 1000;
        assert_eq!(drain(&mut loops.net, &loops.conn, Time::START), Ok(()));
        assert_eq!(loops.say(&[4]), Ok(()));
        loops.begins();
        assert_eq!(loops.net.taken, messages(&[1, 2, 3, 4]));
    }

    #[test]
    fn a_connection_that_ends_is_sent_what_was_put_off() {
        let mut loops = Loops::new(1000);
        assert_eq!(loops.say(&[1, 2]), Ok(()));
        assert!(loops.write.finish(&mut loops.net, &loops.conn, Time::START));
        loops.has_sent(&[1, 2], 2);
        assert!(loops.begins());
    }

    #[test]
    fn no_more_is_put_off_than_its_bound() {
        let mut loops = Loops::new(usize::MAX);
        let many = vec![7; crate::limits::PUT_OFF_MAX / 8 + 2];
        assert_eq!(loops.say(&many), Ok(()));
        loops.has_sent(&many, 2);
    }
}
