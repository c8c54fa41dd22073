//! Capabilities: which switches an application may touch, and which messages it may send.

use std::collections::HashSet;

use aldis_wire::DatapathId;
use aldis_wire::msg::Message;
use serde::Deserialize;

use crate::limits::KV_BYTES;
use crate::network::GrantedSnapshots;

/// What an application is granted, or asks for: both are written alike.
///
/// ```toml
/// switches = ["1", "00:00:00:00:00:00:00:02"]    # or "all"
/// messages = ["flow-mod", "packet-out"]
/// kv-bytes = 65536
/// http = true
/// snapshots = ["switches", "hosts"]
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Grants {
    /// The switches.
    pub switches: GrantedSwitches,
    /// The kinds of messages.
    pub messages: GrantedMessages,
    /// Bytes of its key–value space.
    pub kv_bytes: usize,
    /// Whether it answers requests over HTTP.
    pub http: bool,
    /// What it reads of the whole network.
    pub snapshots: GrantedSnapshots,
}

/// All switches, no message, no key–value space, no HTTP, and nothing of the whole network.
impl Default for Grants {
    fn default() -> Self {
        Grants {
            switches: GrantedSwitches::All,
            messages: GrantedMessages::default(),
            kv_bytes: 0,
            http: false,
            snapshots: GrantedSnapshots::default(),
        }
    }
}

impl Grants {
    /// What is asked for here and not granted by `granted`, in words.
    pub fn beyond(&self, granted: &Grants) -> Option<String> {
        if let Some(dpid) = self.switches.beyond(&granted.switches) {
            return Some(format!("grants.switches: {dpid}"));
        }
        let more = self.messages.without(granted.messages);
        if let Some(name) = more.names().next() {
            return Some(format!("grants.messages: {name}"));
        }
        if let Some(name) = self.snapshots.beyond(granted.snapshots) {
            return Some(format!("grants.snapshots: {name}"));
        }
        if self.http && !granted.http {
            return Some("grants.http".to_owned());
        }
        (self.kv_bytes > granted.kv_bytes)
            .then(|| format!("grants.kv-bytes: {} of {} bytes", self.kv_bytes, granted.kv_bytes))
    }

    /// The bound of the key–value space, where it is above what any application may have.
    pub(crate) fn kv_above(&self) -> Option<usize> {
        (self.kv_bytes > KV_BYTES.1).then_some(KV_BYTES.1)
    }
}

/// The switches that an application sees and may write to.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "SwitchNames")]
pub enum GrantedSwitches {
    /// All.
    All,
    /// These.
    Only(HashSet<u64>),
}

impl GrantedSwitches {
    /// Whether this one is among them.
    #[inline]
    pub fn has(&self, dpid: u64) -> bool {
        match self {
            GrantedSwitches::All => true,
            GrantedSwitches::Only(dpids) => dpids.contains(&dpid),
        }
    }

    fn beyond(&self, granted: &GrantedSwitches) -> Option<String> {
        match (self, granted) {
            (_, GrantedSwitches::All) => None,
            (GrantedSwitches::All, _) => Some("all".to_owned()),
            (GrantedSwitches::Only(asked), _) => {
                let beyond = asked.iter().filter(|dpid| !granted.has(**dpid)).min();
                beyond.map(|dpid| DatapathId(*dpid).to_string())
            }
        }
    }
}

/// As it is written.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected \"all\", or a list of datapath ids in quotes")]
enum SwitchNames {
    Word(String),
    List(Vec<String>),
}

impl TryFrom<SwitchNames> for GrantedSwitches {
    type Error = String;

    fn try_from(names: SwitchNames) -> Result<Self, String> {
        let read = |name: String| match name.parse::<DatapathId>() {
            Ok(dpid) => Ok(dpid.0),
            Err(error) => Err(format!("\"{name}\" is {error}")),
        };
        match names {
            SwitchNames::Word(word) if word == "all" => Ok(GrantedSwitches::All),
            SwitchNames::Word(word) => Err(format!("\"{word}\" is neither \"all\" nor a list")),
            SwitchNames::List(list) => {
                let dpids = list.into_iter().map(read).collect::<Result<_, _>>()?;
                Ok(GrantedSwitches::Only(dpids))
            }
        }
    }
}

