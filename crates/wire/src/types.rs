//! The few types that every version and every room shares.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// All hosts.
    pub const BROADCAST: MacAddr = MacAddr([0xff; 6]);

    /// Whether it names a group of hosts: multicast and broadcast.
    #[inline]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// The address as the lower 48 bits of a number, first byte highest.
    #[inline]
    pub const fn to_u64(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// The address in the lower 48 bits of `bits`.
    #[inline]
    pub const fn from_u64(bits: u64) -> MacAddr {
        let [_, _, a, b, c, d, e, f] = bits.to_be_bytes();
        MacAddr([a, b, c, d, e, f])
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [b':'; 17];
        for (place, byte) in text.chunks_mut(3).zip(self.0) {
            place[..2].copy_from_slice(&hexadecimal(byte));
        }
        write_ascii(&text, formatter)
    }
}

/// The two digits of a byte. Lists of ten thousand hosts are written with them: `{:02x}` looks at
/// width, filling and sign for each.
fn hexadecimal(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 0xf].map(|half| b"0123456789abcdef"[usize::from(half)])
}

fn write_ascii(text: &[u8], to: &mut fmt::Formatter<'_>) -> fmt::Result {
    to.write_str(core::str::from_utf8(text).map_err(|_| fmt::Error)?)
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for MacAddr {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The 64-bit name of a switch.
///
/// Printed as sixteen hexadecimal digits; read however people write it: `1`, `0x1`, sixteen hex
/// digits, `00:00:00:00:00:00:00:01`, `of:…` and `openflow:1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DatapathId(pub u64);

impl fmt::Display for DatapathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 16];
        for (place, byte) in text.chunks_exact_mut(2).zip(self.0.to_be_bytes()) {
            place.copy_from_slice(&hexadecimal(byte));
        }
        write_ascii(&text, f)
    }
}

impl fmt::Debug for DatapathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for DatapathId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The text is no datapath id in any of the usual ways of writing one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotADatapathId;

impl fmt::Display for NotADatapathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a datapath id; write it as 1, 0x1, 16 hex digits, 00:00:00:00:00:00:00:01, of:… or openflow:1")
    }
}

impl core::error::Error for NotADatapathId {}

impl FromStr for DatapathId {
    type Err = NotADatapathId;

    fn from_str(text: &str) -> Result<Self, NotADatapathId> {
        let hex = |digits: &str| match digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            true => u64::from_str_radix(digits, 16).map_err(|_| NotADatapathId),
            false => Err(NotADatapathId),
        };
        let decimal = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
            true => digits.parse::<u64>().map_err(|_| NotADatapathId),
            false => Err(NotADatapathId),
        };
        let number = if let Some(digits) = text.strip_prefix("openflow:") {
            decimal(digits)
        } else if let Some(digits) = text.strip_prefix("of:") {
            hex(digits)
        } else if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            hex(digits)
        } else if text.contains(':') {
            text.split(':')
                .try_fold((0u64, 0), |(number, octets), octet| match octet.len() {
                    2 if octets < 8 => Ok((number << 8 | hex(octet)?, octets + 1)),
                    _ => Err(NotADatapathId),
                })
                .and_then(
                    |(number, octets)| if octets == 8 { Ok(number) } else { Err(NotADatapathId) },
                )
        } else if text.len() == 16 {
            hex(text)
        } else {
            decimal(text)
        };
        number.map(DatapathId)
    }
}

/// The buffer id that says "not buffered here": the whole frame travels in the message itself
/// (`OFP_NO_BUFFER`).
pub const NO_BUFFER: u32 = 0xffff_ffff;

/// What a data path needs of a PACKET_IN, in place and the same for every version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PacketInView<'a> {
    /// Where the switch keeps the frame, or [`NO_BUFFER`].
    pub buffer_id: u32,
    /// Full length of the frame in bytes; `frame` may hold less of it.
    pub total_len: u16,
    /// The port it came in by. The 16-bit reserved ports of 1.0 (0xff00 and above) are numbered as
    /// 1.3 numbers them (0xffff_ff00 and above).
    pub in_port: u32,
    /// Why the switch sent it, as on the wire: 0 no match, 1 an action; above that by version.
    pub reason: u8,
    /// The frame, or its beginning.
    pub frame: &'a [u8],
    /// Where the frame begins, in bytes from the start of the message.
    pub frame_at: u16,
}

