//! The values of fields as text, each in one way, and how large they may be.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::{Field, Ipv6Exthdr, MacAddr, Masked, PortNo, U24};
use crate::v13::oxm::{VID_NONE, VID_PRESENT};

/// A decimal number, or a hexadecimal one behind `0x`.
pub(super) fn number<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let hex = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    let digits = hex.unwrap_or(text);
    let radix = if hex.is_some() { 16 } else { 10 };
    let is_plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u64::from_str_radix(digits, radix).ok().filter(|_| is_plain);
    T::try_from(number?).ok()
}

/// A value that can be written.
pub(super) trait Text: Sized {
    fn read(text: &str) -> Option<Self>;

    /// Whether the number is at most this.
    fn is_within(&self, _most: u64) -> bool {
        true
    }

    /// Without the bits that do not count: a switch refuses a match that has some (1.3.5,
    /// §7.2.3.5).
    fn plain(self) -> Self {
        self
    }
}

macro_rules! numbers {
    ($($Number:ty)*) => {
        $(impl Text for $Number {
            fn read(text: &str) -> Option<$Number> {
                number(text)
            }

            fn is_within(&self, most: u64) -> bool {
                u64::from(*self) <= most
            }
        })*
    };
}

numbers! { u8 u16 u32 u64 }

impl Text for U24 {
    fn read(text: &str) -> Option<U24> {
        number(text).filter(|&number| number < 1 << 24).map(U24::truncated)
    }
}

impl Text for Ipv6Exthdr {
    fn read(text: &str) -> Option<Ipv6Exthdr> {
        number(text).map(Ipv6Exthdr)
    }

    fn is_within(&self, most: u64) -> bool {
        u64::from(self.0) <= most
    }
}

impl Text for PortNo {
    fn read(text: &str) -> Option<PortNo> {
        text.parse().ok()
    }
}

impl Text for MacAddr {
    fn read(text: &str) -> Option<MacAddr> {
        let mut mac = [0; 6];
        let mut octets = text.split(':');
        for byte in &mut mac {
            let octet = octets.next().filter(|octet| octet.len() == 2)?;
            let is_hex = octet.bytes().all(|digit| digit.is_ascii_hexdigit());
            *byte = u8::from_str_radix(octet, 16).ok().filter(|_| is_hex)?;
        }
        octets.next().is_none().then_some(MacAddr(mac))
    }
}

impl Text for Ipv4Addr {
    fn read(text: &str) -> Option<Ipv4Addr> {
        text.parse().ok()
    }
}

impl Text for Ipv6Addr {
    fn read(text: &str) -> Option<Ipv6Addr> {
        text.parse().ok()
    }
}

/// What stands behind the `/`.
trait Mask: Text {
    fn mask(text: &str) -> Option<Self> {
        Self::read(text)
    }

    /// The bits that both have.
    fn and(&self, mask: &Self) -> Self;
}

impl Mask for u32 {
    fn and(&self, mask: &u32) -> u32 {
        self & mask
    }
}

impl Mask for u64 {
    fn and(&self, mask: &u64) -> u64 {
        self & mask
    }
}

impl Mask for U24 {
    fn and(&self, mask: &U24) -> U24 {
        U24::truncated(self.to_u32() & mask.to_u32())
    }
}

impl Mask for Ipv6Exthdr {
    fn and(&self, mask: &Ipv6Exthdr) -> Ipv6Exthdr {
        Ipv6Exthdr(self.0 & mask.0)
    }
}

impl Mask for MacAddr {
    fn and(&self, mask: &MacAddr) -> MacAddr {
        MacAddr::from_u64(self.to_u64() & mask.to_u64())
    }
}

/// A mask, or the length of a prefix.
impl Mask for Ipv4Addr {
    fn mask(text: &str) -> Option<Ipv4Addr> {
        Self::read(text).or_else(|| {
            let bits = number::<u32>(text).filter(|&bits| bits <= 32)?;
            Some(Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - bits).unwrap_or(0)))
        })
    }

    fn and(&self, mask: &Ipv4Addr) -> Ipv4Addr {
        self & mask
    }
}

/// Likewise.
impl Mask for Ipv6Addr {
    fn mask(text: &str) -> Option<Ipv6Addr> {
        Self::read(text).or_else(|| {
            let bits = number::<u32>(text).filter(|&bits| bits <= 128)?;
            Some(Ipv6Addr::from_bits(u128::MAX.checked_shl(128 - bits).unwrap_or(0)))
        })
    }

    fn and(&self, mask: &Ipv6Addr) -> Ipv6Addr {
        self & mask
    }
}

impl<T: Mask> Text for Masked<T> {
    fn read(text: &str) -> Option<Masked<T>> {
        Some(match text.split_once('/') {
            Some((value, mask)) => Masked::with(T::read(value)?, T::mask(mask)?),
            None => Masked::exact(T::read(text)?),
        })
    }

    fn is_within(&self, most: u64) -> bool {
        self.value.is_within(most) && self.mask.as_ref().is_none_or(|mask| mask.is_within(most))
    }

    fn plain(self) -> Masked<T> {
        match self.mask {
            Some(mask) => Masked::with(self.value.and(&mask), mask),
            None => self,
        }
    }
}

/// The VLAN of a frame, by its id; or whether there is one.
pub(super) fn vlan(text: &str) -> Option<Field> {
    Some(Field::VlanVid(match text {
        "none" => Masked::exact(VID_NONE),
        "any" => Masked::with(VID_PRESENT, VID_PRESENT),
        _ => Masked::exact(VID_PRESENT | number::<u16>(text).filter(|&vid| vid < VID_PRESENT)?),
    }))
}
