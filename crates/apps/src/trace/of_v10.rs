//! Actions of OpenFlow 1.0 that depend on the packet (1.0 §5.2.4): a flow whose match does not say
//! which packet comes has them under their numbers there. Here the packet is known.

use aldis_wire::msg::{Action, Field, Masked, PortNo};
use aldis_wire::v10;

use super::TracePacket;
use crate::match_bits::{PRESENT, number};

/// What the action of this number does with this packet: nothing where it has not what is to be
/// changed. None for an action that is none of these.
pub(super) fn read(kind: u16, body: &[u8], packet: &TracePacket) -> Option<Vec<Action>> {
    let short = u16::from_be_bytes(*body.first_chunk()?);
    let first = *body.first()?;
    let address = || body.first_chunk().map(|bytes: &[u8; 4]| (*bytes).into());
    let has = |place: usize| packet.fields.get(place).is_some();
    let ports = |tcp: usize, of_tcp: Field, udp: usize, of_udp: Field| match () {
        () if has(tcp) => vec![Action::SetField(of_tcp)],
        () if has(udp) => vec![Action::SetField(of_udp)],
        () => vec![],
    };
    use number::*;
    Some(match kind {
        1 => vec![Action::SetField(Field::VlanVid(Masked::exact(PRESENT as u16 | short & 0x0fff)))],
        2 => vec![Action::SetField(Field::VlanPcp(first & 7))],
        3 if packet.tag().is_none() => vec![],
        3 => vec![Action::PopVlan],
        6 => vec![Action::SetField(Field::Ipv4Src(Masked::exact(address()?)))],
        7 => vec![Action::SetField(Field::Ipv4Dst(Masked::exact(address()?)))],
        8 => vec![Action::SetField(Field::IpDscp(first >> 2))],
        9 => ports(TCP_SRC, Field::TcpSrc(short), UDP_SRC, Field::UdpSrc(short)),
        10 => ports(TCP_DST, Field::TcpDst(short), UDP_DST, Field::UdpDst(short)),
        11 => vec![Action::output(PortNo(v10::PortNo(short).widen()))],
        _ => return None,
    })
}
