//! Flow requests: PACKET_INs with a 64-byte frame, made once as a [`Sheet`] full of them and
//! patched before each write.
//!
//! All switches of a thread use the same sheet, so that a request costs five stores into lines that
//! are in the cache. (Copying a template for each request instead costs 3 ns more; patching the
//! template before the copy, 8 ns: the processor waits for wide loads of what was just stored in
//! narrow words.)

use super::outstanding::Outstanding;
use super::sequence::{Homes, RequestPair};
use aldis_wire::Version;
use aldis_wire::header::kind;

/// Bytes of Ethernet frame in a request.
const FRAME_LEN: usize = 64;

/// Length of a request of OpenFlow 1.0 (§5.4.1): 18 bytes, then the frame.
const LEN_V10: usize = FRAME_V10 + FRAME_LEN;
const FRAME_V10: usize = 18;
const IN_PORT_V10: usize = 14;

/// Length of a request of OpenFlow 1.3 (1.3.5 §7.4.1): 24 bytes, a match of 16 with the port, 2 of
/// padding, the frame.
const LEN_V13: usize = FRAME_V13 + FRAME_LEN;
const FRAME_V13: usize = 42;
const IN_PORT_V13: usize = 32;

/// Where a frame carries the number of its request, so that a PACKET_OUT that carries the frame
/// says which it answers.
const NUMBER_IN_FRAME: usize = FRAME_LEN - 4;

/// Where a frame has the sender's hardware address once more when it is an ARP packet (RFC 826).
const ARP_SENDER: usize = 14 + 8;

/// `NO_BUFFER` of both versions.
pub(crate) const NO_BUFFER: u32 = u32::MAX;

/// What the frames of a sheet are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Broadcast ARP probes without an IP address, which tell where a MAC address lives and nothing
    /// else.
    Teach,
    /// UDP between two hosts: a flow request.
    Offer,
}

/// The addresses of a switch's hosts, `02:SS:SS:II:II:II`: switch S's host I.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostAddresses(u64);

impl HostAddresses {
    /// Those of switch `number`.
    pub(crate) fn of(number: u32) -> HostAddresses {
        HostAddresses(0x02 << 40 | u64::from(number) << 24)
    }

    #[inline]
    fn mac(self, index: u32) -> u64 {
        self.0 | u64::from(index)
    }

    /// The index of the host with this address, if it is one of these.
    pub(crate) fn index(self, mac: u64) -> Option<u32> {
        (mac >> 24 == self.0 >> 24).then_some(mac as u32 & 0x00ff_ffff)
    }
}

/// Requests one behind another, all of one version and for one purpose.
pub(crate) struct Sheet {
    requests: RequestBytes,
    buffered: bool,
}

enum RequestBytes {
    V10(Vec<[u8; LEN_V10]>),
    V13(Vec<[u8; LEN_V13]>),
}

impl Sheet {
    /// A sheet of `count` requests.
    pub(crate) fn new(version: Version, buffered: bool, purpose: Purpose, count: usize) -> Sheet {
        let frame = frame(purpose);
        let requests = match version {
            Version::V10 => RequestBytes::V10(vec![packet_in_v10(&frame); count]),
            Version::V13 => RequestBytes::V13(vec![packet_in_v13(&frame); count]),
        };
        Sheet { requests, buffered }
    }

    /// Length of a request in bytes.
    #[inline]
    pub(crate) fn request_len(&self) -> usize {
        match self.requests {
            RequestBytes::V10(_) => LEN_V10,
            RequestBytes::V13(_) => LEN_V13,
        }
    }

    /// How many requests the sheet holds.
    #[inline]
    pub(crate) fn capacity(&self) -> u32 {
        match &self.requests {
            RequestBytes::V10(requests) => requests.len() as u32,
            RequestBytes::V13(requests) => requests.len() as u32,
        }
    }

