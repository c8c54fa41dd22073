//! DHCP for IPv4 (RFC 2131, options in RFC 2132): what a controller asks of it, which is the client
//! that wants an address and what gives one. Options that overflow into the `sname` and `file`
//! fields (option 52) are not followed.
//!
//! ```text
//!  0    1       2      3      4     8      10      12       16
//! | op | htype | hlen | hops | xid | secs | flags | ciaddr | yiaddr |
//!  20       24       28       44  236      240
//! | siaddr | giaddr | chaddr | … | cookie | options …
//! ```

use crate::field::{be32, field};
use core::net::Ipv4Addr;

/// Length in bytes of all in front of the options, the cookie included.
pub const HEADER_LEN: usize = 240;

/// The port that servers listen on.
pub const SERVER_PORT: u16 = 67;

/// The port that clients listen on.
pub const CLIENT_PORT: u16 = 68;

/// What distinguishes DHCP from its ancestor BOOTP (RFC 2131 §3).
const COOKIE: [u8; 4] = [99, 130, 83, 99];

/// The options that have accessors here (RFC 2132).
pub mod option {
    /// Nothing; fills up.
    pub const PAD: u8 = 0;
    /// The address that the client would like (§9.1).
    pub const REQUESTED_IP: u8 = 50;
    /// What the message is for (§9.6).
    pub const MESSAGE_TYPE: u8 = 53;
    /// The server spoken to, or speaking (§9.7).
    pub const SERVER_ID: u8 = 54;
    /// The options end here.
    pub const END: u8 = 255;
}

/// Values of [`Dhcp::message_type`] (RFC 2132 §9.6).
pub mod message_type {
    /// A client looks for servers.
    pub const DISCOVER: u8 = 1;
    /// A server offers an address.
    pub const OFFER: u8 = 2;
    /// A client takes an offer, or asks to keep an address.
    pub const REQUEST: u8 = 3;
    /// A client found the address in use.
    pub const DECLINE: u8 = 4;
    /// A server grants.
    pub const ACK: u8 = 5;
    /// A server refuses.
    pub const NAK: u8 = 6;
    /// A client gives its address back.
    pub const RELEASE: u8 = 7;
    /// A client has an address and asks for the rest.
    pub const INFORM: u8 = 8;
}

/// A DHCP message.
#[derive(Clone, Copy, Debug)]
pub struct Dhcp<'a> {
    head: &'a [u8; HEADER_LEN],
    options: &'a [u8],
}

impl<'a> Dhcp<'a> {
    /// The message that `bytes` are; `None` where its fixed part is cut off or lacks the cookie of
    /// DHCP.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (head, options) = bytes.split_first_chunk::<HEADER_LEN>()?;
        (field::<236, 4, _>(head) == COOKIE).then_some(Dhcp { head, options })
    }

    /// The direction: 1 from a client, 2 from a server.
    #[inline]
    pub fn op(&self) -> u8 {
        self.head[0]
    }

    /// The number that the client chose for this exchange.
    #[inline]
    pub fn xid(&self) -> u32 {
        be32::<4, _>(self.head)
    }

    /// The client's address, where it has one already.
    #[inline]
    pub fn ciaddr(&self) -> Ipv4Addr {
        field::<12, 4, _>(self.head).into()
    }

    /// The address that the server gives.
    #[inline]
    pub fn yiaddr(&self) -> Ipv4Addr {
        field::<16, 4, _>(self.head).into()
    }

    /// The relay that the message came through.
    #[inline]
    pub fn giaddr(&self) -> Ipv4Addr {
        field::<24, 4, _>(self.head).into()
    }

    /// The client's Ethernet address; `None` where its hardware is something else.
    #[inline]
    pub fn chaddr(&self) -> Option<[u8; 6]> {
        (field::<1, 2, _>(self.head) == [1, 6]).then(|| field::<28, 6, _>(self.head))
    }

    /// What the message is for ([`message_type`]).
    #[inline]
    pub fn message_type(&self) -> Option<u8> {
        self.option(option::MESSAGE_TYPE).map(|[kind]| kind)
    }

    /// The address that the client would like.
    #[inline]
    pub fn requested_ip(&self) -> Option<Ipv4Addr> {
        self.option(option::REQUESTED_IP).map(<[u8; 4]>::into)
    }

    /// The server spoken to, or speaking.
    #[inline]
    pub fn server_id(&self) -> Option<Ipv4Addr> {
        self.option(option::SERVER_ID).map(<[u8; 4]>::into)
    }

    /// The first option of this kind, where it has the length it must have.
    fn option<const LEN: usize>(&self, kind: u8) -> Option<[u8; LEN]> {
        self.options().find(|option| option.kind == kind)?.data.try_into().ok()
    }

    /// Its options, up to the end option or the first that is cut off.
    #[inline]
    pub fn options(&self) -> Options<'a> {
        Options { rest: self.options }
    }
}

