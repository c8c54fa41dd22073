//! What a guest is told where its message is not carried out: the error that a switch would send.

use aldis_wire::{Header, Version};

/// Bytes of the refused message that go back with the error: at least 64 (1.3.5 §7.4.4).
const DATA_MAX: usize = 64;

/// Why a message of a guest is not carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// The guest may not do that.
    Request,
    /// The flow is outside of its grant.
    Flow,
    /// The flow goes to a table that it may not change.
    Table,
    /// An action is outside of its grant.
    Action,
    /// The group is not its own.
    Group,
    /// The meter is not its own.
    Meter,
    /// There is no such type of message, or the switch's version has no words for it.
    Type,
    /// The version is not the one agreed on.
    Version,
    /// The message cannot be read.
    Malformed,
    /// The experimenter is not granted.
    Experimenter,
    /// The guest was not handed that buffer.
    Buffer,
    /// It awaits as many replies as it may.
    TooMany,
    /// It has as many flows as it may.
    Full,
    /// The generation of a role is an old one.
    StaleRole,
    /// There is no such role.
    BadRole,
}

impl Refusal {
    /// Type and code, as the version numbers them (1.0 §5.4.4, 1.3.5 §7.4.4).
    fn codes(self, version: Version) -> (u16, u16) {
        let is_v10 = version == Version::V10;
        match self {
            Refusal::Version => (1, 0),
            Refusal::Type => (1, 1),
            Refusal::Experimenter => (1, 3),
            Refusal::Malformed => (1, 6),
            Refusal::Buffer => (1, 8),
            Refusal::TooMany if !is_v10 => (1, 13),
            Refusal::Action => (2, 6),
            Refusal::Flow | Refusal::Table if is_v10 => (3, 2),
            Refusal::Full if is_v10 => (3, 0),
            Refusal::Full => (5, 1),
            Refusal::Table => (5, 2),
            Refusal::Flow => (5, 4),
            Refusal::Group if !is_v10 => (6, 14),
            Refusal::Meter if !is_v10 => (12, 2),
            Refusal::StaleRole if !is_v10 => (11, 0),
            Refusal::BadRole if !is_v10 => (11, 2),
            _ => (1, 5),
        }
    }

    /// Appends the error about a message.
    pub(crate) fn write(self, version: Version, message: &[u8], out: &mut Vec<u8>) {
        let xid = message.get(4..8).and_then(|xid| xid.first_chunk()).copied().unwrap_or_default();
        let (kind, code) = self.codes(version);
        let data = &message[..message.len().min(DATA_MAX)];
        write(version, u32::from_be_bytes(xid), (kind, code), data, out);
    }
}

/// Appends an ERROR of this type and code.
pub(crate) fn write(
    version: Version,
    xid: u32,
    (kind, code): (u16, u16),
    data: &[u8],
    out: &mut Vec<u8>,
) {
    let length = (12 + data.len()) as u16;
    let header =
        Header { version: version.wire(), kind: aldis_wire::header::kind::ERROR, length, xid };
    out.extend_from_slice(&header.to_bytes());
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(data);
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::msg::Message;

    #[test]
    fn every_refusal_has_a_name_in_both_versions() {
        use Refusal::*;
        let all = [
            Request,
            Flow,
            Table,
            Action,
            Group,
            Meter,
            Type,
            Version,
            Malformed,
            Experimenter,
            Buffer,
            TooMany,
            Full,
            StaleRole,
            BadRole,
        ];
        for version in aldis_wire::Version::ALL {
            for refusal in all {
                let mut out = vec![];
                refusal.write(version, &[version.wire(), 14, 0, 8, 0, 0, 0, 7], &mut out);
                let Ok((7, Message::Error(error))) = Message::decode(version, &out) else {
                    panic!("{refusal:?} in {version}")
                };
                assert!(error.code.name().is_some(), "{refusal:?} in {version}: {}", error.code);
            }
        }
    }
}
