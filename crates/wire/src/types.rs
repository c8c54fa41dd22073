//! The few types that every version and every room shares.

use core::fmt;
use core::str::FromStr;

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// All hosts.
    pub const BROADCAST: MacAddr = MacAddr([0xff; 6]);

    /// Whether it names a group of hosts: multicast and broadcast.
    #[inline]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// The address as the lower 48 bits of a number, first byte highest.
    #[inline]
    pub const fn to_u64(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// The address in the lower 48 bits of `bits`.
    #[inline]
    pub const fn from_u64(bits: u64) -> MacAddr {
        let [_, _, a, b, c, d, e, f] = bits.to_be_bytes();
        MacAddr([a, b, c, d, e, f])
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(formatter, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for MacAddr {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The 64-bit name of a switch.
///
/// Printed as sixteen hexadecimal digits; read however people write it: `1`, `0x1`, sixteen hex digits,
/// `00:00:00:00:00:00:00:01`, `of:…` and `openflow:1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DatapathId(pub u64);

impl fmt::Display for DatapathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for DatapathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for DatapathId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The text is no datapath id in any of the usual ways of writing one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotADatapathId;

impl fmt::Display for NotADatapathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a datapath id; write it as 1, 0x1, 16 hex digits, 00:00:00:00:00:00:00:01, of:… or openflow:1")
    }
}

impl core::error::Error for NotADatapathId {}

impl FromStr for DatapathId {
    type Err = NotADatapathId;

    fn from_str(text: &str) -> Result<Self, NotADatapathId> {
        let hex = |digits: &str| match digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            true => u64::from_str_radix(digits, 16).map_err(|_| NotADatapathId),
            false => Err(NotADatapathId),
        };
        let decimal = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
            true => digits.parse::<u64>().map_err(|_| NotADatapathId),
            false => Err(NotADatapathId),
        };
        let number = if let Some(digits) = text.strip_prefix("openflow:") {
            decimal(digits)
        } else if let Some(digits) = text.strip_prefix("of:") {
            hex(digits)
        } else if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            hex(digits)
        } else if text.contains(':') {
            text.split(':')
                .try_fold((0u64, 0), |(number, octets), octet| match octet.len() {
                    2 if octets < 8 => Ok((number << 8 | hex(octet)?, octets + 1)),
                    _ => Err(NotADatapathId),
                })
                .and_then(
                    |(number, octets)| if octets == 8 { Ok(number) } else { Err(NotADatapathId) },
                )
        } else if text.len() == 16 {
            hex(text)
        } else {
            decimal(text)
        };
        number.map(DatapathId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_datapath_id_is_read_however_people_write_it() {
        for text in [
            "1",
            "0x1",
            "0000000000000001",
            "00:00:00:00:00:00:00:01",
            "of:0000000000000001",
            "openflow:1",
        ] {
            assert_eq!(text.parse(), Ok(DatapathId(1)), "{text}");
        }
        assert_eq!("255".parse(), Ok(DatapathId(255)));
        assert_eq!("ffffffffffffffff".parse(), Ok(DatapathId(u64::MAX)));
    }

    #[test]
    fn what_is_no_datapath_id_is_refused() {
        for text in [
            "",
            "x",
            "-1",
            "+1",
            "0x",
            "1:2",
            "00:00:00:00:00:00:00:00:01",
            "of:",
            "0x10000000000000000",
        ] {
            assert_eq!(text.parse::<DatapathId>(), Err(NotADatapathId), "{text}");
        }
    }

    #[test]
    fn addresses_are_numbers_too() {
        let mac = MacAddr([0x02, 0, 0, 0, 0x01, 0xfe]);
        assert_eq!(MacAddr::from_u64(mac.to_u64()), mac);
        assert_eq!(mac.to_string(), "02:00:00:00:01:fe");
        assert!(MacAddr::BROADCAST.is_group() && !mac.is_group());
    }
}
