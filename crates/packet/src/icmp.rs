//! ICMP (RFC 792).

use crate::field::be16;

/// Length of the header in bytes: type, code, checksum, and four bytes whose meaning the type
/// gives.
pub const HEADER_LEN: usize = 8;

/// Type: the answer to a ping.
pub const ECHO_REPLY: u8 = 0;

/// Type: a ping.
pub const ECHO_REQUEST: u8 = 8;

/// An ICMP message.
#[derive(Clone, Copy, Debug)]
pub struct Icmp<'a> {
    head: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> Icmp<'a> {
    /// The message that `bytes` are; `None` below [`HEADER_LEN`] bytes.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (head, payload) = bytes.split_first_chunk()?;
        Some(Icmp { head, payload })
    }

    /// Its type.
    #[inline]
    pub fn kind(&self) -> u8 {
        self.head[0]
    }

    /// Its code, which refines the type.
    #[inline]
    pub fn code(&self) -> u8 {
        self.head[1]
    }

    /// Its checksum, not verified.
    #[inline]
    pub fn checksum(&self) -> u16 {
        be16::<2, _>(self.head)
    }

    /// Identifier and sequence number of a ping or its answer.
    #[inline]
    pub fn echo(&self) -> Option<(u16, u16)> {
        matches!(self.kind(), ECHO_REQUEST | ECHO_REPLY)
            .then(|| (be16::<4, _>(self.head), be16::<6, _>(self.head)))
    }

    /// What is behind the header: of an error message the beginning of the packet that caused it.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping() {
        let icmp = Icmp::new(&[8, 0, 0xab, 0xcd, 0, 7, 0, 9, 1, 2]).unwrap();
        assert_eq!((icmp.kind(), icmp.code(), icmp.checksum()), (ECHO_REQUEST, 0, 0xabcd));
        assert_eq!((icmp.echo(), icmp.payload()), (Some((7, 9)), &[1, 2][..]));
    }

    #[test]
    fn an_error_is_no_ping_and_seven_bytes_are_no_message() {
        assert_eq!(Icmp::new(&[3, 1, 0, 0, 0, 0, 0, 0]).unwrap().echo(), None);
        assert!(Icmp::new(&[8; 7]).is_none());
    }
}
