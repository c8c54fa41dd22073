//! `[[acl]]` and `[[static-flow]]`: rules and flows, each with its place in the file.
//!
//! ```toml
//! [[acl]]
//! name = "no telnet"
//! action = "deny"
//! match = { eth-type = 0x0800, tcp-dst = 23 }
//!
//! [[static-flow]]
//! name = "uplink"
//! switch = "1"
//! match = { in-port = 1 }
//! actions = ["output:2"]
//! ```

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use aldis_apps::{acl, static_flows};
use aldis_control::weights::Switches;
use aldis_wire::msg::{Action, Field, Instruction, Match, MeterNo, PortNo, TableNo};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_spanned::Spanned;

use crate::persisted::flows::FLOWS_MAX;

/// The last table that a flow can be in.
const TABLE_MAX: i64 = static_flows::TABLE_MAX as i64;

/// The highest priority of a flow that is no rule: those of `acl` are above.
const PRIORITY_MAX: i64 = static_flows::PRIORITY_MAX as i64;

/// What is wrong, and at which byte of the file.
type Wrong = (usize, String);

/// A rule, as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AclRule {
    name: Spanned<String>,
    action: Spanned<String>,
    /// The port that gets the copy.
    mirror_to: Option<Spanned<Value>>,
    #[serde(rename = "match", default)]
    fields: Fields,
    #[serde(default)]
    switches: Vec<Spanned<String>>,
}

/// A flow, as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct StaticFlow {
    name: Spanned<String>,
    switch: Spanned<Value>,
    table: Option<Spanned<i64>>,
    priority: Option<Spanned<i64>>,
    #[serde(rename = "match", default)]
    fields: Fields,
    #[serde(default)]
    actions: Vec<Spanned<String>>,
    #[serde(default)]
    clear_actions: bool,
    #[serde(default)]
    write_actions: Vec<Spanned<String>>,
    meter: Option<Spanned<i64>>,
    goto_table: Option<Spanned<i64>>,
}

/// A number or a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Value(String);

impl Value {
    /// As text.
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// Fields of a match, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<(Spanned<String>, Spanned<Value>)>);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reads;

        impl Visitor<'_> for Reads {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a text")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Value, E> {
                Ok(Value(number.to_string()))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value(text.to_owned()))
            }
        }

        from.deserialize_any(Reads)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reads;

        impl<'de> Visitor<'de> for Reads {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of match fields, such as { eth-type = 0x0806 }")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        from.deserialize_map(Reads)
    }
}

impl Fields {
    fn read(&self, of: &Spanned<String>) -> Result<Match, Wrong> {
        let mut fields = Vec::new();
        for (name, value) in &self.0 {
            let field = Field::named(name.get_ref(), &value.get_ref().0);
            fields.push(
                field.map_err(|why| (name.span().start, format!("{}: {why}", name.get_ref())))?,
            );
        }
        let at = self.0.first().map_or(of.span().start, |(name, _)| name.span().start);
        let match_ = Match { fields }.completed();
        match_.map_err(|why| (at, format!("match of \"{}\": {why}", of.get_ref())))
    }
}

/// The rules, in order.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn acl(told: &[AclRule]) -> Result<Vec<acl::Rule>, Wrong> {
    let mut names = HashSet::new();
    let mut rules: Vec<Arc<acl::Rule>> = Vec::new();
    for told in told {
        let at = told.name.span().start;
        check_name(&told.name, &mut names, "rule")?;
        if rules.len() == acl::RULES_MAX {
            return Err((
                at,
                format!("there are {} rules already; accepted are no more", acl::RULES_MAX),
            ));
        }
        let rule = acl::Rule {
            name: told.name.get_ref().as_str().into(),
            verdict: told.verdict()?,
            match_: told.fields.read(&told.name)?,
            switches: told.switches.iter().map(switches).collect::<Result<_, _>>()?,
        };
        rules.push(Arc::new(rule));
    }
    if let Some((early, late)) = acl::never_reached(&rules) {
        let (name, before) = (&rules[late].name, &rules[early].name);
        let why = format!(
            "the rule \"{name}\" is never reached: \"{before}\", before it, matches all that it does; put it first, or leave it \
             out"
        );
        return Err((told[late].name.span().start, why));
    }
    Ok(rules.into_iter().map(Arc::unwrap_or_clone).collect())
}

