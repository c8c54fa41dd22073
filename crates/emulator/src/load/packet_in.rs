//! Flow requests from a template: a PACKET_IN with a 64-byte frame, of which a request patches the addresses, the port and
//! its number.

use super::outstanding::Outstanding;
use super::sequence::{Homes, Hop, Sequence};
use crate::template::append;
use aldis_wire::Version;
use aldis_wire::header::kind;

/// Bytes of Ethernet frame in a request.
const FRAME_LEN: usize = 64;

/// Length of a request of OpenFlow 1.0 (§5.4.1): 18 bytes, then the frame.
const LEN_V10: usize = FRAME_V10 + FRAME_LEN;
const FRAME_V10: usize = 18;

/// Length of a request of OpenFlow 1.3 (1.3.5 §7.4.1): 24 bytes, a match of 16 with the port, 2 of padding, the frame.
const LEN_V13: usize = FRAME_V13 + FRAME_LEN;
const FRAME_V13: usize = 42;

/// Where a frame carries the number of its request, so that a PACKET_OUT that carries the frame says which it answers.
const NUMBER_IN_FRAME: usize = FRAME_LEN - 4;

/// Where a frame has the sender's hardware address once more when it is an ARP packet (RFC 826).
const ARP_SENDER: usize = 14 + 8;

/// `NO_BUFFER` of both versions.
pub(crate) const NO_BUFFER: u32 = u32::MAX;

/// What the frames are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    /// Broadcast ARP probes without an IP address, which tell where a MAC address lives and nothing else.
    Teach,
    /// UDP between two hosts: a flow request.
    Offer,
}

/// A switch's template for one purpose.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    bytes: Bytes,
    buffered: bool,
    /// The last four bytes of the switch's first address.
    mac: u32,
}

#[derive(Clone, Debug)]
enum Bytes {
    V10([u8; LEN_V10]),
    V13([u8; LEN_V13]),
}

impl Template {
    /// For frames that teach where switch `number`'s addresses live.
    pub(crate) fn teach(version: Version, number: u32, buffered: bool) -> Template {
        Self::new(version, number, buffered, Purpose::Teach)
    }

    /// For flow requests of switch `number`.
    pub(crate) fn offer(version: Version, number: u32, buffered: bool) -> Template {
        Self::new(version, number, buffered, Purpose::Offer)
    }

    fn new(version: Version, number: u32, buffered: bool, purpose: Purpose) -> Template {
        let frame = frame(number, purpose);
        let bytes = match version {
            Version::V10 => Bytes::V10(packet_in_v10(&frame)),
            Version::V13 => Bytes::V13(packet_in_v13(&frame)),
        };
        Template { bytes, buffered, mac: number << 24 }
    }

    /// Length of a request in bytes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self.bytes {
            Bytes::V10(_) => LEN_V10,
            Bytes::V13(_) => LEN_V13,
        }
    }

    /// Appends `count` flow requests to `out`, numbered from `first`.
    #[inline]
    pub(crate) fn offers(
        &self,
        sequence: &mut Sequence,
        first: u32,
        count: u32,
        out: &mut Vec<u8>,
    ) {
        let (mac, buffered) = (self.mac, self.buffered);
        let hops = (0..count).map(|index| (Outstanding::later(first, index), sequence.step()));
        match &self.bytes {
            Bytes::V10(bytes) => {
                for (number, hop) in hops {
                    let message = append(bytes, out);
                    message[14..16].copy_from_slice(&(hop.in_port as u16).to_be_bytes());
                    stamp::<LEN_V10, FRAME_V10>(message, mac, buffered, number, hop);
                }
            }
            Bytes::V13(bytes) => {
                for (number, hop) in hops {
                    let message = append(bytes, out);
                    message[32..36].copy_from_slice(&hop.in_port.to_be_bytes());
                    stamp::<LEN_V13, FRAME_V13>(message, mac, buffered, number, hop);
                }
            }
        }
    }

    /// Appends the frames that teach `count` addresses from the `index`th on, numbered from `first`.
    pub(crate) fn lessons(
        &mut self,
        homes: &Homes,
        index: u32,
        first: u32,
        count: u32,
        out: &mut Vec<u8>,
    ) {
        for step in 0..count {
            let (number, source) = (Outstanding::later(first, step), index + step);
            let sender = (self.mac | source).to_be_bytes();
            let start = out.len();
            out.extend_from_slice(match &self.bytes {
                Bytes::V10(bytes) => bytes,
                Bytes::V13(bytes) => bytes,
            });
            let message = &mut out[start..];
            let in_port = homes.port(source);
            let frame = match self.bytes {
                Bytes::V10(_) => {
                    message[14..16].copy_from_slice(&(in_port as u16).to_be_bytes());
                    FRAME_V10
                }
                Bytes::V13(_) => {
                    message[32..36].copy_from_slice(&in_port.to_be_bytes());
                    FRAME_V13
                }
            };
            number_it(message, frame, self.buffered, number);
            message[frame + 8..frame + 12].copy_from_slice(&sender);
            message[frame + ARP_SENDER + 2..frame + ARP_SENDER + 6].copy_from_slice(&sender);
        }
    }
}

