//! Actions: what 1.0 does to whatever packet comes, 1.3 says of packets that the match has told
//! about.
//!
//! SET_VLAN_VID adds a tag where there is none and changes it where there is one; 1.3 pushes or
//! sets. SET_TP_SRC is for TCP and UDP alike; 1.3 names one of them. So an action is put in the
//! neutral words where the match says which packet it is, and otherwise stays [`Action::Unknown`]
//! under its number in 1.0, which 1.3 does not use: unharmed on the way back, and [`Unsupported`]
//! on the way to 1.3.

use alloc::vec::Vec;

use super::fields::{DST, ETH_IPV4, IP_TCP, IP_UDP, SRC, Transport};
use super::{field_name, narrow, unsupported};
use crate::msg::{Action, Field, Masked, Match, PortNo, Unsupported};
use crate::reader::Reader;
use crate::v10;
use crate::v13::action::ActionType;
use crate::v13::oxm::VID_PRESENT;
use crate::v13::queue::QueueNo;
use crate::writer::Writer;

/// The ethertype of the only VLAN tag that 1.0 knows.
const ETH_VLAN: u16 = 0x8100;

/// What 1.3 refuses, and 1.0 would do to packets of which nothing was said.
const UNTAGGED: &str = "changing a VLAN tag without matching tagged packets";

/// What is known of the packet that the actions meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    tag: Tag,
    ipv4: bool,
    transport: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tag {
    Some,
    None,
    Unknown,
}

impl Packet {
    /// Nothing is known.
    pub const ANY: Packet = Packet { tag: Tag::Unknown, ipv4: false, transport: None };

    /// What `match_` says of the packets that it matches.
    pub fn matching(match_: &Match) -> Packet {
        match_.fields.iter().fold(Packet::ANY, |packet, field| match field {
            Field::VlanVid(Masked { value: 0, mask: None }) => Packet { tag: Tag::None, ..packet },
            Field::VlanVid(Masked { value, mask })
                if value & mask.unwrap_or(!0) & VID_PRESENT != 0 =>
            {
                Packet { tag: Tag::Some, ..packet }
            }
            Field::EthType(ETH_IPV4) => Packet { ipv4: true, ..packet },
            Field::IpProto(proto @ (IP_TCP | IP_UDP)) => {
                Packet { transport: Some(*proto), ..packet }
            }
            _ => packet,
        })
    }

    /// What the frame itself says.
    pub fn framed(frame: &[u8]) -> Packet {
        let (tag, type_at) = match frame.get(12..14) {
            Some([0x81, 0x00]) => (Tag::Some, 16),
            Some(_) => (Tag::None, 12),
            None => return Packet::ANY,
        };
        let ipv4 = frame.get(type_at..type_at + 2) == Some(&ETH_IPV4.to_be_bytes());
        let proto = frame.get(type_at + 11).copied().filter(|_| ipv4);
        Packet { tag, ipv4, transport: proto.filter(|&proto| proto == IP_TCP || proto == IP_UDP) }
    }

    /// What is known of it after `action`.
    fn after(self, action: &v10::Action) -> Packet {
        let tag = match (action, self.tag) {
            (v10::Action::SetVlanVid(_) | v10::Action::SetVlanPcp(_), _) => Tag::Some,
            // Below the tag there may be another.
            (v10::Action::StripVlan, Tag::Some) => Tag::Unknown,
            (_, tag) => tag,
        };
        Packet { tag, ..self }
    }
}

/// The actions in neutral words; `None` where one of them is none of 1.0's.
pub fn actions_to_neutral(exact: &[v10::Action], mut packet: Packet) -> Option<Vec<Action>> {
    let mut neutral = Vec::with_capacity(exact.len());
    let last_output = exact.iter().rposition(|action| matches!(action, v10::Action::Output { .. }));
    for (at, action) in exact.iter().enumerate() {
        let queue_ends = last_output > Some(at);
        if !action_to_neutral(action, packet, queue_ends, &mut neutral) {
            neutral.push(raw(action)?);
        }
        packet = packet.after(action);
    }
    Some(neutral)
}

