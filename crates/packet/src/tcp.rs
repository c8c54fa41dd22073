//! TCP (RFC 9293).
//!
//! ```text
//!  0             2                  4          8
//! | source port | destination port | sequence | ack |
//!  12              14       16         18       20
//! | offset, flags | window | checksum | urgent | options …
//! ```

use crate::field::{be16, be32};

/// Length of the header without options, in bytes.
pub const HEADER_LEN: usize = 20;

/// The bits of [`Tcp::flags`].
pub mod flag {
    /// The sender has finished.
    pub const FIN: u16 = 0x001;
    /// A connection begins.
    pub const SYN: u16 = 0x002;
    /// The connection is refused or gone.
    pub const RST: u16 = 0x004;
    /// Hand over what there is.
    pub const PSH: u16 = 0x008;
    /// The acknowledgement number means something.
    pub const ACK: u16 = 0x010;
    /// The urgent pointer means something.
    pub const URG: u16 = 0x020;
    /// Congestion was met on the way (RFC 3168).
    pub const ECE: u16 = 0x040;
    /// The sender has slowed down (RFC 3168).
    pub const CWR: u16 = 0x080;
    /// A nonce that protects the two above (RFC 3540, historic).
    pub const NS: u16 = 0x100;
}

/// A TCP segment.
#[derive(Clone, Copy, Debug)]
pub struct Tcp<'a> {
    head: &'a [u8; HEADER_LEN],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Tcp<'a> {
    /// The segment that `bytes` are; `None` where its header is cut off, or says to be shorter than
    /// a header can be.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEADER_LEN>()?;
        let options_len = (usize::from(head[12] >> 4) * 4).checked_sub(HEADER_LEN)?;
        let (options, payload) = rest.split_at_checked(options_len)?;
        Some(Tcp { head, options, payload })
    }

    /// The sender's port.
    #[inline]
    pub fn source_port(&self) -> u16 {
        be16::<0, _>(self.head)
    }

    /// The receiver's port.
    #[inline]
    pub fn destination_port(&self) -> u16 {
        be16::<2, _>(self.head)
    }

    /// The number of the first byte carried.
    #[inline]
    pub fn sequence(&self) -> u32 {
        be32::<4, _>(self.head)
    }

    /// The number of the next byte expected.
    #[inline]
    pub fn acknowledgement(&self) -> u32 {
        be32::<8, _>(self.head)
    }

    /// The control bits, twelve of them with the reserved ones ([`flag`]).
    #[inline]
    pub fn flags(&self) -> u16 {
        be16::<12, _>(self.head) & 0x0fff
    }

    /// How much the sender is ready to receive, unscaled.
    #[inline]
    pub fn window(&self) -> u16 {
        be16::<14, _>(self.head)
    }

    /// Its checksum, not verified.
    #[inline]
    pub fn checksum(&self) -> u16 {
        be16::<16, _>(self.head)
    }

    /// Its options, uninterpreted.
    #[inline]
    pub fn options(&self) -> &'a [u8] {
        self.options
    }

    /// What it carries.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: [u8; 26] = [
        0xc0, 0x01, 0, 80, 0, 0, 0, 5, 0, 0, 0, 6, 0x61, 0x12, 1, 0, 0xab, 0xcd, 0, 0, 2, 4, 5,
        0xb4, 0xee, 0xff,
    ];

    #[test]
    fn every_field_of_a_segment() {
        let tcp = Tcp::new(&SEGMENT).unwrap();
        assert_eq!((tcp.source_port(), tcp.destination_port()), (0xc001, 80));
        assert_eq!((tcp.sequence(), tcp.acknowledgement(), tcp.window()), (5, 6, 256));
        assert_eq!(tcp.flags(), flag::NS | flag::SYN | flag::ACK);
        assert_eq!((tcp.checksum(), tcp.options()), (0xabcd, &[2, 4, 5, 0xb4][..]));
        assert_eq!(tcp.payload(), [0xee, 0xff]);
    }

    #[test]
    fn a_data_offset_that_lies_is_refused() {
        for offset in [0, 1, 4, 7, 15] {
            let mut bytes = SEGMENT;
            bytes[12] = offset << 4;
            assert!(Tcp::new(&bytes).is_none(), "{offset}");
        }
        assert!(Tcp::new(&SEGMENT[..23]).is_none());
    }
}
