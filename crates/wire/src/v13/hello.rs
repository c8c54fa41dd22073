//! `OFPT_HELLO` (§7.5.1): the first message of either side, with the versions it speaks.

use super::tlv;
use crate::header::{HEADER_LEN, MESSAGE_LEN_MAX, Version};
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec;
use alloc::vec::Vec;

/// `OFPHET_VERSIONBITMAP`
const VERSION_BITMAP: u16 = 1;

/// The body of a HELLO: any number of elements, in the order they came.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Hello {
    /// The elements; none is a valid HELLO too.
    pub elements: Vec<HelloElement>,
}

/// One element of a HELLO.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum HelloElement {
    /// `OFPHET_VERSIONBITMAP`: bit `n` of word `w` stands for version byte `32 w + n`.
    VersionBitmap(Vec<u32>),
    /// An element of another type, its body without header and padding.
    Unknown {
        /// Its type.
        kind: u16,
        /// Its body.
        body: Vec<u8>,
    },
}

impl Hello {
    /// A HELLO whose bitmap says `versions`.
    pub fn speaking(versions: &[Version]) -> Hello {
        let bits = versions.iter().fold(0, |bits, version| bits | 1u32 << version.wire());
        Hello { elements: vec![HelloElement::VersionBitmap(vec![bits])] }
    }

    /// Reads the body of a HELLO whose header, of whatever version, has been read already.
    ///
    /// The elements have kept their form since they were introduced, so a HELLO of a later version
    /// is read as well.
    ///
    /// # Errors
    /// An element whose length cannot be; offsets are counted from the header.
    pub fn read_body(body: &[u8]) -> Result<Hello, Malformed> {
        Hello::read(&mut Reader::new(body))
            .map_err(|error| Malformed { offset: error.offset + HEADER_LEN, ..error })
    }

    /// The first version bitmap, if there is one.
    pub fn bitmap(&self) -> Option<&[u32]> {
        self.elements.iter().find_map(|element| match element {
            HelloElement::VersionBitmap(words) => Some(words.as_slice()),
            HelloElement::Unknown { .. } => None,
        })
    }

    /// Whether the bitmap has the version byte `version`; `None` without a bitmap.
    pub fn speaks(&self, version: u8) -> Option<bool> {
        let words = self.bitmap()?;
        let word = words.get(usize::from(version / 32)).copied().unwrap_or(0);
        Some(word & 1 << (version % 32) != 0)
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Hello, Malformed> {
        Ok(Hello { elements: super::list(reader, HelloElement::read)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        self.elements.iter().for_each(|element| element.write(writer));
    }
}

impl HelloElement {
    fn read(reader: &mut Reader<'_>) -> Result<HelloElement, Malformed> {
        let (kind, mut body) = tlv(reader, "hello.element.length", 4)?;
        // Peers are known to leave out the padding of the last element. Nothing is lost with it, as
        // long as there is room to write it again.
        let length = body.left() + 4;
        let padding = length.next_multiple_of(8) - length;
        let may_be_missing = reader.offset() + padding <= MESSAGE_LEN_MAX;
        reader.pad(
            "hello.element.pad",
            if may_be_missing { padding.min(reader.left()) } else { padding },
        )?;
        Ok(match kind {
            VERSION_BITMAP => HelloElement::VersionBitmap(super::list(&mut body, |words| {
                words.u32("hello.version_bitmap.bitmaps")
            })?),
            _ => HelloElement::Unknown { kind, body: body.remaining().to_vec() },
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(2);
        match self {
            HelloElement::VersionBitmap(words) => {
                writer.u16(VERSION_BITMAP);
                writer.u16(0);
                words.iter().for_each(|word| writer.u32(*word));
            }
            HelloElement::Unknown { kind, body } => {
                writer.u16(*kind);
                writer.u16(0);
                writer.bytes(body);
            }
        }
        writer.close_then_pad8(open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Reason;
    use crate::v13::Message;

    #[test]
    fn the_bitmap_says_which_versions() {
        let hello = Hello::speaking(&Version::ALL);
        assert_eq!(hello.bitmap(), Some(&[0x12][..]));
        let spoken = [0, 1, 2, 4, 5, 40].map(|version| hello.speaks(version));
        assert_eq!(spoken, [false, true, false, true, false, false].map(Some));
        assert_eq!(Hello::default().speaks(4), None);
    }

    #[test]
    fn an_element_of_length_zero_ends_in_an_error() {
        let error = Hello::read_body(&[0, 1, 0, 0, 0, 0, 0, 0]).unwrap_err();
        let expected =
            Malformed { field: "hello.element.length", offset: 10, reason: Reason::BadLength };
        assert_eq!(error, expected);
    }

    #[test]
    fn the_last_padding_may_be_missing() {
        let hello = Hello::read_body(&[0, 9, 0, 5, 0xaa]).unwrap();
        assert_eq!(hello.elements, [HelloElement::Unknown { kind: 9, body: vec![0xaa] }]);
    }

    #[test]
    fn the_last_padding_is_not_missing_where_it_could_not_be_written() {
        let longest = |element: u16| {
            let mut bytes = vec![4, 0];
            bytes.extend((8 + element).to_be_bytes());
            bytes.extend([0, 0, 0, 1, 0, 9]);
            bytes.extend(element.to_be_bytes());
            bytes.resize(8 + usize::from(element), 0xaa);
            Message::decode(&bytes)
        };
        let (xid, message) = longest(65_520).unwrap();
        assert_eq!(message.encode(xid, &mut vec![]), Ok(()));
        assert_eq!(longest(65_521).unwrap_err().field, "hello.element.pad");
    }
}
