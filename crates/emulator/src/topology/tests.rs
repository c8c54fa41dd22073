//! Every shape against what defines it, and every nonsense against its sentence.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

fn lay_out(text: &str) -> Topology {
    text.parse::<Shape>().unwrap().lay_out(None, 1).unwrap()
}

fn refused(text: &str) -> String {
    match text.parse::<Shape>().and_then(|shape| shape.lay_out(None, 1)) {
        Ok(topology) => panic!("{text} was laid out: {} switches", topology.switches()),
        Err(refusal) => refusal.to_string(),
    }
}

/// The switches at the other ends of a switch's links.
fn peers(topology: &Topology) -> BTreeMap<u32, Vec<u32>> {
    let mut peers: BTreeMap<u32, Vec<u32>> =
        (1..=topology.switches()).map(|switch| (switch, Vec::new())).collect();
    for TopologyLink { a, b } in topology.links() {
        peers.entry(a.switch).or_default().push(b.switch);
        peers.entry(b.switch).or_default().push(a.switch);
    }
    peers
}

/// How many links away from a switch the others are; only those that can be reached.
fn distances(topology: &Topology, from: u32) -> BTreeMap<u32, u32> {
    let peers = peers(topology);
    let mut distances = BTreeMap::from([(from, 0)]);
    let mut edge = vec![from];
    for distance in 1.. {
        let mut next = Vec::new();
        for peer in edge.iter().flat_map(|switch| &peers[switch]) {
            if !distances.contains_key(peer) {
                distances.insert(*peer, distance);
                next.push(*peer);
            }
        }
        if next.is_empty() {
            break;
        }
        edge = next;
    }
    distances
}

/// What every topology promises.
fn check(topology: &Topology) {
    assert_eq!(distances(topology, 1).len(), topology.switches() as usize, "connected");
    let links = topology.links().iter().flat_map(|link| [link.a, link.b]);
    let mut used: Vec<End> = links.chain(topology.hosts().iter().copied()).collect();
    used.sort_unstable();
    let ports = (1..=topology.switches())
        .flat_map(|switch| (1..=topology.ports(switch)).map(move |port| End { switch, port }));
    assert!(used.into_iter().eq(ports), "every port is used once");
    assert!(topology.links().iter().all(|link| link.a.switch != link.b.switch));
}

fn ends(ends: &[End]) -> Vec<(u32, u32)> {
    ends.iter().map(|end| (end.switch, end.port)).collect()
}

fn links(topology: &Topology) -> Vec<(u32, u32, u32, u32)> {
    let links = topology.links().iter();
    links.map(|TopologyLink { a, b }| (a.switch, a.port, b.switch, b.port)).collect()
}

#[test]
fn a_single_switch_has_its_hosts() {
    let topology = lay_out("single,3");
    assert_eq!((topology.switches(), topology.links().len()), (1, 0));
    assert_eq!(ends(topology.hosts()), [(1, 1), (1, 2), (1, 3)]);
    check(&topology);
}

#[test]
fn a_chain_is_numbered_as_mininet_does() {
    let topology = lay_out("linear,3");
    assert_eq!(ends(topology.hosts()), [(1, 1), (2, 1), (3, 1)]);
    assert_eq!(links(&topology), [(2, 2, 1, 2), (3, 2, 2, 3)]);
    let two = lay_out("linear,3,2");
    assert_eq!(ends(two.hosts())[..3], [(1, 1), (1, 2), (2, 1)]);
    check(&two);
}

#[test]
fn a_tree_is_numbered_as_mininet_does() {
    let topology = lay_out("tree,3,2");
    assert_eq!(topology.switches(), 7);
    let to: Vec<_> = links(&topology).into_iter().map(|(a, _, b, _)| (a, b)).collect();
    assert_eq!(to, [(2, 3), (2, 4), (1, 2), (5, 6), (5, 7), (1, 5)]);
    let hosts: Vec<_> = topology.hosts().iter().map(|end| end.switch).collect();
    assert_eq!(hosts, [3, 3, 4, 4, 6, 6, 7, 7]);
    check(&topology);
    assert_eq!(lay_out("tree,1,4"), lay_out("single,4"));
    check(&lay_out("tree,9000,1"));
}

