//! The rooms of the engine stand in an order, and use only those before them.

use super::SourceTree;
use super::ratchet::TidyFinding;
use std::collections::BTreeSet;

const ENGINE: &str = "crates/engine/src/";

/// The rooms, lowest first: a room may use those before it. A file or folder at the top of
/// `crates/engine/src` is a room; this list is all that a change of rooms has to change here.
const ROOMS: &[&str] = &[
    "limits",
    "design",
    "clock",
    "guard",
    "pin",
    "sync",
    "command",
    "conn",
    "tap",
    "messages",
    "net",
    "write",
    "read",
    "shared",
    "metrics",
    "worker",
    "handle",
    "reporter",
    "lifecycle",
    "engine",
    "replay",
    "sim",
];

/// Rooms without a place in the order, and places without a room.
pub(super) fn order(tree: &SourceTree) -> Vec<String> {
    let there: BTreeSet<&str> =
        tree.sources.iter().filter_map(|source| room(&source.path)).collect();
    let unnamed = there.iter().filter(|room| !ROOMS.contains(room));
    let unnamed = unnamed.map(|room| format!("{ENGINE}{room} has no place in the order of rooms"));
    let gone = ROOMS.iter().filter(|room| !there.is_empty() && !there.contains(*room));
    let gone =
        gone.map(|room| format!("the order of rooms names {room}, which is not in {ENGINE}"));
    unnamed.chain(gone).collect()
}

/// Arrows that climb: one for each room and each room above that it uses outside of its tests.
pub(super) fn climbs(tree: &SourceTree) -> Vec<TidyFinding> {
    let floor = |room: &str| ROOMS.iter().position(|name| *name == room);
    let mut arrows = BTreeSet::new();
    for source in tree.ending(&[".rs"]).filter(|source| !is_test(&source.path)) {
        let Some(from) = room(&source.path) else { continue };
        let used = used(&source.text).into_iter().filter(|to| floor(to) > floor(from));
        arrows.extend(used.map(|to| (from, to)));
    }
    let sentence = |(from, to)| format!("{ENGINE}{from} uses {to}, which stands above it");
    let finding =
        |arrow| TidyFinding { place: "crates/engine".to_owned(), sentence: sentence(arrow) };
    arrows.into_iter().map(finding).collect()
}

/// The room that a file belongs to; the crate's root belongs to none.
fn room(path: &str) -> Option<&str> {
    let first = path.strip_prefix(ENGINE)?.split('/').next()?;
    Some(first.strip_suffix(".rs").unwrap_or(first)).filter(|room| *room != "lib")
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| ["tests", "tests.rs", "model.rs"].contains(&part))
}

/// What a file names directly under `crate::`, alone or in braces, outside of comments and of the
/// tests at its end.
fn used(text: &str) -> BTreeSet<&str> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut used = BTreeSet::new();
    let mut depth = 0;
    for line in lines {
        for (at, after) in line.split("crate::").enumerate() {
            if at > 0 && depth == 0 {
                used.extend(first_word(after));
            }
            depth = if at > 0 && after.starts_with('{') { 1 } else { depth };
            if depth > 0 {
                depth = braced(after.strip_prefix('{').unwrap_or(after), depth, &mut used);
            }
        }
    }
    used
}

/// Takes the rooms from a part of `crate::{a::{b, c}, d}` that is `depth` braces deep at its start;
/// returns how deep it is at its end.
fn braced<'a>(part: &'a str, mut depth: usize, used: &mut BTreeSet<&'a str>) -> usize {
    for (at, piece) in part.split_inclusive(['{', '}', ',']).enumerate() {
        if depth == 1 && (at == 0 || !piece.trim().is_empty()) {
            used.extend(first_word(piece.trim_start()));
        }
        depth = match piece.chars().next_back() {
            Some('{') => depth + 1,
            Some('}') => depth - 1,
            _ => depth,
        };
        if depth == 0 {
            break;
        }
    }
    depth
}

fn first_word(text: &str) -> Option<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: &str = ROOMS[0];
    const HIGH: &str = ROOMS[ROOMS.len() - 1];

    #[test]
    fn what_is_used_is_read_from_every_form_of_path() {
        let text = "use crate::read::{Read, Visit};\nuse crate::{claim::{self, Claim},\n    net};\n\
                    // crate::comment\nlet x = crate::pin::pin(crate::slab::Slab);\n\
                    #[cfg(test)]\nmod tests {\n    use crate::engine;\n}\n";
        let expected = ["claim", "net", "pin", "read", "slab"];
        assert_eq!(used(text).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_arrow_that_climbs_is_found_once() {
        let (low, low_child) = (format!("{ENGINE}{LOW}.rs"), format!("{ENGINE}{LOW}/a.rs"));
        let (high, test) = (format!("{ENGINE}{HIGH}.rs"), format!("{ENGINE}{LOW}/tests.rs"));
        let (up, down) = (format!("use crate::{HIGH};\n"), format!("use crate::{LOW};\n"));
        let files: [(&str, &str); 4] =
            [(&low, &up), (&low_child, &up), (&high, &down), (&test, &up)];
        let found = climbs(&SourceTree::of(&files));
        assert_eq!(found.len(), 1, "{found:?}");
        let expected = format!("{ENGINE}{LOW} uses {HIGH}, which stands above it");
        assert_eq!(found[0].sentence, expected);
        assert!(climbs(&SourceTree::of(&files[2..])).is_empty());
    }

    #[test]
    fn a_room_without_a_place_in_the_order_is_found() {
        let wrong = order(&SourceTree::of(&[("crates/engine/src/cellar.rs", "")]));
        assert!(wrong[0].contains("cellar has no place"), "{wrong:?}");
        assert_eq!(wrong.len(), 1 + ROOMS.len(), "{wrong:?}");
        assert!(order(&SourceTree::of(&[("crates/engine/src/lib.rs", "")])).is_empty());
    }
}
