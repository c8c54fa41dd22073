//! What reaches a worker from other threads: new connections, and what other workers found out.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use aldis_control::Switch;
use aldis_control::session::{Close, Refusal};
use crossbeam_queue::ArrayQueue;

use crate::limits::INBOX_MAX;
use crate::net::epoll::Bell;

/// A connection's place: its worker, and its token there. Tokens are never used twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Place {
    pub(crate) worker: usize,
    pub(crate) token: u64,
}

/// One thing that a worker is told.
#[derive(Debug)]
pub(crate) enum Note {
    /// A connection was accepted and is yours.
    Adopt(TcpStream, SocketAddr),
    /// Another connection claims your switch: ask yours whether it is still there.
    Probe(u64),
    /// The switch that you waited for is free: go on as its main connection.
    AdmitMain(u64),
    /// The main connection is known: go on as an auxiliary one.
    AdmitAuxiliary(u64, Arc<Switch>),
    /// Your connection cannot stay.
    Refuse(u64, Refusal),
    /// Your connection has to end.
    Close(u64, Close),
}

/// A worker's bounded inbox. Cheap to clone; any thread may post.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    notes: Arc<ArrayQueue<Note>>,
    bell: Bell,
}

impl Inbox {
    pub(crate) fn new(bell: Bell) -> Self {
        Inbox { notes: Arc::new(ArrayQueue::new(INBOX_MAX)), bell }
    }

    /// Posts a note and wakes the worker; gives the note back when the inbox is full.
    pub(crate) fn post(&self, note: Note) -> Result<(), Note> {
        let posted = self.notes.push(note);
        self.bell.ring();
        posted
    }

    /// Wakes the worker without a note.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    pub(crate) fn take(&self) -> Option<Note> {
        self.notes.pop()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }
}
