//! A rule as JSON and TOML have it.

use std::fmt;
use std::str::FromStr;

use aldis_control::weights::Switches;
use aldis_wire::msg::PortNo;
use serde::{Deserialize, Serialize};

use super::{Rule, Verdict};
use crate::spelling::{Matching, Spelled};

/// See [`Rule`]. The name may be absent, where the path of a request or a key of the store has it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Form {
    #[serde(default)]
    name: Option<String>,
    action: Action,
    /// As in REST and the store; the configuration spells its keys with a dash.
    #[serde(default, alias = "mirror-to", skip_serializing_if = "Option::is_none")]
    mirror_to: Option<Spelled<MirrorPort>>,
    #[serde(default, rename = "match")]
    matching: Matching,
    #[serde(default)]
    switches: Vec<Spelled<Switches>>,
}

/// What becomes of the packets.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Action {
    Allow,
    Deny,
    Mirror,
}

/// A port that may get copies: one with a number, or `local`.
struct MirrorPort(PortNo);

impl FromStr for MirrorPort {
    type Err = String;

    fn from_str(text: &str) -> Result<MirrorPort, String> {
        let port =
            text.parse().ok().filter(|port: &PortNo| port.is_real() || *port == PortNo::LOCAL);
        let refused = || {
            let text = crate::spelling::beginning(text);
            format!("{text:?} is no port for copies; accepted: a port number, or local")
        };
        port.map(MirrorPort).ok_or_else(refused)
    }
}

impl fmt::Display for MirrorPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            PortNo::LOCAL => f.write_str("local"),
            PortNo(port) => port.fmt(f),
        }
    }
}

impl TryFrom<Form> for Rule {
    type Error = &'static str;

    fn try_from(form: Form) -> Result<Rule, &'static str> {
        let verdict = match (form.action, form.mirror_to) {
            (Action::Allow, None) => Verdict::Allow,
            (Action::Deny, None) => Verdict::Deny,
            (Action::Mirror, Some(Spelled(MirrorPort(port)))) => Verdict::Mirror(port),
            (Action::Mirror, None) => {
                return Err(
                    "a mirror needs mirror_to (in the configuration mirror-to), the port that gets the copies",
                );
            }
            (_, Some(_)) => return Err("mirror_to is for the action \"mirror\" only"),
        };
        let switches = form.switches.into_iter().map(|Spelled(switches)| switches).collect();
        Ok(Rule {
            name: form.name.unwrap_or_default().into(),
            verdict,
            match_: form.matching.0,
            switches,
        })
    }
}

impl From<Rule> for Form {
    fn from(rule: Rule) -> Form {
        let (action, mirror_to) = match rule.verdict {
            Verdict::Allow => (Action::Allow, None),
            Verdict::Deny => (Action::Deny, None),
            Verdict::Mirror(port) => (Action::Mirror, Some(Spelled(MirrorPort(port)))),
        };
        Form {
            name: Some(rule.name.to_string()),
            action,
            mirror_to,
            matching: Matching(rule.match_),
            switches: rule.switches.into_iter().map(Spelled).collect(),
        }
    }
}
