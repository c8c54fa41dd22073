//! Maps of Internet providers as Rocketfuel publishes them (Spring and others, 2002): every router
//! a switch.
//!
//! Two kinds of file are read. A map, `.cch`, has a router a line, with its neighbours between `<`
//! and `>`: `uid @place [+] [bb] (count) [&external] -> <uid> … {-uid} … =name rank`; what lies
//! outside of the provider (a line that begins with `-`, and `{…}`) is left out. Weights and
//! latencies, `.intra`, have a link a line: two names and a number. A link that is told from both
//! sides is one. What measuring has left apart from the largest connected part is left out, too.

use super::builder::Builder;
use super::{LINKS_MAX, SWITCHES_MAX, ShapeRefusal, Topology, graphml};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Most characters of a name that are kept.
const LABEL_LEN_MAX: usize = 64;

/// What is wrong: on which line, from 1, and what.
type MapFault = (u32, String);

/// Reads a file.
pub(super) fn read(path: &Path, hosts: u32) -> Result<Topology, ShapeRefusal> {
    let text = graphml::text(path);
    let text = text.map_err(|error| ShapeRefusal::File { path: path.into(), error })?;
    let is_map = path.extension().is_some_and(|end| end == "cch");
    let map = if is_map { RouterMap::of_map(&text) } else { RouterMap::of_links(&text) };
    let map = map.map_err(|(line, wrong)| ShapeRefusal::Line { path: path.into(), line, wrong })?;
    map.topology(hosts)
}

/// Routers by their order, and the links between them, each once.
#[derive(Default)]
struct RouterMap<'a> {
    by_name: HashMap<&'a str, usize>,
    labels: Vec<String>,
    links: Vec<(usize, usize)>,
    known: HashSet<(usize, usize)>,
}