    /// The first requests of a sheet for offers, one for each of `hops`, patched with source and
    /// destination; numbered from `first`.
    #[inline]
    pub(crate) fn offers(
        &mut self,
        hosts: HostAddresses,
        hops: impl ExactSizeIterator<Item = RequestPair>,
        first: u32,
    ) -> &[u8] {
        let (count, buffered) = (hops.len(), self.buffered);
        let hops = (0..).map(|index| Outstanding::later(first, index)).zip(hops);
        match &mut self.requests {
            RequestBytes::V10(requests) => {
                for (request, (number, hop)) in requests.iter_mut().zip(hops) {
                    let in_port = (hop.in_port as u16).to_be_bytes();
                    request[IN_PORT_V10..IN_PORT_V10 + 2].copy_from_slice(&in_port);
                    write_number::<LEN_V10, FRAME_V10>(request, number, buffered);
                    write_macs::<LEN_V10, FRAME_V10>(request, hosts, hop);
                }
                requests[..count].as_flattened()
            }
            RequestBytes::V13(requests) => {
                for (request, (number, hop)) in requests.iter_mut().zip(hops) {
                    request[IN_PORT_V13..IN_PORT_V13 + 4]
                        .copy_from_slice(&hop.in_port.to_be_bytes());
                    write_number::<LEN_V13, FRAME_V13>(request, number, buffered);
                    write_macs::<LEN_V13, FRAME_V13>(request, hosts, hop);
                }
                requests[..count].as_flattened()
            }
        }
    }

    /// The first `count` requests of a sheet for teaching, patched to tell where the addresses from
    /// the `index`th on live; numbered from `first`.
    pub(crate) fn lessons(
        &mut self,
        hosts: HostAddresses,
        homes: &Homes,
        index: u32,
        first: u32,
        count: u32,
    ) -> &[u8] {
        let lessons = (0..count).map(|step| (Outstanding::later(first, step), index + step));
        match &mut self.requests {
            RequestBytes::V10(requests) => {
                for (request, (number, source)) in requests.iter_mut().zip(lessons) {
                    let in_port = (homes.port(source) as u16).to_be_bytes();
                    request[IN_PORT_V10..IN_PORT_V10 + 2].copy_from_slice(&in_port);
                    write_number::<LEN_V10, FRAME_V10>(request, number, self.buffered);
                    write_sender(&mut request[FRAME_V10..], hosts.mac(source));
                }
                requests[..count as usize].as_flattened()
            }
            RequestBytes::V13(requests) => {
                for (request, (number, source)) in requests.iter_mut().zip(lessons) {
                    let in_port = homes.port(source).to_be_bytes();
                    request[IN_PORT_V13..IN_PORT_V13 + 4].copy_from_slice(&in_port);
                    write_number::<LEN_V13, FRAME_V13>(request, number, self.buffered);
                    write_sender(&mut request[FRAME_V13..], hosts.mac(source));
                }
                requests[..count as usize].as_flattened()
            }
        }
    }
}

/// Writes the number wherever a request carries it: xid and buffer id, which are neighbours, and
/// frame.
#[inline(always)]
fn write_number<const LEN: usize, const FRAME: usize>(
    request: &mut [u8; LEN],
    number: u32,
    buffered: bool,
) {
    let buffer_id = if buffered { number } else { NO_BUFFER };
    let both = u64::from(number) << 32 | u64::from(buffer_id);
    request[4..12].copy_from_slice(&both.to_be_bytes());
    let in_frame = FRAME + NUMBER_IN_FRAME;
    request[in_frame..in_frame + 4].copy_from_slice(&number.to_be_bytes());
}

/// Writes both addresses of the frame: the destination with the first two bytes of the source, then
/// the rest of it.
#[inline(always)]
fn write_macs<const LEN: usize, const FRAME: usize>(
    request: &mut [u8; LEN],
    hosts: HostAddresses,
    hop: RequestPair,
) {
    let (source, destination) = (hosts.mac(hop.source), hosts.mac(hop.destination));
    let eight = destination << 16 | source >> 32;
    request[FRAME..FRAME + 8].copy_from_slice(&eight.to_be_bytes());
    request[FRAME + 8..FRAME + 12].copy_from_slice(&(source as u32).to_be_bytes());
}

