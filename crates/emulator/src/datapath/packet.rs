//! A packet on its way through the tables: the frame, its fields, and the changes that actions make
//! to both.
//!
//! Checksums are carried along by the difference (RFC 1624), so that one that was wrong stays
//! wrong, as on a real switch. A field that the packet has not is not set: the action passes.

use super::action::Set;
use super::bounds::FRAME_MAX;
use super::fields::*;
use super::parse::{Fragment, Layout, SCTP, be16, parse};
use aldis_packet::{ethertype, protocol};
use std::borrow::Cow;

mod checksum;

/// Where the tag, or the ethertype, stands.
const TAG_AT: usize = 12;
const TAG_LEN: usize = 4;

/// A frame and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct DatapathPacket<'a> {
    bytes: Cow<'a, [u8]>,
    pub(crate) key: FieldKey,
    layout: Layout,
}

impl<'a> DatapathPacket<'a> {
    /// A frame as it came in; `None` for one too short to be a frame.
    pub(crate) fn new(frame: &'a [u8], in_port: u32) -> Option<DatapathPacket<'a>> {
        let (key, layout) = parse(frame, in_port)?;
        Some(DatapathPacket { bytes: Cow::Borrowed(frame), key, layout })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn in_port(&self) -> u32 {
        self.key.field(IN_PORT) as u32
    }

    /// Whether it is part of a larger packet.
    pub(crate) fn is_fragment(&self) -> bool {
        self.layout.fragment != Fragment::Whole
    }

    fn ethertype(&self) -> u16 {
        self.key.field(ETH_TYPE) as u16
    }

    fn protocol(&self) -> u8 {
        self.key.field(IP_PROTO) as u8
    }

    fn is_ipv4(&self) -> bool {
        self.ethertype() == ethertype::IPV4
    }

    fn is_ipv6(&self) -> bool {
        self.ethertype() == ethertype::IPV6
    }

    fn is_arp(&self) -> bool {
        self.ethertype() == ethertype::ARP
    }

    /// Whether there is a network header that can be changed.
    fn has_network(&self) -> bool {
        self.layout.network != 0 && self.protocol() != 0
    }

    fn has_tag(&self) -> bool {
        self.key.field(VLAN_TCI) as u16 & VLAN_PRESENT != 0
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.to_mut().get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn read<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    /// Adds an outermost tag with identifier and priority zero.
    pub(crate) fn push_vlan(&mut self, tpid: u16) {
        if self.bytes.len() + TAG_LEN > FRAME_MAX {
            return;
        }
        let [t0, t1] = tpid.to_be_bytes();
        self.bytes.to_mut().splice(TAG_AT..TAG_AT, [t0, t1, 0, 0]);
        self.layout.tags += 1;
        self.move_layout(|at| at + TAG_LEN);
        self.key.set(VLAN_TCI, VLAN_PRESENT.into());
    }

    /// Takes the outermost tag off, if there is one.
    pub(crate) fn pop_vlan(&mut self) {
        if self.layout.tags == 0 {
            return;
        }
        self.bytes.to_mut().drain(TAG_AT..TAG_AT + TAG_LEN);
        self.layout.tags -= 1;
        self.move_layout(|at| at - TAG_LEN);
        let inner = if self.layout.tags == 0 {
            0
        } else {
            u16::from_be_bytes(self.read(TAG_AT + 2)) | VLAN_PRESENT
        };
        self.key.set(VLAN_TCI, inner.into());
    }

    fn move_layout(&mut self, by: impl Fn(usize) -> usize) {
        let Layout { network, transport, end, .. } = &mut self.layout;
        for at in [network, transport, end] {
            *at = if *at == 0 { 0 } else { by(*at) };
        }
    }

    /// Sets some bits of the tag.
    fn set_tag(&mut self, value: u16, mask: u16) {
        let old = self.key.field(VLAN_TCI) as u16;
        let new = old & !mask | value & mask | VLAN_PRESENT;
        if new != old {
            self.key.set(VLAN_TCI, new.into());
            self.write(TAG_AT + 2, &(new & !VLAN_PRESENT).to_be_bytes());
        }
    }

    /// Sets a field, if the packet has it.
    pub(crate) fn set(&mut self, set: &Set) {
        match *set {
            Set::Metadata { value, mask } => {
                let old = self.key.field(METADATA);
                self.key.set(METADATA, old & !mask | value & mask);
            }
            Set::EthDst(mac) => self.set_mac(ETH_DST, 0, mac.to_u64()),
            Set::EthSrc(mac) => self.set_mac(ETH_SRC, 6, mac.to_u64()),
            Set::Vlan { value, mask, add } => {
                if add && !self.has_tag() {
                    self.push_vlan(ethertype::VLAN);
                }
                if self.has_tag() {
                    self.set_tag(value, mask);
                }
            }
            Set::Tos { value, mask } => self.set_tos(value, mask),
            Set::Ttl(ttl) => self.set_ttl(ttl),
            Set::Ipv4Src(address) if self.is_ipv4() => self.set_ipv4(SOURCE, 12, address.into()),
            Set::Ipv4Dst(address) if self.is_ipv4() => {
                self.set_ipv4(DESTINATION, 16, address.into());
            }
            Set::Ipv6Src(address) if self.is_ipv6() => self.set_ipv6(SOURCE, 8, address.into()),
            Set::Ipv6Dst(address) if self.is_ipv6() => {
                self.set_ipv6(DESTINATION, 24, address.into());
            }
            Set::Ipv6Label(label) if self.is_ipv6() => self.set_label(label),
            Set::TpSrc { port, only } => self.set_transport(TP_SRC, 0, port, only),
            Set::TpDst { port, only } => self.set_transport(TP_DST, 2, port, only),
            Set::IcmpType { kind, protocol } => self.set_icmp(TP_SRC, 0, kind, protocol),
            Set::IcmpCode { code, protocol } => self.set_icmp(TP_DST, 1, code, protocol),
            Set::ArpOp(op) if self.is_arp() => self.set_arp_op(op),
            Set::ArpSpa(address) if self.is_arp() => self.set_arp_ip(SOURCE, 14, address.into()),
            Set::ArpTpa(address) if self.is_arp() => {
                self.set_arp_ip(DESTINATION, 24, address.into());
            }
            Set::ArpSha(mac) if self.is_arp() => self.set_arp_mac(SENDER_MAC, 8, mac.to_u64()),
            Set::ArpTha(mac) if self.is_arp() => self.set_arp_mac(TARGET_MAC, 18, mac.to_u64()),
            Set::Ipv4Src(_)
            | Set::Ipv4Dst(_)
            | Set::Ipv6Src(_)
            | Set::Ipv6Dst(_)
            | Set::Ipv6Label(_)
            | Set::ArpOp(_)
            | Set::ArpSpa(_)
            | Set::ArpTpa(_)
            | Set::ArpSha(_)
            | Set::ArpTha(_) => {}
        }
    }

    fn set_mac(&mut self, field: Field, at: usize, mac: u64) {
        if self.key.field(field) != mac {
            self.key.set(field, mac);
            self.write(at, &mac.to_be_bytes()[2..]);
        }
    }

    fn set_tos(&mut self, value: u8, mask: u8) {
        if !self.is_ipv4() && !self.is_ipv6() {
            return;
        }
        let old = self.key.field(IP_TOS) as u8;
        let new = old & !mask | value & mask;
        self.key.set(IP_TOS, new.into());
        if new == old || !self.has_network() {
            return;
        }
        let at = self.layout.network;
        if self.is_ipv4() {
            self.write(at + 1, &[new]);
            self.fix_ipv4(u16::from(old), u16::from(new));
        } else {
            let [a, b] = self.read(at);
            self.write(at, &[a & 0xf0 | new >> 4, b & 0x0f | new << 4]);
        }
    }

    /// The time to live of an IP packet.
    fn ttl(&self) -> Option<u8> {
        let at = match self.ethertype() {
            ethertype::IPV4 => 8,
            ethertype::IPV6 => 7,
            _ => return None,
        };
        if self.layout.network == 0 {
            None
        } else {
            Some(self.read::<1>(self.layout.network + at)[0])
        }
    }

    fn set_ttl(&mut self, ttl: u8) {
        let Some(old) = self.ttl().filter(|old| *old != ttl && self.protocol() != 0) else {
            return;
        };
        if self.is_ipv4() {
            self.write(self.layout.network + 8, &[ttl]);
            self.fix_ipv4(u16::from(old) << 8, u16::from(ttl) << 8);
        } else {
            self.write(self.layout.network + 7, &[ttl]);
        }
    }

    /// One hop less; `false` where it was the last, and the packet stays as it is.
    pub(crate) fn decrement_ttl(&mut self) -> bool {
        match self.ttl() {
            None => true,
            Some(0 | 1) => false,
            Some(ttl) => {
                self.set_ttl(ttl - 1);
                true
            }
        }
    }

    fn set_ipv4(&mut self, field: Wide, at: usize, address: u32) {
        let old = self.key.wide(field) as u32;
        self.key.set_wide(field, address.into());
        if old == address || !self.has_network() {
            return;
        }
        self.write(self.layout.network + at, &address.to_be_bytes());
        for (old, new) in [(old >> 16, address >> 16), (old & 0xffff, address & 0xffff)] {
            self.fix_transport(old as u16, new as u16);
            self.fix_ipv4(old as u16, new as u16);
        }
    }

    fn set_ipv6(&mut self, field: Wide, at: usize, address: u128) {
        let old = self.key.wide(field);
        self.key.set_wide(field, address);
        if old == address || !self.has_network() {
            return;
        }
        self.write(self.layout.network + at, &address.to_be_bytes());
        for (old, new) in old.to_be_bytes().chunks(2).zip(address.to_be_bytes().chunks(2)) {
            self.fix_transport(be16(old), be16(new));
        }
    }

    fn set_label(&mut self, label: u32) {
        self.key.set(IPV6_LABEL, label.into());
        if self.has_network() {
            let [a, b, ..] = self.read::<4>(self.layout.network);
            let [_, l0, l1, l2] = label.to_be_bytes();
            self.write(self.layout.network, &[a, b & 0xf0 | l0 & 0x0f, l1, l2]);
        }
    }

    /// A port of TCP, UDP or SCTP; where `only` says one of them, of that one alone.
    fn set_transport(&mut self, field: Field, at: usize, port: u16, only: Option<u8>) {
        let kind = self.protocol();
        let icmp = if self.is_ipv6() { protocol::ICMPV6 } else { protocol::ICMP };
        if only.is_none() && kind == icmp {
            // 1.0 keeps the type and code of ICMP where the ports are, and Open vSwitch sets them
            // there.
            return self.set_icmp(field, at / 2, port as u8, icmp);
        }
        let wanted = matches!(kind, protocol::TCP | protocol::UDP | SCTP)
            && only.is_none_or(|only| only == kind);
        let is_ip = self.is_ipv4() || self.is_ipv6();
        if !wanted || !is_ip || self.layout.fragment == Fragment::Later {
            return;
        }
        if self.layout.fragment == Fragment::Whole {
            self.key.set(field, port.into());
        }
        let transport = self.layout.transport;
        if transport == 0 {
            return;
        }
        let old = u16::from_be_bytes(self.read(transport + at));
        if old == port {
            return;
        }
        let was = if kind == SCTP { self.sctp_sum() } else { 0 };
        self.write(transport + at, &port.to_be_bytes());
        if kind == SCTP {
            self.fix_sctp(was);
        } else {
            self.fix_transport(old, port);
        }
    }

    fn set_icmp(&mut self, field: Field, at: usize, value: u8, kind: u8) {
        if self.protocol() != kind || self.layout.transport == 0 {
            return;
        }
        let transport = self.layout.transport;
        let old = u16::from_be_bytes(self.read(transport));
        self.write(transport + at, &[value]);
        let new = u16::from_be_bytes(self.read(transport));
        if self.layout.fragment == Fragment::Whole {
            self.key.set(field, value.into());
        }
        self.fix_sum(transport + 2, old, new);
    }

    fn set_arp_op(&mut self, op: u16) {
        if self.has_network() {
            self.write(self.layout.network + 6, &op.to_be_bytes());
        }
        self.key.set(IP_PROTO, if op > 0xff { 0 } else { op.into() });
    }

    fn set_arp_ip(&mut self, field: Wide, at: usize, address: u32) {
        self.key.set_wide(field, address.into());
        if self.has_network() {
            self.write(self.layout.network + at, &address.to_be_bytes());
        }
    }

    fn set_arp_mac(&mut self, field: Field, at: usize, mac: u64) {
        self.key.set(field, mac);
        if self.has_network() {
            self.write(self.layout.network + at, &mac.to_be_bytes()[2..]);
        }
    }
}
