//! What switches and controller said to each other, counted.

use aldis_wire::header::kind;
use aldis_wire::{Version, v10, v13};
use std::collections::BTreeMap;

/// Most names of errors that are counted apart; the codes of a hostile controller are without
/// number.
const NAMES_MAX: usize = 100;

/// What errors beyond [`NAMES_MAX`] are called.
const OTHERS: &str = "others";

/// Messages of all switches together.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Messages {
    /// PACKET_INs that were sent.
    pub packet_ins: u64,
    /// PACKET_INs for which a connection had no room, because the controller did not read.
    pub packet_ins_dropped: u64,
    /// PACKET_OUTs that came.
    pub packet_outs: u64,
    /// FLOW_MODs that came.
    pub flow_mods: u64,
    /// Errors that the switches sent, by name.
    pub errors: BTreeMap<String, u64>,
    /// Errors that the controller sent, by name.
    pub complaints: BTreeMap<String, u64>,
}

impl Messages {
    /// A message from the controller.
    pub(super) fn heard(&mut self, version: Version, message: &[u8]) {
        match message[1] {
            kind::PACKET_OUT => self.packet_outs += 1,
            kind::FLOW_MOD => self.flow_mods += 1,
            kind::ERROR => count(&mut self.complaints, error_name(version, message)),
            _ => {}
        }
    }

    /// An error to the controller.
    pub(super) fn erred(&mut self, version: Version, message: &[u8]) {
        count(&mut self.errors, error_name(version, message));
    }
}

fn count(names: &mut BTreeMap<String, u64>, name: String) {
    let known = names.contains_key(&name) || names.len() < NAMES_MAX;
    *names.entry(if known { name } else { OTHERS.into() }).or_default() += 1;
}

fn error_name(version: Version, message: &[u8]) -> String {
    let name = match version {
        Version::V10 => match v10::Message::decode(message) {
            Ok((_, v10::Message::Error(error))) => Some(error.code.to_string()),
            _ => None,
        },
        Version::V13 => match v13::Message::decode(message) {
            Ok((_, v13::Message::Error(error))) => Some(error.code.to_string()),
            _ => None,
        },
    };
    name.unwrap_or_else(|| "an error that cannot be read".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_name_and_the_names_are_bounded() {
        let mut messages = Messages::default();
        let error = |kind: u16, code: u16| {
            let [a, b, c, d] = [kind.to_be_bytes(), code.to_be_bytes()].concat()[..] else {
                unreachable!()
            };
            [4, 1, 0, 12, 0, 0, 0, 0, a, b, c, d]
        };
        for _ in 0..2 {
            messages.erred(Version::V13, &error(1, 1));
        }
        messages.erred(Version::V13, &[4, 1, 0, 8, 0, 0, 0, 0]);
        let counts: Vec<u64> = messages.errors.values().copied().collect();
        assert_eq!(counts.iter().sum::<u64>(), 3, "{:?}", messages.errors);
        assert!(
            messages.errors.keys().any(|name| name.contains("BAD_TYPE")),
            "{:?}",
            messages.errors
        );
        for code in 0..1000 {
            messages.heard(Version::V13, &error(1, 1000 + code));
        }
        assert!(messages.complaints.len() <= NAMES_MAX + 1);
        assert_eq!(messages.complaints.values().sum::<u64>(), 1000);
    }
}
