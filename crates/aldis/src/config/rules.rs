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
use std::marker::PhantomData;
use std::sync::Arc;

use aldis_apps::acl::{self, Rule};
use aldis_apps::spelling::{Spelled, Then, instructions, spelled};
use aldis_apps::static_flows::StaticFlow;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_spanned::Spanned;

use crate::persisted::flows::FLOWS_MAX;

/// A key as REST spells it; the configuration has `mirror-to`.
const MIRROR_TO: &str = "mirror_to";

/// What is wrong, and at which byte of the file.
pub(super) type FileFault = (usize, String);

/// Keys that were spelled otherwise before, and are read aside. They still count, with a warning.
pub(super) trait OldKeys {
    const OLD: &'static [&'static str] = &[];
}

/// [`MIRROR_TO`] is read as it is.
impl OldKeys for Rule {}

/// The place of these four has been taken by `then`.
impl OldKeys for StaticFlow {
    const OLD: &'static [&'static str] = &["meter", "clear-actions", "write-actions", "goto-table"];
}

/// A flow or a rule, with the place of each of its keys in the file.
#[derive(Clone, Debug)]
pub(super) struct ToldRule<T> {
    /// What it says.
    pub(super) it: T,
    keys: Vec<(String, usize)>,
    /// What old keys say, as `then` spells it, each with its key.
    old: Vec<(&'static str, String)>,
}

impl<T> ToldRule<T> {
    /// Where a key is; the last old one, or the first of all, where the table has none of this
    /// name.
    fn at(&self, key: &str) -> usize {
        let is = |name: &str| name.replace('-', "_") == key.replace('-', "_");
        let place = self.keys.iter().find(|(name, _)| is(name)).map(|(_, at)| *at);
        let old = || self.old_keys().max();
        let first = || self.keys.iter().map(|(_, at)| *at).min();
        place.or_else(old).or_else(first).unwrap_or(0)
    }

    /// Where the keys in an old spelling are.
    fn old_keys(&self) -> impl Iterator<Item = usize> {
        let is_old = |name: &str| StaticFlow::OLD.contains(&name);
        self.keys.iter().filter(move |(name, _)| is_old(name)).map(|(_, at)| *at)
    }

    /// What is wrong with the value of a key.
    pub(super) fn wrong(&self, key: &str, why: impl Into<String>) -> FileFault {
        (self.at(key), why.into())
    }
}

impl<'de, T: Deserialize<'de> + OldKeys> Deserialize<'de> for ToldRule<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct RuleVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de> + OldKeys> Visitor<'de> for RuleVisitor<T> {
            type Value = ToldRule<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of keys and values")
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<ToldRule<T>, M::Error> {
                let mut noting = Noting { map, old_keys: T::OLD, keys: vec![], old: vec![] };
                let it = T::deserialize(MapAccessDeserializer::new(&mut noting))?;
                Ok(ToldRule { it, keys: noting.keys, old: noting.old })
            }
        }

        from.deserialize_map(RuleVisitor(PhantomData))
    }
}

/// A table of the file that notes the place of each key, and takes the old ones aside.
struct Noting<M> {
    map: M,
    old_keys: &'static [&'static str],
    keys: Vec<(String, usize)>,
    old: Vec<(&'static str, String)>,
}

impl<'de, M: MapAccess<'de>> Noting<M> {
    fn take_old(&mut self, key: &'static str) -> Result<(), M::Error> {
        let then = match key {
            "meter" => vec![format!("meter:{}", self.map.next_value::<u32>()?)],
            "goto-table" => vec![format!("goto-table:{}", self.map.next_value::<u8>()?)],
            "clear-actions" if self.map.next_value()? => vec!["clear".to_owned()],
            "clear-actions" => vec![],
            _ => {
                let actions: Vec<String> = self.map.next_value()?;
                actions.iter().map(|action| format!("write:{action}")).collect()
            }
        };
        self.old.extend(then.into_iter().map(|then| (key, then)));
        Ok(())
    }
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for Noting<M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, M::Error> {
        let mut seed = Some(seed);
        loop {
            let key = KeySeed { seed: &mut seed, old: self.old_keys, keys: &mut self.keys };
            match self.map.next_key_seed(key)? {
                None => return Ok(None),
                Some(Noted::Known(key)) => return Ok(Some(key)),
                Some(Noted::Old(key)) => self.take_old(key)?,
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        self.map.next_value_seed(seed)
    }
}

/// Reads one key, and notes its place.
struct KeySeed<'n, K> {
    seed: &'n mut Option<K>,
    old: &'static [&'static str],
    keys: &'n mut Vec<(String, usize)>,
}

