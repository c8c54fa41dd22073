//! Topologies from GraphML files, as the Topology Zoo publishes them.
//!
//! Of the format (<http://graphml.graphdrawing.org/specification.html>) this reads what a network
//! has: one undirected `graph` of `node`s and `edge`s, and of their data the nodes' `label`. Two
//! edges between the same nodes are two links. What a network cannot have (hyperedges, graphs in
//! nodes, edges that have a direction or return to their node) is refused with its line. No
//! document type definition is read, so that no entity can grow.

use super::builder::Builder;
use super::{FILE_LEN_MAX, LINKS_MAX, SWITCHES_MAX, ShapeRefusal, Topology};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most elements, texts and comments of a file: a switch with all its data has some twenty.
const NODES_MAX: u32 = 1_000_000;

/// Most characters of a label that are kept.
const LABEL_LEN_MAX: usize = 64;

/// Reads a file.
pub(super) fn read(path: &Path, hosts: u32) -> Result<Topology, ShapeRefusal> {
    let text = text(path).map_err(|error| ShapeRefusal::File { path: path.into(), error })?;
    parse(&text, hosts).map_err(|wrong| match wrong {
        GraphmlFault::Here(line, wrong) => ShapeRefusal::Line { path: path.into(), line, wrong },
        GraphmlFault::Size(refusal) => refusal,
    })
}

pub(super) fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let length = File::open(path)?.take(FILE_LEN_MAX + 1).read_to_string(&mut text)?;
    match length as u64 > FILE_LEN_MAX {
        true => Err(io::Error::other(format!("it has more than {FILE_LEN_MAX} bytes"))),
        false => Ok(text),
    }
}

/// What is wrong with a text.
#[derive(Debug)]
pub(super) enum GraphmlFault {
    /// On this line.
    Here(u32, String),
    /// There is too much of something in it.
    Size(ShapeRefusal),
}

/// The topology that a text describes.
pub(super) fn parse(text: &str, hosts: u32) -> Result<Topology, GraphmlFault> {
    let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| GraphmlFault::Here(error.pos().row, format!("this is no XML: {error}")))?;
    let reader = GraphmlReader { document: &document };
    let graph = reader.graph()?;
    let nodes = reader.nodes(graph)?;
    let edges = reader.edges(graph, &nodes)?;
    reader.check_connected(&nodes, &edges)?;
    let mut builder = Builder::default();
    for _ in &nodes.all {
        builder.switch(hosts);
    }
    for (a, b) in edges {
        builder.link(a as u32 + 1, b as u32 + 1);
    }
    builder.finish(reader.labels(&nodes)).map_err(GraphmlFault::Size)
}

struct GraphmlReader<'a> {
    document: &'a Document<'a>,
}

/// The nodes in their order, and by id.
struct Nodes<'a> {
    all: Vec<Node<'a, 'a>>,
    by_id: HashMap<&'a str, usize>,
}

impl<'a> GraphmlReader<'a> {
    fn wrong(&self, node: Node<'_, '_>, what: impl Into<String>) -> GraphmlFault {
        GraphmlFault::Here(self.line(node), what.into())
    }

    fn line(&self, node: Node<'_, '_>) -> u32 {
        self.document.text_pos_at(node.range().start).row
    }

    /// The one graph of the file.
    fn graph(&self) -> Result<Node<'a, 'a>, GraphmlFault> {
        let root = self.document.root_element();
        if root.tag_name().name() != "graphml" {
            let found = short(root.tag_name().name());
            return Err(self.wrong(root, format!("this is no GraphML: it begins with <{found}>")));
        }
        let mut graphs = root.children().filter(|node| is(*node, "graph"));
        let graph = graphs.next().ok_or_else(|| self.wrong(root, "there is no <graph> in it"))?;
        if let Some(second) = graphs.next() {
            return Err(self.wrong(second, "this is a second <graph>; one is read"));
        }
        if graph.attribute("edgedefault") == Some("directed") {
            return Err(self.wrong(graph, "its edges are directed; links have no direction"));
        }
        Ok(graph)
    }