impl<'a> RouterMap<'a> {
    fn of_map(text: &'a str) -> Result<RouterMap<'a>, MapFault> {
        let mut map = RouterMap::default();
        for (at, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with(['-', '#']) {
                continue;
            }
            let wrong = |what: &str| {
                (at, format!("{what}: `uid @place … (count) -> <uid> … =name` was expected"))
            };
            let (head, tail) = line.split_once("->").ok_or_else(|| wrong("there is no `->`"))?;
            let mut words = head.split_whitespace();
            let uid = words.next().filter(|uid| uid.parse::<u64>().is_ok());
            let from = map.router(uid.ok_or_else(|| wrong("it begins with no number"))?, at)?;
            let place = words.next().and_then(|word| word.strip_prefix('@')).unwrap_or_default();
            map.labels[from] = label(place);
            for peer in tail.split('<').skip(1) {
                let peer = peer.split_once('>').map(|(peer, _)| peer);
                let peer = peer.filter(|peer| peer.parse::<u64>().is_ok());
                let peer =
                    map.router(peer.ok_or_else(|| wrong("a neighbour is no number"))?, at)?;
                map.link(from, peer, at)?;
            }
        }
        map.some()
    }

    fn of_links(text: &'a str) -> Result<RouterMap<'a>, MapFault> {
        let mut map = RouterMap::default();
        for (at, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            let &[a, b, number] = words.as_slice() else {
                return Err((at, "two names and a number were expected".into()));
            };
            if !number.parse::<f64>().is_ok_and(f64::is_finite) {
                return Err((at, format!("`{}` is no number", label(number))));
            }
            let (a, b) = (map.router(a, at)?, map.router(b, at)?);
            map.link(a, b, at)?;
        }
        map.some()
    }

    fn some(self) -> Result<RouterMap<'a>, MapFault> {
        if self.labels.is_empty() { Err((1, "there is no router in it".into())) } else { Ok(self) }
    }

    fn router(&mut self, name: &'a str, line: u32) -> Result<usize, MapFault> {
        let next = self.labels.len();
        let at = *self.by_name.entry(name).or_insert(next);
        if at == next {
            if next == SWITCHES_MAX as usize {
                return Err((line, format!("there are more than {SWITCHES_MAX} routers")));
            }
            self.labels.push(label(name));
        }
        Ok(at)
    }

    fn link(&mut self, a: usize, b: usize, line: u32) -> Result<(), MapFault> {
        // A router that is its own neighbour is an error of the measurement.
        if a == b || !self.known.insert((a.min(b), a.max(b))) {
            return Ok(());
        }
        if self.links.len() == LINKS_MAX {
            return Err((line, format!("there are more than {LINKS_MAX} links")));
        }
        self.links.push((a, b));
        Ok(())
    }

    /// The largest connected part.
    fn topology(self, hosts: u32) -> Result<Topology, ShapeRefusal> {
        let part = self.largest();
        let mut builder = Builder::default();
        let mut labels = Vec::new();
        let mut number = vec![None; self.labels.len()];
        for (at, label) in self.labels.into_iter().enumerate().filter(|(at, _)| part[*at]) {
            number[at] = Some(builder.switch(hosts));
            labels.push(label);
        }
        for (a, b) in self.links {
            if let (Some(a), Some(b)) = (number[a], number[b]) {
                builder.link(a, b);
            }
        }
        builder.finish(labels)
    }

    fn largest(&self) -> Vec<bool> {
        let mut peers = vec![Vec::new(); self.labels.len()];
        for &(a, b) in &self.links {
            peers[a].push(b);
            peers[b].push(a);
        }
        let mut part: Vec<Option<usize>> = vec![None; self.labels.len()];
        let mut sizes = Vec::new();
        for first in 0..part.len() {
            if part[first].is_some() {
                continue;
            }
            let (mut next, mut size) = (vec![first], 0);
            part[first] = Some(sizes.len());
            while let Some(at) = next.pop() {
                size += 1;
                for &peer in &peers[at] {
                    if part[peer].is_none() {
                        part[peer] = Some(sizes.len());
                        next.push(peer);
                    }
                }
            }
            sizes.push(size);
        }
        // The first of several that are as large.
        let largest = (0..sizes.len()).rev().max_by_key(|part| sizes[*part]);
        part.into_iter().map(|part| part == largest).collect()
    }
}

/// What a stranger wrote, fit to be shown to a person.
fn label(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(LABEL_LEN_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAP: &str = "\
# a provider
10 @Perth,+Australia + bb (2) &1 -> <11> <12> {-1} =gw1.perth.example r0
11 @Sydney,+Australia (2) -> <10> <12> =gw1.sydney.example! r1
12 @Adelaide (1) -> <11> <10> <12> =gw r1
13 @T (1) -> <14> =apart r1

-1 =192.0.2.1 r1
";

    fn laid_out(map: Result<RouterMap<'_>, MapFault>) -> Topology {
        map.unwrap().topology(1).unwrap()
    }

    #[test]
    fn a_map_has_each_link_once_and_its_largest_part() {
        let topology = laid_out(RouterMap::of_map(MAP));
        assert_eq!((topology.switches(), topology.links().len()), (3, 3));
        let labels = [1, 2, 3].map(|switch| topology.label(switch));
        assert_eq!(labels, [Some("Perth,+Australia"), Some("Sydney,+Australia"), Some("Adelaide")]);
    }

    #[test]
    fn weights_are_links() {
        let text = "Perth1 Sydney2 4.5\nSydney2 Perth1 4.5\nSydney2 Hobart3 1\n";
        let topology = laid_out(RouterMap::of_links(text));
        assert_eq!((topology.switches(), topology.links().len()), (3, 2));
        assert_eq!(topology.label(3), Some("Hobart3"));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_with_its_line() {
        let map = |text: &str| RouterMap::of_map(text).err();
        let links = |text: &str| RouterMap::of_links(text).err();
        for (found, line, words) in [
            (map("\n10 @a (1) =x"), 2, "there is no `->`"),
            (map("a @a (1) -> <1>"), 1, "begins with no number"),
            (map("1 @a (1) -> <b>"), 1, "a neighbour is no number"),
            (map("1 @a (1) -> <2"), 1, "a neighbour is no number"),
            (map("# nothing"), 1, "no router"),
            (links("a b 1\na b"), 2, "two names and a number"),
            (links("a b far"), 1, "`far` is no number"),
            (links(""), 1, "no router"),
        ] {
            let (at, wrong) = found.unwrap();
            assert!(at == line && wrong.contains(words), "{at}: {wrong}, not {words}");
        }
        let many: String = (0..=SWITCHES_MAX).map(|at| format!("{at} @a (0) ->\n")).collect();
        assert_eq!(
            map(&many).unwrap(),
            (SWITCHES_MAX + 1, "there are more than 10000 routers".into())
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_the_readers_panic(text in "([0-9]{1,3}|-|>|<|@| |->|\\n|[a-z]|=|[^a-z]){0,60}") {
            for map in [RouterMap::of_map(&text), RouterMap::of_links(&text)].into_iter().flatten() {
                let topology = map.topology(1).unwrap();
                prop_assert!(topology.switches() >= 1);
            }
        }
    }
}
