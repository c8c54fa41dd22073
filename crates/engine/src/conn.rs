//! One connection: its socket, its session, and what waits on either side of it.

use std::net::SocketAddr;
use std::sync::Arc;

use aldis_control::outbox::Outbox;
use aldis_control::session::Session;
use aldis_control::{Switch, Time};
use aldis_wire::DatapathId;

use crate::inbox::Place;
use crate::limits::{CARRY_KEPT, OUTBOX_WITHIN};

/// A connection, owned by its worker.
#[derive(Debug)]
pub(crate) struct Conn<S> {
    pub(crate) socket: S,
    pub(crate) place: Place,
    pub(crate) peer: SocketAddr,
    pub(crate) session: Session,
    /// Which switch it says it is.
    pub(crate) dpid: Option<DatapathId>,
    /// Whether it joined the main connection of that switch.
    pub(crate) auxiliary: bool,
    /// The switch, once its requests may go to the applications.
    pub(crate) switch: Option<Arc<Switch>>,
    /// The beginning of a message whose end has not come yet.
    carry: Vec<u8>,
    /// PACKET_INs that came before the handshake was done, whole.
    pub(crate) early: Vec<u8>,
    pub(crate) outbox: Outbox,
    /// Whether the socket may have something to read.
    pub(crate) readable: bool,
    /// Whether nothing comes behind what the socket holds: it is read until the end itself is.
    pub(crate) ended: bool,
    /// Whether the socket may have room again for what waits.
    pub(crate) writable: bool,
    /// Whether it stands in the worker's list of ready connections.
    pub(crate) queued: bool,
    /// The moment of its one valid timer.
    pub(crate) timer: Time,
}

impl<S> Conn<S> {
    pub(crate) fn new(
        socket: S,
        place: Place,
        peer: SocketAddr,
        session: Session,
        outbox_max: usize,
    ) -> Self {
        Conn {
            socket,
            place,
            peer,
            session,
            dpid: None,
            auxiliary: false,
            switch: None,
            carry: Vec::new(),
            early: Vec::new(),
            outbox: Outbox::new(outbox_max),
            readable: false,
            ended: false,
            writable: false,
            queued: false,
            timer: Time::NEVER,
        }
    }

    /// Puts the beginning of a message, left over from the last visit, to the front of `received` and forgets it.
    /// Returns its length.
    #[inline]
    pub(crate) fn restore_carry(&mut self, received: &mut [u8]) -> usize {
        let len = self.carry.len();
        if len > 0 {
            received[..len].copy_from_slice(&self.carry);
            self.carry.clear();
            if self.carry.capacity() > CARRY_KEPT {
                self.carry = Vec::new();
            }
        }
        len
    }

    /// Keeps the beginning of a message until its end comes.
    #[inline]
    pub(crate) fn keep_carry(&mut self, rest: &[u8]) {
        self.carry.extend_from_slice(rest);
    }

    /// Whether a visit has something to do: output that may go, or input, which waits while output does.
    pub(crate) fn is_ready(&self) -> bool {
        if self.outbox.is_empty() { self.readable } else { self.writable }
    }

    /// When it has to be looked at though nothing came. While output waits nothing is read, and the session's deadlines
    /// rest: what they wait for may have come already.
    pub(crate) fn deadline(&self) -> Time {
        if self.outbox.is_empty() {
            self.session.deadline()
        } else {
            self.outbox.deadline(OUTBOX_WITHIN)
        }
    }
}