/// Kinds of messages, a bit for each of [`GrantedMessages::NAMES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct GrantedMessages(u16);

impl GrantedMessages {
    /// The kinds that can be granted, by name. No application opens a session, takes a role or
    /// chooses what its controller is told.
    pub const NAMES: [&'static str; 10] = [
        "packet-out",
        "flow-mod",
        "group-mod",
        "meter-mod",
        "port-mod",
        "table-mod",
        "stats-request",
        "barrier-request",
        "queue-request",
        "experimenter",
    ];

    /// PACKET_OUT.
    pub const PACKET_OUT: GrantedMessages = GrantedMessages(1);
    /// FLOW_MOD.
    pub const FLOW_MOD: GrantedMessages = GrantedMessages(2);

    /// The kind of a message; none for one that no application may send.
    pub fn of(message: &Message) -> Option<GrantedMessages> {
        let place = match message {
            Message::PacketOut(_) => 0,
            Message::FlowMod(_) => 1,
            Message::GroupMod(_) => 2,
            Message::MeterMod(_) => 3,
            Message::PortMod(_) => 4,
            Message::TableMod(_) => 5,
            Message::StatsRequest(_) => 6,
            Message::BarrierRequest => 7,
            Message::QueueGetConfigRequest(_) => 8,
            Message::Experimenter(_) => 9,
            _ => return None,
        };
        Some(GrantedMessages(1 << place))
    }

    /// These and others.
    pub const fn with(self, others: GrantedMessages) -> GrantedMessages {
        GrantedMessages(self.0 | others.0)
    }

    /// Those that are not among others.
    pub const fn without(self, others: GrantedMessages) -> GrantedMessages {
        GrantedMessages(self.0 & !others.0)
    }

    /// Whether all of `kinds` are among them.
    #[inline]
    pub fn has(self, kinds: GrantedMessages) -> bool {
        self.0 & kinds.0 == kinds.0
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let bits = self.0;
        let names = GrantedMessages::NAMES.into_iter().enumerate();
        names.filter(move |(place, _)| bits >> place & 1 == 1).map(|(_, name)| name)
    }
}

impl TryFrom<Vec<String>> for GrantedMessages {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, String> {
        let mut bits = 0;
        for name in names {
            let place = GrantedMessages::NAMES.iter().position(|known| *known == name);
            let place = place.ok_or_else(|| {
                let known = GrantedMessages::NAMES.join(", ");
                format!("\"{name}\" is no message that can be granted: {known}")
            })?;
            bits |= 1 << place;
        }
        Ok(GrantedMessages(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(text: &str) -> Result<Grants, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())
    }

    #[test]
    fn what_is_asked_beyond_what_is_granted_is_named() {
        let granted = grants("switches = [\"1\", \"2\"]\nmessages = [\"flow-mod\"]\nkv-bytes = 9");
        let granted = granted.unwrap();
        let cases = [
            ("", Some("switches: all")),
            ("switches = [\"2\"]", None),
            ("switches = [\"2\", \"3\"]", Some("switches: 0000000000000003")),
            ("switches = [\"1\"]\nmessages = [\"flow-mod\", \"port-mod\"]", Some("port-mod")),
            ("switches = [\"1\"]\nkv-bytes = 10", Some("10 of 9 bytes")),
            ("switches = [\"1\"]\nhttp = true", Some("grants.http")),
            ("switches = [\"1\"]\nsnapshots = [\"hosts\"]", Some("snapshots: hosts")),
        ];
        for (asked, beyond) in cases {
            let found = grants(asked).unwrap().beyond(&granted);
            match beyond {
                None => assert_eq!(found, None, "{asked}"),
                Some(words) => {
                    assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{found:?}")
                }
            }
        }
        assert_eq!(grants("").unwrap().beyond(&Grants::default()), None);
    }

    #[test]
    fn what_does_not_exist_cannot_be_asked_for() {
        for (text, words) in [
            ("switches = \"some\"", "neither"),
            ("switches = [\"first\"]", "datapath id"),
            ("messages = [\"hello\"]", "packet-out"),
            ("files = true", "files"),
            ("snapshots = [\"passwords\"]", "switches, hosts, links, ports"),
            ("http = \"yes\"", "expected a boolean"),
        ] {
            let error = grants(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
