//! A batch request by request, for applications that have no reason to look at all of it at once.

use alloc::vec::Vec;

use aldis_wire::msg::{Message, PacketOut, PacketOutHead, PortNo};
use aldis_wire::{MacAddr, NO_BUFFER};

use super::{Batch, Request};
use crate::app::Next;
use crate::output::Output;
use crate::switch::Info;

/// One request, with what it is about.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'b> {
    /// The run that it belongs to.
    pub run: usize,
    /// Its place in [`Batch::requests`].
    pub at: usize,
    /// The place of its switch, for [`crate::app::Slots::of`].
    pub place: usize,
    /// Its switch.
    pub switch: &'b Info,
    /// The request itself.
    pub request: Request,
    /// The frame, as far as the switch sent it.
    pub frame: &'b [u8],
}

impl<'b> Batch<'b> {
    /// Hands over the requests one after the other, those that are stopped left out. What is
    /// answered with [`Next::Stop`] is kept from the applications that come later.
    pub fn each(&mut self, mut answer: impl FnMut(&Asked<'b>) -> Next) {
        for (run, stretch) in self.runs.iter().enumerate() {
            let place = stretch.switch;
            let switch = &self.switches[place].info;
            let requests = &mut self.requests[stretch.requests.clone()];
            for (at, request) in stretch.requests.clone().zip(requests) {
                let frame_at = request.frame_at as usize;
                let frame = &self.bytes[frame_at..frame_at + usize::from(request.frame_len)];
                let asked = Asked { run, at, place, switch, request: *request, frame };
                if !request.stopped {
                    request.stopped = answer(&asked) == Next::Stop;
                }
            }
        }
    }
}

impl Asked<'_> {
    /// Where the frame goes; none where it is shorter than that.
    pub fn dst(&self) -> Option<MacAddr> {
        self.frame.first_chunk().map(|mac| MacAddr(*mac))
    }

    /// Where the frame comes from; none where it is shorter than that.
    pub fn src(&self) -> Option<MacAddr> {
        self.frame.get(6..)?.first_chunk().map(|mac| MacAddr(*mac))
    }

    /// The port that it came in on.
    pub fn in_port(&self) -> PortNo {
        PortNo(self.request.in_port)
    }

    /// The packet that it is about, to be sent somewhere: without actions the switch forgets it.
    /// None where the switch neither holds it nor sent all of it, so that nobody can send it on.
    pub fn packet(&self) -> Option<PacketOut> {
        let Request { buffer_id, frame_len, total_len, .. } = self.request;
        let packet = match buffer_id {
            NO_BUFFER if frame_len < total_len => return None,
            NO_BUFFER => PacketOut::frame(Vec::from(self.frame)),
            buffer_id => PacketOut::buffered(buffer_id),
        };
        Some(packet.from_port(self.in_port()))
    }
}

impl Output {
    /// Answers a request with a message, which carries the request's transaction id. A message that
    /// the switch's version cannot say, or that is too long, is not sent: false.
    pub fn answer(&mut self, asked: &Asked<'_>, message: impl Into<Message>) -> bool {
        self.turn_to(asked.run);
        self.say(asked.switch, asked.request.xid, message)
    }

    /// Sends the packet of a request behind this head. False, and nothing is sent, where the switch
    /// neither holds it nor sent all of it, or where it is too long.
    #[inline]
    pub fn send(&mut self, asked: &Asked<'_>, head: &PacketOutHead) -> bool {
        let Request { buffer_id, frame_len, total_len, xid, .. } = asked.request;
        let frame = match buffer_id {
            NO_BUFFER if frame_len < total_len => return false,
            NO_BUFFER => asked.frame,
            _ => &[],
        };
        self.turn_to(asked.run);
        let stamp = |bytes: &mut [u8]| head.stamp(bytes, xid, buffer_id, frame.len());
        self.append_changed(head.bytes(), stamp) && {
            self.append(frame);
            true
        }
    }

    /// Says something to the switch in hand, with this transaction id. What its version cannot say
    /// is not sent: false.
    pub fn say(&mut self, switch: &Info, xid: u32, message: impl Into<Message>) -> bool {
        let message = message.into();
        self.append_with(|out| message.encode(switch.version, xid, out)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::sync::Arc;
    use alloc::vec;

    use super::*;
    use crate::app::On;
    use crate::batch::Run;
    use crate::switch::Switch;
    use crate::time::Time;
    use crate::world::View;
    use aldis_wire::msg::Action;
    use aldis_wire::{DatapathId, Version};

    #[test]
    fn requests_are_answered_where_they_came_from_unless_somebody_stopped_them() {
        let info = |dpid, version| {
            let info =
                Info { dpid: DatapathId(dpid), version, buffers: 0, tables: 1, ports: vec![] };
            Arc::new(Switch { info, account: crate::Account::default(), slots: Box::new([]) })
        };
        let request = |frame_at, frame_len, buffer_id, stopped| Request {
            frame_at,
            frame_len,
            total_len: 14,
            reason: 0,
            stopped,
            in_port: 3,
            buffer_id,
            xid: frame_at,
        };
        let mut batch = Batch {
            on: On::FlowRequest,
            now: Time::START,
            world: View::nothing(),
            bytes: &[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0],
            switches: &[info(7, Version::V10), info(9, Version::V13)],
            runs: &[Run { switch: 1, requests: 0..2 }, Run { switch: 0, requests: 2..4 }],
            requests: &mut [
                request(0, 14, NO_BUFFER, false),
                request(0, 14, NO_BUFFER, true),
                request(0, 6, NO_BUFFER, false),
                request(6, 6, 5, false),
            ],
        };
        let mut out = Output::default();
        let (mut seen, mut lost) = (vec![], 0);
        batch.each(|asked| {
            seen.push((asked.switch.dpid.0, asked.src(), asked.dst()));
            match asked.packet() {
                Some(packet) => {
                    assert!(out.answer(asked, packet.actions([Action::output(PortNo::FLOOD)])));
                }
                None => lost += 1,
            }
            Next::Stop
        });
        let (one, two) = (MacAddr([1; 6]), MacAddr([2; 6]));
        assert_eq!(seen, [(9, Some(two), Some(one)), (7, None, Some(one)), (7, None, Some(two))]);
        assert_eq!(lost, 1);
        assert!(batch.requests.iter().all(|request| request.stopped));
        let runs: Vec<_> = out.take_segments().map(|segment| segment.run).collect();
        assert_eq!(runs, [0, 1]);
    }
}
