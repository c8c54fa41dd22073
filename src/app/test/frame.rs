//! Frames by named fields: one that a host sends is built of them, and one that arrived is compared
//! with them. The names are those of OpenFlow 1.3, as in the match of a flow.

use std::fmt::Write;
use std::net::Ipv4Addr;
use std::str::FromStr;

use aldis_emulator::network::host_address;
use aldis_packet::{Arp, Ethernet, Icmp, Ipv4, Tcp, Udp, arp, ethernet, ethertype, protocol};
use aldis_wire::MacAddr;
use serde::de::{Deserialize, Deserializer, Error};

/// What a frame says of itself, so that it is known again whatever was rewritten: behind its
/// headers, before its number.
const MARK: [u8; 6] = *b"aldis:";
/// Bytes of mark and number.
const MARK_LEN: usize = MARK.len() + 4;

/// A host by its name, `h1`: its number, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct HostName(pub(super) u32);

impl<'de> Deserialize<'de> for HostName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let number = text.strip_prefix('h').and_then(|digits| digits.parse().ok());
        number.filter(|number| *number > 0).map(HostName).ok_or_else(|| {
            D::Error::custom(format!("\"{text}\" is no host: they are called h1, h2 and so on"))
        })
    }
}

/// Fields of a frame. What is not said is made up where a frame is built, and not compared where
/// one arrived.
#[derive(Clone, PartialEq, Eq, Default, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FrameFields {
    /// The receiver: its addresses are those of the frame, where no others are said.
    to: Option<HostName>,
    eth_src: Option<Text<MacAddr>>,
    eth_dst: Option<Text<MacAddr>>,
    eth_type: Option<u16>,
    vlan_vid: Option<u16>,
    ipv4_src: Option<Text<Ipv4Addr>>,
    ipv4_dst: Option<Text<Ipv4Addr>>,
    ip_proto: Option<u8>,
    tcp_src: Option<u16>,
    tcp_dst: Option<u16>,
    tcp_flags: Option<TcpFlags>,
    udp_src: Option<u16>,
    udp_dst: Option<u16>,
    icmpv4_type: Option<u8>,
    icmpv4_code: Option<u8>,
    arp_op: Option<u16>,
    arp_spa: Option<Text<Ipv4Addr>>,
    arp_tpa: Option<Text<Ipv4Addr>>,
    arp_sha: Option<Text<MacAddr>>,
    arp_tha: Option<Text<MacAddr>>,
}

/// A value that is spelled as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Text<T>(T);

impl<'de, T: FromStr<Err: std::fmt::Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map(Text).map_err(|why| D::Error::custom(format!("\"{text}\": {why}")))
    }
}

/// Flags of TCP, as `"syn"` or `"syn ack"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct TcpFlags(u8);

const TCP_FLAGS: [(&str, u8); 5] = [("fin", 1), ("syn", 2), ("rst", 4), ("psh", 8), ("ack", 16)];

impl<'de> Deserialize<'de> for TcpFlags {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let mut flags = 0;
        for word in text.split_whitespace() {
            let known = TCP_FLAGS.iter().find(|(name, _)| *name == word);
            let (_, bit) = known.ok_or_else(|| {
                let names = TCP_FLAGS.map(|(name, _)| name).join(", ");
                D::Error::custom(format!("\"{word}\" is no flag of TCP; there are: {names}"))
            })?;
            flags |= bit;
        }
        Ok(TcpFlags(flags))
    }
}

impl FrameFields {
    /// The host whose addresses are used, where one is named.
    pub(super) fn to(&self) -> Option<HostName> {
        self.to
    }