/// Appends the neutral words for `action`, or says that there are none. A queue that 1.3 chooses
/// holds for all outputs to come; `queue_ends` says that one of them is to do without.
fn action_to_neutral(
    action: &v10::Action,
    packet: Packet,
    queue_ends: bool,
    neutral: &mut Vec<Action>,
) -> bool {
    use v10::Action::{self as Exact, *};
    let mut push = |action| neutral.push(action);
    match *action {
        Output { port, max_len } => push(Action::Output { port: widen(port), max_len }),
        SetVlanVid(vid @ 0..VID_PRESENT) if packet.tag != Tag::Unknown => {
            let field = Field::VlanVid(Masked::exact(VID_PRESENT | vid));
            tag_to_neutral(packet.tag, field, push);
        }
        SetVlanPcp(pcp @ 0..8) if packet.tag != Tag::Unknown => {
            tag_to_neutral(packet.tag, Field::VlanPcp(pcp), push);
        }
        StripVlan if packet.tag == Tag::Some => push(Action::PopVlan),
        SetDlSrc(mac) => push(Action::SetField(Field::EthSrc(Masked::exact(mac)))),
        SetDlDst(mac) => push(Action::SetField(Field::EthDst(Masked::exact(mac)))),
        SetNwSrc(ip) if packet.ipv4 => push(Action::SetField(Field::Ipv4Src(Masked::exact(ip)))),
        SetNwDst(ip) if packet.ipv4 => push(Action::SetField(Field::Ipv4Dst(Masked::exact(ip)))),
        SetNwTos(tos) if packet.ipv4 && tos & 3 == 0 => {
            push(Action::SetField(Field::IpDscp(tos >> 2)));
        }
        SetTpSrc(port) if packet.transport.is_some() => push(set_transport(packet, port, SRC)),
        SetTpDst(port) if packet.transport.is_some() => push(set_transport(packet, port, DST)),
        Enqueue { port, queue_id } if has_queues(port) && !queue_ends => {
            push(Action::SetQueue(QueueNo(queue_id)));
            push(Action::output(widen(port)));
        }
        Exact::Vendor { vendor, ref body } => {
            push(Action::Experimenter { experimenter: vendor, body: body.clone() });
        }
        _ => return false,
    }
    true
}

fn tag_to_neutral(tag: Tag, field: Field, mut push: impl FnMut(Action)) {
    if tag == Tag::None {
        push(Action::PushVlan(ETH_VLAN));
    }
    push(Action::SetField(field));
}

fn set_transport(packet: Packet, port: u16, which: Transport) -> Action {
    let field = if packet.transport == Some(IP_TCP) { which.tcp } else { which.udp };
    Action::SetField(field(port))
}

fn widen(port: v10::PortNo) -> PortNo {
    PortNo(port.widen())
}

/// Whether a queue can be chosen there.
fn has_queues(port: v10::PortNo) -> bool {
    port < v10::PortNo::MAX || port == v10::PortNo::IN_PORT
}

/// The action under its number in 1.0, with its bytes. A number that 1.0 does not name may be one
/// of 1.3.
fn raw(action: &v10::Action) -> Option<Action> {
    if matches!(action, v10::Action::Unknown { .. }) {
        return None;
    }
    let mut message = Vec::new();
    let mut writer = Writer::message(&mut message, v10::VERSION.wire(), 0, 0);
    let start = writer.len();
    action.write(&mut writer);
    // The type and the length of the action are said apart.
    let kind = ActionType(action.action_type().0);
    Some(Action::Unknown { kind, body: message.split_off(start + 4) })
}

/// The actions as 1.0 says them.
///
/// # Errors
/// [`Unsupported`] for the first action that 1.0 does not have, or that would do more in 1.0 than
/// was meant.
pub fn actions_from_neutral(
    neutral: &[Action],
    mut packet: Packet,
) -> Result<Vec<v10::Action>, Unsupported> {
    let mut exact = Vec::with_capacity(neutral.len());
    let mut queue = None;
    let mut actions = neutral.iter().peekable();
    while let Some(action) = actions.next() {
        let action = match action {
            Action::SetQueue(chosen) => {
                queue = Some(*chosen);
                continue;
            }
            Action::Output { port, max_len } => output(*port, *max_len, queue)?,
            Action::PushVlan(ETH_VLAN) if packet.tag == Tag::None => match actions.peek() {
                Some(Action::SetField(Field::VlanVid(_) | Field::VlanPcp(_))) => {
                    packet.tag = Tag::Some;
                    continue;
                }
                _ => v10::Action::SetVlanVid(0),
            },
            other => action_from_neutral(other, packet)?,
        };
        packet = packet.after(&action);
        exact.push(action);
    }
    Ok(exact)
}

