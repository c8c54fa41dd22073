//! Changes of the rules about packets, over HTTP.

use std::collections::HashSet;
use std::sync::Arc;

use aldis_apps::acl::{RULES_MAX, Rule};
use aldis_http::desired::{AclChange, Only, SetError};
use aldis_store::{Shelf, StoreChange, Value};

use super::AclRules;
use crate::persisted::Persisted;

impl AclRules {
    /// Those that are kept already, with their places.
    #[cfg(feature = "store")]
    pub(in crate::persisted) fn of(mut rules: Vec<(u64, Rule)>) -> AclRules {
        rules.sort_by_key(|(place, _)| *place);
        let set = rules.into_iter().map(|(_, rule)| Arc::new(rule));
        AclRules { configured: vec![], set: set.collect() }
    }

    /// Those that were set over HTTP as they will be.
    fn next(&self, change: AclChange) -> Result<Vec<Arc<Rule>>, SetError> {
        let at = |name: &str| self.set.iter().position(|rule| *rule.name == *name);
        let missing = |name: String| match self.is_configured(&name) {
            true => configured(&name),
            false => SetError::Missing(name),
        };
        let mut next = self.set.clone();
        match change {
            AclChange::All(rules) => {
                next = rules.into_iter().map(Arc::new).collect();
            }
            AclChange::Remove(name) => {
                let place = at(&name).ok_or_else(|| missing(name))?;
                next.remove(place);
            }
            AclChange::One(rule, before, only) => match (at(&rule.name), before) {
                (Some(_), _) if only == Only::IfNew => {
                    let why = format!("there is a rule \"{}\" already", rule.name);
                    return Err(SetError::NotSo(why));
                }
                (Some(place), None) => next[place] = Arc::new(rule),
                (there, Some(before)) => {
                    let to = at(&before).ok_or_else(|| missing(before))?;
                    next.insert(to, Arc::new(rule));
                    // What stood behind the new one is one further.
                    there.map(|old| next.remove(if old >= to { old + 1 } else { old }));
                }
                (None, None) => next.push(Arc::new(rule)),
            },
        }
        self.check(&next)?;
        Ok(next)
    }

    fn check(&self, next: &[Arc<Rule>]) -> Result<(), SetError> {
        if self.configured.len() + next.len() > RULES_MAX {
            return Err(SetError::Senseless(format!("{RULES_MAX} rules are kept, and no more")));
        }
        let mut names = HashSet::new();
        for rule in next {
            if self.is_configured(&rule.name) {
                return Err(configured(&rule.name));
            }
            if !names.insert(&rule.name) {
                let why = format!("there are two rules with the name \"{}\"", rule.name);
                return Err(SetError::Senseless(why));
            }
        }
        let all: Vec<_> = self.configured.iter().chain(next).cloned().collect();
        match aldis_apps::acl::never_reached(&all) {
            // What the configuration says was judged when it was read.
            Some((_, late)) if late < self.configured.len() => Ok(()),
            Some((early, late)) => Err(SetError::Senseless(format!(
                "the rule \"{}\" is never reached: \"{}\", before it, matches all that it does; put it first, or leave it out",
                all[late].name, all[early].name
            ))),
            None => Ok(()),
        }
    }
}

impl Persisted {
    /// Changes the rules; on disk when this returns.
    pub(crate) fn change_acl(&mut self, change: AclChange) -> Result<(), SetError> {
        let next = self.acl.next(change)?;
        let names: HashSet<_> = next.iter().map(|rule| &rule.name).collect();
        let gone = self.acl.set.iter().filter(|rule| !names.contains(&rule.name));
        let gone = gone.map(|rule| StoreChange::remove(Shelf::Acl, &*rule.name));
        // A rule that keeps its place and content is not written again.
        let is_new = |(place, rule): &(usize, &Arc<Rule>)| self.acl.set.get(*place) != Some(*rule);
        let new = next.iter().enumerate().filter(is_new);
        let new = new
            .map(|(place, rule)| StoreChange::set(Shelf::Acl, &*rule.name, written(rule, place)));
        self.write(&gone.chain(new).collect::<Vec<_>>())?;
        self.acl.set = next;
        Ok(())
    }
}

