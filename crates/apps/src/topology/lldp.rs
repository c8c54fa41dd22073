//! The LLDP frame of a probe: every tool can read it, and a tag makes it ours.
//!
//! ```text
//! | Ethernet | chassis "of:dpid" | port "number" | ttl | name "aldis" | ours | end |
//! ours: 00-26-e1 | subtype | version | reach | dpid 8 | port 4 | sequence 8 | nonce 16 | tag 16
//! ```
//!
//! The tag is the first half of an HMAC-SHA-256 (RFC 2104) over all of the frame in front of it,
//! and nothing but the end comes after it: so no bit of the frame can be changed. At most 122
//! bytes, for a switch of 1.0 may cut PACKET_INs at 128. The organisation is that of OpenFlow,
//! which other controllers write too; the subtype is our own.

use std::sync::Arc;

use aldis_control::SwitchPort;
use aldis_packet::{Ethernet, Lldp, ethernet, ethertype, lldp, lldp::tlv};
use aldis_wire::MacAddr;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::recorded_tags::RecordedTags;

/// The ethertype of probes that bridges are to pass on: LLDP's form with an ethertype that none
/// keeps to itself. Other controllers use it too (BDDP).
pub const FAR_ETHERTYPE: u16 = 0x8942;

/// OpenFlow's organisation (IEEE OUI 00-26-E1).
pub(super) const ORGANISATION: [u8; 3] = [0x00, 0x26, 0xe1];
pub(super) const SUBTYPE: u8 = 0xa1;
const VERSION: u8 = 1;

/// The kind of a name that the system gave itself (IEEE 802.1AB, tables 8-2 and 8-3).
const OWN_NAME: u8 = 7;

/// For how long others may remember it, in seconds.
const TTL_S: u16 = 120;

pub(super) const BODY_LEN: usize = 38;
pub(super) const TAG_LEN: usize = 16;
const END: [u8; 2] = [0, 0];

/// The key that tags are made with: random, and secret: a host that has it can make links.
#[derive(Clone)]
pub struct TagKey {
    tags: Hmac<Sha256>,
    nonces: Hmac<Sha256>,
    /// Those of another controller, which go before what the key makes.
    recorded: Option<Arc<RecordedTags>>,
}

impl core::fmt::Debug for TagKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key")
    }
}

impl TagKey {
    /// The key of 32 random bytes, drawn at the start.
    pub fn new(random: [u8; 32]) -> TagKey {
        TagKey::kept(random, random)
    }

    /// A key that was kept from a run before, with 32 random bytes drawn at this start: what was
    /// sent in another run is not sent again in this one, though it counts from the beginning.
    pub fn kept(key: [u8; 32], random: [u8; 32]) -> TagKey {
        let [tags, nonces] = [key, random]
            .map(|bytes| Hmac::new_from_slice(&bytes).expect("an HMAC takes keys of any length"));
        TagKey { tags, nonces, recorded: None }
    }

    /// Makes the nonces and tags that a recording has, and believes those alone; what it does not
    /// have is made with 32 bytes of no matter what.
    pub fn of_recording(recorded: Arc<RecordedTags>, other: [u8; 32]) -> TagKey {
        TagKey { recorded: Some(recorded), ..TagKey::new(other) }
    }

    fn tag(&self, bytes: &[u8]) -> [u8; TAG_LEN] {
        let recorded = self.recorded.as_ref().and_then(|recorded| recorded.tag(bytes));
        recorded.unwrap_or_else(|| first_half(self.tags.clone().chain_update(bytes)))
    }

    fn is_tag_of(&self, bytes: &[u8], tag: &[u8]) -> bool {
        match &self.recorded {
            Some(recorded) => recorded.tag(bytes).is_some_and(|recorded| recorded == tag),
            None => self.tags.clone().chain_update(bytes).verify_truncated_left(tag).is_ok(),
        }
    }

    /// Bytes that cannot be guessed, different for each sequence number: no frame begins like what
    /// is tagged here.
    pub(super) fn nonce(&self, sequence: u64) -> Nonce {
        let own =
            || self.nonces.clone().chain_update(b"nonce").chain_update(sequence.to_be_bytes());
        let recorded = self.recorded.as_ref().and_then(|recorded| recorded.nonce(sequence));
        recorded.unwrap_or_else(|| first_half(own()))
    }
}

fn first_half(mac: Hmac<Sha256>) -> [u8; TAG_LEN] {
    *mac.finalize().into_bytes().first_chunk().expect("of 32 bytes")
}

/// Bytes that were never sent before.
pub(super) type Nonce = [u8; 16];

