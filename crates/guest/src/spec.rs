//! What is said of a guest: in the configuration, over REST and on the command line.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use aldis_apps::spelling::{Matching, Number, Spelled, beginning};
use aldis_control::weights::Switches;
use aldis_wire::DatapathId;
use serde::{Deserialize, Serialize};

use crate::limits::{
    EXPERIMENTERS_MAX, NAME_MAX, QUEUE_DEFAULT, QUEUE_MAX, RANGES_MAX, WEIGHT_MAX,
};

/// A guest: a controller, or an application, in a process of its own, to which the switches are
/// presented over OpenFlow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestSpec {
    /// Its name: among the applications, in logs and in cookies.
    #[serde(default)]
    pub name: String,
    /// Where it listens for switches.
    pub connect: Spelled<GuestAddress>,
    /// The switches that it may see, [`RANGES_MAX`] entries at most: all where none are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<Spelled<Switches>>,
    /// The packets that are its own.
    #[serde(default, rename = "match", skip_serializing_if = "is_everything")]
    pub matching: Matching,
    /// The ports that it may see and use, by number: all where none are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<Spelled<NumberRanges>>,
    /// The tables that it may change: all where none are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<Spelled<NumberRanges>>,
    /// The priorities of its flows: all where none are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priorities: Option<Spelled<NumberRanges>>,
    /// The groups that it may use: all where none are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Spelled<NumberRanges>>,
    /// The meters that it may use: all where none are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meters: Option<Spelled<NumberRanges>>,
    /// The experimenters whose messages are passed on, both ways, whatever is in them: none where
    /// none are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experimenters: Option<Spelled<ExperimenterIds>>,
    /// Whether it may ask, and change nothing.
    #[serde(default, alias = "read-only", skip_serializing_if = "is_false")]
    pub read_only: bool,
    /// Whether it gets copies, and the requests go on to the next application all the same.
    #[serde(default, skip_serializing_if = "is_false")]
    pub observe: bool,
    /// Most requests a second that it is handed, of all switches together; 1 and more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// Bytes that may wait for it at one switch: 4096 to [`QUEUE_MAX`].
    #[serde(default = "queue_default")]
    pub queue: usize,
    /// Its share of a worker, where several guests have more to say than a worker takes at once; 1
    /// to [`WEIGHT_MAX`]. A guest of weight 4 is due four times as much as one of weight 1.
    #[serde(default = "weight_default", skip_serializing_if = "is_weight_default")]
    pub weight: u16,
    /// What becomes of a request that it cannot take: it is away or paused, or its queue is full.
    #[serde(default)]
    pub otherwise: Otherwise,
    /// How connections to it are encrypted; not where this is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<GuestTlsFiles>,
}

/// The files by which connections to a guest are encrypted, as PEM, on the controller's machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestTlsFiles {
    /// The authorities of which one has to have signed the guest's certificate.
    pub authority: PathBuf,
    /// The certificate that the guest is shown, those of the authorities between behind it; none
    /// where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// Its private key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// The name that the guest's certificate has to bear: its address where this is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What becomes of a request that a guest cannot take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Otherwise {
    /// The next application gets it.
    #[default]
    Next,
    /// It is dropped.
    Drop,
}

impl GuestSpec {
    /// Of this name and address, with everything granted.
    pub fn new(name: impl Into<String>, connect: SocketAddr) -> GuestSpec {
        GuestSpec {
            name: name.into(),
            connect: Spelled(GuestAddress(connect)),
            switches: vec![],
            matching: Matching::default(),
            ports: None,
            tables: None,
            priorities: None,
            groups: None,
            meters: None,
            experimenters: None,
            read_only: false,
            observe: false,
            rate: None,
            queue: QUEUE_DEFAULT,
            weight: 1,
            otherwise: Otherwise::Next,
            tls: None,
        }
    }

    /// Whether it may see the switch.
    pub fn has_switch(&self, dpid: DatapathId) -> bool {
        self.switches.is_empty() || self.switches.iter().any(|some| some.0.contains(dpid))
    }

    /// Whether the other differs in nothing but what may change while the guest is served: rate,
    /// queue, weight, and what becomes of requests that it cannot take.
    pub fn differs_in_bounds_alone(&self, other: &GuestSpec) -> bool {
        let bounded = GuestSpec {
            rate: other.rate,
            queue: other.queue,
            weight: other.weight,
            otherwise: other.otherwise,
            ..self.clone()
        };
        bounded == *other
    }

