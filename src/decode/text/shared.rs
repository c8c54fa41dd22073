//! Messages that both versions have, behind their titles.

use super::{counter, dump, duration, frame, hex, offending, port, text};
use aldis_wire::v13::{Hello, HelloElement};
use aldis_wire::{DatapathId, FixedText, NO_BUFFER};
use std::fmt::{self, Display, Formatter};

/// HELLO of a version that defines no body, which may have the elements of a later one.
pub(super) fn hello(f: &mut Formatter<'_>, version: u8, body: &[u8]) -> fmt::Result {
    match Hello::read_body(body) {
        Ok(hello) => hello_elements(f, version, &hello),
        Err(_) => dump(f, body),
    }
}

/// HELLO: the versions that the sender speaks. Without a bitmap these are its own and all before
/// it.
pub(super) fn hello_elements(f: &mut Formatter<'_>, version: u8, hello: &Hello) -> fmt::Result {
    let until = [(2 << version) - 2];
    let words = hello.bitmap().unwrap_or(&until);
    let bits = words
        .iter()
        .enumerate()
        .flat_map(|(at, &word)| (0..32).map(move |bit| (at * 32 + bit, word >> bit & 1)));
    let versions: Vec<String> =
        bits.filter(|&(_, set)| set == 1).map(|(version, _)| format!("{version:#04x}")).collect();
    write!(f, "\n version bitmap: {}", versions.join(", "))?;
    hello.elements.iter().try_for_each(|element| match element {
        HelloElement::VersionBitmap(_) => Ok(()),
        HelloElement::Unknown { kind, body } => write!(f, "\n element {kind}: {}", hex(body)),
    })
}

/// ECHO_REQUEST and ECHO_REPLY.
pub(super) fn echo(f: &mut Formatter<'_>, payload: &[u8]) -> fmt::Result {
    write!(f, " {} bytes of payload", payload.len())?;
    dump(f, payload)
}

/// What a vendor adds, which is for the vendor to read.
pub(super) fn vendor(
    f: &mut Formatter<'_>,
    vendor: u32,
    kind: Option<u32>,
    data: &[u8],
) -> fmt::Result {
    write!(f, " vendor={vendor:#010x}")?;
    if let Some(kind) = kind {
        write!(f, " type={kind}")?;
    }
    write!(f, " data_len={}", data.len())?;
    dump(f, data)
}

/// ERROR: its code by name, what usually causes it, and the message it is about.
pub(super) fn error(
    f: &mut Formatter<'_>,
    code: impl Display,
    hint: Option<&str>,
    text_inside: bool,
    data: &[u8],
) -> fmt::Result {
    write!(f, " {code}")?;
    if let Some(hint) = hint {
        write!(f, "\nhint: {hint}")?;
    }
    match (text_inside, data) {
        (_, []) => Ok(()),
        (true, _) => write!(f, "\n{}", text(data)),
        (false, _) => offending(f, data),
    }
}

/// The first lines of FEATURES_REPLY.
pub(super) fn features(
    f: &mut Formatter<'_>,
    dpid: DatapathId,
    n_tables: u8,
    n_buffers: u32,
    auxiliary_id: u8,
    capabilities: impl Display,
) -> fmt::Result {
    write!(f, " dpid:{dpid}\nn_tables:{n_tables}, n_buffers:{n_buffers}")?;
    if auxiliary_id != 0 {
        write!(f, ", auxiliary_id:{auxiliary_id}")?;
    }
    write!(f, "\ncapabilities: {capabilities}")
}

/// GET_CONFIG_REPLY and SET_CONFIG.
pub(super) fn config(f: &mut Formatter<'_>, flags: u16, miss_send_len: u16) -> fmt::Result {
    match flags {
        0 => f.write_str(" frags=normal")?,
        1 => f.write_str(" frags=drop")?,
        2 => f.write_str(" frags=reassemble")?,
        _ => write!(f, " flags={flags:#x}")?,
    }
    write!(f, " miss_send_len={miss_send_len}")
}

/// PACKET_IN from `total_len=` on.
pub(super) fn packet_in(
    f: &mut Formatter<'_>,
    total_len: u16,
    fields: impl Display,
    reason: u8,
    buffer_id: u32,
    data: &[u8],
) -> fmt::Result {
    const REASONS: [&str; 3] = ["no_match", "action", "invalid_ttl"];
    write!(f, " total_len={total_len} {fields} (via ")?;
    match REASONS.get(usize::from(reason)) {
        Some(reason) => f.write_str(reason)?,
        None => write!(f, "{reason}")?,
    }
    write!(f, ") data_len={} ", data.len())?;
    match buffer_id {
        NO_BUFFER => f.write_str("(unbuffered)")?,
        _ => write!(f, "buffer={buffer_id:#010x}")?,
    }
    framed(f, data)
}

