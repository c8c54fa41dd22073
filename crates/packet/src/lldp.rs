//! Link Layer Discovery (IEEE 802.1AB §8): a list of type–length–value units, of which the first
//! three say which port of which chassis speaks and for how long it is to be believed.
//!
//! ```text
//! | type (7 bits) | length (9 bits) | value … |
//! ```

/// The address that neighbours speak to and no bridge forwards.
pub const DESTINATION: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e];

/// The types of units (§8.4).
pub mod tlv {
    /// The last one.
    pub const END: u8 = 0;
    /// The sender's chassis id; the first one.
    pub const CHASSIS_ID: u8 = 1;
    /// Through which port; the second one.
    pub const PORT_ID: u8 = 2;
    /// For how many seconds it holds; the third one.
    pub const TTL: u8 = 3;
    /// What that port is.
    pub const PORT_DESCRIPTION: u8 = 4;
    /// What the chassis is called.
    pub const SYSTEM_NAME: u8 = 5;
    /// What the chassis is.
    pub const SYSTEM_DESCRIPTION: u8 = 6;
    /// What an organisation defined for itself.
    pub const ORGANISATIONAL: u8 = 127;
}

/// The longest value of a unit, in bytes: nine bits tell its length.
pub const VALUE_MAX: usize = 511;

/// Writes one unit behind what is in `out`: its type, 0 to 127, and its value in `parts`, which are
/// [`VALUE_MAX`] bytes together at most; what is beyond is left out.
pub fn write(out: &mut impl Extend<u8>, kind: u8, parts: &[&[u8]]) {
    let len = parts.iter().map(|part| part.len()).sum::<usize>().min(VALUE_MAX);
    out.extend((u16::from(kind) << 9 | len as u16).to_be_bytes());
    out.extend(parts.iter().flat_map(|part| part.iter().copied()).take(len));
}

/// One unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tlv<'a> {
    /// Its type, 0 to 127 ([`tlv`]).
    pub kind: u8,
    /// Its value, 0 to 511 bytes.
    pub value: &'a [u8],
}

impl<'a> Tlv<'a> {
    /// The organisation, its own subtype, and what it says; `None` where this is no such unit.
    #[inline]
    pub fn organisational(&self) -> Option<([u8; 3], u8, &'a [u8])> {
        match *self.value {
            [a, b, c, subtype, ref value @ ..] if self.kind == tlv::ORGANISATIONAL => {
                Some(([a, b, c], subtype, value))
            }
            _ => None,
        }
    }
}

/// The name of a chassis or a port: what kind of name it is, and the name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LldpId<'a> {
    /// The kind of name: tables 8-2 (chassis) and 8-3 (port) of the standard; 7 is a name that the
    /// system gave itself.
    pub subtype: u8,
    /// The name, 1 to 255 bytes in the standard; taken as it comes.
    pub name: &'a [u8],
}

impl<'a> LldpId<'a> {
    fn new(value: &'a [u8]) -> Option<Self> {
        value.split_first().map(|(&subtype, name)| LldpId { subtype, name })
    }
}

/// An LLDP message: the three units that every one begins with, and the rest.
#[derive(Clone, Copy, Debug)]
pub struct Lldp<'a> {
    chassis_id: LldpId<'a>,
    port_id: LldpId<'a>,
    ttl_s: u16,
    rest: &'a [u8],
}

impl<'a> Lldp<'a> {
    /// The message that `bytes` are; `None` where one of the first three units is missing, out of
    /// order or too short (§8.2).
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let mut tlvs = Tlvs { rest: bytes };
        let mut value = |kind| tlvs.next().filter(|unit| unit.kind == kind).map(|unit| unit.value);
        let chassis_id = LldpId::new(value(tlv::CHASSIS_ID)?)?;
        let port_id = LldpId::new(value(tlv::PORT_ID)?)?;
        let ttl = value(tlv::TTL)?.first_chunk()?;
        Some(Lldp { chassis_id, port_id, ttl_s: u16::from_be_bytes(*ttl), rest: tlvs.rest })
    }

    /// The sender's chassis id.
    #[inline]
    pub fn chassis_id(&self) -> LldpId<'a> {
        self.chassis_id
    }

    /// Through which port.
    #[inline]
    pub fn port_id(&self) -> LldpId<'a> {
        self.port_id
    }

    /// For how many seconds it holds; zero takes everything back.
    #[inline]
    pub fn ttl_s(&self) -> u16 {
        self.ttl_s
    }

    /// The units behind the first three, up to the end unit or the first that is cut off.
    #[inline]
    pub fn tlvs(&self) -> Tlvs<'a> {
        Tlvs { rest: self.rest }
    }
}