    /// Whether it may have a flow in the place of the one by which packets that match nothing come
    /// to the controller: in the first table, for all packets, of priority 0.
    pub fn may_replace_table_miss(&self) -> bool {
        let has_zero = |numbers: &Option<Spelled<NumberRanges>>| {
            numbers.as_ref().is_none_or(|numbers| numbers.0.contains(0))
        };
        !self.read_only
            && self.matching.0.fields.is_empty()
            && self.ports.is_none()
            && has_zero(&self.tables)
            && has_zero(&self.priorities)
    }

    /// Checks what serde cannot.
    ///
    /// # Errors
    /// One sentence that names the field.
    pub fn check(&self) -> Result<(), String> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let length = 1..=NAME_MAX;
        if !length.contains(&self.name.len()) || !self.name.chars().all(is_plain) {
            return Err(format!(
                "name: {:?} is none for a guest: small letters, digits and \"-\", {NAME_MAX} at most",
                self.name.chars().take(NAME_MAX).collect::<String>()
            ));
        }
        if self.switches.len() > RANGES_MAX {
            return Err(format!("switches: {RANGES_MAX} entries at most"));
        }
        if !(4096..=QUEUE_MAX).contains(&self.queue) {
            return Err(format!("queue: from 4096 to {QUEUE_MAX} bytes, not {}", self.queue));
        }
        if self.rate == Some(0) {
            return Err("rate: at least one request a second".to_owned());
        }
        if !(1..=WEIGHT_MAX).contains(&self.weight) {
            return Err(format!("weight: from 1 to {WEIGHT_MAX}, not {}", self.weight));
        }
        let files = self.tls.iter().map(|files| (&files.certificate, &files.key));
        if files.into_iter().any(|(certificate, key)| certificate.is_some() != key.is_some()) {
            return Err("tls: a certificate needs its key, and a key its certificate".to_owned());
        }
        Ok(())
    }
}

fn weight_default() -> u16 {
    1
}

fn is_weight_default(weight: &u16) -> bool {
    *weight == weight_default()
}

fn queue_default() -> usize {
    QUEUE_DEFAULT
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_everything(matching: &Matching) -> bool {
    matching.0.fields.is_empty()
}

/// Where a guest listens: `127.0.0.1:6654`, `localhost:6654`, `[::1]:6654`, or `:6654` on this
/// machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestAddress(pub SocketAddr);

impl fmt::Display for GuestAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for GuestAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<GuestAddress, String> {
        let short: String = text.chars().take(64).collect();
        let accepted = "accepted: HOST:PORT, as 127.0.0.1:6654";
        let full = match text.strip_prefix(':') {
            Some(port) => format!("127.0.0.1:{port}"),
            None => text.strip_prefix("tcp:").unwrap_or(text).to_owned(),
        };
        let found = full.to_socket_addrs().map_err(|why| format!("{short:?}: {why}; {accepted}"));
        let found = found?.find(|address| address.port() != 0);
        found.map(GuestAddress).ok_or_else(|| format!("{short:?} is no address; {accepted}"))
    }
}

/// Numbers: `7`, `10-19`, `1-4,9`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NumberRanges(Vec<RangeInclusive<u32>>);

impl NumberRanges {
    /// Whether the number is one of them.
    pub fn contains(&self, number: u32) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }

    /// Whether a number is one of both.
    pub fn overlaps(&self, other: &NumberRanges) -> bool {
        let meet = |one: &RangeInclusive<u32>, two: &RangeInclusive<u32>| {
            one.start() <= two.end() && two.start() <= one.end()
        };
        self.0.iter().any(|one| other.0.iter().any(|two| meet(one, two)))
    }
}

impl fmt::Display for NumberRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, range) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            match range.start() == range.end() {
                true => write!(f, "{comma}{}", range.start())?,
                false => write!(f, "{comma}{}-{}", range.start(), range.end())?,
            }
        }
        Ok(())
    }
}

impl FromStr for NumberRanges {
    type Err = String;

    fn from_str(text: &str) -> Result<NumberRanges, String> {
        let refused = || {
            let text: String = text.chars().take(64).collect();
            format!("{text:?} says no numbers; accepted: 7, 10-19, or 1-4,9")
        };
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u32>().ok();
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(first..=last)
        };
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > RANGES_MAX {
            return Err(format!("there may be {RANGES_MAX} ranges at most"));
        }
        let ranges: Option<Vec<_>> = parts.into_iter().map(range).collect();
        ranges.map(NumberRanges).ok_or_else(refused)
    }
}

/// Experimenters, by the ids that they have in messages: `0x2320`, `0x2320,0x4f4e4600`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExperimenterIds(Vec<u32>);

