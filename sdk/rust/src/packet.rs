//! The headers of a frame, as far as most applications look at them.

/// EtherTypes.
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
}

/// The protocols above IP.
pub mod protocol {
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
}

/// A packet of IPv4 with its ports: where it comes from, and where it goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ipv4Packet {
    /// The sender's address.
    pub src: [u8; 4],
    /// The receiver's address.
    pub dst: [u8; 4],
    /// What it carries ([`protocol`]).
    pub protocol: u8,
    /// The sender's port; 0 where it is neither TCP nor UDP, or a later fragment.
    pub src_port: u16,
    /// The receiver's port, likewise.
    pub dst_port: u16,
}

impl Ipv4Packet {
    /// Of a frame, with or without a VLAN tag; none where it carries no IPv4 or is cut off.
    pub fn of(frame: &[u8]) -> Option<Ipv4Packet> {
        let number = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
        let tagged = number(12)? == 0x8100;
        let (kind, at) = if tagged { (number(16)?, 18) } else { (number(12)?, 14) };
        if kind != ethertype::IPV4 {
            return None;
        }
        let head: &[u8; 20] = frame.get(at..)?.first_chunk()?;
        let length = usize::from(head[0] & 0xf) * 4;
        if head[0] >> 4 != 4 || length < 20 {
            return None;
        }
        let protocol = head[9];
        let is_first = u16::from_be_bytes([head[6] & 0x1f, head[7]]) == 0;
        let has_ports = is_first && [protocol::TCP, protocol::UDP].contains(&protocol);
        let port = |nth| if has_ports { number(at + length + nth) } else { Some(0) };
        Some(Ipv4Packet {
            src: *head[12..].first_chunk()?,
            dst: *head[16..].first_chunk()?,
            protocol,
            src_port: port(0)?,
            dst_port: port(2)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(tag: &[u8]) -> Vec<u8> {
        let packet = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        [&[0; 12], tag, &[8, 0], &packet, &[0x9c, 0x40, 0, 53, 0, 8, 0, 0]].concat()
    }

    #[test]
    fn a_packet_is_read_with_and_without_a_tag() {
        for tag in [&[][..], &[0x81, 0, 0, 5]] {
            let packet = Ipv4Packet::of(&frame(tag)).unwrap();
            assert_eq!((packet.src, packet.dst), ([10, 0, 0, 1], [10, 0, 0, 2]));
            assert_eq!((packet.protocol, packet.src_port, packet.dst_port), (17, 40_000, 53));
        }
    }

    #[test]
    fn a_frame_that_is_cut_off_is_none() {
        let whole = frame(&[]);
        for length in 0..38 {
            assert_eq!(Ipv4Packet::of(&whole[..length]), None, "{length}");
        }
        let mut fragment = whole;
        fragment[21] = 1;
        assert_eq!(Ipv4Packet::of(&fragment).unwrap().dst_port, 0);
    }
}
