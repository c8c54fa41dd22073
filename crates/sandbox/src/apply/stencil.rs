//! The FLOW_MOD that a learning switch answers again and again, written from the one before.
//!
//! Two of them differ in the packet's buffer, the port of entry, the addresses and the output
//! alone. What was sent for the last is right for the next but for these bytes: the next need not
//! be read.

use core::ops::Range;

use aldis_wire::Version;
use aldis_wire::msg::{Action, Field, FlowMod, Instruction, Message};

/// Length of the message in bytes.
const SIZE: usize = 104;

/// Where the transaction id stands.
const XID: Range<usize> = 4..8;

/// The transaction id, the packet's buffer, the port of entry, the destination, the source and the
/// output.
const FREE: [Range<usize>; 6] = [XID, 32..36, 56..60, 64..70, 74..80, 92..96];

/// Length in bytes of the same flow in 1.0 (1.0 §5.3.3).
const V10_SIZE: usize = 80;

const V10_IN_PORT: Range<usize> = 12..14;
const V10_SRC: Range<usize> = 14..20;
const V10_DST: Range<usize> = 20..26;
const V10_BUFFER: Range<usize> = 64..68;
const V10_OUTPUT: Range<usize> = 76..78;

/// From here on ports of 1.0 have names, and other numbers in 1.3 (1.0 §5.2.1).
const V10_PORTS: u16 = 0xff00;

/// A message in words: two are compared in a few steps.
type Words = [u64; SIZE / 8];

/// The bits that two messages have in common.
const FIXED: Words = {
    let mut fixed = [u64::MAX; SIZE / 8];
    let mut field = 0;
    while field < FREE.len() {
        let mut at = FREE[field].start;
        while at < FREE[field].end {
            fixed[at / 8] &= !(0xff << (at % 8 * 8));
            at += 1;
        }
        field += 1;
    }
    fixed
};

/// A FLOW_MOD of 1.3 as the application said it, and as it was sent.
pub(super) struct Stencil {
    said: Words,
    sent: Sent,
}

/// What was sent, in the version of the switch.
enum Sent {
    V10([u8; V10_SIZE]),
    V13(Words),
}

/// A message that was written from another, in the room of the longer version.
pub(super) struct Stamped {
    bytes: [u8; SIZE],
    len: usize,
}

impl Stencil {
    /// What others of the kind can be written from; none where the message is of another kind.
    pub(super) fn of(message: &Message, said: &[u8], sent: &[u8]) -> Option<Stencil> {
        let Message::FlowMod(flow_mod) = message else { return None };
        // To a switch of 1.0 it may have been said in 1.0, where the fields stand elsewhere.
        if said.first() != Some(&Version::V13.wire()) {
            return None;
        }
        let said = words(said)?;
        let sent = match sent.first().and_then(|version| Version::from_wire(*version))? {
            Version::V10 => Sent::V10(sent.try_into().ok()?),
            Version::V13 => Sent::V13(words(sent)?),
        };
        is_learned(flow_mod).then_some(Stencil { said, sent })
    }

    /// The version of the switches that it is for.
    pub(super) fn version(&self) -> Version {
        match self.sent {
            Sent::V10(_) => Version::V10,
            Sent::V13(_) => Version::V13,
        }
    }

    /// What is sent for this message; none where it differs from the last in anything else, or a
    /// port of it has another number in 1.0.
    #[inline]
    pub(super) fn stamp(&self, said: &[u8], xid: u32) -> Option<Stamped> {
        let words = words(said)?;
        let pairs = words.iter().zip(&self.said).zip(&FIXED);
        let unlike = pairs.fold(0, |unlike, ((one, other), fixed)| unlike | (one ^ other) & fixed);
        let mut stamped = match &self.sent {
            Sent::V10(sent) => stamp_v10(sent, said)?,
            Sent::V13(sent) => stamp_v13(sent, &words),
        };
        stamped.bytes[XID].copy_from_slice(&xid.to_be_bytes());
        (unlike == 0).then_some(stamped)
    }
}