fn configured(name: &str) -> SetError {
    SetError::Configured(format!(
        "the rule \"{name}\" is one of the configuration: change it there"
    ))
}

/// A rule as the store has it: without its name, which is the key, and with its place among all.
fn written(rule: &Rule, place: usize) -> Value {
    let mut value = serde_json::to_value(rule).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.remove("name");
        object.insert("place".into(), place.into());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_apps::acl::Verdict;
    use aldis_wire::msg::{Field, Match};

    fn rule(name: &str, field: (&str, &str)) -> Rule {
        let field = Field::named(field.0, field.1).unwrap();
        Rule {
            name: name.into(),
            verdict: Verdict::Deny,
            match_: Match { fields: vec![field] }.completed().unwrap(),
            switches: vec![],
        }
    }

    fn names(rules: &AclRules) -> Vec<&str> {
        rules.iter().map(|(rule, _)| &*rule.name).collect()
    }

    fn change(kept: &mut Persisted, change: AclChange) -> Result<(), SetError> {
        kept.change_acl(change)
    }

    fn one(name: &str, port: &str, before: Option<&str>) -> AclChange {
        AclChange::One(rule(name, ("in-port", port)), before.map(Into::into), Only::Always)
    }

    #[test]
    fn rules_keep_their_order_however_they_are_set() {
        let mut kept = Persisted::in_memory();
        kept.acl.configure(vec![rule("file", ("in-port", "9"))]);
        for (name, before) in [("a", None), ("b", None), ("c", Some("a")), ("d", Some("b"))] {
            let port = names(&kept.acl).len().to_string();
            change(&mut kept, one(name, &port, before)).unwrap();
        }
        assert_eq!(names(&kept.acl), ["file", "c", "a", "d", "b"]);
        // One that is there moves, where a place is said, and stays where none is.
        change(&mut kept, one("b", "70", Some("a"))).unwrap();
        change(&mut kept, one("c", "71", Some("d"))).unwrap();
        change(&mut kept, one("a", "72", None)).unwrap();
        change(&mut kept, one("d", "73", Some("d"))).unwrap();
        assert_eq!(names(&kept.acl), ["file", "b", "a", "c", "d"]);
        change(&mut kept, AclChange::Remove("a".into())).unwrap();
        assert_eq!(names(&kept.acl), ["file", "b", "c", "d"]);
        let refused = [
            (AclChange::Remove("a".into()), "there is no \"a\""),
            (AclChange::Remove("file".into()), "one of the configuration"),
            (one("file", "1", None), "one of the configuration"),
            (one("x", "70", None), "never reached: \"b\""),
            (one("x", "9", Some("b")), "never reached: \"file\""),
            (one("x", "1", Some("nobody")), "there is no \"nobody\""),
            (AclChange::All(vec![rule("x", ("in-port", "1")); 2]), "two rules with the name \"x\""),
            (
                AclChange::One(rule("b", ("in-port", "1")), None, Only::IfNew),
                "there is a rule \"b\" already",
            ),
        ];
        for (refused, words) in refused {
            let why = change(&mut kept, refused).unwrap_err().to_string();
            assert!(why.contains(words), "{words}: {why}");
        }
        assert_eq!(names(&kept.acl), ["file", "b", "c", "d"]);
        // The file says the same name later: its rule counts, and the other is kept for when it
        // does not.
        assert_eq!(kept.acl.configure(vec![rule("c", ("in-port", "9"))]), ["c".into()]);
        assert_eq!(names(&kept.acl), ["c", "b", "d"]);
        change(&mut kept, AclChange::All(vec![])).unwrap();
        assert_eq!(names(&kept.acl), ["c"]);
    }
}
