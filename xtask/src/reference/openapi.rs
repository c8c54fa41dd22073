//! The pages that are made of the description of the interface.

use super::MADE;
use serde_json::{Map, Value};

/// The groups of paths, with what they are about, in the order of the page.
const GROUPS: [(&str, &str); 11] = [
    ("about", "The controller's version, and this description"),
    ("controller", "The controller itself: health, applications, guests, log, configuration"),
    ("switches", "Switches and their ports"),
    ("flows", "Flows, and the way of a packet"),
    ("network", "Hosts, links, and the ways between them"),
    ("statistics", "Counters"),
    ("kept", "What is kept on switches"),
    ("events", "Events"),
    ("applications", "Routes of installed applications"),
    ("ryu", "Ryu's paths"),
    ("floodlight", "Floodlight's paths"),
];

const METHODS: [&str; 4] = ["get", "put", "post", "delete"];

/// Every path with its methods, by groups.
pub(super) fn paths(document: &Value) -> String {
    let mut page = format!(
        "# REST, path by path\n\n{MADE}\n\nWhat [http.md](../http.md) explains, in full: each path, \
         what it does, and what can be said behind\n`?`. The bodies, their fields and an example of \
         each stand at `/api/docs` of a controller that runs,\nand in `openapi/aldis.json`.\n"
    );
    for (tag, title) in GROUPS {
        page += &format!("\n## {title}\n\n| method | path | what | query | answers |\n");
        page += "| --- | --- | --- | --- | --- |\n";
        for (path, operations) in object(&document["paths"]) {
            let operations = METHODS.iter().map(|method| (method, &operations[method]));
            for (method, operation) in operations.filter(|(_, it)| it["tags"][0] == tag) {
                page += &row(method, path, operation);
            }
        }
    }
    page
}

fn row(method: &str, path: &str, operation: &Value) -> String {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let query: Vec<String> = parameters
        .filter(|parameter| parameter["in"] == "query")
        .map(|parameter| format!("`{}`", text(&parameter["name"])))
        .collect();
    let answers: Vec<&str> = object(&operation["responses"]).map(|(code, _)| code).collect();
    format!(
        "| {} | `{path}` | {} | {} | {} |\n",
        method.to_uppercase(),
        cell(&operation["summary"]),
        query.join(", "),
        answers.join(", ")
    )
}

/// The kinds of events, by their comments in the source, and the fields of an event.
pub(super) fn events(document: &Value, source: &str) -> String {
    let schemas = &document["components"]["schemas"];
    let mut page = format!(
        "# Events\n\n{MADE}\n\n`aldis events` prints them, `/api/v1/events` sends them to programs \
         ([http.md](../http.md)).\n\n## Kinds\n\n| kind | what happened |\n| --- | --- |\n"
    );
    let meanings = meanings(source);
    for kind in schemas["EventKind"]["enum"].as_array().into_iter().flatten() {
        let meaning = meanings.iter().find(|(name, _)| name == text(kind));
        let meaning = meaning.map_or("", |(_, meaning)| meaning);
        page += &format!("| `{}` | {meaning} |\n", text(kind));
    }
    for (title, name) in [
        ("An event", "Event"),
        ("Its host", "EventHost"),
        ("Its link", "EventLink"),
        ("Its guest", "EventGuest"),
    ] {
        page += &format!(
            "\n## {title}\n\n| field | what it is | always there |\n| --- | --- | --- |\n"
        );
        let required = schemas[name]["required"].as_array().cloned().unwrap_or_default();
        for (field, of) in object(&schemas[name]["properties"]) {
            let always = if required.iter().any(|it| it == field) { "yes" } else { "" };
            page += &format!("| `{field}` | {} | {always} |\n", described(of));
        }
    }
    page
}

/// What a field is: its own description, or that of one of its forms.
fn described(field: &Value) -> String {
    let forms = field["oneOf"].as_array().into_iter().flatten();
    let own = [field].into_iter().chain(forms).find(|it| it["description"].is_string());
    own.map(|it| cell(&it["description"])).unwrap_or_default()
}

/// Each kind, spelt as it is sent, with the comment above it.
fn meanings(source: &str) -> Vec<(String, String)> {
    let body = source.split("pub enum ApiEventKind {").nth(1).unwrap_or_default();
    let body = body.split("\n}").next().unwrap_or_default();
    let (mut found, mut comment) = (Vec::new(), String::new());
    for line in body.lines().map(str::trim) {
        match (line.strip_prefix("/// "), line.strip_suffix(',')) {
            (Some(words), _) => comment = format!("{comment} {words}").trim().to_owned(),
            (None, Some(name)) => found.push((kebab(name), std::mem::take(&mut comment))),
            (None, None) => {}
        }
    }
    found
}

fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    kebab
}

fn object(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let entries = value.as_object().into_iter().flat_map(Map::iter);
    entries.map(|(name, value)| (name.as_str(), value))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A text that fits a cell of a table.
fn cell(value: &Value) -> String {
    text(value).replace('\n', " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_event_has_the_comment_above_it() {
        let source = "/// Kinds.\npub enum ApiEventKind {\n    /// A switch\n    /// came\n    \
                      SwitchUp,\n    /// Gone\n    Gone,\n}\nenum Other { A, }";
        let expected = [("switch-up", "A switch came"), ("gone", "Gone")];
        assert_eq!(meanings(source), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn a_path_has_a_row_for_each_method() {
        let document = serde_json::json!({"paths": {"/a": {
            "get": {"tags": ["about"], "summary": "Say | it", "responses": {"200": {}, "404": {}},
                    "parameters": [{"in": "query", "name": "max"}, {"in": "path", "name": "x"}]},
            "put": {"tags": ["about"], "summary": "Set it", "responses": {"200": {}}},
        }}});
        let page = paths(&document);
        assert!(page.contains("| GET | `/a` | Say \\| it | `max` | 200, 404 |\n"), "{page}");
        assert!(page.contains("| PUT | `/a` | Set it |  | 200 |\n"), "{page}");
    }
}