    fn nodes(&self, graph: Node<'a, 'a>) -> Result<Nodes<'a>, GraphmlFault> {
        let mut nodes = Nodes { all: Vec::new(), by_id: HashMap::new() };
        for node in graph.children().filter(|node| is(*node, "node")) {
            if let Some(inner) = node.children().find(|node| is(*node, "graph")) {
                return Err(self.wrong(inner, "a graph inside a node is no network"));
            }
            let id = self.attribute(node, "id")?;
            if nodes.all.len() == SWITCHES_MAX as usize {
                let too_many = format!("there are more than {SWITCHES_MAX} nodes");
                return Err(self.wrong(node, too_many));
            }
            if let Some(first) = nodes.by_id.insert(id, nodes.all.len()) {
                let (line, id) = (self.line(nodes.all[first]), short(id));
                let twice = format!("the node \"{id}\" is there already, on line {line}");
                return Err(self.wrong(node, twice));
            }
            nodes.all.push(node);
        }
        match nodes.all.is_empty() {
            true => Err(self.wrong(graph, "the graph has no nodes")),
            false => Ok(nodes),
        }
    }

    fn edges(
        &self,
        graph: Node<'a, 'a>,
        nodes: &Nodes<'a>,
    ) -> Result<Vec<(usize, usize)>, GraphmlFault> {
        let mut edges = Vec::new();
        for edge in graph.children() {
            if is(edge, "hyperedge") {
                return Err(self.wrong(edge, "a hyperedge is no link"));
            }
            if !is(edge, "edge") {
                continue;
            }
            if edge.attribute("directed") == Some("true") {
                return Err(self.wrong(edge, "the edge is directed; links have no direction"));
            }
            let (a, b) = (self.end(edge, "source", nodes)?, self.end(edge, "target", nodes)?);
            if a == b {
                return Err(self.wrong(edge, "the edge returns to the node it comes from"));
            }
            if edges.len() == LINKS_MAX {
                return Err(self.wrong(edge, format!("there are more than {LINKS_MAX} edges")));
            }
            edges.push((a, b));
        }
        Ok(edges)
    }

    fn end(
        &self,
        edge: Node<'a, 'a>,
        which: &str,
        nodes: &Nodes<'a>,
    ) -> Result<usize, GraphmlFault> {
        let id = self.attribute(edge, which)?;
        let node = nodes.by_id.get(id).copied();
        node.ok_or_else(|| {
            self.wrong(edge, format!("there is no node \"{}\", the edge's {which}", short(id)))
        })
    }

    fn attribute(&self, node: Node<'a, 'a>, name: &str) -> Result<&'a str, GraphmlFault> {
        node.attribute(name).ok_or_else(|| {
            let tag = short(node.tag_name().name());
            self.wrong(node, format!("the <{tag}> has no {name}"))
        })
    }

    fn check_connected(
        &self,
        nodes: &Nodes<'a>,
        edges: &[(usize, usize)],
    ) -> Result<(), GraphmlFault> {
        let mut peers = vec![Vec::new(); nodes.all.len()];
        for &(a, b) in edges {
            peers[a].push(b);
            peers[b].push(a);
        }
        let mut reached = vec![false; nodes.all.len()];
        let mut next = vec![0];
        reached[0] = true;
        while let Some(node) = next.pop() {
            for &peer in &peers[node] {
                if !std::mem::replace(&mut reached[peer], true) {
                    next.push(peer);
                }
            }
        }
        let Some(apart) = reached.iter().position(|reached| !reached) else { return Ok(()) };
        let [apart, first] = [nodes.all[apart], nodes.all[0]];
        let name = |node: Node<'a, 'a>| {
            let label = self.label_key().map(|key| label(node, key)).unwrap_or_default();
            let id = short(node.attribute("id").unwrap_or_default());
            if label.is_empty() { format!("\"{id}\"") } else { format!("\"{id}\" ({label})") }
        };
        Err(self.wrong(
            apart,
            format!(
                "the topology is not connected: no edges lead from node {} to node {}",
                name(first),
                name(apart)
            ),
        ))
    }

    /// The key under which the nodes' labels stand.
    fn label_key(&self) -> Option<&'a str> {
        let mut keys = self.document.root_element().children().filter(|node| is(*node, "key"));
        let is_label = |key: &Node<'_, '_>| {
            key.attribute("attr.name") == Some("label")
                && matches!(key.attribute("for"), Some("node" | "all") | None)
        };
        keys.find(is_label)?.attribute("id")
    }

    fn labels(&self, nodes: &Nodes<'a>) -> Vec<String> {
        let Some(key) = self.label_key() else { return Vec::new() };
        nodes.all.iter().map(|&node| label(node, key)).collect()
    }
}

fn is(node: Node<'_, '_>, tag: &str) -> bool {
    node.is_element() && node.tag_name().name() == tag
}

fn label(node: Node<'_, '_>, key: &str) -> String {
    let mut data = node.children().filter(|node| is(*node, "data"));
    let label = data.find(|data| data.attribute("key") == Some(key)).and_then(|data| data.text());
    short(label.unwrap_or_default().trim())
}

/// What a stranger wrote, fit to be shown to a person.
fn short(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(LABEL_LEN_MAX).collect()
}