/// PACKET_OUT.
pub(super) fn packet_out(
    f: &mut Formatter<'_>,
    in_port: u32,
    actions: impl Display,
    buffer_id: u32,
    data: &[u8],
) -> fmt::Result {
    write!(f, " in_port={} actions={actions} ", port::number(in_port))?;
    match buffer_id {
        NO_BUFFER => write!(f, "data_len={}", data.len())?,
        _ => write!(f, "buffer={buffer_id:#010x}")?,
    }
    framed(f, data)
}

fn framed(f: &mut Formatter<'_>, data: &[u8]) -> fmt::Result {
    if data.is_empty() { Ok(()) } else { write!(f, "\n{}", frame::frame(data)) }
}

/// PORT_STATUS.
pub(super) fn port_status(
    f: &mut Formatter<'_>,
    reason: u8,
    port: &port::PortText<'_>,
) -> fmt::Result {
    match reason {
        0 => f.write_str(" ADD:")?,
        1 => f.write_str(" DEL:")?,
        2 => f.write_str(" MOD:")?,
        _ => write!(f, " reason {reason}:")?,
    }
    write!(f, "{port}")
}

/// A queue property that guarantees or limits a rate in tenths of a percent; above a thousand it
/// says nothing.
pub(super) fn rate(f: &mut Formatter<'_>, name: &str, rate: u16) -> fmt::Result {
    match rate {
        0..=1000 => write!(f, " {name}:{}.{}%", rate / 10, rate % 10),
        _ => write!(f, " {name}:(disabled)"),
    }
}

/// The filter of a request for queue statistics.
pub(super) fn queue_request(f: &mut Formatter<'_>, port: u32, queue: u32) -> fmt::Result {
    write!(f, " port={} queue={}", port::number(port), all_or(queue))
}

/// A queue or a group, all ones being all of them.
pub(super) fn all_or(number: u32) -> impl Display {
    fmt::from_fn(
        move |f| if number == u32::MAX { f.write_str("ALL") } else { write!(f, "{number}") },
    )
}

/// What a switch says it is.
pub(super) fn desc(
    f: &mut Formatter<'_>,
    [manufacturer, hardware, software]: [&FixedText<256>; 3],
    serial: &FixedText<32>,
    datapath: &FixedText<256>,
) -> fmt::Result {
    let lines = [
        ("Manufacturer", manufacturer.trimmed()),
        ("Hardware", hardware.trimmed()),
        ("Software", software.trimmed()),
        ("Serial Num", serial.trimmed()),
        ("DP Description", datapath.trimmed()),
    ];
    lines.iter().try_for_each(|(name, value)| write!(f, "\n{name}: {}", text(value)))
}

/// The sums of aggregate flow statistics.
pub(super) fn aggregate(
    f: &mut Formatter<'_>,
    packets: u64,
    bytes: u64,
    flows: u32,
) -> fmt::Result {
    write!(f, " packet_count={} byte_count={} flow_count={flows}", counter(packets), counter(bytes))
}

/// What a port has counted.
pub(super) struct PortStats {
    pub(super) port: u32,
    /// Packets, bytes, dropped, errors.
    pub(super) rx: [u64; 4],
    /// Frame, overrun and checksum errors.
    pub(super) rx_errors: [u64; 3],
    /// Packets, bytes, dropped, errors.
    pub(super) tx: [u64; 4],
    pub(super) collisions: u64,
    pub(super) duration: Option<(u32, u32)>,
}

impl Display for PortStats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ([packets, bytes, drop, errors], [frame, over, crc]) =
            (self.rx.map(counter), self.rx_errors.map(counter));
        write!(
            f,
            "\n  port {:>2}: rx pkts={packets}, bytes={bytes}, drop={drop}, errs={errors}",
            port::number(self.port).to_string()
        )?;
        write!(f, ", frame={frame}, over={over}, crc={crc}")?;
        let ([packets, bytes, drop, errors], collisions) =
            (self.tx.map(counter), counter(self.collisions));
        write!(
            f,
            "\n           tx pkts={packets}, bytes={bytes}, drop={drop}, errs={errors}, coll={collisions}"
        )?;
        match self.duration {
            Some((u32::MAX, u32::MAX)) | None => Ok(()),
            Some((seconds, nanoseconds)) => {
                write!(f, "\n           duration={}", duration(seconds, nanoseconds))
            }
        }
    }
}

/// What a queue has counted: bytes, packets and errors.
pub(super) fn queue_stats(
    f: &mut Formatter<'_>,
    port: u32,
    queue: u32,
    counts: [u64; 3],
    age: Option<(u32, u32)>,
) -> fmt::Result {
    let [bytes, packets, errors] = counts.map(counter);
    write!(
        f,
        "\n  port {} queue {queue}: bytes={bytes}, pkts={packets}, errors={errors}",
        port::number(port)
    )?;
    match age {
        Some((seconds, nanoseconds)) if seconds != u32::MAX => {
            write!(f, ", duration={}", duration(seconds, nanoseconds))
        }
        _ => f.write_str(", duration=?"),
    }
}