impl ExperimenterIds {
    /// Whether this is one of them.
    pub fn contains(&self, id: u32) -> bool {
        self.0.contains(&id)
    }
}

impl fmt::Display for ExperimenterIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, id) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{id:#x}")?;
        }
        Ok(())
    }
}

impl FromStr for ExperimenterIds {
    type Err = String;

    fn from_str(text: &str) -> Result<ExperimenterIds, String> {
        let id = |part: &str| {
            let Number(number) = part.trim().parse().ok()?;
            u32::try_from(number).ok()
        };
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > EXPERIMENTERS_MAX {
            return Err(format!("there may be {EXPERIMENTERS_MAX} experimenters at most"));
        }
        let ids: Option<Vec<u32>> = parts.into_iter().map(id).collect();
        ids.map(ExperimenterIds).ok_or_else(|| {
            let text = beginning(text);
            format!("{text:?} names no experimenters; accepted: 0x2320, or 0x2320,0x4f4e4600")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_spec_is_read_and_written_alike() {
        let text = json!({
            "name": "lab-3", "connect": "127.0.0.1:6654", "switches": ["1-4"],
            "match": {"vlan_vid": "10"}, "tables": "10-19", "priorities": "100-200,300",
            "observe": true, "rate": 500, "queue": 65536, "weight": 3, "otherwise": "drop",
            "experimenters": "0x2320, 7",
            "tls": {"authority": "ca.pem", "certificate": "a.pem", "key": "a.key", "name": "a.example"}
        });
        let spec: GuestSpec = serde_json::from_value(text).unwrap();
        assert_eq!(spec.check(), Ok(()));
        assert_eq!(spec.priorities.as_ref().unwrap().0.to_string(), "100-200,300");
        assert!(spec.tables.as_ref().unwrap().0.contains(19));
        assert_eq!(spec.experimenters.as_ref().unwrap().0.to_string(), "0x2320,0x7");
        let again: GuestSpec =
            serde_json::from_value(serde_json::to_value(&spec).unwrap()).unwrap();
        assert_eq!(again, spec);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut spec = GuestSpec::new("Ryu!", "127.0.0.1:6654".parse().unwrap());
        assert!(spec.check().unwrap_err().starts_with("name: \"Ryu!\""));
        spec.name = "ryu".to_owned();
        spec.switches = vec![Spelled("1".parse().unwrap()); RANGES_MAX + 1];
        assert!(spec.check().unwrap_err().starts_with("switches:"));
        spec.switches.truncate(RANGES_MAX);
        spec.queue = 1;
        assert!(spec.check().unwrap_err().starts_with("queue:"));
        spec.queue = 4096;
        spec.weight = 0;
        assert!(spec.check().unwrap_err().starts_with("weight:"));
        spec.weight = WEIGHT_MAX;
        assert_eq!(spec.check(), Ok(()));
        let key = Some("a.key".into());
        let files =
            GuestTlsFiles { authority: "ca.pem".into(), certificate: None, key, name: None };
        spec.tls = Some(files);
        assert!(spec.check().unwrap_err().starts_with("tls:"));
        for wrong in ["", "0x", "0x123456789", "nicira", "1,,2"] {
            let refused = wrong.parse::<ExperimenterIds>().unwrap_err();
            assert!(refused.contains("0x2320"), "{wrong}");
        }
        for wrong in ["", "4-1", "a", "1-2-3", "1,,2", "-1"] {
            assert!(wrong.parse::<NumberRanges>().unwrap_err().contains("accepted"), "{wrong}");
        }
        assert!("here".parse::<GuestAddress>().unwrap_err().contains("accepted"));
        assert_eq!(":6654".parse::<GuestAddress>().unwrap().to_string(), "127.0.0.1:6654");
    }

    #[test]
    fn bounds_are_told_from_the_rest() {
        let spec = GuestSpec::new("ryu", "127.0.0.1:6654".parse().unwrap());
        let bounded = GuestSpec {
            rate: Some(5),
            queue: 4096,
            weight: 3,
            otherwise: Otherwise::Drop,
            ..spec.clone()
        };
        assert!(spec.differs_in_bounds_alone(&bounded));
        let looks_on = GuestSpec { observe: true, ..bounded };
        assert!(!spec.differs_in_bounds_alone(&looks_on));
    }

    #[test]
    fn ranges_meet_where_a_number_is_in_both() {
        let ranges = |text: &str| text.parse::<NumberRanges>().unwrap();
        assert!(ranges("1-4,9").overlaps(&ranges("8-9")));
        assert!(!ranges("1-4,9").overlaps(&ranges("5-8,10")));
    }
}
