//! `[[guest]]`: other controllers to which the switches are presented, each with its place in the
//! file.
//!
//! ```toml
//! [[guest]]
//! name = "lab-3"
//! connect = "127.0.0.1:6654"
//! match = { vlan-vid = 10 }
//! tables = "10-19"
//! ```

use std::collections::HashSet;

use aldis_guest::GuestSpec;
use aldis_guest::limits::GUESTS_MAX;

use super::rules::{FileFault, OldKeys, ToldRule, check_name};

/// Every key is read as it is.
impl OldKeys for GuestSpec {}

/// The guests, in order.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn guests(told: &[ToldRule<GuestSpec>]) -> Result<Vec<GuestSpec>, FileFault> {
    let mut names = HashSet::new();
    for (count, told) in told.iter().enumerate() {
        check_name(told, &told.it.name, &mut names, "guest")?;
        if count == GUESTS_MAX {
            let why = format!("there are {GUESTS_MAX} guests already; accepted are no more");
            return Err(told.wrong("name", why));
        }
        told.it.check().map_err(|why| match why.split_once(": ") {
            Some((key, why)) => told.wrong(key, why),
            None => told.wrong("name", why),
        })?;
    }
    Ok(told.iter().map(|told| told.it.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, ConfigFile, explain};

    fn read(text: &str) -> Result<Config, String> {
        let config: Config = toml::from_str(text).map_err(|error| explain(text, &error))?;
        let source = Some(ConfigFile { path: "a.toml".into(), text: text.to_owned() });
        Ok(Config { source, ..config })
    }

    #[test]
    fn guests_are_read_as_rest_reads_them() {
        let config = read(
            r#"
            [[guest]]
            name = "ryu"
            connect = ":6654"
            [[guest]]
            name = "lab-3"
            connect = "127.0.0.1:6655"
            switches = ["1-4", 9]
            match = { vlan-vid = 10, in-port = 3 }
            ports = "1-8"
            tables = "10-19"
            priorities = "100-200"
            groups = 7
            meters = "1-9"
            read-only = true
            observe = true
            rate = 500
            queue = 65536
            weight = 3
            otherwise = "drop"
            experimenters = "0x2320"
            tls = { authority = "ca.pem", certificate = "lab.pem", key = "lab.key", name = "lab.example" }
        "#,
        )
        .unwrap();
        assert!(config.app_set().is_ok());
        let guests = config.guests();
        assert_eq!(guests[0], GuestSpec::new("ryu", "127.0.0.1:6654".parse().unwrap()));
        let over_rest = serde_json::json!({
            "name": "lab-3", "connect": "127.0.0.1:6655", "switches": ["1-4", "9"],
            "match": {"vlan_vid": 10, "in_port": 3}, "ports": "1-8", "tables": "10-19",
            "priorities": "100-200", "groups": "7", "meters": "1-9", "read_only": true,
            "observe": true, "rate": 500, "queue": 65536, "weight": 3, "otherwise": "drop",
            "experimenters": "0x2320",
            "tls": {
                "authority": "ca.pem", "certificate": "lab.pem", "key": "lab.key",
                "name": "lab.example"
            }
        });
        assert_eq!(guests[1], serde_json::from_value(over_rest).unwrap());
        // They follow the file without a restart.
        let without = Config { guest: vec![], ..config.clone() };
        assert_eq!(config.changed(&without), [""; 0]);
    }

    #[test]
    fn what_is_wrong_with_a_guest_is_said_with_its_line() {
        let guest = |rest: &str| format!("[[guest]]\nname = \"a\"\nconnect = \":6654\"\n{rest}");
        let cases = [
            (guest(&guest("")), "a.toml:5: name: there are two guests", "\"a\""),
            (guest("queue = 1"), "a.toml:4: queue: from 4096", "not 1"),
            (guest("weight = 0"), "a.toml:4: weight: from 1 to 1000", "not 0"),
            (guest("experimenters = \"me\""), "4: experimenters: ", "0x2320"),
            (guest("tls = { authority = \"a\", key = \"b\" }"), "a.toml:4: tls: ", "certificate"),
            (guest("tls = { certificate = \"a\" }"), "4: tls: ", "authority"),
            (guest("rate = 0"), "a.toml:4: rate: at least one", ""),
            (guest("").replace("\"a\"", "\"A b\""), "a.toml:2: name: \"A b\"", "small letters"),
            (guest("").replace("\"a\"", "\"\""), "a.toml:2: name: a guest needs a name", ""),
            (guest("tables = \"9-1\""), "4: tables: ", "10-19"),
            (guest("tables = -1"), "4: tables: the number -1 is given", "a text or a number"),
            (guest("switches = [\"s1\"]"), "4: switches: ", "a datapath id"),
            (guest("match = { vlan = 10 }"), "4: match: vlan: ", "vlan-vid"),
            (guest("otherwise = \"wait\""), "4: otherwise: ", "`drop`"),
            (guest("table = 1"), "4: table: ", "did you mean `tables`?"),
            ("[[guest]]\nname = \"a\"\n".to_owned(), "1: [[guest]]: `connect` is missing", ""),
            (guest("").replace(":6654", "6654"), "3: connect: ", "HOST:PORT"),
        ];
        for (text, place, accepted) in cases {
            let refused = read(&text).and_then(|config| config.app_set().map(drop));
            let refused = refused.expect_err(&text);
            assert!(refused.starts_with(place) && refused.contains(accepted), "{text}: {refused}");
            assert_eq!(refused.lines().count(), 1, "{refused}");
        }
        let many: String = (0..=GUESTS_MAX)
            .map(|number| guest("").replace("\"a\"", &format!("\"a{number}\"")))
            .collect();
        let refused = read(&many).and_then(|config| config.app_set().map(drop)).unwrap_err();
        assert!(refused.contains("name: there are 64 guests already"), "{refused}");
    }

    #[test]
    fn the_files_of_the_documentation_are_accepted() {
        let pages = [
            include_str!("../../../../docs/guests.md"),
            include_str!("../../../../docs/configuration.md"),
        ];
        for page in pages {
            let files = page.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("```"));
            let files: Vec<_> = files.filter(|(file, _)| file.contains("[[guest]]")).collect();
            assert!(!files.is_empty());
            for (file, _) in files {
                let config = read(file).unwrap_or_else(|why| panic!("{file}: {why}"));
                config.app_set().unwrap_or_else(|why| panic!("{file}: {why}"));
                assert!(!config.guests().is_empty(), "{file}");
            }
        }
    }
}
