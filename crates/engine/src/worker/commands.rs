//! Commands from outside: a worker sends those of its inbox, recognises their replies, and answers
//! those that their switches leave unanswered. It spends an eighth of its time on them at most.

use std::cmp::Reverse;
use std::time::Duration;

use aldis_control::Time;
use aldis_control::command::Failure;
use aldis_wire::header::kind;
use aldis_wire::{Chop, Raw};

use super::write::must_queue;
use super::{Worker, queue};
use crate::conn::open::SentCommand;
use crate::conn::{Conn, State};
use crate::limits::{NOTES_PER_ROUND, POLL_EVERY};
use crate::messages::QueuedCommand;
use crate::net::Net;
use crate::read::Read;

/// What a switch sends unasked, whatever its transaction id.
const UNASKED: [u8; 5] =
    [kind::HELLO, kind::ECHO_REQUEST, kind::PACKET_IN, kind::FLOW_REMOVED, kind::PORT_STATUS];

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// Sends commands as long as its allowance lasts. An idle worker has time until its next poll,
    /// which may bring something else to do.
    pub(super) fn send_commands(&mut self) {
        self.allowance.earn(self.now);
        let mut idle = if self.parking { POLL_EVERY } else { Duration::ZERO };
        for _ in 0..NOTES_PER_ROUND {
            if !self.allowance.is_left() && idle.is_zero() {
                return;
            }
            let Some(command) = self.shared.inboxes[self.index].take_command() else { return };
            let began = self.net.now();
            let conn = command.conn.clone();
            let (deadline, must_queue) = self.send_command(*command);
            let deadline = deadline.map(|at| Reverse((at, conn.id)));
            self.deadlines.extend(deadline);
            if must_queue {
                queue(&mut self.read, &self.shared, &mut self.undelivered, self.now, conn);
            }
            let took = self.net.now().since(began);
            if idle.is_zero() {
                self.allowance.spend(took);
            }
            idle = idle.saturating_sub(took);
        }
    }

    /// Sends a command to its switch, which need not be at home here. Returns when this worker has
    /// to look whether the reply is too late, and whether the connection has to be queued.
    pub(super) fn send_command(
        &mut self,
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
        let xids = self.output.commands().xids(slots.len() as u32 + 1);
        number(&mut bytes, |place| xids.at(place));
        let sent = SentCommand { xids, by, slots, sender, reached: false };
        let entered = conn.open_commands.enter(sent);
        let flushed = entered.map(|_| {
            self.stats.writes.add(1);
            self.stats.bytes_out.add(bytes.len() as u64);
            if self.tap.is_on() {
                self.tap.commanded(self.now, conn.id, &bytes);
            }
            self.write.flush(&mut self.net, &conn, self.now, &bytes, None)
        });
        conn.outgoing.redeem(bytes.len());
        let must_queue = flushed.is_ok_and(|flushed| must_queue(&conn, flushed));
        (entered.unwrap_or(None), must_queue)
    }

    /// Whether a message is a reply to a command. The session gets only that the switch is alive.
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
        let answers = conn.open_commands.receive(raw, raw.has_more(version), &switch.account);
        if answers {
            state.session.alive(self.now);
        }
        answers
    }

    /// The earliest deadline of a command.
    pub(super) fn next_deadline(&self) -> Time {
        self.deadlines.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// Answers commands whose deadline has come. A switch that moved to another home meanwhile is
    /// found all the same.
    pub(super) fn expire_commands(&mut self) {
        while self.next_deadline() <= self.now {
            let Some(Reverse((at, id))) = self.deadlines.pop() else { return };
            let conn = self.shared.directory().get(&id).cloned();
            let next = conn.and_then(|conn| conn.open_commands.expire(at));
            self.deadlines.extend(next.map(|at| Reverse((at, id))));
        }
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
