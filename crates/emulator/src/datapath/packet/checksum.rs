//! Checksums that follow a change (RFC 1624; for SCTP RFC 9260, appendix A).

use super::DatapathPacket;
use crate::datapath::fields::{ETH_TYPE, IP_PROTO};
use crate::datapath::parse::SCTP;
use aldis_packet::{ethertype, protocol};

impl DatapathPacket<'_> {
    /// A 16-bit word under the IPv4 header's checksum changed.
    pub(super) fn fix_ipv4(&mut self, old: u16, new: u16) {
        self.fix_sum(self.layout.network + 10, old, new);
    }

    /// A word under the transport header's checksum changed, in it or in the addresses that it
    /// covers.
    pub(super) fn fix_transport(&mut self, old: u16, new: u16) {
        let transport = self.layout.transport;
        if transport == 0 {
            return;
        }
        let v6 = self.key.field(ETH_TYPE) == u64::from(ethertype::IPV6);
        match self.key.field(IP_PROTO) as u8 {
            protocol::TCP => self.fix_sum(transport + 16, old, new),
            protocol::UDP => self.fix_udp(transport + 6, old, new),
            protocol::ICMPV6 if v6 => self.fix_sum(transport + 2, old, new),
            _ => {}
        }
    }

    /// A UDP checksum of zero means none, and one that comes out as zero is written as all ones.
    fn fix_udp(&mut self, at: usize, old: u16, new: u16) {
        if self.read::<2>(at) != [0, 0] {
            self.fix_sum(at, old, new);
            if self.read::<2>(at) == [0, 0] {
                self.write(at, &[0xff, 0xff]);
            }
        }
    }

    pub(super) fn fix_sum(&mut self, at: usize, old: u16, new: u16) {
        if old != new {
            let sum = u16::from_be_bytes(self.read(at));
            self.write(at, &adjusted(sum, old, new).to_be_bytes());
        }
    }

    /// What the checksum of the SCTP packet should be.
    pub(super) fn sctp_sum(&self) -> u32 {
        debug_assert_eq!(self.key.field(IP_PROTO) as u8, SCTP);
        let packet = self.bytes.get(self.layout.transport..self.layout.end).unwrap_or_default();
        let (before, behind) = packet.split_at(8.min(packet.len()));
        let zeros = [0; 4];
        crc32c(before.iter().chain(&zeros).chain(behind.get(4..).unwrap_or_default()))
    }

    /// The packet changed; `was` is what its checksum should have been before.
    pub(super) fn fix_sctp(&mut self, was: u32) {
        let at = self.layout.transport + 8;
        let change = was ^ self.sctp_sum();
        let sum = u32::from_le_bytes(self.read(at)) ^ change;
        self.write(at, &sum.to_le_bytes());
    }
}

/// The checksum after one of the words that it covers changed (equation 3 of the RFC).
fn adjusted(sum: u16, old: u16, new: u16) -> u16 {
    let total = u32::from(!sum) + u32::from(!old) + u32::from(new);
    let total = (total & 0xffff) + (total >> 16);
    !((total & 0xffff) + (total >> 16)) as u16
}

fn crc32c<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    let step = |crc: u32, _| crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
    !bytes.fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum over words, as RFC 1071 defines it.
    fn sum(words: &[u16]) -> u16 {
        let total: u32 = words.iter().map(|word| u32::from(*word)).sum();
        let total = (total & 0xffff) + (total >> 16);
        !((total & 0xffff) + (total >> 16)) as u16
    }

    #[test]
    fn the_adjusted_sum_is_the_sum() {
        for (old, new) in [(1, 2), (0x8000, 0x7fff), (0xffff, 1), (0x1234, 0xfedc)] {
            let rest = [0x4500, 0x0054, 0x1c46];
            let before = sum(&[old, rest[0], rest[1], rest[2]]);
            let after = sum(&[new, rest[0], rest[1], rest[2]]);
            assert_eq!(adjusted(before, old, new), after, "{old:#x} {new:#x}");
        }
    }

    #[test]
    fn the_check_value_of_crc32c() {
        assert_eq!(crc32c(b"123456789".iter()), 0xe306_9283);
    }
}
