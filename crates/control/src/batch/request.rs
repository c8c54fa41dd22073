//! One request of a batch, with its switch and its frame: for applications that handle a batch
//! request by request.

use alloc::vec::Vec;

use aldis_wire::msg::{Message, PacketOut, PacketOutHead, PortNo};
use aldis_wire::{MacAddr, NO_BUFFER};

use super::{Batch, RequestHeader};
use crate::app::Next;
use crate::output::Output;
use crate::switch::SwitchInfo;

/// One request, with what it is about.
#[derive(Clone, Copy, Debug)]
pub struct Request<'b> {
    /// The run that it belongs to.
    pub run: usize,
    /// Its index in [`Batch::requests`].
    pub index: usize,
    /// The index of its switch in [`Batch::switches`], for [`crate::app::Slots::of`].
    pub switch_index: usize,
    /// Its switch.
    pub switch: &'b SwitchInfo,
    /// What was parsed of it.
    pub header: RequestHeader,
    /// The frame, as far as the switch sent it.
    pub frame: &'b [u8],
}

impl<'b> Batch<'b> {
    /// The whole message of a request, as the switch sent it.
    #[inline]
    pub fn message(&self, header: &RequestHeader) -> &'b [u8] {
        let frame_at = header.frame_at as usize;
        &self.bytes
            [frame_at - usize::from(header.head_len)..frame_at + usize::from(header.frame_len)]
    }

    /// Hands over the requests one after the other, those that are stopped left out. What is
    /// answered with [`Next::Stop`] is kept from the applications that come later.
    pub fn each(&mut self, mut answer: impl FnMut(&Request<'b>) -> Next) {
        for (run, stretch) in self.runs.iter().enumerate() {
            let switch_index = stretch.switch;
            let switch = &self.switches[switch_index].info;
            let headers = &mut self.requests[stretch.requests.clone()];
            for (index, header) in stretch.requests.clone().zip(headers) {
                let frame_at = header.frame_at as usize;
                let frame = &self.bytes[frame_at..frame_at + usize::from(header.frame_len)];
                let request = Request { run, index, switch_index, switch, header: *header, frame };
                if !header.stopped {
                    header.stopped = answer(&request) == Next::Stop;
                }
            }
        }
    }

    /// Hands over one request by its run and its place in [`Batch::requests`], unless it is
    /// stopped: for an application that knows which of them it has an answer to.
    #[inline]
    pub fn one(&mut self, (run, index): (usize, usize), answer: impl FnOnce(&Request<'b>) -> Next) {
        let switch_index = self.runs[run].switch;
        let header = &mut self.requests[index];
        let frame_at = header.frame_at as usize;
        let frame = &self.bytes[frame_at..frame_at + usize::from(header.frame_len)];
        let switch = &self.switches[switch_index].info;
        let request = Request { run, index, switch_index, switch, header: *header, frame };
        if !header.stopped {
            header.stopped = answer(&request) == Next::Stop;
        }
    }
}

impl Request<'_> {
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
        PortNo(self.header.in_port)
    }

    /// The packet that it is about, to be sent somewhere: without actions the switch forgets it.
    /// None where the switch neither holds it nor sent all of it: then it cannot be sent on.
    pub fn packet(&self) -> Option<PacketOut> {
        let RequestHeader { buffer_id, frame_len, total_len, .. } = self.header;
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
    /// the switch's version cannot express, or that is too long, is not sent: false.
    pub fn answer(&mut self, request: &Request<'_>, message: impl Into<Message>) -> bool {
        self.select(request.run);
        self.send_message(request.switch, request.header.xid, message)
    }

    /// Sends the packet of a request behind this head. False, and nothing is sent, where the switch
    /// neither holds it nor sent all of it, or where it is too long.
    #[inline]
    pub fn send(&mut self, request: &Request<'_>, head: &PacketOutHead) -> bool {
        let RequestHeader { buffer_id, frame_len, total_len, xid, .. } = request.header;
        let frame = match buffer_id {
            NO_BUFFER if frame_len < total_len => return false,
            NO_BUFFER => request.frame,
            _ => &[],
        };
        self.select(request.run);
        self.append_packet(head, (xid, buffer_id), frame)
    }

    /// Sends it once more, behind another head: the packet that a switch holds is gone with the
    /// first PACKET_OUT (1.0 §5.3.6, 1.3.5 §7.3.7). False, and nothing is sent, where the switch
    /// did not send all of it, or where it is too long.
    pub fn send_again(&mut self, request: &Request<'_>, head: &PacketOutHead) -> bool {
        let RequestHeader { frame_len, total_len, xid, .. } = request.header;
        self.select(request.run);
        frame_len >= total_len && self.append_packet(head, (xid, NO_BUFFER), request.frame)
    }

    #[inline]
    fn append_packet(
        &mut self,
        head: &PacketOutHead,
        (xid, buffer_id): (u32, u32),
        frame: &[u8],
    ) -> bool {
        let stamp = |bytes: &mut [u8]| head.stamp(bytes, xid, buffer_id, frame.len());
        self.append_changed(head.bytes(), stamp) && {
            self.append(frame);
            true
        }
    }

    /// Sends a message to the switch in hand, with this transaction id. A message that its version
    /// of OpenFlow cannot express is not sent: false.
    pub fn send_message(
        &mut self,
        switch: &SwitchInfo,
        xid: u32,
        message: impl Into<Message>,
    ) -> bool {
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
    use crate::app::EventKind;
    use crate::batch::Run;
    use crate::switch::Switch;
    use crate::time::Time;
    use crate::world::View;
    use aldis_wire::msg::Action;
    use aldis_wire::{DatapathId, Version};

    #[test]
    fn requests_are_answered_where_they_came_from_unless_somebody_stopped_them() {
        let info = |dpid, version| {
            let info = SwitchInfo {
                dpid: DatapathId(dpid),
                version,
                buffers: 0,
                tables: 1,
                ports: vec![],
            };
            Arc::new(Switch {
                info,
                account: crate::Account::default(),
                slots: Box::new([]),
                since: 1,
            })
        };
        let request = |frame_at, frame_len, buffer_id, stopped| RequestHeader {
            frame_at,
            head_len: 0,
            frame_len,
            total_len: 14,
            reason: 0,
            stopped,
            in_port: 3,
            buffer_id,
            xid: frame_at,
        };
        let mut batch = Batch {
            kind: EventKind::FlowRequest,
            now: Time::START,
            world: View::nothing(),
            bytes: &[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0],
            switches: &[&info(7, Version::V10), &info(9, Version::V13)],
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
        batch.one((0, 1), |request| panic!("it was stopped: {request:?}"));
        batch.one((1, 3), |request| {
            let Request { run, index, switch_index, header, .. } = *request;
            assert_eq!((run, index, switch_index, header.buffer_id), (1, 3, 0, 5));
            assert_eq!((request.switch.dpid, request.frame), (DatapathId(7), &[2; 6][..]));
            Next::Continue
        });
        batch.each(|request| {
            seen.push((request.switch.dpid.0, request.src(), request.dst()));
            match request.packet() {
                Some(packet) => {
                    assert!(out.answer(request, packet.actions([Action::output(PortNo::FLOOD)])));
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

    #[test]
    fn a_packet_that_the_switch_holds_is_sent_again_with_its_frame() {
        let info = SwitchInfo {
            dpid: DatapathId(7),
            version: Version::V13,
            buffers: 256,
            tables: 1,
            ports: vec![],
        };
        let header = |total_len| RequestHeader {
            frame_at: 0,
            head_len: 0,
            frame_len: 6,
            total_len,
            reason: 0,
            stopped: false,
            in_port: 3,
            buffer_id: 5,
            xid: 9,
        };
        let head = |port| {
            let output = [Action::output(PortNo(port))];
            PacketOutHead::new(Version::V13, PortNo(3), output).unwrap()
        };
        let mut out = Output::default();
        let mut sent = vec![];
        for total_len in [6, 60] {
            let frame = &[1; 6];
            let request = Request {
                switch: &info,
                header: header(total_len),
                frame,
                index: 0,
                run: 0,
                switch_index: 0,
            };
            sent.extend([out.send(&request, &head(1)), out.send_again(&request, &head(2))]);
        }
        assert_eq!(sent, [true, true, true, false]);
        let said = aldis_wire::Chop::new(out.bytes()).map(|raw| {
            match Message::decode(Version::V13, raw.unwrap().bytes).unwrap().1 {
                Message::PacketOut(packet) => (packet.buffer_id, packet.data.len()),
                other => panic!("{other:?}"),
            }
        });
        assert!(said.eq([(5, 0), (NO_BUFFER, 6), (5, 0)]));
    }
}
