//! The graph of the applications for Graphviz: `aldis apps --dot | dot -Tsvg`.
//!
//! Maestro's DAG in its two sorts of edges. Sequences are solid: from an event to the applications
//! that see it, in order. Data is dashed: from an application to the part of the World that it
//! publishes, and from there to those that read it.
//!
//! Several sequences on one event are drawn as they were told: edges part where a branch begins,
//! and meet where branches join. One thread runs the applications, so the label of such an edge
//! says the place of its application in that order: for example, `flow-request, 3`.

use aldis_http::api::apps::{App, AppState, Apps, Sequence};

/// The graph, as a file of Graphviz.
pub(super) fn dot(apps: &Apps) -> String {
    let mut lines = vec![
        "digraph aldis {".to_owned(),
        "  rankdir=LR; node [fontname=\"sans-serif\"]; edge [fontname=\"sans-serif\", fontsize=9];"
            .to_owned(),
    ];
    let runs = |app: &&App| app.state != AppState::Stopped;
    for app in apps.apps.iter().filter(runs) {
        lines.push(format!("  {} [shape=box, label={}];", node("app", &app.name), text(&app.name)));
    }
    for part in &apps.world {
        let (part_node, label) = (node("part", &part.name), text(&part.name));
        lines.push(format!("  {part_node} [shape=cylinder, label={label}];"));
        let publisher = node("app", &part.publisher);
        lines.push(format!("  {publisher} -> {part_node} [style=dashed];"));
        for made_of in &part.made_of {
            lines.push(format!("  {} -> {part_node} [style=dotted];", node("part", made_of)));
        }
    }
    for app in apps.apps.iter().filter(runs) {
        for read in &app.reads {
            let (from, to) = (node("part", read), node("app", &app.name));
            lines.push(format!("  {from} -> {to} [style=dashed];"));
        }
    }
    for sequence in apps.sequences.iter().filter(|sequence| !sequence.apps.is_empty()) {
        let on = node("on", &sequence.on);
        lines.push(format!("  {on} [shape=plaintext, label={}];", text(&sequence.on)));
        lines.extend(edges(sequence, &on));
    }
    lines.push("}".to_owned());
    lines.join("\n") + "\n"
}

/// The edges of a sequence, or of its branches: what they have in common is drawn once.
fn edges(sequence: &Sequence, on: &str) -> Vec<String> {
    let Sequence { on: event, apps, branches } = sequence;
    let branches = if branches.is_empty() { std::slice::from_ref(apps) } else { branches };
    let place = |app: &String| apps.iter().position(|other| other == app);
    let mut edges: Vec<String> = Vec::new();
    for branch in branches {
        let mut from = on.to_owned();
        for app in branch {
            let to = node("app", app);
            let label = match (branches, place(app)) {
                ([_, _, ..], Some(at)) => format!("{event}, {}", at + 1),
                _ => event.clone(),
            };
            let edge = format!("  {from} -> {to} [label={}];", text(&label));
            if !edges.contains(&edge) {
                edges.push(edge);
            }
            from = to;
        }
    }
    edges
}

/// A node's name: an event, an application and a part may be called alike.
fn node(sort: &str, name: &str) -> String {
    text(&format!("{sort} {name}"))
}

/// As Graphviz reads a text.
fn text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis::Controller;

    #[test]
    fn sequences_are_solid_and_data_is_dashed() {
        let drawn = dot(&Controller::new().with_default_apps().graph().unwrap());
        for line in [
            "  \"on flow-request\" -> \"app hosts\" [label=\"flow-request\"];",
            "  \"app route-flow\" -> \"app spanning\" [label=\"flow-request\"];",
            "  \"app topology\" -> \"part topology\" [style=dashed];",
            "  \"part topology\" -> \"part hosts\" [style=dotted];",
            "  \"part routes\" -> \"app route-flow\" [style=dashed];",
        ] {
            assert!(drawn.lines().any(|there| there == line), "{line} in {drawn}");
        }
        // Each end of an edge is drawn as a node.
        let nodes: Vec<_> = drawn.lines().filter_map(|line| line.split(" [shape").next()).collect();
        for edge in drawn.lines().filter(|line| line.contains(" -> ")) {
            let (from, to) = edge.split(" [").next().unwrap().split_once(" -> ").unwrap();
            assert!(nodes.contains(&from) && nodes.contains(&format!("  {to}").as_str()), "{edge}");
        }
    }

    #[test]
    fn sequences_on_one_event_are_drawn_as_branches_that_join() {
        const FILE: &str = "
            apps = [\"topology\", \"hosts\", \"arp-proxy\", \"nd-proxy\", \"routing\", \"route-flow\"]
            [[sequence]]
            on = \"flow-request\"
            apps = [\"hosts\", \"arp-proxy\", \"route-flow\"]
            [[sequence]]
            on = \"flow-request\"
            apps = [\"hosts\", \"nd-proxy\", \"route-flow\"]
            [[sequence]]
            on = \"lldp\"
            apps = [\"topology\"]
        ";
        let folder = aldis_testkit::Folder::new("dot");
        let file = folder.join("aldis.toml");
        std::fs::write(&file, FILE).unwrap();
        let graph = Controller::from_file(file).with_default_apps().graph().unwrap();
        let drawn = dot(&graph);
        let of_requests: Vec<_> =
            drawn.lines().filter(|line| line.contains("label=\"flow-request,")).collect();
        assert_eq!(
            of_requests,
            [
                "  \"on flow-request\" -> \"app hosts\" [label=\"flow-request, 1\"];",
                "  \"app hosts\" -> \"app arp-proxy\" [label=\"flow-request, 2\"];",
                "  \"app arp-proxy\" -> \"app route-flow\" [label=\"flow-request, 4\"];",
                "  \"app hosts\" -> \"app nd-proxy\" [label=\"flow-request, 3\"];",
                "  \"app nd-proxy\" -> \"app route-flow\" [label=\"flow-request, 4\"];",
            ]
        );
        // One sequence alone has no branches, and data is drawn as it is checked.
        let line = |wanted: &str| drawn.lines().filter(|line| *line == wanted).count();
        assert_eq!(line("  \"on lldp\" -> \"app topology\" [label=\"lldp\"];"), 1);
        for part in &graph.world {
            let made =
                format!("  \"app {}\" -> \"part {}\" [style=dashed];", part.publisher, part.name);
            assert_eq!(line(&made), 1, "{made}");
        }
        for app in graph.apps.iter().filter(|app| app.state != AppState::Stopped) {
            for read in &app.reads {
                let read = format!("  \"part {read}\" -> \"app {}\" [style=dashed];", app.name);
                assert_eq!(line(&read), 1, "{read}");
            }
        }
        // In words too: the order, and what it keeps.
        let words = super::super::running(&graph).join("\n");
        assert!(words.contains("hosts → arp-proxy → nd-proxy → route-flow"), "{words}");
        assert!(words.contains("keeps            hosts → nd-proxy → route-flow"), "{words}");
    }

    #[test]
    fn a_name_cannot_end_its_text() {
        assert_eq!(text("a\"b\\"), "\"a\\\"b\\\\\"");
    }
}