impl AclRule {
    fn verdict(&self) -> Result<acl::Verdict, Wrong> {
        let at = self.action.span().start;
        match (self.action.get_ref().as_str(), &self.mirror_to) {
            ("allow", None) => Ok(acl::Verdict::Allow),
            ("deny", None) => Ok(acl::Verdict::Deny),
            ("mirror", Some(to)) => {
                let port: Option<PortNo> = to.get_ref().0.parse().ok();
                let real = port.filter(|port| port.is_real() || *port == PortNo::LOCAL);
                let (start, text) = (to.span().start, &to.get_ref().0);
                let why = || {
                    format!("\"{text}\" is no port for copies; accepted: a port number, or local")
                };
                real.map(acl::Verdict::Mirror).ok_or_else(|| (start, why()))
            }
            ("mirror", None) => {
                Err((at, "a mirror needs mirror-to, the port that gets the copies".into()))
            }
            ("allow" | "deny", Some(to)) => {
                Err((to.span().start, "mirror-to is for the action \"mirror\" only".into()))
            }
            (other, _) => {
                Err((at, format!("\"{other}\" is no action; accepted: allow, deny, mirror")))
            }
        }
    }
}

/// The flows.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn static_flows(told: &[StaticFlow]) -> Result<Vec<static_flows::StaticFlow>, Wrong> {
    let mut names = HashSet::new();
    let mut flows: Vec<static_flows::StaticFlow> = Vec::new();
    for told in told {
        let at = told.name.span().start;
        check_name(&told.name, &mut names, "flow")?;
        if flows.len() == FLOWS_MAX {
            return Err((at, format!("there are {FLOWS_MAX} flows already; accepted are no more")));
        }
        let flow = told.flow()?;
        let is_same = |other: &&static_flows::StaticFlow| {
            (&other.switches, other.table, other.priority)
                == (&flow.switches, flow.table, flow.priority)
                && other.match_ == flow.match_
        };
        if let Some(other) = flows.iter().find(is_same) {
            let (name, other) = (&flow.name, &other.name);
            return Err((
                at,
                format!(
                    "the flow \"{name}\" has the switch, the table, the match and the priority of \"{other}\": one would overwrite \
                     the other"
                ),
            ));
        }
        flows.push(flow);
    }
    Ok(flows)
}

impl StaticFlow {
    fn flow(&self) -> Result<static_flows::StaticFlow, Wrong> {
        let table = self.table.as_ref().map(|it| within(it, "table", TABLE_MAX)).transpose()?;
        let priority = self.priority.as_ref().map(|it| within(it, "priority", PRIORITY_MAX));
        let text = Spanned::new(self.switch.span(), self.switch.get_ref().0.clone());
        Ok(static_flows::StaticFlow {
            name: Arc::from(self.name.get_ref().as_str()),
            switches: switches(&text)?,
            table: table.map(|table| TableNo(table as u8)),
            priority: priority
                .transpose()?
                .map_or(aldis_wire::msg::DEFAULT_PRIORITY, |it| it as u16),
            match_: self.fields.read(&self.name)?,
            instructions: self.instructions(table)?,
        })
    }

    /// In the order in which a switch carries them out (1.3.5 §5.9).
    fn instructions(&self, table: Option<i64>) -> Result<Vec<Instruction>, Wrong> {
        let mut all = Vec::new();
        if let Some(meter) = &self.meter {
            all.push(Instruction::Meter(MeterNo(within(meter, "meter", 0xffff_0000)? as u32)));
        }
        if !self.actions.is_empty() {
            all.push(Instruction::ApplyActions(actions(&self.actions)?));
        }
        if self.clear_actions {
            all.push(Instruction::ClearActions(vec![]));
        }
        if !self.write_actions.is_empty() {
            all.push(Instruction::WriteActions(actions(&self.write_actions)?));
        }
        if let Some(goto) = &self.goto_table {
            let to = within(goto, "goto-table", TABLE_MAX)?;
            if to <= table.unwrap_or(0) {
                let why =
                    "goto-table leads to later tables only, and so above the table of the flow";
                return Err((goto.span().start, why.into()));
            }
            all.push(Instruction::GotoTable(TableNo(to as u8)));
        }
        Ok(all)
    }
}

fn actions(told: &[Spanned<String>]) -> Result<Vec<Action>, Wrong> {
    let action = |told: &Spanned<String>| {
        told.get_ref().parse().map_err(|why| (told.span().start, format!("no action: {why}")))
    };
    told.iter().map(action).collect()
}

fn within(number: &Spanned<i64>, what: &str, most: i64) -> Result<i64, Wrong> {
    let (at, number) = (number.span().start, *number.get_ref());
    let is_within = (0..=most).contains(&number);
    is_within
        .then_some(number)
        .ok_or_else(|| (at, format!("{what} {number}; accepted are 0 to {most}")))
}

fn switches(told: &Spanned<String>) -> Result<Switches, Wrong> {
    told.get_ref()
        .parse()
        .map_err(|why| (told.span().start, format!("\"{}\": {why}", told.get_ref())))
}

