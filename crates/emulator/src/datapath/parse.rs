//! From a frame to its fields, and to where its headers stand.
//!
//! What is looked at, and when a header counts as broken, follows Open vSwitch (`miniflow_extract`
//! of its `lib/flow.c`, which documents it): one VLAN tag, its default; lengths that do not fit the
//! frame end the reading, and the fields behind them are zero. The views of `aldis-packet` take
//! what is there of a frame that is cut short, as a controller must; a switch sees whole frames and
//! refuses what is not.

use super::bounds::FRAME_MIN;
use super::fields::*;
use aldis_packet::{Arp, Llc, ethertype, llc, protocol};
use aldis_wire::v10::DL_TYPE_NOT_ETH_TYPE;

/// Which part of an IP packet a frame carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fragment {
    Whole,
    First,
    Later,
}

/// Where the headers of a frame stand, in bytes from its start; zero for those that it has not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// How many VLAN tags are known: that of the frame, and those that actions pushed.
    pub(crate) tags: u8,
    /// The IP header or the ARP message.
    pub(crate) network: usize,
    /// The TCP, UDP, SCTP or ICMP header.
    pub(crate) transport: usize,
    /// Where the packet ends and padding begins.
    pub(crate) end: usize,
    pub(crate) fragment: Fragment,
}

/// SCTP's number among the protocols above IP.
pub(crate) const SCTP: u8 = 132;
const SCTP_LEN: usize = 12;
const RARP: u16 = 0x8035;

/// A place in a frame from which reading goes on.
struct Cursor<'a> {
    frame: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    fn left(&self) -> usize {
        self.end - self.at
    }

    fn here(&self) -> &'a [u8] {
        &self.frame[self.at..self.end]
    }

    fn skip(&mut self, len: usize) -> Option<()> {
        self.at = self.at.checked_add(len).filter(|at| *at <= self.end)?;
        Some(())
    }

    fn head<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.here().first_chunk()
    }
}

/// Reads a frame that came in by `in_port`; `None` for one shorter than its header.
pub(crate) fn parse(frame: &[u8], in_port: u32) -> Option<(FieldKey, Layout)> {
    let head = frame.first_chunk::<FRAME_MIN>()?;
    let mut key = FieldKey::default();
    key.set(IN_PORT, in_port.into());
    key.set(ETH_DST, mac(&head[..6]));
    key.set(ETH_SRC, mac(&head[6..12]));
    let mut layout =
        Layout { tags: 0, network: 0, transport: 0, end: frame.len(), fragment: Fragment::Whole };
    let mut cursor = Cursor { frame, at: 12, end: frame.len() };
    if let Some([t0, t1, c0, c1, _, _]) = cursor.head::<6>()
        && matches!(be16(&[*t0, *t1]), ethertype::VLAN | ethertype::VLAN_SERVICE)
    {
        key.set(VLAN_TCI, u64::from(be16(&[*c0, *c1]) | VLAN_PRESENT));
        layout.tags = 1;
        cursor.at += 4;
    }
    let kind = ether_type(&mut cursor);
    key.set(ETH_TYPE, kind.into());
    layout.network = cursor.at;
    let read = match kind {
        ethertype::IPV4 => ipv4(&mut cursor, &mut key, &mut layout),
        ethertype::IPV6 => ipv6(&mut cursor, &mut key, &mut layout),
        ethertype::ARP | RARP => arp(&cursor, &mut key),
        _ => None,
    };
    if read.is_none() {
        layout.network = 0;
        layout.transport = 0;
    }
    Some((key, layout))
}

fn ether_type(cursor: &mut Cursor<'_>) -> u16 {
    let kind = be16(&cursor.here()[..2]);
    cursor.at += 2;
    if kind >= ethertype::MIN {
        return kind;
    }
    match Llc::new(cursor.here()).and_then(|llc| llc.snap()) {
        Some(([0, 0, 0], kind @ ethertype::MIN..)) => {
            cursor.at += llc::SNAP_LEN;
            kind
        }
        _ => DL_TYPE_NOT_ETH_TYPE,
    }
}

fn arp(cursor: &Cursor<'_>, key: &mut FieldKey) -> Option<()> {
    let arp = Arp::new(cursor.here())?;
    key.set_wide(SOURCE, u32::from(arp.sender_ip()).into());
    key.set_wide(DESTINATION, u32::from(arp.target_ip()).into());
    key.set(IP_PROTO, u64::from(arp.operation()).min(256) & 0xff);
    key.set(SENDER_MAC, mac(&arp.sender_mac()));
    key.set(TARGET_MAC, mac(&arp.target_mac()));
    Some(())
}