/// How far a probe is meant to go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reach {
    /// To the other end of the cable: bridges keep LLDP to themselves.
    Direct,
    /// Through bridges that are not ours: a broadcast.
    Far,
}

/// What a probe says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LldpProbe {
    pub(super) from: SwitchPort,
    pub(super) reach: Reach,
    /// Logical time: how many probes were sent before.
    pub(super) sequence: u64,
    pub(super) nonce: Nonce,
}

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LldpFrame {
    /// Nothing of ours.
    Foreign,
    /// It says to be ours and is not, or not any more.
    Untrue(Option<LldpProbe>),
    /// A probe that was sent by us, as it was sent.
    Ours(LldpProbe),
}

impl LldpProbe {
    /// Writes the frame that leaves the port with this address.
    pub(super) fn write(&self, key: &TagKey, mac: MacAddr, frame: &mut Vec<u8>) {
        let (destination, ethertype) = match self.reach {
            Reach::Direct => (lldp::DESTINATION, ethertype::LLDP),
            Reach::Far => (ethernet::BROADCAST, FAR_ETHERTYPE),
        };
        frame.clear();
        frame.extend(ethernet::header(destination, mac.0, ethertype));
        let chassis = format!("of:{}", self.from.dpid);
        lldp::write(frame, tlv::CHASSIS_ID, &[&[OWN_NAME], chassis.as_bytes()]);
        let port = self.from.port.0.to_string();
        lldp::write(frame, tlv::PORT_ID, &[&[OWN_NAME], port.as_bytes()]);
        lldp::write(frame, tlv::TTL, &[&TTL_S.to_be_bytes()]);
        lldp::write(frame, tlv::SYSTEM_NAME, &[b"aldis"]);
        let head = [&ORGANISATION[..], &[SUBTYPE], &self.body()].concat();
        lldp::write(frame, tlv::ORGANISATIONAL, &[&head, &[0; TAG_LEN]]);
        let tag_at = frame.len() - TAG_LEN;
        let tag = key.tag(&frame[..tag_at]);
        frame[tag_at..].copy_from_slice(&tag);
        frame.extend(END);
    }

    /// What stands for this probe having come in at a port, to be remembered for a while. Without
    /// the key it cannot be foreseen.
    pub(super) fn mark(&self, at: SwitchPort) -> u64 {
        let nonce = self.nonce.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let place = at.dpid.0.rotate_left(24) ^ u64::from(at.port.0);
        nonce ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// What a frame is, read with the key.
    pub(super) fn read(key: &TagKey, frame: &[u8]) -> LldpFrame {
        let Some(head) = Ethernet::new(frame) else { return LldpFrame::Foreign };
        if !matches!(head.ethertype(), ethertype::LLDP | FAR_ETHERTYPE) {
            return LldpFrame::Foreign;
        }
        let Some(lldp) = Lldp::new(head.payload()) else { return LldpFrame::Foreign };
        let ours = |unit: lldp::Tlv<'_>| match unit.organisational() {
            Some((ORGANISATION, SUBTYPE, _)) => Some(LldpProbe::of_body(&unit.value[4..])),
            _ => None,
        };
        let Some(probe) = lldp.tlvs().find_map(ours) else { return LldpFrame::Foreign };
        match probe {
            Some(probe) if is_whole(key, frame) => LldpFrame::Ours(probe),
            probe => LldpFrame::Untrue(probe),
        }
    }

    fn body(&self) -> [u8; BODY_LEN] {
        let mut body = [0; BODY_LEN];
        (body[0], body[1]) = (VERSION, u8::from(self.reach == Reach::Far));
        body[2..10].copy_from_slice(&self.from.dpid.0.to_be_bytes());
        body[10..14].copy_from_slice(&self.from.port.0.to_be_bytes());
        body[14..22].copy_from_slice(&self.sequence.to_be_bytes());
        body[22..].copy_from_slice(&self.nonce);
        body
    }

    fn of_body(value: &[u8]) -> Option<LldpProbe> {
        let body = value.first_chunk::<BODY_LEN>()?;
        let long = |at: usize| body[at..at + 8].iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
        let port = body[10..14].iter().fold(0, |n, &byte| n << 8 | u32::from(byte));
        let reach = match body[..2] {
            [VERSION, 0] => Reach::Direct,
            [VERSION, 1] => Reach::Far,
            _ => return None,
        };
        let nonce = *body.last_chunk().expect("of 38 bytes");
        Some(LldpProbe { from: SwitchPort::new(long(2), port), reach, sequence: long(14), nonce })
    }
}