/// Writes the sender of an ARP packet, in both places.
fn write_sender(frame: &mut [u8], mac: u64) {
    let mac = &mac.to_be_bytes()[2..];
    frame[6..12].copy_from_slice(mac);
    frame[ARP_SENDER..ARP_SENDER + 6].copy_from_slice(mac);
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

fn frame(purpose: Purpose) -> [u8; FRAME_LEN] {
    let mut frame = [0; FRAME_LEN];
    match purpose {
        Purpose::Teach => {
            frame[..6].fill(0xff);
            frame[12..14].copy_from_slice(&[0x08, 0x06]);
            // Ethernet, IPv4, 6 and 4 bytes of address, a request: a probe for 198.18.0.1 by a host
            // that has no address yet.
            frame[14..22].copy_from_slice(&[0, 1, 8, 0, 6, 4, 0, 1]);
            frame[38..42].copy_from_slice(&[198, 18, 0, 1]);
        }
        Purpose::Offer => {
            frame[12..14].copy_from_slice(&[0x08, 0x00]);
            frame[14..34].copy_from_slice(&IPV4_HEADER);
            // UDP from and to the discard port, 30 bytes, no checksum (RFC 768).
            frame[34..40].copy_from_slice(&[0, 9, 0, 9, 0, 30]);
        }
    }
    frame
}

/// An IPv4 header for 30 bytes of UDP from 198.18.0.1 to 198.18.0.2, with its checksum (RFC 791).
/// These addresses are set apart for measurements (RFC 2544, RFC 6890), so that no network beside
/// the load has hosts that are called so.
const IPV4_HEADER: [u8; 20] =
    [0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0xee, 0x93, 198, 18, 0, 1, 198, 18, 0, 2];

#[cfg(test)]
mod tests {
    use super::super::sequence::{Destinations, Round, SwitchSequence};
    use super::*;

    #[test]
    fn the_checksum_is_right() {
        let words =
            IPV4_HEADER.as_chunks::<2>().0.iter().map(|&word| u32::from(u16::from_be_bytes(word)));
        let sum: u32 = words.sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    #[test]
    fn a_request_of_1_0_says_who_speaks_to_whom() {
        let homes = Homes::new(10, 4, Destinations::All);
        let sequence = SwitchSequence::new(Round::new(&homes));
        let mut sheet = Sheet::new(Version::V10, true, Purpose::Offer, 3);
        let requests = sheet.offers(HostAddresses::of(0x1234), sequence.ahead(2), 77);
        assert_eq!(requests.len(), 2 * 82);
        let second = &requests[82..];
        assert_eq!(second[..14], [1, 10, 0, 82, 0, 0, 0, 78, 0, 0, 0, 78, 0, 64]);
        assert_eq!(second[14..18], [0, 2, 0, 0], "port 2, no match");
        assert_eq!(second[18..24], [2, 0x12, 0x34, 0, 0, 4], "host 5 + 9, modulo 10");
        assert_eq!(second[24..30], [2, 0x12, 0x34, 0, 0, 1]);
        assert_eq!(number_in(&second[18..]), Some(78));
    }

    #[test]
    fn a_lesson_of_1_3_says_where_a_host_lives() {
        let homes = Homes::new(10, 4, Destinations::One);
        let mut sheet = Sheet::new(Version::V13, false, Purpose::Teach, 2);
        let lesson = sheet.lessons(HostAddresses::of(1), &homes, 10, 5, 1);
        assert_eq!(lesson[..14], [4, 10, 0, 106, 0, 0, 0, 5, 0xff, 0xff, 0xff, 0xff, 0, 64]);
        assert_eq!(lesson[24..40], [0, 1, 0, 12, 0x80, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0]);
        assert_eq!(lesson[42..54], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 1, 0, 0, 10]);
        assert_eq!(lesson[64..70], [2, 0, 1, 0, 0, 10]);
    }
}
