//! Address resolution (RFC 826) between Ethernet and IPv4; other pairs of address families are not
//! read.
//!
//! ```text
//!  0       2       4      5      6    8            14          18           24          28
//! | htype | ptype | hlen | plen | op | sender mac | sender ip | target mac | target ip |
//! ```

use crate::field::{be16, field};
use core::net::Ipv4Addr;

/// Length of a message in bytes.
pub const LEN: usize = 28;

/// The operation that asks for the address of a host.
pub const REQUEST: u16 = 1;

/// The operation that answers.
pub const REPLY: u16 = 2;

/// Ethernet, IPv4, and the lengths of their addresses: how every message of this kind begins.
const FAMILIES: [u8; 6] = [0, 1, 8, 0, 6, 4];

/// An ARP message.
#[derive(Clone, Copy, Debug)]
pub struct Arp<'a> {
    head: &'a [u8; LEN],
}

impl<'a> Arp<'a> {
    /// The message at the front of `bytes`; `None` where it is cut off or not about Ethernet and
    /// IPv4.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let head = bytes.first_chunk()?;
        (field::<0, 6, _>(head) == FAMILIES).then_some(Arp { head })
    }

    /// What it is for: [`REQUEST`], [`REPLY`], or something rarer.
    #[inline]
    pub fn operation(&self) -> u16 {
        be16::<6, _>(self.head)
    }

    /// The sender's Ethernet address, as it says itself; the frame's own source may differ.
    #[inline]
    pub fn sender_mac(&self) -> [u8; 6] {
        field::<8, 6, _>(self.head)
    }

    /// The sender's IP address.
    #[inline]
    pub fn sender_ip(&self) -> Ipv4Addr {
        field::<14, 4, _>(self.head).into()
    }

    /// The target's Ethernet address; means nothing in a request.
    #[inline]
    pub fn target_mac(&self) -> [u8; 6] {
        field::<18, 6, _>(self.head)
    }

    /// The target's IP address: in a request the one asked about.
    #[inline]
    pub fn target_ip(&self) -> Ipv4Addr {
        field::<24, 4, _>(self.head).into()
    }
}

/// An ARP message to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArpMessage {
    /// [`REQUEST`] or [`REPLY`].
    pub operation: u16,
    /// The sender's Ethernet address.
    pub sender_mac: [u8; 6],
    /// The sender's IP address.
    pub sender_ip: Ipv4Addr,
    /// The target's Ethernet address.
    pub target_mac: [u8; 6],
    /// The target's IP address.
    pub target_ip: Ipv4Addr,
}

impl ArpMessage {
    /// The question which Ethernet address `target_ip` has.
    pub fn request(sender_mac: [u8; 6], sender_ip: Ipv4Addr, target_ip: Ipv4Addr) -> Self {
        ArpMessage { operation: REQUEST, sender_mac, sender_ip, target_mac: [0; 6], target_ip }
    }

    /// The answer to `request`: the address it asked about is at `mac`.
    pub fn reply(request: &Arp<'_>, mac: [u8; 6]) -> Self {
        ArpMessage {
            operation: REPLY,
            sender_mac: mac,
            sender_ip: request.target_ip(),
            target_mac: request.sender_mac(),
            target_ip: request.sender_ip(),
        }
    }

    /// The message as it stands in a frame, behind the Ethernet header.
    pub fn to_bytes(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..6].copy_from_slice(&FAMILIES);
        bytes[6..8].copy_from_slice(&self.operation.to_be_bytes());
        bytes[8..14].copy_from_slice(&self.sender_mac);
        bytes[14..18].copy_from_slice(&self.sender_ip.octets());
        bytes[18..24].copy_from_slice(&self.target_mac);
        bytes[24..].copy_from_slice(&self.target_ip.octets());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKS: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const ANSWERS: [u8; 6] = [2, 0, 0, 0, 0, 2];

    #[test]
    fn a_question_and_its_answer() {
        let asked =
            ArpMessage::request(ASKS, [10, 0, 0, 1].into(), [10, 0, 0, 2].into()).to_bytes();
        let question = Arp::new(&asked).unwrap();
        assert_eq!((question.operation(), question.sender_mac()), (REQUEST, ASKS));

        let answered = ArpMessage::reply(&question, ANSWERS).to_bytes();
        let answer = Arp::new(&answered).unwrap();
        assert_eq!((answer.operation(), answer.sender_mac()), (REPLY, ANSWERS));
        assert_eq!((answer.target_mac(), answer.target_ip()), (ASKS, question.sender_ip()));
        assert_eq!(answer.sender_ip(), question.target_ip());
    }

    #[test]
    fn other_address_families_and_short_messages_are_refused() {
        let good = ArpMessage::request(ASKS, [10, 0, 0, 1].into(), [10, 0, 0, 2].into()).to_bytes();
        for at in 0..6 {
            let mut bad = good;
            bad[at] ^= 1;
            assert!(Arp::new(&bad).is_none(), "byte {at}");
        }
        assert!(Arp::new(&good[..LEN - 1]).is_none());
    }
}