/// Whether the frame ends with a tag over all that is in front of it.
fn is_whole(key: &TagKey, frame: &[u8]) -> bool {
    let Some((rest, end)) = frame.split_last_chunk::<2>() else { return false };
    let Some((tagged, tag)) = rest.split_last_chunk::<TAG_LEN>() else { return false };
    *end == END && key.is_tag_of(tagged, tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> TagKey {
        TagKey::new([7; 32])
    }

    fn written(probe: &LldpProbe) -> Vec<u8> {
        let mut frame = Vec::new();
        probe.write(&key(), MacAddr::from_u64(0x0200_0000_0001), &mut frame);
        frame
    }

    fn probe(dpid: u64, port: u32, reach: Reach, sequence: u64) -> LldpProbe {
        let from = SwitchPort::new(dpid, port);
        LldpProbe { from, reach, sequence, nonce: key().nonce(sequence) }
    }

    #[test]
    fn others_read_which_port_of_which_switch_it_is() {
        let frame = written(&probe(0xab, 3, Reach::Direct, 9));
        let lldp = Lldp::new(Ethernet::new(&frame).unwrap().payload()).unwrap();
        assert_eq!(lldp.chassis_id(), lldp::LldpId { subtype: 7, name: b"of:00000000000000ab" });
        assert_eq!(lldp.port_id(), lldp::LldpId { subtype: 7, name: b"3" });
        assert_eq!((lldp.ttl_s(), lldp.tlvs().count()), (120, 2));
        assert!(written(&probe(u64::MAX, u32::MAX, Reach::Far, u64::MAX)).len() <= 128);
    }

    #[test]
    fn the_tag_is_that_of_rfc_4231() {
        // Test case 2 of RFC 4231 §4.3, cut to its first half.
        let jefe: Hmac<Sha256> = Hmac::new_from_slice(b"Jefe").unwrap();
        let key = TagKey { tags: jefe.clone(), nonces: jefe, recorded: None };
        let tag = key.tag(b"what do ya want for nothing?");
        assert_eq!(tag[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
        assert_ne!(key.nonce(1), key.nonce(2));
    }

    #[test]
    fn of_a_recording_probes_come_out_as_they_were_and_others_are_not_believed() {
        let sent = probe(3, 4, Reach::Direct, 8);
        let frame = written(&sent);
        let mut recorded = RecordedTags::default();
        recorded.add(&frame);
        recorded.add(b"no probe");
        assert_eq!(recorded.len(), 1);
        let replayed = TagKey::of_recording(Arc::new(recorded), [1; 32]);
        assert_eq!(replayed.nonce(8), sent.nonce);
        let mut again = Vec::new();
        sent.write(&replayed, MacAddr::from_u64(0x0200_0000_0001), &mut again);
        assert_eq!(again, frame);
        assert_eq!(LldpProbe::read(&replayed, &frame), LldpFrame::Ours(sent));
        let other = probe(3, 4, Reach::Direct, 9);
        assert_eq!(LldpProbe::read(&replayed, &written(&other)), LldpFrame::Untrue(Some(other)));
        let mut altered = frame;
        altered[7] ^= 1;
        assert_eq!(LldpProbe::read(&replayed, &altered), LldpFrame::Untrue(Some(sent)));
    }

    proptest! {
        /// What is written is read; with any byte changed, cut or added it is never ours, nor with
        /// another key.
        #[test]
        fn what_is_written_is_read_and_nothing_else(dpid: u64, port: u32, far: bool, sequence: u64, at: prop::sample::Index, change in 1u8.., more in prop::collection::vec(any::<u8>(), 1..8)) {
            let probe = probe(dpid, port, if far { Reach::Far } else { Reach::Direct }, sequence);
            let frame = written(&probe);
            prop_assert_eq!(LldpProbe::read(&key(), &frame), LldpFrame::Ours(probe));
            prop_assert_eq!(LldpProbe::read(&TagKey::new([8; 32]), &frame), LldpFrame::Untrue(Some(probe)));
            let is_ours = |bytes: &[u8]| matches!(LldpProbe::read(&key(), bytes), LldpFrame::Ours(_));
            let mut changed = frame.clone();
            *at.get_mut(&mut changed) ^= change;
            prop_assert!(!is_ours(&changed));
            prop_assert!(!is_ours(&frame[..at.index(frame.len())]));
            prop_assert!(!is_ours(&[&frame[..], &more].concat()));
        }

        /// No bytes are ours.
        #[test]
        fn any_bytes_are_harmless(start in prop_oneof![Just(0usize), 14..60usize], bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let frame = written(&probe(1, 2, Reach::Direct, 3));
            let frame = [&frame[..start], &bytes].concat();
            prop_assert!(!matches!(LldpProbe::read(&key(), &frame), LldpFrame::Ours(_)));
        }
    }
}
