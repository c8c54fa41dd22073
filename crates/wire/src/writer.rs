//! Messages written into a byte buffer, with the lengths filled in afterwards.
//!
//! A [`Writer`] appends to a `Vec` that the caller owns and reuses. A structure that carries its
//! own length is opened with [`Writer::open_u16`] and closed with [`Writer::close`]. All padding in
//! OpenFlow is zero bytes up to a multiple of eight, and this is the one place that knows it on the
//! way out.

use crate::header::{HEADER_LEN, Header, MESSAGE_LEN_MAX};
use alloc::vec::Vec;

/// The message does not fit the 16-bit length of its header, or a structure that of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong;

impl core::fmt::Display for TooLong {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "the message is longer than {MESSAGE_LEN_MAX} bytes, the most that OpenFlow can say"
        )
    }
}

impl core::error::Error for TooLong {}

/// A length field to be filled in, and where its structure began.
#[derive(Debug)]
#[must_use = "the length stays zero until it is closed"]
pub struct OpenLength {
    start: usize,
    length_at: usize,
}

/// Appends one message to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    too_long: bool,
}

impl<'a> Writer<'a> {
    /// Begins a message of type `kind`: its header goes to the end of `out`, the length filled in
    /// by [`Writer::finish`].
    pub fn message(out: &'a mut Vec<u8>, version: u8, kind: u8, xid: u32) -> Self {
        let start = out.len();
        out.extend_from_slice(&Header { version, kind, length: HEADER_LEN as u16, xid }.to_bytes());
        Writer { out, start, too_long: false }
    }

    /// Ends the message and fills in its length.
    ///
    /// # Errors
    /// [`TooLong`]; the buffer is then as it was before the message.
    pub fn finish(self) -> Result<(), TooLong> {
        let length = self.out.len() - self.start;
        if self.too_long || length > MESSAGE_LEN_MAX {
            self.out.truncate(self.start);
            return Err(TooLong);
        }
        self.out[self.start + 2..self.start + 4].copy_from_slice(&(length as u16).to_be_bytes());
        Ok(())
    }

    /// Bytes of this message so far, header included.
    pub fn len(&self) -> usize {
        self.out.len() - self.start
    }

    /// Never: a message has at least its header.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.out.push(value);
    }

    /// Two bytes, big-endian.
    pub fn u16(&mut self, value: u16) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    /// Four bytes, big-endian.
    pub fn u32(&mut self, value: u32) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    /// Eight bytes, big-endian.
    pub fn u64(&mut self, value: u64) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    /// The bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// `len` zero bytes.
    pub fn pad(&mut self, len: usize) {
        self.out.resize(self.out.len() + len, 0);
    }

    /// Begins a structure whose length field, 16 bits, stands `length_offset` bytes behind the
    /// structure's first byte, which is the next one written.
    pub fn open_u16(&mut self, length_offset: usize) -> OpenLength {
        let start = self.out.len();
        OpenLength { start, length_at: start + length_offset }
    }

    /// Writes a length field, 16 bits, of what begins `gap` zero bytes behind it: `actions_len` of
    /// a PACKET_OUT.
    pub fn open_ahead_u16(&mut self, gap: usize) -> OpenLength {
        let length_at = self.out.len();
        self.pad(2 + gap);
        OpenLength { start: self.out.len(), length_at }
    }

    /// Ends the structure: its length is that of all bytes since [`Writer::open_u16`].
    pub fn close(&mut self, open: OpenLength) {
        let length = self.out.len() - open.start;
        match u16::try_from(length) {
            Ok(length) => {
                self.out[open.length_at..open.length_at + 2].copy_from_slice(&length.to_be_bytes());
            }
            Err(_) => self.too_long = true,
        }
    }

    /// Ends the structure without its padding counted in, then pads it to a multiple of eight (a
    /// match of 1.3).
    pub fn close_then_pad8(&mut self, open: OpenLength) {
        let start = open.start;
        self.close(open);
        self.pad8_since(start);
    }

    /// Pads the structure to a multiple of eight, then ends it, the padding counted in (everything
    /// else).
    pub fn pad8_then_close(&mut self, open: OpenLength) {
        self.pad8_since(open.start);
        self.close(open);
    }

    fn pad8_since(&mut self, start: usize) {
        let length = self.out.len() - start;
        self.pad(length.next_multiple_of(8) - length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn lengths_are_filled_in_behind_what_was_there() {
        let mut out = vec![0xff];
        let mut writer = Writer::message(&mut out, 4, 14, 7);
        let open = writer.open_u16(2);
        writer.u16(1);
        writer.u16(0);
        writer.u8(9);
        writer.close_then_pad8(open);
        writer.finish().unwrap();
        assert_eq!(out, [0xff, 4, 14, 0, 16, 0, 0, 0, 7, 0, 1, 0, 5, 9, 0, 0, 0]);
    }

    #[test]
    fn a_message_too_long_leaves_no_trace() {
        let mut out = vec![1, 2, 3];
        let mut writer = Writer::message(&mut out, 1, 13, 0);
        writer.pad(MESSAGE_LEN_MAX);
        assert_eq!(writer.finish(), Err(TooLong));
        assert_eq!(out, [1, 2, 3]);
    }
}
