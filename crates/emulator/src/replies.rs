//! What an emulated switch says of itself: the answers to everything that a controller asks beside
//! flows.
//!
//! Nothing here is on the hot path. Statistics are empty, except for the switch's description and
//! its ports; what no switch of ours understands is answered with an OpenFlow error, as a real one
//! would.

mod v10;
mod v13;

use aldis_wire::header::{Header, kind};
use aldis_wire::{MacAddr, Malformed, Raw, Version};
use std::fmt::Display;

/// Most bytes of an offending message that an error returns: all that OpenFlow asks for.
const ERROR_DATA_MAX: usize = 64;

/// What a switch says of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replies {
    pub(crate) version: Version,
    /// Its number, which is its datapath id.
    pub(crate) number: u32,
    /// Its ports, numbered from 1; at most [`crate::load::PORTS_MAX`], and with 1.0
    /// [`crate::load::PORTS_MAX_V10`], so that every message of ours fits its length.
    pub(crate) ports: u32,
    /// Whether it keeps packets.
    pub(crate) buffered: bool,
}

/// What a message from the controller was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ControllerMessage {
    /// Its HELLO, with its highest version.
    Hello(u8),
    /// The request for the switch's features: with the answer the handshake is over.
    FeaturesRequest,
    /// An OpenFlow error, its type and code by name.
    Error(String),
    /// Anything else.
    Other,
}

/// What is to be done about a message.
enum Response<Message> {
    /// Send this, with the same xid.
    Reply(Message),
    /// Send these, all with the same xid: an answer in parts.
    Parts(Vec<Message>),
    /// The same, to a FEATURES_REQUEST.
    Features(Message),
    /// The peer says that we did wrong.
    Wrong(String),
    /// Nothing.
    Silence,
}

impl<Message> Response<Message> {
    fn wrong(error: impl Display) -> Self {
        Response::Wrong(error.to_string())
    }

    fn replies(self) -> (Vec<Message>, ControllerMessage) {
        match self {
            Response::Reply(reply) => (vec![reply], ControllerMessage::Other),
            Response::Parts(parts) => (parts, ControllerMessage::Other),
            Response::Features(reply) => (vec![reply], ControllerMessage::FeaturesRequest),
            Response::Wrong(error) => (vec![], ControllerMessage::Error(error)),
            Response::Silence => (vec![], ControllerMessage::Other),
        }
    }
}

impl Replies {
    /// Appends the greeting.
    pub(crate) fn hello(&self, out: &mut Vec<u8>) {
        let version = self.version.wire();
        out.extend_from_slice(&Header { version, kind: kind::HELLO, length: 8, xid: 1 }.to_bytes());
    }

