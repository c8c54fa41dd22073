//! Logical link control (IEEE 802.2) and its subnetwork access protocol: what an 802.3 frame with a
//! length in the place of an ethertype carries. Spanning tree speaks it.

use crate::field::{be16, field};

/// Length of the header in bytes, with the short control field that unnumbered frames have.
pub const HEADER_LEN: usize = 3;

/// Length in bytes of the header and the SNAP header behind it.
pub const SNAP_LEN: usize = HEADER_LEN + 5;

/// The service access point that says: a SNAP header follows.
pub const SAP_SNAP: u8 = 0xaa;

/// The service access point of the spanning tree protocol.
pub const SAP_SPANNING_TREE: u8 = 0x42;

/// A logical link control header.
#[derive(Clone, Copy, Debug)]
pub struct Llc<'a> {
    head: &'a [u8; HEADER_LEN],
    rest: &'a [u8],
}

impl<'a> Llc<'a> {
    /// The header at the front of `bytes`; `None` below [`HEADER_LEN`] bytes.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk()?;
        Some(Llc { head, rest })
    }

    /// The destination's service access point.
    #[inline]
    pub fn dsap(&self) -> u8 {
        self.head[0]
    }

    /// The source's service access point.
    #[inline]
    pub fn ssap(&self) -> u8 {
        self.head[1]
    }

    /// The control field; 3 is unnumbered information.
    #[inline]
    pub fn control(&self) -> u8 {
        self.head[2]
    }

    /// The organisation and the protocol that a SNAP header names; organisation 0 means that the
    /// protocol is an ethertype.
    #[inline]
    pub fn snap(&self) -> Option<([u8; 3], u16)> {
        if (self.dsap(), self.ssap(), self.control()) != (SAP_SNAP, SAP_SNAP, 3) {
            return None;
        }
        let head = self.rest.first_chunk::<5>()?;
        Some((field::<0, 3, _>(head), be16::<3, _>(head)))
    }

    /// What is behind the header.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spanning_tree_is_recognised() {
        let llc = Llc::new(&[0x42, 0x42, 3, 7]).unwrap();
        assert_eq!((llc.dsap(), llc.ssap(), llc.control()), (SAP_SPANNING_TREE, 0x42, 3));
        assert_eq!((llc.snap(), llc.payload()), (None, &[7][..]));
    }

    #[test]
    fn snap_names_organisation_and_protocol() {
        let bytes = [0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0x04];
        assert_eq!(Llc::new(&bytes).unwrap().snap(), Some(([0, 0, 0x0c], 0x2004)));
        assert_eq!(Llc::new(&bytes[..7]).unwrap().snap(), None);
    }
}