#[test]
fn in_a_ring_and_a_torus_every_switch_looks_the_same() {
    for (text, degree, farthest) in [("ring,7", 2, 3), ("torus,3,3", 4, 2), ("torus,4,5", 4, 4)] {
        let topology = lay_out(text);
        check(&topology);
        for (switch, peers) in peers(&topology) {
            assert_eq!(peers.iter().collect::<BTreeSet<_>>().len(), degree, "{text}");
            assert_eq!(distances(&topology, switch).into_values().max(), Some(farthest), "{text}");
        }
        assert_eq!(topology.hosts().len(), topology.switches() as usize);
    }
}

#[test]
fn a_fat_tree_is_that_of_its_paper() {
    for k in [2, 4, 8] {
        let topology = lay_out(&format!("fat-tree,{k}"));
        check(&topology);
        assert_eq!(topology.switches(), 5 * k * k / 4);
        assert_eq!(topology.hosts().len() as u32, k * k * k / 4);
        assert!((1..=topology.switches()).all(|switch| topology.ports(switch) == k));
        // A core switch has one link into each pod, and no two switches have two.
        let pods = |switch: u32| (switch - k * k / 4 - 1) / k;
        for (switch, peers) in peers(&topology) {
            assert_eq!(peers.iter().collect::<BTreeSet<_>>().len(), peers.len());
            if switch <= k * k / 4 {
                assert_eq!(
                    peers.iter().map(|&peer| pods(peer)).collect::<BTreeSet<_>>().len() as u32,
                    k
                );
            }
        }
        let edge = topology.hosts()[0].switch;
        assert_eq!(distances(&topology, edge).into_values().max(), Some(4));
    }
}

#[test]
fn the_sizes_of_the_papers_follow_from_the_seed() {
    for text in ["waxman,79", "waxman,1347", "preferential,79", "preferential,1347"] {
        let shape: Shape = text.parse().unwrap();
        let topology = shape.lay_out(None, 7).unwrap();
        check(&topology);
        assert_eq!(topology, shape.lay_out(None, 7).unwrap(), "{text}");
        assert_ne!(topology, shape.lay_out(None, 8).unwrap(), "{text}");
        let mean = 2.0 * topology.links().len() as f64 / f64::from(topology.switches());
        assert!((3.0..5.0).contains(&mean), "{text}: {mean} links a switch");
    }
}

#[test]
fn near_switches_are_likelier_linked_and_old_ones_have_more_links() {
    // With α at its smallest only neighbours are linked, and what is apart is joined.
    let sparse = lay_out("waxman,200,0.0001,0.0001");
    check(&sparse);
    assert_eq!(sparse.links().len(), 199, "a tree");
    let all = lay_out("waxman,30,1,1").links().len();
    assert!(all > 30 * 29 / 4 && all < 30 * 29 / 2, "{all}");
    let topology = lay_out("preferential,1000,2");
    let links =
        |range: std::ops::RangeInclusive<u32>| range.map(|s| topology.ports(s) - 1).sum::<u32>();
    assert!(links(1..=100) > 2 * links(901..=1000));
    assert_eq!(topology.links().len(), 3 + 997 * 2);
}

#[test]
fn hosts_can_be_others_than_the_shape_says() {
    let hosts = |text: &str, hosts| {
        let topology = text.parse::<Shape>().unwrap().lay_out(Some(hosts), 1).unwrap();
        check(&topology);
        topology.hosts().len()
    };
    assert_eq!(hosts("torus,3,3", 4), 36);
    assert_eq!(hosts("tree,2,3", 1), 3);
    assert_eq!(hosts("fat-tree,4", 0), 0);
    assert_eq!(hosts("single,3", 5), 5);
}