enum Noted<K> {
    Known(K),
    Old(&'static str),
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for KeySeed<'_, K> {
    type Value = Noted<K::Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Noted<K::Value>, D::Error> {
        let key = Spanned::<String>::deserialize(from)?;
        self.keys.push((key.get_ref().clone(), key.span().start));
        if let Some(old) = self.old.iter().find(|old| *old == key.get_ref()) {
            return Ok(Noted::Old(old));
        }
        let seed =
            self.seed.take().ok_or_else(|| serde::de::Error::custom("a key is read twice"))?;
        seed.deserialize(key.into_inner().into_deserializer()).map(Noted::Known)
    }
}

/// The rules, in order.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn acl(told: &[ToldRule<Rule>]) -> Result<Vec<Rule>, FileFault> {
    let mut names = HashSet::new();
    let mut rules: Vec<Arc<Rule>> = Vec::new();
    for told in told {
        check_name(told, &told.it.name, &mut names, "rule")?;
        if rules.len() == acl::RULES_MAX {
            let most = acl::RULES_MAX;
            let why = format!("there are {most} rules already; accepted are no more");
            return Err(told.wrong("name", why));
        }
        rules.push(Arc::new(told.it.clone()));
    }
    if let Some((early, late)) = acl::never_reached(&rules) {
        let (name, before) = (&rules[late].name, &rules[early].name);
        let why = format!(
            "the rule \"{name}\" is never reached: \"{before}\", before it, matches all that it \
             does; put it first, or leave it out"
        );
        return Err(told[late].wrong("name", why));
    }
    Ok(rules.into_iter().map(Arc::unwrap_or_clone).collect())
}

/// The flows.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn static_flows(told: &[ToldRule<StaticFlow>]) -> Result<Vec<StaticFlow>, FileFault> {
    let mut names = HashSet::new();
    let mut flows: Vec<StaticFlow> = Vec::new();
    for told in told {
        check_name(told, &told.it.name, &mut names, "flow")?;
        if flows.len() == FLOWS_MAX {
            let why = format!("there are {FLOWS_MAX} flows already; accepted are no more");
            return Err(told.wrong("name", why));
        }
        let flow = told.flow()?;
        let is_same = |other: &&StaticFlow| {
            (&other.switches, other.table, other.priority)
                == (&flow.switches, flow.table, flow.priority)
                && other.match_ == flow.match_
        };
        if let Some(other) = flows.iter().find(is_same) {
            let why = format!(
                "the flow \"{}\" has the switch, the table, the match and the priority of \"{}\": \
                 one would overwrite the other",
                flow.name, other.name
            );
            return Err(told.wrong("name", why));
        }
        flows.push(flow);
    }
    Ok(flows)
}

impl ToldRule<Rule> {
    /// Where a key in an old spelling is, and what to write in its place.
    pub(super) fn old_spelling(&self) -> Option<(usize, String)> {
        let (_, at) = self.keys.iter().find(|(name, _)| name == MIRROR_TO)?;
        Some((*at, "this key is an old spelling; write mirror-to".to_owned()))
    }
}

impl ToldRule<StaticFlow> {
    fn flow(&self) -> Result<StaticFlow, FileFault> {
        let (actions, mut then) = spelled(&self.it.instructions);
        for (key, text) in &self.old {
            let read = text.parse::<Then>().map_err(|why| self.wrong(key, why))?;
            then.push(Spelled(read));
        }
        let flow = StaticFlow { instructions: instructions(actions, then), ..self.it.clone() };
        let checked = flow.check().map_err(|refused| self.wrong(refused.key, refused.why));
        checked.map(|()| flow)
    }

