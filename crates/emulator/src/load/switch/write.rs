//! What a visit writes, and what the socket is watched for behind it.

use super::super::failure::LoadFailure;
use super::super::packet_in::Sheet;
use super::super::roles::SwitchRole;
use super::{LESSONS_AHEAD, LoadStage, LoadSwitch, ThreadState};
use crate::poll::{Interest, Poll};

impl LoadSwitch {
    /// Writes what an earlier write left and the answers in the outbox; then, in one write, as many
    /// requests as may go.
    #[inline]
    pub(super) fn write(
        &mut self,
        desk: &mut ThreadState,
        writable: bool,
    ) -> Result<(), LoadFailure> {
        if self.wire.is_behind() {
            self.wire.flush().map_err(|error| self.closed(error))?;
        }
        if !(self.unsent.is_empty() && desk.outbox.is_empty()) {
            self.write_answers(&desk.outbox)?;
        }
        match self.stage {
            _ if self.waits() => Ok(()),
            LoadStage::Teaching => self.write_lessons(&mut desk.lessons),
            LoadStage::Offering if writable || !self.full => self.write_offers(&mut desk.offers),
            _ => Ok(()),
        }
    }

    #[cold]
    fn write_answers(&mut self, outbox: &[u8]) -> Result<(), LoadFailure> {
        self.unsent.extend_from_slice(outbox);
        let written = self.wire.write(&self.unsent).map_err(|error| self.closed(error))?;
        self.unsent.drain(..written);
        Ok(())
    }

    fn write_lessons(&mut self, sheet: &mut Sheet) -> Result<(), LoadFailure> {
        let count = LESSONS_AHEAD.saturating_sub(self.outstanding.waiting()).min(self.lessons_left);
        let count = self.make_room(count);
        if count > 0 {
            let index = self.homes.addresses() - self.lessons_left;
            let next = self.outstanding.next();
            let len = sheet.request_len();
            let lessons = sheet.lessons(self.hosts, &self.homes, index, next, count);
            self.lessons_left -= self.write_requests(lessons, len)?;
        }
        if self.lessons_left == 0 && self.outstanding.waiting() == 0 {
            self.stage = LoadStage::Taught;
        }
        Ok(())
    }

    #[inline]
    fn write_offers(&mut self, sheet: &mut Sheet) -> Result<(), LoadFailure> {
        if self.role == SwitchRole::Dead {
            self.outstanding.give_up_all();
        }
        let count = self.allowance().min(sheet.capacity());
        let count = self.make_room(count);
        if count == 0 {
            return Ok(());
        }
        let len = sheet.request_len();
        let offers = sheet.offers(self.hosts, self.sequence.ahead(count), self.outstanding.next());
        self.timing.choose(&self.outstanding, count);
        let sent = self.write_requests(offers, len)?;
        if sent < count {
            self.timing.forget_unsent(&self.outstanding);
        }
        if let Some(ports) = &mut self.ports {
            ports.offered(self.sequence.ahead(sent));
        }
        self.sequence.pass(sent);
        self.counts.offered += u64::from(sent);
        self.quota -= u64::from(sent);
        if self.credit != u64::MAX {
            self.credit -= u64::from(sent);
        }
        Ok(())
    }

    /// How many requests may go now.
    #[inline]
    fn allowance(&self) -> u32 {
        let window = self.window.saturating_sub(self.outstanding.waiting());
        u64::from(window).min(self.quota).min(self.credit) as u32
    }

    /// Gives up overtaken requests where the ring has no room for `count` more; how many it has
    /// room for.
    #[inline]
    fn make_room(&mut self, count: u32) -> u32 {
        if self.outstanding.room() < count {
            self.counts.lost += u64::from(self.outstanding.give_up_overtaken(count));
        }
        count.min(self.outstanding.room())
    }

    /// Writes requests of `len` bytes each. One that the socket took any byte of is sent, and its
    /// rest kept; the others were never made. Returns how many were sent.
    #[inline]
    fn write_requests(&mut self, requests: &[u8], len: usize) -> Result<u32, LoadFailure> {
        let written = self.wire.write(requests).map_err(|error| self.closed(error))?;
        let sent = written.div_ceil(len);
        self.unsent.extend_from_slice(&requests[written..sent * len]);
        self.outstanding.sent(sent as u32);
        Ok(sent as u32)
    }

    /// Asks to be told about the socket what matters next.
    #[inline]
    pub(super) fn watch(&mut self, poll: &Poll) -> Result<(), LoadFailure> {
        let offers = self.full && self.stage == LoadStage::Offering && self.allowance() > 0;
        let writes = offers || self.waits();
        let reads = self.slow_reader.is_none() || self.stage != LoadStage::Offering;
        let interest = match (reads, writes) {
            (true, true) => Interest::Both,
            (true, false) => Interest::Read,
            (false, true) => Interest::Write,
            (false, false) => Interest::Nothing,
        };
        if interest != self.interest {
            poll.modify(&self.wire, self.key, interest)?;
            self.interest = interest;
        }
        Ok(())
    }

    /// Whether something waits for the socket.
    #[inline]
    fn waits(&self) -> bool {
        !self.unsent.is_empty() || self.wire.is_behind()
    }
}
