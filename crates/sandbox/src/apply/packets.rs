//! The packet of a request, sent on its way.

use aldis_control::switch::SwitchInfo;
use aldis_control::{Output, RequestHeader};
use aldis_records::Command;
use aldis_wire::msg::{Action, FlowMod, FlowModCommand, Instruction, Message, PacketOut, PortNo};
use aldis_wire::{NO_BUFFER, Version, v10, v13};

use super::{Applier, Refusal, Target, place, send_to};
use crate::grants::GrantedMessages;

/// The heads of PACKET_OUT with one output.
pub(super) struct Releases {
    v10: v10::template::Release,
    v13: v13::template::Release,
}

impl Releases {
    pub(super) fn new() -> Releases {
        Releases { v10: v10::template::Release::new(), v13: v13::template::Release::new() }
    }

    /// Sends the packet of a request out of a port.
    #[inline]
    pub(super) fn send(
        &self,
        version: Version,
        request: &RequestHeader,
        (port, frame): (u32, &[u8]),
        out: &mut Output,
    ) -> Result<(), Refusal> {
        let RequestHeader { buffer_id, xid, in_port, total_len, .. } = *request;
        let frame = match buffer_id {
            NO_BUFFER if frame.len() < usize::from(total_len) => return Err(NOT_WHOLE.to_owned()),
            NO_BUFFER => frame,
            _ => &[],
        };
        let len = frame.len() as u16;
        match version {
            Version::V10 if len <= v10::template::Release::FRAME_LEN_MAX => {
                self.v10.stamp(out.stamp(), xid, buffer_id, in_port, port, len);
            }
            Version::V13 if len <= v13::template::Release::FRAME_LEN_MAX => {
                self.v13.stamp(out.stamp(), xid, buffer_id, in_port, port, len);
            }
            _ => return Err("a packet that fits no message".to_owned()),
        }
        out.append(frame);
        Ok(())
    }
}

const NOT_WHOLE: &str = "a packet that the switch neither holds nor sent whole";

impl Applier {
    /// Sends the packet of a request.
    #[inline]
    pub(super) fn send(
        &mut self,
        command: &Command<'_>,
        target: &mut Target<'_, '_>,
    ) -> Result<u64, Refusal> {
        let Target::Batch { batch, runs, out } = target else {
            return Err("a packet of an event that has none".to_owned());
        };
        let (index, run) = place(command.request, runs);
        let switch = &batch.switches[batch.runs[run].switch].info;
        let request = batch.requests[index];
        self.may(GrantedMessages::PACKET_OUT, switch)?;
        out.select(run);
        if command.body.is_empty() {
            let packet = (command.value, batch.frame(&request));
            return self.releases.send(switch.version, &request, packet, out).map(|()| 1);
        }
        let packet = packet(&request, batch.frame(&request), actions(command.body)?);
        send_to(out, switch, request.xid, packet.ok_or(NOT_WHOLE)?)
    }

    /// Whether messages of these kinds may go to a switch.
    #[inline]
    pub(super) fn may(&self, kinds: GrantedMessages, switch: &SwitchInfo) -> Result<(), Refusal> {
        let grants = &self.hosted.grants;
        match grants.messages.has(kinds) && grants.switches.has(switch.dpid.0) {
            true => Ok(()),
            false => Err(self.refusal(kinds, switch)),
        }
    }

    #[cold]
    fn refusal(&self, kinds: GrantedMessages, switch: &SwitchInfo) -> Refusal {
        let name = kinds.without(self.hosted.grants.messages).names().next();
        match name {
            Some(name) => format!("{name} is not granted"),
            None => format!("switch {} is not granted", switch.dpid),
        }
    }
}

/// Actions in the words of 1.3, read as those of a PACKET_OUT.
fn actions(body: &[u8]) -> Result<Vec<Action>, Refusal> {
    const HEAD: usize = 24;
    let len = u16::try_from(HEAD + body.len()).map_err(|_| "too many actions")?;
    let mut bytes = vec![Version::V13.wire(), 13];
    bytes.extend_from_slice(&len.to_be_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&NO_BUFFER.to_be_bytes());
    bytes.extend_from_slice(&PortNo::CONTROLLER.0.to_be_bytes());
    bytes.extend_from_slice(&(body.len() as u16).to_be_bytes());
    bytes.extend_from_slice(&[0; 6]);
    bytes.extend_from_slice(body);
    match Message::decode(Version::V13, &bytes).map_err(|error| error.to_string())?.1.meaning() {
        Message::PacketOut(packet) => Ok(packet.actions),
        _ => Err("no list of actions".to_owned()),
    }
}

/// The packet of a request, with these actions; none where no side has it whole.
fn packet(request: &RequestHeader, frame: &[u8], actions: Vec<Action>) -> Option<Message> {
    let packet = match request.buffer_id {
        NO_BUFFER if frame.len() < usize::from(request.total_len) => return None,
        NO_BUFFER => PacketOut::frame(frame.to_vec()),
        buffer_id => PacketOut::buffered(buffer_id),
    };
    Some(packet.from_port(PortNo(request.in_port)).actions(actions).into())
}

/// What sends the packet of a request by the flow that answers it: the number of its buffer in the
/// flow, or a message of its own.
pub(super) fn release(
    message: &mut Message,
    request: &RequestHeader,
    frame: &[u8],
) -> Option<Message> {
    let Message::FlowMod(flow_mod) = message else { return None };
    let FlowMod { command, buffer_id, instructions, .. } = flow_mod;
    if !matches!(*command, FlowModCommand::ADD | FlowModCommand::MODIFY) {
        return None;
    }
    if request.buffer_id != NO_BUFFER {
        *buffer_id = request.buffer_id;
        return None;
    }
    let applied = instructions.iter().find_map(|instruction| match instruction {
        Instruction::ApplyActions(actions) => Some(actions.clone()),
        _ => None,
    });
    packet(request, frame, applied?)
}