fn ipv4(cursor: &mut Cursor<'_>, key: &mut FieldKey, layout: &mut Layout) -> Option<()> {
    let head = *cursor.head::<20>()?;
    let header_len = usize::from(head[0] & 0x0f) * 4;
    let total_len = usize::from(be16(&head[2..4]));
    if header_len < 20 || total_len < header_len || total_len > cursor.left() {
        return None;
    }
    cursor.end = cursor.at + total_len;
    layout.end = cursor.end;
    cursor.skip(header_len)?;
    key.set_wide(SOURCE, be32(&head[12..16]).into());
    key.set_wide(DESTINATION, be32(&head[16..20]).into());
    key.set(IP_TOS, head[1].into());
    key.set(IP_PROTO, head[9].into());
    layout.fragment = match be16(&head[6..8]) & 0x3fff {
        0 => Fragment::Whole,
        0x2000 => Fragment::First,
        _ => Fragment::Later,
    };
    transport(cursor, key, layout, head[9]);
    Some(())
}

fn ipv6(cursor: &mut Cursor<'_>, key: &mut FieldKey, layout: &mut Layout) -> Option<()> {
    let head = *cursor.head::<40>()?;
    let payload_len = usize::from(be16(&head[4..6]));
    if payload_len + 40 > cursor.left() {
        return None;
    }
    cursor.end = cursor.at + 40 + payload_len;
    layout.end = cursor.end;
    cursor.skip(40)?;
    key.set_wide(SOURCE, be128(&head[8..24]));
    key.set_wide(DESTINATION, be128(&head[24..40]));
    let word = be32(&head[..4]);
    key.set(IPV6_LABEL, u64::from(word & 0x000f_ffff));
    let kind = extensions(cursor, head[6], layout)?;
    key.set(IP_TOS, u64::from(word >> 20 & 0xff));
    key.set(IP_PROTO, kind.into());
    transport(cursor, key, layout, kind);
    Some(())
}

/// Passes over the extension headers of IPv6; what stands behind them.
fn extensions(cursor: &mut Cursor<'_>, mut next: u8, layout: &mut Layout) -> Option<u8> {
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    while matches!(next, 0 | 43 | FRAGMENT | AUTHENTICATION | 60) {
        let head = *cursor.head::<8>()?;
        let len = match next {
            FRAGMENT => 8,
            AUTHENTICATION => (usize::from(head[1]) + 2) * 4,
            _ => (usize::from(head[1]) + 1) * 8,
        };
        cursor.skip(len)?;
        if next == FRAGMENT && be16(&head[2..4]) != 0 {
            layout.fragment = Fragment::First;
            if be16(&head[2..4]) & 0xfff8 != 0 {
                layout.fragment = Fragment::Later;
                return Some(FRAGMENT);
            }
        }
        next = head[0];
    }
    Some(next)
}

/// The header above IP. Of a fragment, even the first, the ports are not looked at: all fragments
/// of a packet go one way.
fn transport(cursor: &Cursor<'_>, key: &mut FieldKey, layout: &mut Layout, kind: u8) {
    let least = match kind {
        protocol::TCP => 20,
        protocol::UDP | protocol::ICMP | protocol::ICMPV6 => 8,
        SCTP => SCTP_LEN,
        _ => return,
    };
    let v6 = key.field(ETH_TYPE) == u64::from(ethertype::IPV6);
    let other_family = kind == if v6 { protocol::ICMP } else { protocol::ICMPV6 };
    if layout.fragment == Fragment::Later || cursor.left() < least || other_family {
        return;
    }
    layout.transport = cursor.at;
    if layout.fragment == Fragment::First {
        return;
    }
    let here = cursor.here();
    if matches!(kind, protocol::ICMP | protocol::ICMPV6) {
        key.set(TP_SRC, here[0].into());
        key.set(TP_DST, here[1].into());
        if kind == protocol::ICMPV6 && matches!((here[0], here[1]), (135 | 136, 0)) {
            neighbour(&here[8..], key);
        }
    } else {
        key.set(TP_SRC, be16(&here[..2]).into());
        key.set(TP_DST, be16(&here[2..4]).into());
    }
}

/// What a neighbour solicitation or advertisement is about, and its link-layer addresses.
fn neighbour(body: &[u8], key: &mut FieldKey) {
    let Some((target, mut options)) = body.split_first_chunk::<16>() else { return };
    let (mut source_mac, mut target_mac) = (0, 0);
    while let [kind, len, rest @ ..] = options
        && options.len() >= 8
        && *len != 0
        && usize::from(*len) * 8 <= options.len()
    {
        let slot = match (kind, len) {
            (1, 1) => Some(&mut source_mac),
            (2, 1) => Some(&mut target_mac),
            _ => None,
        };
        if let Some(slot) = slot {
            if *slot != 0 {
                return;
            }
            *slot = mac(&rest[..6]);
        }
        options = &options[usize::from(*len) * 8..];
    }
    key.set_wide(ND_TARGET, u128::from_be_bytes(*target));
    key.set(SENDER_MAC, source_mac);
    key.set(TARGET_MAC, target_mac);
}

pub(crate) fn be16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |number, byte| number << 8 | u16::from(*byte))
}

fn be32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn be128(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

fn mac(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
