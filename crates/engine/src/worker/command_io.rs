//! The phases and commands from outside: sending them, and knowing their answers among what a
//! switch says.

use aldis_control::Time;
use aldis_control::command::Failure;
use aldis_wire::header::kind;
use aldis_wire::{Chop, Raw};

use super::phases::{Phases, must_queue};
use crate::conn::open::SentCommand;
use crate::conn::{Conn, State};
use crate::messages::QueuedCommand;
use crate::net::Net;
use crate::write::Write;

/// What a switch says unasked, whatever its transaction id.
const UNASKED: [u8; 5] =
    [kind::HELLO, kind::ECHO_REQUEST, kind::PACKET_IN, kind::FLOW_REMOVED, kind::PORT_STATUS];

impl<N: Net, W: Write> Phases<N, W> {
    /// Sends a command to its switch, which need not be at home here. Returns when to look whether
    /// it is too late, if nobody does by then, and whether the connection has to be queued.
    pub(crate) fn send_command(
        &mut self,
        net: &mut N,
        command: QueuedCommand<N::Socket>,
    ) -> (Option<Time>, bool) {
        let QueuedCommand { conn, mut bytes, slots, by, sender } = command;
        if by <= self.now {
            sender.send(Err(Failure::TooLate));
            return (None, false);
        }
        if !conn.outgoing.reserve(bytes.len()) {
            sender.send(Err(Failure::Busy));
            return (None, false);
        }
        let xids = self.output.far().xids(slots.len() as u32 + 1);
        number(&mut bytes, |place| xids.at(place));
        let entered =
            conn.open_commands.enter(SentCommand { xids, by, slots, sender, reached: false });
        let flushed = entered.map(|_| {
            self.stats.writes.add(1);
            self.stats.bytes_out.add(bytes.len() as u64);
            W::flush(net, &conn, self.now, &bytes, None)
        });
        conn.outgoing.redeem(bytes.len());
        let must_queue = flushed.is_ok_and(|flushed| must_queue(&conn, flushed));
        (entered.unwrap_or(None), must_queue)
    }

    /// Whether a message is an answer to a command. The session hears only that the switch is
    /// alive.
    pub(super) fn answers_command(
        &self,
        conn: &Conn<N::Socket>,
        state: &mut State,
        raw: &Raw<'_>,
    ) -> bool {
        let Some(version) = state.session.version() else { return false };
        let ours = raw.header.version == version.wire() || raw.header.kind == kind::ERROR;
        if !ours || UNASKED.contains(&raw.header.kind) {
            return false;
        }
        let Some(switch) = conn.main_of() else { return false };
        let answers = conn.open_commands.hear(raw, raw.has_more(version), &switch.account);
        if answers {
            state.session.alive(self.now);
        }
        answers
    }
}

/// Fills in the transaction ids of these messages, by their places.
fn number(bytes: &mut [u8], xid: impl Fn(u32) -> u32) {
    let (mut at, mut place) = (0, 0);
    while let Some(Ok(raw)) = Chop::new(&bytes[at..]).next() {
        let len = raw.bytes.len();
        bytes[at + 4..at + 8].copy_from_slice(&xid(place).to_be_bytes());
        (at, place) = (at + len, place + 1);
    }
}