#[test]
fn nonsense_is_refused_in_a_sentence() {
    for (text, words) in [
        ("", "there is no topology \"\""),
        ("star,3", "there is no topology \"star,3\""),
        ("Torus,3,3", "write single, linear"),
        ("torus,3", "write torus,X,Y"),
        ("torus,3,3,1,1", "write torus,X,Y"),
        ("torus,3,x", "write torus,X,Y"),
        ("linear,-1", "write linear,SWITCHES"),
        ("linear,99999999999", "write linear,SWITCHES"),
        ("linear,0", "SWITCHES of a linear topology must be 1 to 10000"),
        ("linear,10001", "SWITCHES of a linear topology must be 1 to 10000"),
        ("torus,2,3", "X of a torus topology must be 3 to 10000"),
        ("torus,101,100", "more than 10000 switches"),
        ("torus,10000,10000", "more than 10000 switches"),
        ("tree,0,2", "DEPTH of a tree topology must be 1 to"),
        ("tree,2,0", "FANOUT of a tree topology"),
        ("tree,10000,4095", "more than"),
        ("tree,2,4095", "switch s2 of the topology would have more than 4095 ports"),
        ("tree,2,1000", "more than 100000 hosts"),
        ("tree,14,2", "more than 10000 switches"),
        ("ring,2", "SWITCHES of a ring topology must be 3 to"),
        ("single,4096", "HOSTS of a single topology must be 0 to 4095"),
        ("linear,2,4095", "switch s2 of the topology would have more than 4095 ports"),
        ("fat-tree,5", "K of a fat-tree topology must be even"),
        ("fat-tree,90", "K of a fat-tree topology must be 2 to 88"),
        ("fat-tree,88", "more than 100000 hosts"),
        ("waxman,9,2,0.5", "ALPHA of a waxman topology must be above 0"),
        ("waxman,9,0.5,nan", "BETA of a waxman topology must be above 0"),
        ("waxman,3000,1,1", "more than 250000 links"),
        ("preferential,9,0", "LINKS of a preferential topology must be 1 to 100"),
        ("preferential,10000,100", "more than 250000 links"),
        ("no/such.graphml", "no/such.graphml: the topology cannot be read"),
    ] {
        let sentence = refused(text);
        assert!(sentence.contains(words), "{text}: {sentence}");
    }
}

/// A file as the Topology Zoo writes them, cut down to three nodes.
const ZOO: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
  <key attr.name="label" attr.type="string" for="edge" id="d38" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d29" />
  <key attr.name="label" attr.type="string" for="node" id="d33" />
  <key attr.name="Network" attr.type="string" for="graph" id="d4" />
  <graph edgedefault="undirected">
    <data key="d4">ACOnet</data>
    <node id="0">
      <data key="d29">16.37208</data>
      <data key="d33">Vienna</data>
    </node>
    <node id="1">
      <data key="d33">Graz &amp; Leoben</data>
    </node>
    <node id="7" />
    <edge source="0" target="1">
      <data key="d38">1 Gbps</data>
    </edge>
    <edge id="e1" source="7" target="0" />
    <edge id="e2" source="1" target="0" />
  </graph>
</graphml>
"#;

#[test]
fn a_file_of_the_zoo_is_read() {
    let topology = graphml::parse(ZOO, 2).unwrap();
    check(&topology);
    assert_eq!(topology.switches(), 3);
    assert_eq!(links(&topology), [(1, 3, 2, 3), (3, 3, 1, 4), (2, 4, 1, 5)]);
    let labels = [0, 1, 2, 3, 4].map(|switch| topology.label(switch));
    assert_eq!(labels, [None, Some("Vienna"), Some("Graz & Leoben"), None, None]);
}

