//! What a sample says, and what is dropped.

use super::*;
use aldis_wire::Header;
use aldis_wire::header::kind::{ECHO_REQUEST, PACKET_IN};

const LLDP: u16 = 0x88cc;

/// A PACKET_IN of OpenFlow 1.0, 82 bytes long.
fn packet_in(port: u16, ethertype: u16) -> Vec<u8> {
    let mut bytes =
        Vec::from(Header { version: 1, kind: PACKET_IN, length: 82, xid: 0 }.to_bytes());
    bytes.extend_from_slice(&[0, 0, 0, 9, 0, 64]);
    bytes.extend_from_slice(&port.to_be_bytes());
    bytes.resize(30, 0);
    bytes.extend_from_slice(&ethertype.to_be_bytes());
    bytes.resize(82, 0);
    bytes
}

/// Seven ports in turn, and an eighth ten times as often.
fn storm(times: usize) -> Vec<u16> {
    (1..=7).chain([8; 10]).collect::<Vec<_>>().repeat(times)
}

fn requests(ports: &[u16]) -> Vec<RequestHeader> {
    let bytes: Vec<u8> = ports.iter().flat_map(|port| packet_in(*port, 0x800)).collect();
    let mut requests = Vec::new();
    parse::parse(Version::V10, &bytes, 0, &mut requests);
    requests
}

/// What a sample of these says, which comes in pieces of so many.
fn is_skewed(ports: &[u16], pieces: usize) -> bool {
    let mut sample = Sample::default();
    sample.begin(ports.len());
    requests(ports).chunks(pieces).for_each(|piece| sample.take(piece));
    sample.is_skewed()
}

#[test]
fn a_sample_tells_a_storm_from_ports_that_ask_alike() {
    for pieces in [1, 10, 100, 10_000] {
        assert!(is_skewed(&storm(40), pieces), "{pieces}");
        assert!(!is_skewed(&(0..8).cycle().take(800).collect::<Vec<_>>(), pieces));
        assert!(!is_skewed(&(0..800).collect::<Vec<_>>(), pieces));
        assert!(!is_skewed(&[3; 800], pieces));
    }
    assert!(!is_skewed(&[], 1));
}

/// What is left of a visit of a flooded switch, port by port, with the fences that lie in it.
fn shed(bytes: &[u8], share: usize) -> (Vec<u32>, usize) {
    let mut shedder = Shedder::new();
    shedder.action = FloodAction::Shed;
    // Those of another visit of the batch.
    let mut batch = requests(&[5, 5, 5]);
    shedder.weigh(Version::V10, bytes, share, &mut batch);
    let (mut at, mut fences) = (0, 0);
    while at < bytes.len() {
        let first = batch.len();
        at = parse::parse(Version::V10, bytes, at, &mut batch);
        shedder.filter(&mut batch, first);
        if let Some(Ok(fence)) = Chop::new(&bytes[at..]).next() {
            fences += 1;
            at += fence.bytes.len();
        }
    }
    assert!(batch[..3].iter().all(|request| request.in_port == 5));
    (batch[3..].iter().map(|request| request.in_port).collect(), fences)
}

fn count(ports: &[u32], of: u32) -> usize {
    ports.iter().filter(|port| **port == of).count()
}

#[test]
fn only_requests_of_the_flooding_port_are_dropped_and_not_below_the_share() {
    let echo = Header { version: 1, kind: ECHO_REQUEST, length: 8, xid: 0 }.to_bytes();
    let mut bytes = Vec::new();
    for (at, port) in storm(100).into_iter().enumerate() {
        bytes.extend(packet_in(port, 0x800));
        match at % 50 {
            20 => bytes.extend(echo),
            40 => bytes.extend(packet_in(8, LLDP)),
            _ => {}
        }
    }
    let (kept, fences) = shed(&bytes, 800);
    assert_eq!((kept.len(), fences), (800, 68));
    assert!((1..=8).all(|port| count(&kept, port) == 100), "{kept:?}");
    let (kept, _) = shed(&bytes, 1700);
    assert_eq!(kept.len(), 1700, "it is within its share");
}

#[test]
fn ports_that_ask_alike_lose_nothing() {
    let ports: Vec<u16> = (0..8).cycle().take(1600).collect();
    let bytes: Vec<u8> = ports.iter().flat_map(|port| packet_in(*port, 0x800)).collect();
    assert_eq!(shed(&bytes, 100).0.len(), 1600);
}

#[test]
fn what_breaks_off_or_lies_about_its_length_ends_the_look() {
    let mut bytes = packet_in(1, 0x800);
    bytes.extend([1, 10, 0, 3, 0, 0, 0, 0]);
    let mut batch = Vec::new();
    assert_eq!(Shedder::new().weigh(Version::V10, &bytes, 0, &mut batch), None);
    assert_eq!(Shedder::new().weigh(Version::V10, &bytes[..81], 0, &mut batch), None);
    assert!(batch.is_empty());
}
