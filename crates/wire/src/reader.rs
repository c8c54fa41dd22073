//! Untrusted bytes, read field by field.
//!
//! A [`Reader`] knows where it stands in the whole message and what it is reading, so that the one
//! error type, [`Malformed`], can say which field was wrong and where. A structure that carries its
//! own length is read through a sub-reader ([`Reader::sub`]); bytes left over at the end of one are
//! an error ([`Reader::end`]).

use core::fmt;

/// What was wrong with a message: small, `Copy`, without strings of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// The field that could not be read, as `structure.field`.
    pub field: &'static str,
    /// Where it begins, in bytes from the start of the message.
    pub offset: usize,
    /// Why.
    pub reason: Reason,
}

/// Why a field could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The message ends before the field does.
    Truncated,
    /// A length that is below its structure's minimum, above what is left, or not the multiple it
    /// must be.
    BadLength,
    /// Bytes are left over behind the last field.
    Trailing,
    /// A value that the structure cannot have, so that what follows cannot be read either.
    BadValue,
    /// The version byte is none that this decoder reads.
    BadVersion,
    /// The message type does not exist in this version.
    BadType,
}

impl Reason {
    /// The reason in words, after "the field".
    pub const fn words(self) -> &'static str {
        match self {
            Reason::Truncated => "is cut off by the end of the message",
            Reason::BadLength => "is a length that cannot be",
            Reason::Trailing => "is followed by bytes that belong to nothing",
            Reason::BadValue => "has a value that cannot be",
            Reason::BadVersion => "is a version that is not spoken here",
            Reason::BadType => "is a message type that does not exist",
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {} {}", self.field, self.offset, self.reason.words())
    }
}

impl core::error::Error for Malformed {}

/// A cursor over bytes that are not trusted.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    base: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the first byte of a whole message.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0, base: 0 }
    }

    /// Bytes not read yet.
    #[inline]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Whether everything was read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// Where the reader stands, in bytes from the start of the message.
    #[inline]
    pub fn offset(&self) -> usize {
        self.base + self.at
    }

    /// An error about `field`, here.
    #[cold]
    pub fn malformed(&self, field: &'static str, reason: Reason) -> Malformed {
        Malformed { field, offset: self.offset(), reason }
    }

    /// Takes the next `len` bytes.
    ///
    /// # Errors
    /// [`Reason::Truncated`] where fewer are left.
    #[inline]
    pub fn take(&mut self, field: &'static str, len: usize) -> Result<&'a [u8], Malformed> {
        match self.bytes[self.at..].get(..len) {
            Some(taken) => {
                self.at += len;
                Ok(taken)
            }
            None => Err(self.malformed(field, Reason::Truncated)),
        }
    }

    /// Takes all that is left.
    #[inline]
    pub fn remaining(&mut self) -> &'a [u8] {
        let taken = &self.bytes[self.at..];
        self.at = self.bytes.len();
        taken
    }

    /// Takes the next `N` bytes as an array.
    ///
    /// # Errors
    /// [`Reason::Truncated`] where fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Malformed> {
        match self.bytes[self.at..].first_chunk::<N>() {
            Some(taken) => {
                self.at += N;
                Ok(*taken)
            }
            None => Err(self.malformed(field, Reason::Truncated)),
        }
    }

    /// One byte. Fails as [`Reader::array`] does; so do the three below.
    #[inline]
    pub fn u8(&mut self, field: &'static str) -> Result<u8, Malformed> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    /// Two bytes, big-endian.
    #[inline]
    pub fn u16(&mut self, field: &'static str) -> Result<u16, Malformed> {
        self.array(field).map(u16::from_be_bytes)
    }

    /// Four bytes, big-endian.
    #[inline]
    pub fn u32(&mut self, field: &'static str) -> Result<u32, Malformed> {
        self.array(field).map(u32::from_be_bytes)
    }

    /// Eight bytes, big-endian.
    #[inline]
    pub fn u64(&mut self, field: &'static str) -> Result<u64, Malformed> {
        self.array(field).map(u64::from_be_bytes)
    }

    /// Passes over `len` bytes of padding. Their value does not matter (OpenFlow asks for zero and
    /// promises nothing).
    ///
    /// # Errors
    /// [`Reason::Truncated`] where fewer are left.
    #[inline]
    pub fn pad(&mut self, field: &'static str, len: usize) -> Result<(), Malformed> {
        self.take(field, len).map(drop)
    }

    /// A reader over the next `len` bytes alone, which this one passes over.
    ///
    /// # Errors
    /// [`Reason::BadLength`] where fewer are left: `len` came from a length field, and lied.
    #[inline]
    pub fn sub(&mut self, field: &'static str, len: usize) -> Result<Reader<'a>, Malformed> {
        let base = self.offset();
        match self.bytes[self.at..].get(..len) {
            Some(bytes) => {
                self.at += len;
                Ok(Reader { bytes, at: 0, base })
            }
            None => Err(self.malformed(field, Reason::BadLength)),
        }
    }

    /// The end of a structure: nothing may be left.
    ///
    /// # Errors
    /// [`Reason::Trailing`].
    #[inline]
    pub fn end(&self, field: &'static str) -> Result<(), Malformed> {
        if self.is_empty() { Ok(()) } else { Err(self.malformed(field, Reason::Trailing)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_sub_reader_speaks_of_the_whole_message() {
        let mut outer = Reader::new(&[0; 10]);
        outer.pad("outer.pad", 4).unwrap();
        let mut inner = outer.sub("outer.length", 3).unwrap();
        inner.u16("inner.a").unwrap();
        let error = inner.u16("inner.b").unwrap_err();
        assert_eq!(error, Malformed { field: "inner.b", offset: 6, reason: Reason::Truncated });
        assert_eq!(error.to_string(), "inner.b at offset 6 is cut off by the end of the message");
        assert_eq!(outer.left(), 3);
    }

    #[test]
    fn a_failed_read_moves_nothing() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert!(reader.u32("x").is_err());
        assert!(reader.sub("x", 4).is_err());
        assert_eq!(reader.u8("x"), Ok(1));
    }

    #[test]
    fn left_over_bytes_are_an_error() {
        let mut reader = Reader::new(&[1, 2]);
        reader.u8("x").unwrap();
        assert_eq!(reader.end("x.end").unwrap_err().reason, Reason::Trailing);
    }
}