/// What is said of the text, with its line.
fn wrong(text: &str) -> (u32, String) {
    match graphml::parse(text, 1) {
        Err(graphml::GraphmlFault::Here(line, sentence)) => (line, sentence),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line() {
    let apart = ZOO.replace(r#"<edge id="e1" source="7" target="0" />"#, "");
    for (text, line, words) in [
        (apart, 16, "not connected: no edges lead from node \"0\" (Vienna) to node \"7\""),
        (ZOO.replace("source=\"7\"", "source=\"9\""), 20, "no node \"9\", the edge's source"),
        (ZOO.replace("source=\"7\" ", ""), 20, "the <edge> has no source"),
        (ZOO.replace("target=\"0\"", "target=\"7\""), 20, "returns to the node"),
        (ZOO.replace("id=\"7\"", "id=\"1\""), 16, "\"1\" is there already, on line 13"),
        (ZOO.replace("<node id=\"7\"", "<node"), 16, "the <node> has no id"),
        (ZOO.replace("\"undirected\"", "\"directed\""), 7, "directed"),
        (ZOO.replace("id=\"e1\"", "directed=\"true\""), 20, "directed"),
        (ZOO.replace("<node id=\"7\" />", "<node id=\"7\"><graph/></node>"), 16, "inside a node"),
        (ZOO.replace("<edge id=\"e2\"", "<hyperedge"), 21, "hyperedge"),
        (ZOO.replace("</graphml>", "<graph/></graphml>"), 23, "second <graph>"),
        (ZOO.replace("</edge>", ""), 22, "this is no XML"),
        ("<graphml>\n<graph/></graphml>".into(), 2, "no nodes"),
        ("\n<graphml/>".into(), 2, "no <graph>"),
        ("<html/>".into(), 1, "begins with <html>"),
        (String::new(), 1, "this is no XML"),
    ] {
        let (found, sentence) = wrong(&text);
        assert!(found == line && sentence.contains(words), "{found}: {sentence}, not {words}");
    }
}

#[test]
fn a_file_that_would_grow_is_refused() {
    let bomb = "<!DOCTYPE g [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>\n<graphml>&b;</graphml>";
    assert!(wrong(bomb).1.contains("this is no XML"));
    assert!(wrong(&"<graphml>".repeat(300_000)).1.contains("no XML"), "however deep it nests");
    let many = "<node id=\"1\"/>".repeat(1_000_001);
    assert!(wrong(&format!("<graphml><graph>{many}</graph></graphml>")).1.contains("no XML"));
    let switches: String = (0..10_001).map(|id| format!("<node id=\"{id}\"/>\n")).collect();
    let (line, sentence) = wrong(&format!("<graphml><graph>\n{switches}</graph></graphml>"));
    assert_eq!((line, sentence.as_str()), (10_002, "there are more than 10000 nodes"));
}

#[test]
fn a_file_is_found_and_its_path_named() {
    let path = std::env::temp_dir().join(format!("aldis-topology-{}.graphml", std::process::id()));
    std::fs::write(&path, ZOO.replace("source=\"7\"", "source=\"9\"")).unwrap();
    let sentence = refused(path.to_str().unwrap());
    assert!(sentence.starts_with(&format!("{}:20: ", path.display())), "{sentence}");
    std::fs::write(&path, ZOO).unwrap();
    assert_eq!(lay_out(path.to_str().unwrap()).switches(), 3);
    std::fs::write(&path, vec![b' '; FILE_LEN_MAX as usize + 1]).unwrap();
    assert!(refused(path.to_str().unwrap()).contains("more than 16777216 bytes"));
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(refused(path.to_str().unwrap()).contains("UTF-8"));
    std::fs::remove_file(&path).unwrap();
}

fn shapes() -> impl Strategy<Value = Shape> {
    let unit = 1e-6..1.0f64;
    prop_oneof![
        (0u32..50).prop_map(|hosts| Shape::Single { hosts }),
        (1u32..50, 0u32..3).prop_map(|(switches, hosts)| Shape::Linear { switches, hosts }),
        (1u32..5, 1u32..5).prop_map(|(depth, fanout)| Shape::Tree { depth, fanout }),
        (3u32..50, 0u32..3).prop_map(|(switches, hosts)| Shape::Ring { switches, hosts }),
        (3u32..9, 3u32..9, 0u32..3).prop_map(|(x, y, hosts)| Shape::Torus { x, y, hosts }),
        (1u32..6).prop_map(|half| Shape::FatTree { k: 2 * half }),
        (1u32..90).prop_map(|switches| Shape::Waxman { switches, density: None }),
        (1u32..90, unit.clone(), unit)
            .prop_map(|(switches, a, b)| Shape::Waxman { switches, density: Some((a, b)) }),
        (1u32..90, 1u32..9).prop_map(|(switches, links)| Shape::Preferential { switches, links }),
        "[a-z/]{1,9}".prop_map(|name| Shape::Graphml(PathBuf::from(name + ".graphml"))),
        "[a-z/]{1,9}".prop_map(|name| Shape::Rocketfuel(PathBuf::from(name + ".cch"))),
    ]
}

proptest! {
    /// Whatever the shape: connected, every port used once.
    #[test]
    fn every_shape_keeps_the_promise(shape in shapes(), seed: u64, hosts in proptest::option::of(0u32..4)) {
        prop_assume!(!matches!(shape, Shape::Graphml(_) | Shape::Rocketfuel(_)));
        check(&shape.lay_out(hosts, seed).unwrap());
    }

    #[test]
    fn a_shape_is_read_as_it_is_written(shape in shapes()) {
        prop_assert_eq!(shape.to_string().parse::<Shape>().unwrap(), shape);
    }

    #[test]
    fn no_text_makes_the_shapes_panic(text in "(single|linear|tree|ring|torus|fat-tree|waxman|preferential)?(,[0-9.na-]{0,3}){0,4}") {
        if let Ok(shape) = text.parse::<Shape>() {
            let _ = shape.check(None);
        }
    }

    /// A graph that is connected is read as it was written; one that is not is refused.
    #[test]
    fn any_graph_is_read_or_refused(nodes in 1usize..12, edges in proptest::collection::vec((0usize..12, 0usize..12), 0..24)) {
        let edges: Vec<_> = edges.into_iter().filter(|&(a, b)| a != b && a < nodes && b < nodes).collect();
        let text_nodes: String = (0..nodes).map(|id| format!("<node id=\"n{id}\"/>")).collect();
        let text_edges: String = edges.iter().map(|(a, b)| format!("<edge source=\"n{a}\" target=\"n{b}\"/>")).collect();
        // Edges may come before their nodes.
        let text = format!("<graphml><graph edgedefault='undirected'>{text_edges}{text_nodes}</graph></graphml>");
        let mut reached = BTreeSet::from([0]);
        for _ in 0..nodes {
            for &(a, b) in &edges {
                if reached.contains(&a) || reached.contains(&b) {
                    reached.extend([a, b]);
                }
            }
        }
        match graphml::parse(&text, 1) {
            Ok(topology) => {
                check(&topology);
                prop_assert_eq!(reached.len(), nodes);
                let read: Vec<_> = topology.links().iter().map(|l| (l.a.switch as usize - 1, l.b.switch as usize - 1)).collect();
                prop_assert_eq!(read, edges);
            }
            Err(_) => prop_assert!(reached.len() < nodes),
        }
    }

    /// Bytes of a good file changed, cut and doubled: a topology that keeps its promise, or a
    /// sentence with a line of the file.
    #[test]
    fn a_spoilt_file_is_a_sentence(changes in proptest::collection::vec((0usize..ZOO.len(), 0usize..40, "[ -~]{0,6}"), 1..4)) {
        let mut text = ZOO.to_owned();
        for (at, length, instead) in changes {
            let at = at.min(text.len());
            let end = (at + length).min(text.len());
            text.replace_range(at..end, &instead);
        }
        let lines = text.lines().count().max(1) as u32 + 1;
        match graphml::parse(&text, 1) {
            Ok(topology) => check(&topology),
            Err(graphml::GraphmlFault::Here(line, sentence)) => {
                prop_assert!(line >= 1 && line <= lines && !sentence.is_empty(), "{}: {}", line, sentence);
            }
            Err(graphml::GraphmlFault::Size(refusal)) => prop_assert!(false, "{}", refusal),
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(text in "(<|>|/|\"|=|&|graphml|graph|node|edge|id|source|\n| |[^a-z]){0,60}") {
        let _ = graphml::parse(&text, 1);
    }
}