/// Patches what differs from request to request, except the port.
#[inline(always)]
fn stamp<const LEN: usize, const FRAME: usize>(
    message: &mut [u8; LEN],
    mac: u32,
    buffered: bool,
    number: u32,
    hop: Hop,
) {
    number_it(message, FRAME, buffered, number);
    message[FRAME + 2..FRAME + 6].copy_from_slice(&(mac | hop.destination).to_be_bytes());
    message[FRAME + 8..FRAME + 12].copy_from_slice(&(mac | hop.source).to_be_bytes());
}

/// Writes the number wherever the request carries it: xid, buffer id, frame.
#[inline(always)]
fn number_it(message: &mut [u8], frame: usize, buffered: bool, number: u32) {
    let buffer_id = if buffered { number } else { NO_BUFFER };
    message[4..8].copy_from_slice(&number.to_be_bytes());
    message[8..12].copy_from_slice(&buffer_id.to_be_bytes());
    message[frame + NUMBER_IN_FRAME..frame + FRAME_LEN].copy_from_slice(&number.to_be_bytes());
}

/// The number that a frame of ours carries.
pub(crate) fn number_in(frame: &[u8]) -> Option<u32> {
    let number = frame.get(NUMBER_IN_FRAME..FRAME_LEN)?;
    Some(u32::from_be_bytes(number.try_into().ok()?))
}

fn packet_in_v10(frame: &[u8; FRAME_LEN]) -> [u8; LEN_V10] {
    let mut bytes = [0; LEN_V10];
    (bytes[0], bytes[1], bytes[3]) = (Version::V10.wire(), kind::PACKET_IN, LEN_V10 as u8);
    bytes[13] = FRAME_LEN as u8;
    bytes[FRAME_V10..].copy_from_slice(frame);
    bytes
}

fn packet_in_v13(frame: &[u8; FRAME_LEN]) -> [u8; LEN_V13] {
    let mut bytes = [0; LEN_V13];
    (bytes[0], bytes[1], bytes[3]) = (Version::V13.wire(), kind::PACKET_IN, LEN_V13 as u8);
    bytes[13] = FRAME_LEN as u8;
    // An OXM match of 12 bytes, padded to 16, with OFPXMT_OFB_IN_PORT (§7.2.3.7) alone.
    (bytes[25], bytes[27], bytes[28], bytes[31]) = (1, 12, 0x80, 4);
    bytes[FRAME_V13..].copy_from_slice(frame);
    bytes
}

/// A frame between the switch's hosts, `02:SS:SS:II:II:II`: switch S's host I.
fn frame(switch: u32, purpose: Purpose) -> [u8; FRAME_LEN] {
    let mut frame = [0; FRAME_LEN];
    let [_, _, high, low] = switch.to_be_bytes();
    frame[..3].copy_from_slice(&[2, high, low]);
    frame[6..9].copy_from_slice(&[2, high, low]);
    match purpose {
        Purpose::Teach => {
            frame[..6].fill(0xff);
            frame[12..14].copy_from_slice(&[0x08, 0x06]);
            // Ethernet, IPv4, 6 and 4 bytes of address, a request: a probe for 10.0.0.1 by one who has no address yet.
            frame[14..22].copy_from_slice(&[0, 1, 8, 0, 6, 4, 0, 1]);
            frame[ARP_SENDER..ARP_SENDER + 3].copy_from_slice(&[2, high, low]);
            frame[38..42].copy_from_slice(&[10, 0, 0, 1]);
        }
        Purpose::Offer => {
            frame[12..14].copy_from_slice(&[0x08, 0x00]);
            frame[14..34].copy_from_slice(&ipv4_header([10, high, low, 1], [10, high, low, 2]));
            // UDP from and to the discard port, 30 bytes, no checksum (RFC 768).
            frame[34..40].copy_from_slice(&[0, 9, 0, 9, 0, 30]);
        }
    }
    frame
}

/// An IPv4 header for 30 bytes of UDP (RFC 791).
fn ipv4_header(source: [u8; 4], destination: [u8; 4]) -> [u8; 20] {
    let mut header = [0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    header[12..16].copy_from_slice(&source);
    header[16..].copy_from_slice(&destination);
    let sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = sum + (sum >> 16);
    header[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
    header
}