    /// Appends the answer to a message, if there is one, and says what the message was.
    ///
    /// # Errors
    /// It is no message of the switch's version. A HELLO may be of any.
    pub(crate) fn answer(
        &self,
        raw: &Raw<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ControllerMessage, Malformed> {
        if raw.header.kind == kind::HELLO {
            return Ok(ControllerMessage::Hello(raw.header.version));
        }
        let offending = &raw.bytes[..raw.bytes.len().min(ERROR_DATA_MAX)];
        let (heard, fits) = match self.version {
            Version::V10 => {
                let (xid, message) = aldis_wire::v10::Message::decode(raw.bytes)?;
                let (replies, heard) = v10::respond(self, message, offending).replies();
                (heard, replies.iter().try_for_each(|reply| reply.encode(xid, out)))
            }
            Version::V13 => {
                let (xid, message) = aldis_wire::v13::Message::decode(raw.bytes)?;
                let (replies, heard) = v13::respond(self, message, offending).replies();
                (heard, replies.iter().try_for_each(|reply| reply.encode(xid, out)))
            }
        };
        debug_assert_eq!(fits, Ok(()), "an echo is as long as its request; the rest is bounded");
        Ok(heard)
    }

    fn name(&self) -> String {
        format!("s{}", self.number)
    }

    fn port_name(&self, port: u32) -> String {
        format!("s{}-eth{port}", self.number)
    }

    /// A locally administered address that is none of the hosts'.
    fn port_address(&self, port: u32) -> MacAddr {
        let [_, _, s0, s1] = self.number.to_be_bytes();
        let [_, _, p0, p1] = port.to_be_bytes();
        MacAddr([0x06, 0, s0, s1, p0, p1])
    }

    fn n_buffers(&self) -> u32 {
        if self.buffered { u32::MAX >> 1 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{PORTS_MAX, PORTS_MAX_V10};
    use aldis_wire::{Chop, v10, v13};

    fn replies(version: Version) -> Replies {
        Replies { version, number: 7, ports: 4, buffered: true }
    }

    fn ask(version: Version, question: &[u8]) -> (ControllerMessage, Vec<u8>) {
        let mut out = Vec::new();
        let raw = Chop::new(question).next().unwrap().unwrap();
        (replies(version).answer(&raw, &mut out).unwrap(), out)
    }

    #[test]
    fn features_of_1_0_name_the_ports() {
        let (heard, answer) = ask(Version::V10, &[1, 5, 0, 8, 0, 0, 0, 9]);
        assert_eq!(heard, ControllerMessage::FeaturesRequest);
        let (xid, message) = v10::Message::decode(&answer).unwrap();
        let v10::Message::FeaturesReply(features) = message else { panic!("{message:?}") };
        assert_eq!((xid, features.datapath_id.0), (9, 7));
        let names: Vec<String> =
            features.ports.iter().map(|port| format!("{} {}", port.port_no.0, port.name)).collect();
        assert_eq!(names, ["1 s7-eth1", "2 s7-eth2", "3 s7-eth3", "4 s7-eth4"]);
    }

    #[test]
    fn ports_of_1_3_are_described_apart() {
        let question =
            v13::stats::MultipartRequest::new(v13::stats::MultipartRequestBody::PortDesc);
        let mut bytes = Vec::new();
        v13::Message::MultipartRequest(question).encode(5, &mut bytes).unwrap();
        let (_, answer) = ask(Version::V13, &bytes);
        let (xid, message) = v13::Message::decode(&answer).unwrap();
        let v13::Message::MultipartReply(reply) = message else { panic!("{message:?}") };
        let v13::stats::MultipartReplyBody::PortDesc(ports) = reply.body else {
            panic!("{reply:?}")
        };
        assert_eq!((xid, ports.len(), ports[3].port_no.0), (5, 4, 4));
    }

    #[test]
    fn as_many_ports_as_there_may_be_are_described_in_parts() {
        let question =
            v13::stats::MultipartRequest::new(v13::stats::MultipartRequestBody::PortDesc);
        let mut bytes = Vec::new();
        v13::Message::MultipartRequest(question).encode(5, &mut bytes).unwrap();
        let raw = Chop::new(&bytes).next().unwrap().unwrap();
        let replies = Replies { ports: PORTS_MAX, ..replies(Version::V13) };
        let mut answer = Vec::new();
        replies.answer(&raw, &mut answer).unwrap();
        let (mut ports, mut more) = (Vec::new(), Vec::new());
        for part in Chop::new(&answer) {
            let (xid, message) = v13::Message::decode(part.unwrap().bytes).unwrap();
            let v13::Message::MultipartReply(reply) = message else { panic!("{message:?}") };
            let v13::stats::MultipartReplyBody::PortDesc(part) = reply.body else { panic!() };
            assert_eq!(xid, 5);
            ports.extend(part.into_iter().map(|port| port.port_no.0));
            more.push(reply.flags.contains(v13::stats::MultipartFlags::MORE));
        }
        assert!(ports.into_iter().eq(1..=PORTS_MAX));
        assert_eq!(more, [true, true, true, true, false]);
    }

    #[test]
    fn as_many_ports_as_there_may_be_fit_a_features_reply_of_1_0() {
        let raw = [1, 5, 0, 8, 0, 0, 0, 9];
        let replies = Replies { ports: PORTS_MAX_V10, ..replies(Version::V10) };
        let mut answer = Vec::new();
        replies.answer(&Chop::new(&raw).next().unwrap().unwrap(), &mut answer).unwrap();
        assert_eq!(answer.len(), 32 + 1364 * 48);
    }

    #[test]
    fn the_number_is_the_datapath_id_in_1_3_too() {
        let (heard, answer) = ask(Version::V13, &[4, 5, 0, 8, 0, 0, 0, 9]);
        assert_eq!(heard, ControllerMessage::FeaturesRequest);
        let (_, message) = v13::Message::decode(&answer).unwrap();
        assert!(matches!(message, v13::Message::FeaturesReply(reply) if reply.datapath_id.0 == 7));
    }

    /// Every question without a body, and an echo, is answered with the type behind its own, or
    /// with silence.
    #[test]
    fn questions_are_answered_with_their_xid() {
        for (version, kinds) in [
            (Version::V10, &[(2, Some(3)), (3, None), (7, Some(8)), (18, Some(19))][..]),
            (Version::V13, &[(2, Some(3)), (7, Some(8)), (20, Some(21)), (26, Some(27))][..]),
        ] {
            for &(question, expected) in kinds {
                let (_, answer) = ask(version, &[version.wire(), question, 0, 8, 0, 0, 0, 77]);
                let header = Header::peek(&answer).unwrap();
                assert_eq!(header.map(|header| header.kind), expected, "{version} {question}");
                assert!(header.is_none_or(|header| header.xid == 77));
            }
        }
    }

    #[test]
    fn an_experimenter_is_refused_politely() {
        let (heard, answer) =
            ask(Version::V10, &[1, 4, 0, 16, 0, 0, 0, 3, 0, 0, 0x23, 0x20, 0, 0, 0, 1]);
        assert_eq!(heard, ControllerMessage::Other);
        assert_eq!(answer[..12], [1, 1, 0, 28, 0, 0, 0, 3, 0, 1, 0, 3]);
    }

    #[test]
    fn an_error_is_heard_by_name() {
        let (heard, answer) = ask(Version::V10, &[1, 1, 0, 12, 0, 0, 0, 3, 0, 1, 0, 6]);
        assert!(answer.is_empty());
        assert!(matches!(heard, ControllerMessage::Error(name) if name.contains("OFPBRC_BAD_LEN")));
    }
}
