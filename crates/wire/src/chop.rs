//! Chopping: cutting the byte stream of one socket into whole messages by the length in each
//! header.
//!
//! A read may end inside a message; what is left over is [`Chop::rest`], and the caller keeps it
//! for the next read. One claimant chops a socket at a time; the messages may then be parsed
//! anywhere.

use crate::header::{Header, Version};
use crate::reader::Malformed;
use crate::{v10, v13};

/// One whole message, uninterpreted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raw<'a> {
    /// Its header, already read.
    pub header: Header,
    /// The whole message, header included; `header.length` bytes long.
    pub bytes: &'a [u8],
}

impl Raw<'_> {
    /// Whether this is a part of an answer in several messages and another part follows: the flag
    /// of a `STATS_REPLY` (`MULTIPART_REPLY`), which stands behind the kind of statistics in both
    /// versions. The rest is not read.
    pub fn has_more(&self, version: Version) -> bool {
        let kind = match version {
            Version::V10 => v10::MessageType::STATS_REPLY.0,
            Version::V13 => v13::MessageType::MULTIPART_REPLY.0,
        };
        let flags =
            self.bytes.get(10..12).map_or(0, |flags| u16::from_be_bytes([flags[0], flags[1]]));
        let more = v13::stats::MultipartFlags::MORE;
        self.header.kind == kind && v13::stats::MultipartFlags(flags).contains(more)
    }
}

/// An iterator over the whole messages at the front of a stretch of bytes.
///
/// A length below eight ends the iteration with an error, each time it is asked: from there on the
/// stream has lost its framing, and the connection with it.
#[derive(Clone, Debug)]
pub struct Chop<'a> {
    rest: &'a [u8],
}

impl<'a> Chop<'a> {
    /// Starts chopping at the first byte of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Chop { rest: bytes }
    }

    /// What has not been handed out yet: at the end, the beginning of a message still to come.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Chop<'a> {
    type Item = Result<Raw<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match Header::peek(self.rest) {
            Ok(None) => None,
            Ok(Some(header)) => {
                let (bytes, rest) = self.rest.split_at_checked(header.length as usize)?;
                self.rest = rest;
                Some(Ok(Raw { header, bytes }))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn message(xid: u32, body: usize) -> Vec<u8> {
        let mut bytes =
            Vec::from(Header { version: 1, kind: 2, length: (8 + body) as u16, xid }.to_bytes());
        bytes.resize(8 + body, 0xaa);
        bytes
    }

    /// The flag is found where the decoder finds it, in both versions, and in no other message.
    #[test]
    fn more_is_said_by_statistics_alone() {
        use crate::msg::{Message, PortStats, StatsFlags, StatsReply, StatsReplyBody};
        for version in Version::ALL {
            for (flags, more) in [(StatsFlags::EMPTY, false), (StatsFlags::MORE, true)] {
                let body = StatsReplyBody::PortStats([PortStats::default()].into());
                let mut bytes = Vec::new();
                Message::StatsReply(StatsReply { flags, body })
                    .encode(version, 1, &mut bytes)
                    .unwrap();
                let has_more =
                    |bytes: &[u8]| Chop::new(bytes).next().unwrap().unwrap().has_more(version);
                assert_eq!(has_more(&bytes), more);
                bytes[1] = crate::header::kind::ECHO_REPLY;
                assert!(!has_more(&bytes));
            }
            assert!(!Chop::new(&message(1, 0)).next().unwrap().unwrap().has_more(version));
        }
    }

    proptest! {
        /// However a stream is cut into reads, the same messages come out in the same order.
        #[test]
        fn any_cut_gives_the_same_messages(bodies in prop::collection::vec(0usize..200, 0..20), cut in 0usize..4000) {
            let stream: Vec<u8> =
                bodies.iter().enumerate().flat_map(|(xid, &body)| message(xid as u32, body)).collect();
            let (first, second) = stream.split_at(cut.min(stream.len()));
            let mut chop = Chop::new(first);
            let mut xids: Vec<u32> = chop.by_ref().map(|raw| raw.unwrap().header.xid).collect();
            let mut carried = chop.rest().to_vec();
            carried.extend_from_slice(second);
            let mut chop = Chop::new(&carried);
            xids.extend(chop.by_ref().map(|raw| raw.unwrap().header.xid));
            prop_assert!(chop.rest().is_empty());
            prop_assert_eq!(xids, (0..bodies.len() as u32).collect::<Vec<_>>());
        }

        /// No bytes make it panic or hand out more than there was.
        #[test]
        fn any_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let total: usize = Chop::new(&bytes).map_while(Result::ok).map(|raw| raw.bytes.len()).sum();
            prop_assert!(total <= bytes.len());
        }
    }
}
