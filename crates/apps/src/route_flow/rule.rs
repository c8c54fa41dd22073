//! The flow that a path needs in one switch.

use core::hash::{Hash, Hasher};

use aldis_control::{App, Cookie, Tables};
use aldis_wire::msg::{Action, Field, FlowMod, FlowModFlags, Match, PortNo};
use aldis_wire::types::L2Hit;
use aldis_wire::{DatapathId, MacAddr, NO_BUFFER};

use super::RouteFlow;
use crate::routing::FlowHash;

/// The middle: below it is room for what is to happen where no path is, above it for exceptions.
const PRIORITY: u16 = 0x8000;

/// The bits of a VLAN id.
const VLAN: u16 = 0x0fff;

/// What tells a flow from others: its sender, its receiver and its VLAN.
///
/// Two whole words, so that it is copied by these: 14 bytes are copied in two parts that overlap,
/// and the next copy waits until both are written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(align(8))]
pub struct Key {
    /// The sender.
    pub src: MacAddr,
    /// The receiver.
    pub dst: MacAddr,
    /// The VLAN id (0 to 4095), or 0xffff for frames without a tag, as in [`L2Hit::vlan`].
    pub vlan: u16,
}

impl Hash for Key {
    /// Two words, and not byte by byte.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.src.to_u64() | u64::from(self.vlan) << 48);
        state.write_u64(self.dst.to_u64());
    }
}

impl Key {
    /// Frames without a VLAN tag.
    pub const UNTAGGED: u16 = 0xffff;

    /// The flow's choice among ways of equal cost: the same at every switch and in every run.
    pub fn flow(&self) -> FlowHash {
        let [src, dst] = [self.src, self.dst].map(MacAddr::to_u64);
        let low = src ^ u64::from(self.vlan) << 48;
        FlowHash((low.rotate_left(17) ^ dst).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ low >> 7)
    }

    /// The VLAN that its hosts are known in ([`crate::hosts::Identity::vlan`]).
    pub fn host_vlan(&self) -> u16 {
        if self.vlan == Key::UNTAGGED { 0 } else { self.vlan }
    }

    /// The flow that a rule of ours matches, and where it comes in; none where it is no rule of
    /// ours.
    pub fn of_match(matching: &Match) -> Option<(Key, PortNo)> {
        let (mut from, mut key) = (None, [None; 2]);
        let mut vlan = None;
        for field in &matching.fields {
            match field {
                Field::InPort(port) => from = Some(*port),
                Field::EthSrc(mac) => key[0] = Some(mac.value),
                Field::EthDst(mac) => key[1] = Some(mac.value),
                Field::VlanVid(vid) if vid.value == 0 => vlan = Some(Key::UNTAGGED),
                Field::VlanVid(vid) => vlan = Some(vid.value & VLAN),
                _ => return None,
            }
        }
        let [src, dst] = key;
        Some((Key { src: src?, dst: dst?, vlan: vlan? }, from?))
    }

    fn matching(&self, in_port: PortNo) -> Match {
        let all = Match::new().in_port(in_port).eth_dst(self.dst).eth_src(self.src);
        if self.vlan == Key::UNTAGGED { all.untagged() } else { all.vlan(self.vlan) }
    }
}

/// What a switch does with the packets of a flow that come in by one port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rule {
    /// The switch.
    pub dpid: DatapathId,
    /// Where they come in.
    pub in_port: PortNo,
    /// Where they leave. Never where they came in: switches do not do that by its number.
    pub out_port: PortNo,
}

/// What all flows of an application have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Seconds without a packet after which a switch removes the flow; 0 for never.
    pub idle_timeout_s: u16,
    /// The higher of two matching flows wins.
    pub priority: u16,
    /// The mark on the flows.
    pub cookie: u64,
    /// Which table of a switch they go to.
    pub tables: Tables,
}

impl Style {
    /// Of the application's own flows, which end after so many seconds without a packet.
    pub fn of_route_flow(idle_timeout_s: u16, tables: Tables) -> Style {
        let cookie = Cookie::of(RouteFlow::NAME).0;
        Style { idle_timeout_s, priority: PRIORITY, cookie, tables }
    }
}

impl Rule {
    /// The change that installs it. The flow of the first hop tells when it is gone: then the path
    /// is.
    pub fn add(&self, key: &Key, style: &Style, is_first: bool) -> FlowMod {
        let flags = if is_first { FlowModFlags::SEND_FLOW_REM } else { FlowModFlags::EMPTY };
        FlowMod::add(key.matching(self.in_port))
            .priority(style.priority)
            .cookie(style.cookie)
            .idle_timeout(style.idle_timeout_s)
            .flags(flags)
            .actions([Action::output(self.out_port)])
    }

    /// The change that removes it, and nothing that took its place: only a flow that leads where
    /// this one does.
    pub fn delete(&self, key: &Key, style: &Style) -> FlowMod {
        FlowMod::delete_strict(key.matching(self.in_port))
            .priority(style.priority)
            .out_port(self.out_port)
    }

    /// What a template needs to stamp it ([`aldis_wire::v10::template::L2Flow`] and its sibling of
    /// 1.3).
    #[inline]
    pub fn hit(&self, key: &Key, xid: u32) -> L2Hit {
        L2Hit {
            xid,
            in_port: self.in_port.0,
            eth_src: key.src.to_u64(),
            eth_dst: key.dst.to_u64(),
            vlan: key.vlan,
            buffer_id: NO_BUFFER,
            out_port: self.out_port.0,
        }
    }
}