/// A name is there, and once.
fn check_name<'t>(
    name: &'t Spanned<String>,
    names: &mut HashSet<&'t str>,
    what: &str,
) -> Result<(), Wrong> {
    let (at, name) = (name.span().start, name.get_ref().as_str());
    match (name.trim().is_empty(), names.insert(name)) {
        (true, _) => Err((at, format!("a {what} needs a name, by which it is shown"))),
        (false, false) => Err((at, format!("there are two {what}s with the name \"{name}\""))),
        (false, true) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn refusal(text: &str) -> String {
        let file = std::env::temp_dir().join(format!(
            "aldis-rules-{}-{:?}.toml",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::write(&file, text).unwrap();
        let refused = Config::read(&file).and_then(|config| config.app_set().map(drop));
        std::fs::remove_file(&file).unwrap();
        let refused = refused.expect_err("it has to be refused");
        refused.replace(&format!("{}:", file.display()), "")
    }

    #[test]
    fn rules_and_flows_are_read() {
        let config: Config = toml::from_str(
            r#"
            [[acl]]
            name = "web"
            action = "allow"
            match = { ipv4-dst = "10.0.0.9", tcp-dst = 80 }
            [[acl]]
            name = "copy"
            action = "mirror"
            mirror-to = 4
            match = { eth-type = 0x0806 }
            switches = ["1-9", "00:00:00:00:00:00:02:*"]
            [[acl]]
            name = "rest"
            action = "deny"
            [[static-flow]]
            name = "uplink"
            switch = 1
            priority = 7
            match = { in-port = 1 }
            actions = ["set-field:eth-dst=02:00:00:00:00:01", "output:2"]
            [[static-flow]]
            name = "later"
            switch = "*"
            table = 3
            meter = 5
            clear-actions = true
            write-actions = ["group:1"]
            goto-table = 4
        "#,
        )
        .unwrap();
        let rules = config.acl();
        assert_eq!(rules[0].match_.fields.len(), 4);
        assert_eq!(rules[1].verdict, acl::Verdict::Mirror(PortNo(4)));
        assert_eq!((rules[1].switches.len(), rules[2].match_.fields.len()), (2, 0));
        let flows = config.static_flows();
        assert_eq!((flows[0].priority, flows[0].table), (7, None));
        assert!(
            matches!(&flows[0].instructions[..], [Instruction::ApplyActions(two)] if two.len() == 2)
        );
        assert_eq!((flows[1].table, flows[1].instructions.len()), (Some(TableNo(3)), 4));
    }

    #[test]
    fn bits_that_a_prefix_leaves_out_are_zero() {
        let config: Config = toml::from_str(
            "[[acl]]\nname = \"a\"\naction = \"deny\"\nmatch = { ipv4-dst = \"10.9.9.7/24\", tcp-dst = 80 }",
        )
        .unwrap();
        let fields: Vec<_> =
            config.acl()[0].match_.fields.iter().map(|field| field.in_words().1).collect();
        assert_eq!(fields, ["0x0800", "6", "10.9.9.0/24", "80"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let rule = |rest: &str| format!("[[acl]]\nname = \"a\"\n{rest}");
        let flow = |rest: &str| format!("[[static-flow]]\nname = \"a\"\nswitch = 1\n{rest}");
        let two =
            "action = \"deny\"\n[[acl]]\nname = \"b\"\naction = \"allow\"\nmatch = { in-port = 1 }";
        let same = "[[static-flow]]\nname = \"b\"\nswitch = \"0x1\"";
        let cases = [
            (rule("action = \"drop\""), "3: action: \"drop\" is no action", "allow, deny, mirror"),
            (rule("action = \"mirror\""), "3: action: ", "mirror-to"),
            (rule("action = \"mirror\"\nmirror-to = \"flood\""), "4: mirror-to: ", "a port number"),
            (
                rule("action = \"deny\"\nmatch = { tcp-dst = 99999 }"),
                "4: match: tcp-dst: ",
                "0 to 65535",
            ),
            (
                rule("action = \"deny\"\nmatch = { tcp-dst = 23 }"),
                "4: match: match of \"a\": ",
                "eth-type",
            ),
            (rule("action = \"deny\"\nmatch.port = 1"), "4: match.port: ", "in-port"),
            (rule("action = \"deny\"\nswitches = [\"s1\"]"), "4: switches: ", "a datapath id"),
            (rule(two), "5: name: the rule \"b\" is never reached: \"a\"", "put it first"),
            (
                rule(&format!("action = \"deny\"\n{}", rule("action = \"deny\""))),
                "5: name: ",
                "two rules",
            ),
            (flow("actions = [\"output\"]"), "4: actions: no action: ", "output:PORT"),
            (flow("priority = 65535"), "4: priority: ", "0 to 60000"),
            (flow("table = 4\ngoto-table = 4"), "5: goto-table: ", "later tables"),
            (flow(same), "5: name: the flow \"b\" has the switch", "overwrite"),
            (flow("idle-timeout = 3"), "4: idle-timeout: ", "actions"),
        ];
        for (text, place, accepted) in cases {
            let refusal = refusal(&text);
            assert!(refusal.starts_with(place) && refusal.contains(accepted), "{text}: {refusal}");
            assert_eq!(refusal.lines().count(), 1, "{refusal}");
        }
    }
}
