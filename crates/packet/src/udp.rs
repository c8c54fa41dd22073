//! UDP (RFC 768).

use crate::field::be16;

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 8;

/// A UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Udp<'a> {
    head: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> Udp<'a> {
    /// The datagram at the front of `bytes`; `None` where the header is cut off or its length is
    /// below [`HEADER_LEN`]. A payload that is cut off is taken as far as it goes.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEADER_LEN>()?;
        let payload_len = usize::from(be16::<4, _>(head)).checked_sub(HEADER_LEN)?;
        Some(Udp { head, payload: rest.get(..payload_len).unwrap_or(rest) })
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

    /// Length in bytes of the datagram with its header, as the header says.
    #[inline]
    pub fn length(&self) -> u16 {
        be16::<4, _>(self.head)
    }

    /// Its checksum, not verified; zero means that the sender made none.
    #[inline]
    pub fn checksum(&self) -> u16 {
        be16::<6, _>(self.head)
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

    #[test]
    fn every_field_of_a_datagram() {
        let udp = Udp::new(&[0, 68, 0, 67, 0, 10, 0xab, 0xcd, 1, 2, 9, 9]).unwrap();
        assert_eq!((udp.source_port(), udp.destination_port()), (68, 67));
        assert_eq!((udp.length(), udp.checksum()), (10, 0xabcd));
        assert_eq!(udp.payload(), [1, 2]);
    }

    #[test]
    fn a_length_below_the_header_is_refused_and_one_too_long_taken_as_far_as_it_goes() {
        assert!(Udp::new(&[0, 1, 0, 2, 0, 7, 0, 0]).is_none());
        assert!(Udp::new(&[0, 1, 0, 2, 0, 0, 0, 0, 5]).is_none());
        assert!(Udp::new(&[0; 7]).is_none());
        assert_eq!(Udp::new(&[0, 1, 0, 2, 255, 255, 0, 0, 5]).unwrap().payload(), [5]);
    }
}
