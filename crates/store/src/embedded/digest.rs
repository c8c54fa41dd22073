//! A digest of all entries, whatever their order, that follows each change without reading the
//! others.
//!
//! It finds what disks and editors do to a file, not a change by a program that computes it too.

use crate::Revision;

/// FNV-1a's.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The digests of all entries, added up bit by bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Digest(u64);

impl Digest {
    /// The entry comes, or goes: twice is never.
    pub(super) fn turn(&mut self, key: &str, bytes: &[u8]) {
        // Keys are UTF-8, which has no byte 0xff: it stands between.
        self.0 ^= fnv(key.bytes().chain([0xff]).chain(bytes.iter().copied()));
    }

    /// With the revision.
    pub(super) fn sealed(self, revision: Revision) -> u64 {
        fnv(self.0.to_be_bytes().into_iter().chain(revision.0.to_be_bytes()))
    }
}

fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_what_comes_and_goes_and_tells_everything_apart() {
        let mut digest = Digest::default();
        digest.turn("names/1", b"a");
        digest.turn("names/2", b"b");
        let both = digest;
        digest.turn("names/1", b"a");
        let mut second = Digest::default();
        second.turn("names/2", b"b");
        assert_eq!(digest, second);
        let mut swapped = Digest::default();
        swapped.turn("names/2", b"a");
        swapped.turn("names/1", b"b");
        assert_ne!(both, swapped);
        assert_ne!(both.sealed(Revision(1)), both.sealed(Revision(2)));
        // The first words of FNV-1a's own test vectors.
        assert_eq!(fnv(b"a".iter().copied()), 0xaf63_dc4c_8601_ec8c);
    }
}