/// What all flows of a learning switch have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct L2FlowSpec {
    /// Seconds without a packet after which the switch removes the flow; 0 for never.
    pub idle_timeout_s: u16,
    /// Seconds after which the switch removes the flow in any case; 0 for never.
    pub hard_timeout_s: u16,
    /// The higher of two matching flows wins.
    pub priority: u16,
    /// The controller's mark on the flow, returned by the switch.
    pub cookie: u64,
    /// Whether the switch says when it removes the flow.
    pub send_flow_removed: bool,
}

/// What differs between two flows of a learning switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct L2Hit {
    /// Transaction id of the FLOW_MOD.
    pub xid: u32,
    /// The port the frame came in by, numbered as [`PacketInView::in_port`].
    pub in_port: u32,
    /// Its source, in the lower 48 bits ([`MacAddr::to_u64`]): what is told from a number is
    /// written as one.
    pub eth_src: u64,
    /// Its destination, likewise. The upper bits of both are 0.
    pub eth_dst: u64,
    /// Its VLAN id (0 to 4095), or 0xffff for a frame without a tag.
    pub vlan: u16,
    /// The buffered frame to release through the new flow, or [`NO_BUFFER`].
    pub buffer_id: u32,
    /// Where the destination is, numbered as [`PacketInView::in_port`].
    pub out_port: u32,
}

/// Text in a field of `N` bytes, padded with NULs: names and descriptions.
///
/// All bytes are kept, so that a round trip loses nothing; what is shown is the text before the
/// first NUL.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FixedText<const N: usize>(pub [u8; N]);

impl<const N: usize> FixedText<N> {
    /// The field holding `text`, cut where it is too long. One byte is left for the NUL that ends
    /// it.
    pub fn new(text: &str) -> Self {
        let mut bytes = [0; N];
        let kept = text.floor_char_boundary(N.saturating_sub(1));
        bytes[..kept].copy_from_slice(&text.as_bytes()[..kept]);
        FixedText(bytes)
    }

    /// The bytes before the first NUL.
    pub fn trimmed(&self) -> &[u8] {
        self.0.split(|&byte| byte == 0).next().unwrap_or_default()
    }
}

impl<const N: usize> Default for FixedText<N> {
    fn default() -> Self {
        FixedText([0; N])
    }
}

impl<const N: usize> fmt::Display for FixedText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.trimmed()))
    }
}

impl<const N: usize> fmt::Debug for FixedText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(self.trimmed()), f)
    }
}

#[cfg(feature = "serde")]
impl<const N: usize> serde::Serialize for FixedText<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_datapath_id_is_read_however_people_write_it() {
        for text in [
            "1",
            "0x1",
            "0000000000000001",
            "00:00:00:00:00:00:00:01",
            "of:0000000000000001",
            "openflow:1",
        ] {
            assert_eq!(text.parse(), Ok(DatapathId(1)), "{text}");
        }
        assert_eq!("255".parse(), Ok(DatapathId(255)));
        assert_eq!("ffffffffffffffff".parse(), Ok(DatapathId(u64::MAX)));
    }

    #[test]
    fn what_is_no_datapath_id_is_refused() {
        for text in [
            "",
            "x",
            "-1",
            "+1",
            "0x",
            "1:2",
            "00:00:00:00:00:00:00:00:01",
            "of:",
            "0x10000000000000000",
        ] {
            assert_eq!(text.parse::<DatapathId>(), Err(NotADatapathId), "{text}");
        }
    }

    #[test]
    fn addresses_are_numbers_too() {
        let mac = MacAddr([0x02, 0, 0, 0, 0x01, 0xfe]);
        assert_eq!(MacAddr::from_u64(mac.to_u64()), mac);
        assert_eq!(mac.to_string(), "02:00:00:00:01:fe");
        assert!(MacAddr::BROADCAST.is_group() && !mac.is_group());
    }

    #[test]
    fn fixed_text_keeps_its_bytes_and_shows_its_text() {
        assert_eq!(FixedText::<4>::new("grüße").0, *b"gr\0\0");
        assert_eq!(FixedText::<0>::new("x").to_string(), "");
        let text = FixedText(*b"eth0\0junk");
        assert_eq!(text.to_string(), "eth0");
        assert_eq!(text.0.len(), 9);
        assert_eq!(FixedText([0xff, b'a']).to_string(), "\u{fffd}a");
    }
}
