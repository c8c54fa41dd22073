//! What applications have in common that are added while the controller runs: installed ones and
//! guests.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use aldis_control::Cookie;
use aldis_engine::Handle;

use crate::app_registry::{ANSWERERS, BUILT_IN};

/// Where a new one comes: in front of the first that answers whatever it sees.
pub(crate) fn place(engine: &Handle) -> Option<&'static str> {
    let line_up = engine.line_up();
    let mut names = line_up.apps().map(|(_, name, _)| name);
    names.find(|name| ANSWERERS.contains(name))
}

/// The name for as long as the process lives. Each different one is kept once.
pub(crate) fn interned(name: &str) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(there) = known.get(name) {
        return there;
    }
    let name: &'static str = name.to_owned().leak();
    known.insert(name);
    name
}

/// Whether the flows of an application of this name can be told from those of all others: the mark
/// in their cookies is a hash of the name.
///
/// # Errors
/// One sentence: another name has the same mark.
pub(crate) fn marks_flows_apart(engine: &Handle, name: &str) -> Result<(), String> {
    let line_up = engine.line_up();
    let built_in = BUILT_IN.iter().map(|app| app.name);
    let there: Vec<&str> = line_up.apps().map(|(_, name, _)| name).chain(built_in).collect();
    same_mark(name, &there).map_or(Ok(()), |other| {
        Err(format!(
            "flows of \"{name}\" would carry the mark of \"{other}\" in their cookies: choose another name"
        ))
    })
}

fn same_mark<'n>(name: &str, there: &[&'n str]) -> Option<&'n str> {
    let shares = |other: &&&str| **other != name && Cookie::of(other).same_app(Cookie::of(name));
    there.iter().find(shares).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_whose_mark_is_that_of_another_is_found() {
        assert_eq!(same_mark("sort-counter-69", &["acl", "hub"]), Some("hub"));
        assert_eq!(same_mark("hub", &["acl", "hub"]), None);
        assert_eq!(same_mark("sort-counter", &["acl", "hub"]), None);
    }

    #[test]
    fn those_that_come_with_the_controller_have_marks_of_their_own() {
        let names: Vec<&str> = BUILT_IN.iter().map(|app| app.name).collect();
        for name in &names {
            assert_eq!(same_mark(name, &names), None, "{name}");
        }
    }
}
