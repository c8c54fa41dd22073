//! The network of a replay: sockets that have nothing to read and take everything, and whose bytes
//! can be taken. The time is what the recording says.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use aldis_control::Time;
use aldis_recording::ConnKey;

use crate::net::{Bell, Net, Readiness};

/// What the workers wrote, in order.
#[derive(Debug, Default)]
pub(super) struct ReplayedWrites {
    pub(super) bytes: Vec<u8>,
    /// The worker, the connection, and where its bytes end.
    pub(super) writes: Vec<(u16, ConnKey, usize)>,
}

/// One worker's.
#[derive(Debug)]
pub(crate) struct ReplayNet {
    pub(super) worker: u16,
    pub(super) now: Rc<Cell<Time>>,
    pub(super) written: Rc<RefCell<ReplayedWrites>>,
}

/// A connection, by its key in the recording.
#[derive(Debug)]
pub(crate) struct ReplaySocket(pub(super) ConnKey);

/// No worker of a replay sleeps.
#[derive(Clone, Debug)]
pub(crate) struct NoBell;

impl Bell for NoBell {
    fn ring(&self) {}
}

impl Net for ReplayNet {
    type Socket = ReplaySocket;
    type Bell = NoBell;

    fn now(&self) -> Time {
        self.now.get()
    }

    fn bell(&self) -> NoBell {
        NoBell
    }

    fn register(&mut self, _: &ReplaySocket, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn deregister(&mut self, _: &ReplaySocket) -> io::Result<()> {
        Ok(())
    }

    fn poll(&mut self, _: Time, _: &mut Vec<Readiness>) -> io::Result<()> {
        Ok(())
    }

    fn read(&mut self, _: &ReplaySocket, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn write(&mut self, socket: &ReplaySocket, bytes: &[u8]) -> io::Result<usize> {
        let mut written = self.written.borrow_mut();
        written.bytes.extend_from_slice(bytes);
        let end = written.bytes.len();
        written.writes.push((self.worker, socket.0, end));
        Ok(bytes.len())
    }
}