/// Units in order.
#[derive(Clone, Debug)]
pub struct Tlvs<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Tlv<'a>;

    fn next(&mut self) -> Option<Tlv<'a>> {
        let (head, behind) = self.rest.split_first_chunk()?;
        let head = u16::from_be_bytes(*head);
        let kind = (head >> 9) as u8;
        if kind == tlv::END {
            return None;
        }
        let (value, rest) = behind.split_at_checked(usize::from(head & 0x1ff))?;
        self.rest = rest;
        Some(Tlv { kind, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn unit(kind: u8, value: &[u8]) -> Vec<u8> {
        let head = u16::from(kind) << 9 | value.len() as u16;
        [&head.to_be_bytes()[..], value].concat()
    }

    fn first_three() -> Vec<u8> {
        [unit(1, b"\x07s1"), unit(2, b"\x02eth1"), unit(3, &[0, 120])].concat()
    }

    #[test]
    fn the_first_three_units() {
        let bytes = [first_three(), unit(0, &[])].concat();
        let lldp = Lldp::new(&bytes).unwrap();
        assert_eq!(lldp.chassis_id(), LldpId { subtype: 7, name: b"s1" });
        assert_eq!(lldp.port_id(), LldpId { subtype: 2, name: b"eth1" });
        assert_eq!((lldp.ttl_s(), lldp.tlvs().count()), (120, 0));
    }

    #[test]
    fn what_follows_up_to_the_end() {
        let long = [0x61; 511];
        let own = unit(127, &[0, 0x26, 0xe1, 1, 0xaa]);
        let bytes = [first_three(), unit(5, &long), own, unit(0, &[]), unit(6, b"x")].concat();
        let units: Vec<_> = Lldp::new(&bytes).unwrap().tlvs().collect();
        assert_eq!(units[0], Tlv { kind: tlv::SYSTEM_NAME, value: &long });
        assert_eq!(units[0].organisational(), None);
        assert_eq!(units[1].organisational(), Some(([0, 0x26, 0xe1], 1, &[0xaa][..])));
        assert_eq!(units.len(), 2);
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        write(&mut bytes, tlv::CHASSIS_ID, &[&[7], b"s1"]);
        write(&mut bytes, tlv::PORT_ID, &[b"\x02eth1"]);
        write(&mut bytes, tlv::TTL, &[&[0, 120]]);
        assert_eq!(bytes, first_three());
        write(&mut bytes, tlv::SYSTEM_NAME, &[&[0x61; 500], &[0x62; 12]]);
        write(&mut bytes, tlv::END, &[]);
        let name = Lldp::new(&bytes).unwrap().tlvs().next().unwrap();
        assert_eq!((name.value.len(), name.value[VALUE_MAX - 1]), (VALUE_MAX, 0x62));
    }

    #[test]
    fn any_cut_of_the_first_three_is_refused() {
        let bytes = first_three();
        for len in 0..bytes.len() {
            assert!(Lldp::new(&bytes[..len]).is_none(), "{len}");
        }
    }

    #[test]
    fn the_first_three_must_be_whole_and_in_order() {
        let (chassis, port, ttl) = (unit(1, b"\x07a"), unit(2, b"\x07b"), unit(3, &[0, 1]));
        for bad in [
            [&port[..], &chassis, &ttl],
            [&chassis, &ttl, &port],
            [&unit(1, &[]), &port, &ttl],
            [&chassis, &unit(2, &[]), &ttl],
            [&chassis, &port, &unit(3, &[1])],
        ] {
            assert!(Lldp::new(&bad.concat()).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_unit_that_is_cut_off_ends_them() {
        let bytes = [first_three(), std::vec![5 << 1 | 1, 0xff, 1, 2, 3]].concat();
        assert_eq!(Lldp::new(&bytes).unwrap().tlvs().count(), 0);
    }
}