impl AsRef<[u8]> for Stamped {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[inline]
fn stamp_v13(sent: &Words, said: &Words) -> Stamped {
    let mut bytes = [0; SIZE];
    for (place, word) in bytes.as_chunks_mut().0.iter_mut().enumerate() {
        *word = (sent[place] & FIXED[place] | said[place] & !FIXED[place]).to_le_bytes();
    }
    Stamped { bytes, len: SIZE }
}

#[inline]
fn stamp_v10(sent: &[u8; V10_SIZE], said: &[u8]) -> Option<Stamped> {
    let mut bytes = [0; SIZE];
    bytes[..V10_SIZE].copy_from_slice(sent);
    let [_, buffer, in_port, dst, src, output] = FREE;
    for (to, from) in [(in_port, V10_IN_PORT), (output, V10_OUTPUT)] {
        let port: [u8; 4] = said.get(to)?.try_into().ok()?;
        let port = u16::try_from(u32::from_be_bytes(port)).ok().filter(|port| *port < V10_PORTS)?;
        bytes[from].copy_from_slice(&port.to_be_bytes());
    }
    for (from, to) in [(buffer, V10_BUFFER), (dst, V10_DST), (src, V10_SRC)] {
        bytes[to].copy_from_slice(said.get(from)?);
    }
    Some(Stamped { bytes, len: V10_SIZE })
}

#[inline]
fn words(bytes: &[u8]) -> Option<Words> {
    let bytes: &[u8; SIZE] = bytes.try_into().ok()?;
    let mut words = [0; SIZE / 8];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    Some(words)
}

/// Whether a flow is for a port and two addresses, and has one output. In a message of [`SIZE`]
/// bytes these stand where [`FREE`] says.
fn is_learned(flow_mod: &FlowMod) -> bool {
    let [Field::InPort(_), Field::EthDst(dst), Field::EthSrc(src)] = &flow_mod.match_.fields[..]
    else {
        return false;
    };
    let [Instruction::ApplyActions(actions)] = &flow_mod.instructions[..] else { return false };
    matches!(actions[..], [Action::Output { .. }]) && (dst.mask, src.mask) == (None, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::MacAddr;
    use aldis_wire::msg::{FlowModCommand, Match, PortNo, TableNo};
    use proptest::prelude::*;

    /// As an applier sends them: with a cookie and a table of its own.
    fn sent(said: &[u8], xid: u32, version: Version) -> Option<(Message, Vec<u8>)> {
        let message = Message::decode(Version::V13, said).ok()?.1.meaning();
        let Message::FlowMod(flow_mod) = message else { return None };
        let table_id = TableNo(u8::from(version == Version::V13));
        let message = Message::FlowMod(FlowMod { cookie: 7, table_id, ..flow_mod });
        let mut sent = Vec::new();
        message.encode(version, xid, &mut sent).ok()?;
        Some((message, sent))
    }

    fn said(in_port: u32, [dst, src]: [[u8; 6]; 2], to: u32, idle_timeout: u16) -> Vec<u8> {
        let of = Match::new().in_port(PortNo(in_port));
        let of = of.eth_dst(MacAddr(dst)).eth_src(MacAddr(src));
        let flow = FlowMod::add(of).idle_timeout(idle_timeout);
        let flow = flow.actions([Action::output(PortNo(to))]);
        let mut said = Vec::new();
        flow.encode(Version::V13, 0, &mut said).unwrap();
        said
    }

    #[test]
    fn a_flow_to_another_host_is_written_from_the_last() {
        let first = said(1, [[2; 6], [4; 6]], 3, 10);
        assert_eq!(first.len(), SIZE);
        let next = said(7, [[6; 6], [8; 6]], 9, 10);
        let named = said(PortNo::CONTROLLER.0, [[6; 6], [8; 6]], PortNo::FLOOD.0, 10);
        for version in Version::ALL {
            let (message, bytes) = sent(&first, 5, version).unwrap();
            let stencil = Stencil::of(&message, &first, &bytes).unwrap();
            assert_eq!(stencil.version(), version);
            let written = stencil.stamp(&next, 9).unwrap();
            assert_eq!(written.as_ref(), sent(&next, 9, version).unwrap().1);
            assert!(stencil.stamp(&said(1, [[2; 6], [4; 6]], 3, 11), 9).is_none());
            assert!(stencil.stamp(&next[..SIZE - 1], 9).is_none());
            assert_eq!(stencil.stamp(&named, 9).is_some(), version == Version::V13);
        }
    }

    #[test]
    fn other_flows_make_none() {
        let (dst, src, port) = (MacAddr([2; 6]), MacAddr([4; 6]), PortNo(1));
        let output = || [Action::output(port)];
        let of = || Match::new().in_port(port).eth_dst(dst);
        let tagged = FlowMod::add(of().vlan(3)).actions(output());
        let backwards = FlowMod::add(Match::new().in_port(port).eth_src(src).eth_dst(dst));
        let dropping = FlowMod::add(of().eth_src(src));
        for flow in [tagged, backwards.actions(output()), dropping] {
            let message = Message::from(flow);
            let mut said = Vec::new();
            message.encode(Version::V13, 0, &mut said).unwrap();
            assert!(Stencil::of(&message, &said, &said).is_none(), "{message:?}");
        }
    }

    proptest! {
        /// Whatever bytes a message has: it is written from the last, or read and written, with the
        /// same end.
        #[test]
        fn what_is_stamped_is_what_reading_gives(
            in_port: u32, addresses: [[u8; 6]; 2], to: u32, xid: u32,
            command in 0u8..5,
            changes in prop::collection::vec((0..SIZE, any::<u8>()), 0..4),
            free: [u8; SIZE],
            is_v10: bool,
            back: bool,
        ) {
            let version = if is_v10 { Version::V10 } else { Version::V13 };
            let (in_port, to) = if is_v10 { (in_port % 0xff00, to % 0xff00) } else { (in_port, to) };
            let mut first = said(in_port, addresses, to, 10);
            first[25] = FlowModCommand(command).0;
            let (message, bytes) = sent(&first, 5, version).unwrap();
            let stencil = Stencil::of(&message, &first, &bytes).unwrap();
            let mut next = first.clone();
            for at in FREE.into_iter().flatten() {
                next[at] = free[at];
            }
            if is_v10 {
                // The upper halves of most ports, so that they are ports of 1.0.
                for at in [56, 57, 92, 93] {
                    next[at] = 0;
                }
            }
            if back {
                next.copy_within(56..60, 92);
            }
            for (at, byte) in changes {
                next[at] = byte;
            }
            if let Some(stamped) = stencil.stamp(&next, xid) {
                let read = sent(&next, xid, version);
                prop_assert_eq!(Some(stamped.as_ref()), read.as_ref().map(|(_, sent)| &sent[..]));
            }
        }
    }
}
