//! The values in the bodies of match fields, masked or not, and their widths.

use super::Ipv6Exthdr;
use crate::reader::{Malformed, Reader};
use crate::types::MacAddr;
use crate::v13::port::PortNo;
use crate::writer::Writer;
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

/// A value, and which of its bits count.
///
/// A mask of all ones is not the same as none: on the wire they differ, and here too.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Masked<T> {
    /// The value.
    pub value: T,
    /// The bits that count, those set; `None` where all do.
    pub mask: Option<T>,
}

impl<T> Masked<T> {
    /// All bits count.
    pub const fn exact(value: T) -> Self {
        Masked { value, mask: None }
    }

    /// The bits set in `mask` count.
    pub const fn with(value: T, mask: T) -> Self {
        Masked { value, mask: Some(mask) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Masked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.mask {
            None => self.value.fmt(f),
            Some(mask) => write!(f, "{:?}/{:?}", self.value, mask),
        }
    }
}

/// A number of 24 bits: the service id of a provider backbone bridge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct U24([u8; 3]);

impl U24 {
    /// The lower 24 bits of `value`.
    pub const fn truncated(value: u32) -> U24 {
        let [_, a, b, c] = value.to_be_bytes();
        U24([a, b, c])
    }

    /// The number.
    pub const fn to_u32(self) -> u32 {
        let [a, b, c] = self.0;
        u32::from_be_bytes([0, a, b, c])
    }
}

impl fmt::Debug for U24 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_u32().fmt(f)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for U24 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.to_u32())
    }
}

/// A value as it stands in the body of a field.
pub(super) trait Value: Sized {
    /// Its width in bytes.
    const LEN: u8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed>;

    fn write(&self, writer: &mut Writer<'_>);
}

macro_rules! values {
    ($($Value:ty, $LEN:literal: |$bytes:ident| $from:expr, |$value:ident| $to:expr;)*) => {
        $(impl Value for $Value {
            const LEN: u8 = $LEN;

            fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                let $bytes = reader.array::<$LEN>("oxm.value")?;
                Ok($from)
            }

            fn write(&self, writer: &mut Writer<'_>) {
                let $value = *self;
                writer.bytes(&$to);
            }
        })*
    };
}

values! {
    u8, 1: |bytes| u8::from_be_bytes(bytes), |value| value.to_be_bytes();
    u16, 2: |bytes| u16::from_be_bytes(bytes), |value| value.to_be_bytes();
    U24, 3: |bytes| U24(bytes), |value| value.0;
    u32, 4: |bytes| u32::from_be_bytes(bytes), |value| value.to_be_bytes();
    u64, 8: |bytes| u64::from_be_bytes(bytes), |value| value.to_be_bytes();
    PortNo, 4: |bytes| PortNo(u32::from_be_bytes(bytes)), |value| value.0.to_be_bytes();
    MacAddr, 6: |bytes| MacAddr(bytes), |value| value.0;
    Ipv4Addr, 4: |bytes| Ipv4Addr::from(bytes), |value| value.octets();
    Ipv6Addr, 16: |bytes| Ipv6Addr::from(bytes), |value| value.octets();
    Ipv6Exthdr, 2: |bytes| Ipv6Exthdr(u16::from_be_bytes(bytes)), |value| value.0.to_be_bytes();
}

/// What a field holds: a value that cannot be masked, or a [`Masked`] one.
pub(super) trait Body: Sized {
    const WIDTH: u8;
    const MASKABLE: bool;

    fn read(reader: &mut Reader<'_>, has_mask: bool) -> Result<Self, Malformed>;

    fn has_mask(&self) -> bool;

    fn write(&self, writer: &mut Writer<'_>);
}

impl<T: Value> Body for T {
    const WIDTH: u8 = T::LEN;
    const MASKABLE: bool = false;

    fn read(reader: &mut Reader<'_>, _: bool) -> Result<Self, Malformed> {
        T::read(reader)
    }

    fn has_mask(&self) -> bool {
        false
    }

    fn write(&self, writer: &mut Writer<'_>) {
        Value::write(self, writer);
    }
}

impl<T: Value> Body for Masked<T> {
    const WIDTH: u8 = T::LEN;
    const MASKABLE: bool = true;

    fn read(reader: &mut Reader<'_>, has_mask: bool) -> Result<Self, Malformed> {
        let value = T::read(reader)?;
        let mask = if has_mask { Some(T::read(reader)?) } else { None };
        Ok(Masked { value, mask })
    }

    fn has_mask(&self) -> bool {
        self.mask.is_some()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        self.value.write(writer);
        if let Some(mask) = &self.mask {
            mask.write(writer);
        }
    }
}