    /// Where the first old key is, and what to write in place of all of them; nothing where the
    /// flow has none.
    pub(super) fn old_spelling(&self) -> Option<(usize, String)> {
        let (at, flow) = (self.old_keys().min()?, self.flow().ok()?);
        let (_, then) = spelled(&flow.instructions);
        let then: Vec<_> = then.iter().map(|Spelled(then)| then.to_string()).collect();
        Some((at, format!("this key is an old spelling; write then = {then:?}")))
    }
}

/// A name is there, and once.
pub(super) fn check_name<'t, T>(
    told: &ToldRule<T>,
    name: &'t str,
    names: &mut HashSet<&'t str>,
    what: &str,
) -> Result<(), FileFault> {
    match (name.trim().is_empty(), names.insert(name)) {
        (true, _) => {
            Err(told.wrong("name", format!("a {what} needs a name, by which it is shown")))
        }
        (false, false) => {
            Err(told.wrong("name", format!("there are two {what}s with the name \"{name}\"")))
        }
        (false, true) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use aldis_wire::msg::{Instruction, PortNo, TableNo};

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
            then = ["goto-table:4", "meter:5", "clear", "write:group:1"]
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
    fn the_old_spelling_is_read_and_the_new_one_is_said() {
        let old = "meter = 5\nclear-actions = true\nwrite-actions = [\"group:1\"]\ngoto-table = 4";
        let new = "then = [\"meter:5\", \"clear\", \"write:group:1\", \"goto-table:4\"]";
        let read = |rest: &str| -> Config {
            let text = format!("[[static-flow]]\nname = \"a\"\nswitch = 1\ntable = 3\n{rest}");
            toml::from_str(&text).unwrap()
        };
        let (old, said) = (read(old), new);
        let new = read(new);
        assert_eq!(old.static_flows(), new.static_flows());
        assert_eq!(new.static_flow[0].old_spelling(), None);
        let (at, why) = old.static_flow[0].old_spelling().unwrap();
        assert_eq!(at, "[[static-flow]]\nname = \"a\"\nswitch = 1\ntable = 3\n".len());
        assert!(why.ends_with(said), "{why}");
        let none = read("clear-actions = false\nwrite-actions = []");
        assert!(none.static_flows()[0].instructions.is_empty());
        assert!(none.static_flow[0].old_spelling().is_some_and(|(_, why)| why.ends_with("= []")));
    }

    #[test]
    fn a_mirror_in_the_spelling_of_rest_is_read_and_the_files_own_is_said() {
        let table = "[[acl]]\nname = \"a\"\naction = \"mirror\"\n";
        let read = |key: &str| -> Config { toml::from_str(&format!("{table}{key} = 4")).unwrap() };
        let (old, new) = (read("mirror_to"), read("mirror-to"));
        assert_eq!(old.acl(), new.acl());
        assert_eq!(new.acl_rules[0].old_spelling(), None);
        let (at, why) = old.acl_rules[0].old_spelling().unwrap();
        assert_eq!(at, table.len());
        assert!(why.ends_with("write mirror-to"), "{why}");
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
            (
                rule("action = \"drop\""),
                "3: action: `drop` is not accepted",
                "`allow`, `deny`, `mirror`",
            ),
            (rule("action = \"mirror\""), "1: [[acl]]: ", "mirror_to"),
            (rule("action = \"mirror\"\nmirror-to = \"flood\""), "4: mirror-to: ", "a port number"),
            (
                rule("action = \"deny\"\nmatch = { tcp-dst = 99999 }"),
                "4: match: tcp-dst: ",
                "0 to 65535",
            ),
            (rule("action = \"deny\"\nmatch = { tcp-dst = 23 }"), "4: match: ", "eth-type"),
            (rule("action = \"deny\"\nmatch.port = 1"), "4: match.port: ", "in-port"),
            (rule("action = \"deny\"\nswitches = [\"s1\"]"), "4: switches: ", "a datapath id"),
            (rule(two), "5: name: the rule \"b\" is never reached: \"a\"", "put it first"),
            (
                rule(&format!("action = \"deny\"\n{}", rule("action = \"deny\""))),
                "5: name: ",
                "two rules",
            ),
            (flow("actions = [\"output\"]"), "4: actions: ", "output:PORT"),
            (flow("then = [\"fly\"]"), "4: then: ", "goto-table:N"),
            (flow("then = [\"goto-table:0\"]"), "4: then: ", "later tables"),
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