/// One option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DhcpOption<'a> {
    /// Its number ([`option`]).
    pub kind: u8,
    /// What it says.
    pub data: &'a [u8],
}

/// The options of a message; padding is passed over.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = DhcpOption<'a>;

    fn next(&mut self) -> Option<DhcpOption<'a>> {
        while let [option::PAD, rest @ ..] = self.rest {
            self.rest = rest;
        }
        let &[kind, length, ref behind @ ..] = self.rest else { return None };
        if kind == option::END {
            return None;
        }
        let (data, rest) = behind.split_at_checked(usize::from(length))?;
        self.rest = rest;
        Some(DhcpOption { kind, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn message(options: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        bytes[..8].copy_from_slice(&[1, 1, 6, 0, 0xde, 0xad, 0xbe, 0xef]);
        bytes[12..28].copy_from_slice(&[1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4]);
        bytes[28..34].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        bytes[236..].copy_from_slice(&COOKIE);
        bytes.extend_from_slice(options);
        bytes
    }

    #[test]
    fn a_request_for_an_address() {
        let bytes =
            message(&[0, 53, 1, 3, 50, 4, 10, 0, 0, 9, 0, 54, 4, 10, 0, 0, 1, 255, 53, 1, 5]);
        let dhcp = Dhcp::new(&bytes).unwrap();
        assert_eq!(
            (dhcp.op(), dhcp.xid(), dhcp.chaddr()),
            (1, 0xdead_beef, Some([2, 0, 0, 0, 0, 9]))
        );
        assert_eq!(dhcp.message_type(), Some(message_type::REQUEST));
        assert_eq!(dhcp.requested_ip(), Some([10, 0, 0, 9].into()));
        assert_eq!(dhcp.server_id(), Some([10, 0, 0, 1].into()));
        assert_eq!((dhcp.ciaddr(), dhcp.yiaddr()), ([1; 4].into(), [2; 4].into()));
        assert_eq!((dhcp.giaddr(), dhcp.options().count()), (Ipv4Addr::from([4; 4]), 3));
    }

    #[test]
    fn options_of_a_wrong_length_are_not_believed() {
        let bytes = message(&[53, 2, 3, 3, 50, 3, 1, 2, 3, 54, 200, 1]);
        let dhcp = Dhcp::new(&bytes).unwrap();
        assert_eq!(
            (dhcp.message_type(), dhcp.requested_ip(), dhcp.server_id()),
            (None, None, None)
        );
    }

    #[test]
    fn bootp_other_hardware_and_short_messages() {
        let mut bytes = message(&[]);
        assert!(Dhcp::new(&bytes[..HEADER_LEN - 1]).is_none());
        bytes[1] = 6;
        assert_eq!(Dhcp::new(&bytes).unwrap().chaddr(), None);
        bytes[239] = 0;
        assert!(Dhcp::new(&bytes).is_none());
    }
}