fn output(port: PortNo, max_len: u16, queue: Option<QueueNo>) -> Result<v10::Action, Unsupported> {
    let port = narrow(port)?;
    match queue {
        Some(queue) if has_queues(port) => Ok(v10::Action::Enqueue { port, queue_id: queue.0 }),
        Some(_) if port != v10::PortNo::CONTROLLER => {
            Err(unsupported("a queue at several ports at once"))
        }
        _ => Ok(v10::Action::Output { port, max_len }),
    }
}

fn action_from_neutral(action: &Action, packet: Packet) -> Result<v10::Action, Unsupported> {
    Ok(match action {
        Action::SetField(field) => field_from_neutral(field, packet)?,
        Action::PopVlan if packet.tag == Tag::Some => v10::Action::StripVlan,
        Action::PopVlan => return Err(unsupported(UNTAGGED)),
        Action::PushVlan(ETH_VLAN) => {
            return Err(unsupported(
                "a second VLAN tag, or the first without matching untagged packets",
            ));
        }
        Action::PushVlan(_) => return Err(unsupported("a VLAN tag of another type than 0x8100")),
        Action::Experimenter { experimenter, body } => {
            v10::Action::Vendor { vendor: *experimenter, body: body.clone() }
        }
        Action::Unknown { kind, body } => from_raw(*kind, body)?,
        other => return Err(unsupported(other.action_type().name().unwrap_or("an action"))),
    })
}

fn field_from_neutral(field: &Field, packet: Packet) -> Result<v10::Action, Unsupported> {
    use v10::Action::*;
    let is = |proto| packet.transport == Some(proto);
    Ok(match *field {
        Field::EthSrc(Masked { value, mask: None }) => SetDlSrc(value),
        Field::EthDst(Masked { value, mask: None }) => SetDlDst(value),
        Field::VlanVid(Masked { value: vid @ VID_PRESENT..0x2000, mask: None })
            if packet.tag == Tag::Some =>
        {
            SetVlanVid(vid & 0x0fff)
        }
        Field::VlanPcp(pcp @ 0..8) if packet.tag == Tag::Some => SetVlanPcp(pcp),
        Field::Ipv4Src(Masked { value, mask: None }) if packet.ipv4 => SetNwSrc(value),
        Field::Ipv4Dst(Masked { value, mask: None }) if packet.ipv4 => SetNwDst(value),
        Field::IpDscp(dscp @ 0..64) if packet.ipv4 => SetNwTos(dscp << 2),
        Field::TcpSrc(port) if is(IP_TCP) => SetTpSrc(port),
        Field::TcpDst(port) if is(IP_TCP) => SetTpDst(port),
        Field::UdpSrc(port) if is(IP_UDP) => SetTpSrc(port),
        Field::UdpDst(port) if is(IP_UDP) => SetTpDst(port),
        Field::VlanVid(_) | Field::VlanPcp(_) => {
            return Err(unsupported(UNTAGGED));
        }
        Field::Ipv4Src(_) | Field::Ipv4Dst(_) | Field::IpDscp(_) => {
            return Err(unsupported("setting a field of IPv4 without matching IPv4"));
        }
        Field::TcpSrc(_) | Field::TcpDst(_) | Field::UdpSrc(_) | Field::UdpDst(_) => {
            return Err(unsupported("setting a port without matching its protocol"));
        }
        ref other => return Err(unsupported(field_name(other))),
    })
}

/// The action of this number in 1.0.
fn from_raw(kind: ActionType, body: &[u8]) -> Result<v10::Action, Unsupported> {
    let wrong = unsupported("an action that it does not name");
    let len = u16::try_from(body.len() + 4).map_err(|_| wrong)?;
    let mut bytes = Vec::with_capacity(body.len() + 4);
    bytes.extend_from_slice(&kind.0.to_be_bytes());
    bytes.extend_from_slice(&len.to_be_bytes());
    bytes.extend_from_slice(body);
    match v10::Action::read(&mut Reader::new(&bytes)) {
        Ok(v10::Action::Unknown { .. }) | Err(_) => Err(wrong),
        Ok(action) => Ok(action),
    }
}
