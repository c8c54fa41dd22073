//! All diagnoses, the likeliest first; and the table of them in `docs/doctor.md`.

use std::fmt::Write as _;

use crate::finding::Diagnosis;
use crate::rules::{apps, connecting, machine, network, switches};

/// All diagnoses: of those that are equally grave, what stands first is said first.
pub const CATALOGUE: &[Diagnosis] = &[
    connecting::PORT_TAKEN,
    connecting::NOT_RUNNING,
    connecting::NO_ANSWER,
    connecting::NO_ROOM,
    connecting::VERSION,
    connecting::TLS_TO_PLAIN,
    connecting::NO_CERTIFICATE,
    connecting::TLS_REFUSED,
    connecting::WRONG_PORT,
    connecting::WRONG_ADDRESS,
    connecting::UNREACHABLE,
    switches::DUPLICATE,
    connecting::HANDSHAKE,
    connecting::NO_SWITCH,
    switches::OTHER_CONTROLLER,
    switches::TABLE_MISS,
    apps::FAILED,
    apps::SWALLOWED,
    apps::NO_FORWARDER,
    apps::GUEST,
    machine::STORE_READ_ONLY,
    switches::STORM,
    switches::TABLE_FULL,
    switches::SLOW,
    network::ONE_WAY,
    connecting::NO_HTTP,
    connecting::NO_CONTROLLER,
    connecting::OVS_DOWN,
    apps::GUEST_AWAY,
    machine::STORE_FULL,
    machine::FILES,
    machine::CLOCK,
    machine::STOLEN,
    machine::BUSY,
    machine::THROTTLED,
    network::DENIED,
    network::VLANS,
    machine::FREQUENCY,
];

/// The place of a diagnosis, from 0; behind all where there is none of this name.
pub fn place(id: &str) -> usize {
    CATALOGUE.iter().position(|known| known.id == id).unwrap_or(CATALOGUE.len())
}

/// The diagnosis of this name.
pub fn named(id: &str) -> Option<&'static Diagnosis> {
    CATALOGUE.get(place(id))
}

/// The table of all diagnoses, in Markdown.
pub fn table() -> String {
    let mut text = "| finding | what is wrong | what shows it | what to do |\n".to_owned();
    text += "| --- | --- | --- | --- |\n";
    for known in CATALOGUE {
        let command = known.command.replace('|', "\\|");
        let _ = writeln!(
            text,
            "| `{}` ({}) | {} | {} | {} `{command}` |",
            known.id,
            known.severity.name(),
            known.title,
            known.shown_by,
            known.what_to_do,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_diagnosis_has_a_name_of_its_own_and_says_what_to_do() {
        let names: BTreeSet<_> = CATALOGUE.iter().map(|known| known.id).collect();
        assert_eq!(names.len(), CATALOGUE.len());
        for known in CATALOGUE {
            let is_name =
                |id: &str| id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            assert!(is_name(known.id), "{}", known.id);
            assert!(!known.title.ends_with('.') && known.what_to_do.ends_with('.'), "{}", known.id);
            assert!(!known.command.is_empty() && !known.shown_by.is_empty(), "{}", known.id);
        }
    }

    #[test]
    fn the_page_has_the_table_of_all() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (text, old) = page.split_at(page.find("| finding |").unwrap());
        if std::env::var_os("ALDIS_RENEW").is_some() {
            return std::fs::write(path, format!("{text}{}", table())).unwrap();
        }
        assert_eq!(old, table(), "renew it: ALDIS_RENEW=1 cargo test -p aldis-doctor catalogue");
    }
}
