//! The headers of the frames that a network carries, read lazily.
//!
//! Each header is a view over the bytes it was found in: `new` checks once that the fixed part is
//! there (and that the lengths it states can be true), an accessor then picks its field out of it.
//! Nothing is copied, nothing is allocated, and what is not asked for is not looked at. A frame in
//! a PACKET_IN may be cut off behind its first 128 bytes, so a payload is what is there of it, and
//! never more than its header says.
//!
//! Every byte is a stranger's: `new` answers `None` for what cannot be the header asked for, and no
//! accessor panics. Checksums are handed out and not verified: the network card or the switch did
//! that.
//!
//! ```
//! use aldis_packet::arp::ArpMessage;
//! use aldis_packet::{Arp, Ethernet, ethernet, ethertype};
//!
//! let (mine, theirs) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
//! let question = ArpMessage::request([2, 0, 0, 0, 0, 1], mine, theirs);
//! let head = ethernet::header(ethernet::BROADCAST, question.sender_mac, ethertype::ARP);
//! let bytes = [&head[..], &question.to_bytes()[..]].concat();
//!
//! let frame = Ethernet::new(&bytes).unwrap();
//! assert_eq!(frame.ethertype(), ethertype::ARP);
//! assert_eq!(Arp::new(frame.payload()).unwrap().target_ip(), question.target_ip);
//! ```

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod arp;
pub mod dhcp;
pub mod ethernet;
pub mod icmp;
pub mod icmpv6;
pub mod ipv4;
pub mod ipv6;
pub mod llc;
pub mod lldp;
pub mod neighbour;
pub mod tcp;
pub mod udp;
pub mod vlan;

mod field;

pub use arp::Arp;
pub use dhcp::Dhcp;
pub use ethernet::{Ethernet, ethertype};
pub use icmp::Icmp;
pub use icmpv6::Icmpv6;
pub use ipv4::Ipv4;
pub use ipv6::Ipv6;
pub use llc::Llc;
pub use lldp::Lldp;
pub use neighbour::Neighbour;
pub use tcp::Tcp;
pub use udp::Udp;
pub use vlan::Tag;

/// The numbers of the protocols above IP that this crate reads (IANA, Assigned Internet Protocol
/// Numbers).
pub mod protocol {
    /// The Internet Control Message Protocol of IPv4.
    pub const ICMP: u8 = 1;
    /// The Transmission Control Protocol.
    pub const TCP: u8 = 6;
    /// The User Datagram Protocol.
    pub const UDP: u8 = 17;
    /// The Internet Control Message Protocol of IPv6.
    pub const ICMPV6: u8 = 58;
}
