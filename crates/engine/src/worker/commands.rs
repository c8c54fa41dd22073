//! The worker and commands from outside: it sends those of its inbox, an eighth of its time at
//! most, and ends those that their switches leave unanswered.

use std::cmp::Reverse;
use std::time::Duration;

use aldis_control::Time;

use super::{Worker, queue};
use crate::limits::{NOTES_PER_ROUND, POLL_EVERY};
use crate::net::Net;
use crate::read::Read;
use crate::write::Write;

impl<N: Net, R: Read<N::Socket>, W: Write> Worker<N, R, W> {
    /// Sends what it may spend the time on. Who has nothing else to do has time until the next
    /// poll, which may bring that.
    pub(super) fn send_commands(&mut self) {
        self.allowance.earn(self.phases.now);
        let mut idle = if self.parking { POLL_EVERY } else { Duration::ZERO };
        for _ in 0..NOTES_PER_ROUND {
            if !self.allowance.is_left() && idle.is_zero() {
                return;
            }
            let Some(command) = self.post.shared.inboxes[self.post.index].take_command() else {
                return;
            };
            let began = self.net.now();
            let conn = command.conn.clone();
            let (deadline, must_queue) = self.phases.send_command(&mut self.net, *command);
            let deadline = deadline.map(|at| Reverse((at, conn.id)));
            self.deadlines.extend(deadline);
            if must_queue {
                let now = self.phases.now;
                queue(&mut self.read, &self.post, &mut self.undelivered, now, conn);
            }
            let took = self.net.now().since(began);
            if idle.is_zero() {
                self.allowance.spend(took);
            }
            idle = idle.saturating_sub(took);
        }
    }

    /// When a command may be too late.
    pub(super) fn next_deadline(&self) -> Time {
        self.deadlines.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// Tells those who asked what their switches left unanswered. A switch that was given another
    /// home meanwhile is found all the same.
    pub(super) fn end_late_commands(&mut self) {
        while self.next_deadline() <= self.phases.now {
            let Some(Reverse((at, id))) = self.deadlines.pop() else { return };
            let conn = self.post.shared.directory().get(&id).cloned();
            let next = conn.and_then(|conn| conn.open_commands.expire(at));
            self.deadlines.extend(next.map(|at| Reverse((at, id))));
        }
    }
}
