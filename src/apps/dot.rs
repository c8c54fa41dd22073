//! The graph of the applications for Graphviz: `aldis apps --dot | dot -Tsvg`.
//!
//! Maestro's DAG in its two sorts of edges. Sequences are solid: from an event to the applications
//! that see it, in order. Data is dashed: from an application to the part of the World that it
//! publishes, and from there to those that read it.

use aldis_http::api::apps::{App, AppState, Apps};

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
        let mut from = on;
        for app in &sequence.apps {
            let to = node("app", app);
            lines.push(format!("  {from} -> {to} [label={}];", text(&sequence.on)));
            from = to;
        }
    }
    lines.push("}".to_owned());
    lines.join("\n") + "\n"
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
    fn a_name_cannot_end_its_text() {
        assert_eq!(text("a\"b\\"), "\"a\\\"b\\\\\"");
    }
}