    /// Why no frame can be built of these, in words.
    pub(super) fn mistake(&self) -> Option<&'static str> {
        let tcp = self.tcp_src.is_some() || self.tcp_dst.is_some() || self.tcp_flags.is_some();
        let udp = self.udp_src.is_some() || self.udp_dst.is_some();
        let icmp = self.icmpv4_type.is_some() || self.icmpv4_code.is_some();
        let several = u8::from(tcp) + u8::from(udp) + u8::from(icmp) + u8::from(self.is_arp());
        if several > 1 {
            return Some("a frame is of one of TCP, UDP, ICMP and ARP, and fields of two are said");
        }
        self.vlan_vid.filter(|vid| *vid > 4094).map(|_| "a VLAN id is 0 to 4094")
    }

    fn is_arp(&self) -> bool {
        self.arp_op.is_some()
            || self.arp_spa.is_some()
            || self.arp_tpa.is_some()
            || self.arp_sha.is_some()
            || self.arp_tha.is_some()
    }

    /// The frame that a host sends, with its number in it.
    pub(super) fn build(&self, from: HostName, number: u32) -> Vec<u8> {
        let (own_mac, own_ip) = host_address(from.0);
        let (to_mac, to_ip) = match self.to {
            Some(HostName(to)) => host_address(to),
            None => (ethernet::BROADCAST, Ipv4Addr::BROADCAST),
        };
        let eth_dst = match (self.eth_dst, self.is_arp() && self.arp_op != Some(arp::REPLY)) {
            (Some(Text(said)), _) => said.0,
            (None, true) => ethernet::BROADCAST,
            (None, false) => to_mac,
        };
        let eth_src = self.eth_src.map_or(own_mac, |said| said.0.0);
        let mark = [&MARK[..], &number.to_be_bytes()].concat();
        let (usual_type, mut payload) = match self.is_arp() {
            true => (ethertype::ARP, self.arp((own_mac, own_ip), (to_mac, to_ip))),
            false => (ethertype::IPV4, self.ipv4(own_ip, to_ip, &mark)),
        };
        let eth_type = self.eth_type.unwrap_or(usual_type);
        if ![ethertype::ARP, ethertype::IPV4].contains(&eth_type) {
            payload = mark;
        } else if self.is_arp() {
            payload.extend_from_slice(&mark);
        }
        let mut frame = match self.vlan_vid {
            None => ethernet::header(eth_dst, eth_src, eth_type).to_vec(),
            Some(vid) => {
                let mut head = ethernet::header(eth_dst, eth_src, ethertype::VLAN).to_vec();
                head.extend_from_slice(&vid.to_be_bytes());
                head.extend_from_slice(&eth_type.to_be_bytes());
                head
            }
        };
        frame.extend_from_slice(&payload);
        frame.resize(frame.len().max(ethernet::MIN_LEN), 0);
        frame
    }

    fn arp(&self, own: ([u8; 6], Ipv4Addr), to: ([u8; 6], Ipv4Addr)) -> Vec<u8> {
        let operation = self.arp_op.unwrap_or(arp::REQUEST);
        let sha = self.arp_sha.map_or(own.0, |said| said.0.0);
        let spa = self.arp_spa.map_or(own.1, |said| said.0);
        let usual_tha = if operation == arp::REQUEST { [0; 6] } else { to.0 };
        let tha = self.arp_tha.map_or(usual_tha, |said| said.0.0);
        let tpa = self.arp_tpa.map_or(to.1, |said| said.0);
        let mut body = vec![0, 1, 8, 0, 6, 4];
        body.extend_from_slice(&operation.to_be_bytes());
        body.extend_from_slice(&sha);
        body.extend_from_slice(&spa.octets());
        body.extend_from_slice(&tha);
        body.extend_from_slice(&tpa.octets());
        body
    }

    /// A packet of IPv4: of TCP, ICMP or UDP, whichever fields are said, UDP where none are.
    fn ipv4(&self, own: Ipv4Addr, to: Ipv4Addr, data: &[u8]) -> Vec<u8> {
        let src = self.ipv4_src.map_or(own, |said| said.0);
        let dst = self.ipv4_dst.map_or(to, |said| said.0);
        let tcp = self.tcp_src.is_some() || self.tcp_dst.is_some() || self.tcp_flags.is_some();
        let icmp = self.icmpv4_type.is_some() || self.icmpv4_code.is_some();
        let (usual, mut body, sum_at) = match (tcp, icmp) {
            (true, _) => (protocol::TCP, self.tcp_header(), 16),
            (_, true) => {
                let head = [self.icmpv4_type.unwrap_or(8), self.icmpv4_code.unwrap_or(0)];
                (protocol::ICMP, [&head[..], &[0; 6]].concat(), 2)
            }
            _ => (protocol::UDP, self.udp_header(data.len()), 6),
        };
        body.extend_from_slice(data);
        let pseudo = [&src.octets()[..], &dst.octets(), &[0, usual]].concat();
        let length = (body.len() as u16).to_be_bytes();
        let sum = match icmp {
            true => checksum(&[&body]),
            false => checksum(&[&pseudo, &length, &body]),
        };
        body[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
        let mut packet = vec![0x45, 0];
        packet.extend_from_slice(&(20 + body.len() as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0x40, 0, 64, self.ip_proto.unwrap_or(usual), 0, 0]);
        packet.extend_from_slice(&src.octets());
        packet.extend_from_slice(&dst.octets());
        let sum = checksum(&[&packet]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend_from_slice(&body);
        packet
    }

    fn tcp_header(&self) -> Vec<u8> {
        let flags = self.tcp_flags.unwrap_or(TcpFlags(2)).0;
        let mut head = self.tcp_src.unwrap_or(USUAL_SOURCE).to_be_bytes().to_vec();
        head.extend_from_slice(&self.tcp_dst.unwrap_or(80).to_be_bytes());
        head.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        head
    }

    fn udp_header(&self, data: usize) -> Vec<u8> {
        let mut head = self.udp_src.unwrap_or(USUAL_SOURCE).to_be_bytes().to_vec();
        head.extend_from_slice(&self.udp_dst.unwrap_or(9).to_be_bytes());
        head.extend_from_slice(&(8 + data as u16).to_be_bytes());
        head.extend_from_slice(&[0, 0]);
        head
    }

    /// The first field that a frame does not have as it is said here: its name, and what the frame
    /// has.
    pub(super) fn differs(&self, frame: &[u8]) -> Option<String> {
        let seen = ArrivedFields::of(frame);
        let wanted = self.in_words();
        wanted.into_iter().find_map(|(name, wanted)| {
            let has = seen.0.iter().find(|(seen, _)| *seen == name).map(|(_, has)| has.as_str());
            let has = has.unwrap_or("none");
            (has != wanted).then(|| format!("its {name} is {has}, not {wanted}"))
        })
    }

    /// The fields that are said, by name.
    fn in_words(&self) -> Vec<(&'static str, String)> {
        let text = |value: &dyn std::fmt::Display| value.to_string();
        let to = self.to.map(|HostName(to)| host_address(to));
        let ip_dst = self.ipv4_dst.map(|said| said.0).or(to.map(|(_, ip)| ip));
        let eth_dst = self.eth_dst.map(|said| said.0).or(to.map(|(mac, _)| MacAddr(mac)));
        let ip_dst = if self.is_arp() { None } else { ip_dst };
        let fields = [
            ("eth_src", self.eth_src.map(|said| text(&said.0))),
            ("eth_dst", eth_dst.map(|said| text(&said))),
            ("eth_type", self.eth_type.map(|said| format!("{said:#06x}"))),
            ("vlan_vid", self.vlan_vid.map(|said| text(&said))),
            ("ipv4_src", self.ipv4_src.map(|said| text(&said.0))),
            ("ipv4_dst", ip_dst.map(|said| text(&said))),
            ("ip_proto", self.ip_proto.map(|said| text(&said))),
            ("tcp_src", self.tcp_src.map(|said| text(&said))),
            ("tcp_dst", self.tcp_dst.map(|said| text(&said))),
            ("tcp_flags", self.tcp_flags.map(flags_in_words)),
            ("udp_src", self.udp_src.map(|said| text(&said))),
            ("udp_dst", self.udp_dst.map(|said| text(&said))),
            ("icmpv4_type", self.icmpv4_type.map(|said| text(&said))),
            ("icmpv4_code", self.icmpv4_code.map(|said| text(&said))),
            ("arp_op", self.arp_op.map(|said| text(&said))),
            ("arp_spa", self.arp_spa.map(|said| text(&said.0))),
            ("arp_tpa", self.arp_tpa.map(|said| text(&said.0))),
            ("arp_sha", self.arp_sha.map(|said| text(&said.0))),
            ("arp_tha", self.arp_tha.map(|said| text(&said.0))),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// The port that a datagram or a segment comes from where none is said.
const USUAL_SOURCE: u16 = 40_000;

fn flags_in_words(TcpFlags(flags): TcpFlags) -> String {
    let set = TCP_FLAGS.iter().filter(|(_, bit)| flags & bit != 0);
    set.map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}

/// The fields of a frame that arrived, as far as it has them.
struct ArrivedFields(Vec<(&'static str, String)>);

impl ArrivedFields {
    fn of(bytes: &[u8]) -> ArrivedFields {
        let mut seen = ArrivedFields(vec![]);
        let Some(frame) = Ethernet::new(bytes) else { return seen };
        seen.add("eth_src", MacAddr(frame.source()));
        seen.add("eth_dst", MacAddr(frame.destination()));
        seen.add("eth_type", format!("{:#06x}", frame.ethertype()));
        if let Some(vid) = frame.vlan() {
            seen.add("vlan_vid", vid);
        }
        match frame.ethertype() {
            ethertype::ARP => seen.arp(frame.payload()),
            ethertype::IPV4 => seen.ipv4(frame.payload()),
            _ => {}
        }
        seen
    }

    fn add(&mut self, name: &'static str, value: impl std::fmt::Display) {
        self.0.push((name, value.to_string()));
    }

    fn arp(&mut self, bytes: &[u8]) {
        let Some(message) = Arp::new(bytes) else { return };
        self.add("arp_op", message.operation());
        self.add("arp_spa", message.sender_ip());
        self.add("arp_tpa", message.target_ip());
        self.add("arp_sha", MacAddr(message.sender_mac()));
        self.add("arp_tha", MacAddr(message.target_mac()));
    }

    fn ipv4(&mut self, bytes: &[u8]) {
        let Some(packet) = Ipv4::new(bytes) else { return };
        self.add("ipv4_src", packet.source());
        self.add("ipv4_dst", packet.destination());
        self.add("ip_proto", packet.protocol());
        let Some(message) = packet.transport() else { return };
        match packet.protocol() {
            protocol::TCP => {
                let Some(segment) = Tcp::new(message) else { return };
                self.add("tcp_src", segment.source_port());
                self.add("tcp_dst", segment.destination_port());
                self.add("tcp_flags", flags_in_words(TcpFlags(segment.flags() as u8)));
            }
            protocol::UDP => {
                let Some(datagram) = Udp::new(message) else { return };
                self.add("udp_src", datagram.source_port());
                self.add("udp_dst", datagram.destination_port());
            }
            protocol::ICMP => {
                let Some(icmp) = Icmp::new(message) else { return };
                self.add("icmpv4_type", icmp.kind());
                self.add("icmpv4_code", icmp.code());
            }
            _ => {}
        }
    }
}

/// A frame in a line: its fields by name.
pub(super) fn in_words(frame: &[u8]) -> String {
    let mut line = String::new();
    for (name, value) in ArrivedFields::of(frame).0 {
        // To a string this cannot fail.
        let _ = write!(line, "{}{name}={value}", if line.is_empty() { "" } else { "," });
    }
    line
}

/// The number of the frame that one of these was before it was forwarded.
pub(super) fn number(frame: &[u8]) -> Option<u32> {
    let at = frame.windows(MARK_LEN).position(|window| window.starts_with(&MARK))?;
    let number = frame.get(at + MARK.len()..at + MARK_LEN)?.first_chunk()?;
    Some(u32::from_be_bytes(*number))
}

/// The checksum of the Internet protocols (RFC 1071) over these parts, each but the last of even
/// length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let bytes = parts.concat();
    let words = bytes.chunks(2);
    let word = |two: &[u8]| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0));
    let mut sum: u32 = words.map(word).sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> FrameFields {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_frame_is_built_of_its_fields_and_has_them() {
        let all = [
            "to = \"h2\"\ntcp_dst = 22\ntcp_flags = \"syn ack\"",
            "to = \"h2\"\nudp_src = 7\nudp_dst = 4000\nvlan_vid = 5",
            "ipv4_dst = \"10.9.9.9\"\nicmpv4_type = 8",
            "arp_op = 1\narp_tpa = \"10.0.0.100\"",
            "eth_type = 0x88b5\neth_dst = \"02:00:00:00:00:01\"",
        ];
        for (place, text) in (1..).zip(all) {
            let said = fields(text);
            let frame = said.build(HostName(1), place);
            assert_eq!(said.differs(&frame), None, "{text}: {}", in_words(&frame));
            assert_eq!(number(&frame), Some(place));
            assert!(frame.len() >= ethernet::MIN_LEN);
        }
        let frame = fields(all[0]).build(HostName(1), 1);
        let other = fields("tcp_dst = 23\nipv4_src = \"10.0.0.1\"").differs(&frame);
        assert_eq!(other.as_deref(), Some("its tcp_dst is 22, not 23"));
        assert_eq!(fields("udp_dst = 1").differs(&frame).unwrap(), "its udp_dst is none, not 1");
    }

    #[test]
    fn checksums_are_right() {
        for text in ["tcp_dst = 1", "udp_dst = 1", "icmpv4_type = 8"] {
            let frame = fields(text).build(HostName(1), 9);
            let packet = &frame[14..];
            assert_eq!(checksum(&[&packet[..20]]), 0, "{text}");
            let length = u16::from_be_bytes([packet[2], packet[3]]);
            let (message, proto) = (&packet[20..usize::from(length)], packet[9]);
            let head = [&packet[12..20], &[0, proto], &(length - 20).to_be_bytes()].concat();
            let over = if proto == protocol::ICMP { vec![] } else { head };
            assert_eq!(checksum(&[&over, message]), 0, "{text}");
        }
    }

    #[test]
    fn a_field_that_is_none_is_refused_with_its_value() {
        for (text, words) in [
            ("to = \"s1\"", "\"s1\" is no host"),
            ("ipv4_dst = \"10.0.0\"", "\"10.0.0\""),
            ("tcp_flags = \"sin\"", "\"sin\" is no flag of TCP"),
            ("wings = 2", "wings"),
        ] {
            let error = toml::from_str::<FrameFields>(text).unwrap_err();
            assert!(error.message().contains(words), "{error}");
        }
        assert!(fields("tcp_dst = 1\nudp_dst = 1").mistake().is_some());
        assert!(fields("vlan_vid = 4095").mistake().is_some());
        assert_eq!(fields("tcp_dst = 1\ntcp_src = 1").mistake(), None);
    }
}
