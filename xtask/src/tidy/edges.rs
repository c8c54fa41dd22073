//! Which crate may depend on which: edges point inward only, and the innermost ring cannot name the
//! world.

use super::SourceTree;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Every crate with the crates of this workspace it may use outside its tests. No other edge is
/// allowed.
const EDGES: &[(&str, &[&str])] = &[
    ("aldis-wire", &[]),
    ("aldis-packet", &[]),
    ("aldis-control", &["aldis-wire"]),
    ("aldis-apps", &["aldis-control", "aldis-packet", "aldis-wire"]),
    ("aldis-engine", &["aldis-wire", "aldis-control", "aldis-recording"]),
    ("aldis-emulator", &["aldis-wire", "aldis-packet"]),
    ("aldis-plain", &[]),
    ("aldis-doctor", &[]),
    ("aldis-guest", &["aldis-apps", "aldis-control", "aldis-wire"]),
    ("aldis-http", &["aldis-apps", "aldis-control", "aldis-guest", "aldis-plain", "aldis-wire"]),
    ("aldis-recording", &[]),
    ("aldis-records", &["aldis-control", "aldis-wire"]),
    ("aldis-sandbox", &["aldis-control", "aldis-plain", "aldis-records", "aldis-wire"]),
    ("aldis-store", &[]),
    // Starts the command and a network of switches. Crates use it in their tests alone, so that
    // its edges lead back to none of them.
    ("aldis-testkit", &["aldis-emulator", "aldis-wire"]),
    (
        "aldis-lab",
        &[
            "aldis-wire",
            "aldis-packet",
            "aldis-control",
            "aldis-apps",
            "aldis-engine",
            "aldis-emulator",
        ],
    ),
    (
        "aldis",
        &[
            "aldis-wire",
            "aldis-packet",
            "aldis-control",
            "aldis-apps",
            "aldis-doctor",
            "aldis-engine",
            "aldis-guest",
            "aldis-http",
            "aldis-plain",
            "aldis-recording",
            "aldis-sandbox",
            "aldis-store",
        ],
    ),
    (
        "aldis-cli",
        &[
            "aldis",
            "aldis-wire",
            "aldis-packet",
            "aldis-control",
            "aldis-apps",
            "aldis-doctor",
            "aldis-engine",
            "aldis-emulator",
            "aldis-guest",
            "aldis-http",
            "aldis-sandbox",
            "aldis-lab",
            "aldis-plain",
            "aldis-recording",
            "aldis-store",
        ],
    ),
    ("xtask", &[]),
];

/// The innermost ring: no clock, no socket, no thread.
const PURE: &[&str] = &["wire", "packet", "control"];

const LICENCE: &str = "Apache-2.0";

/// Where every dependency is explained.
const TABLE: &str = "docs/dependencies.md";

/// Crates of the innermost ring that could name the world.
pub(super) fn pure_crates(tree: &SourceTree) -> Vec<String> {
    let paths = PURE.iter().map(|name| format!("crates/{name}/src/lib.rs"));
    let impure = paths.filter(|path| {
        !tree.file(path).is_some_and(|lib| lib.text.lines().any(|line| line == "#![no_std]"))
    });
    impure.map(|path| format!("{path} must say #![no_std]")).collect()
}

/// Manifests that forget the workspace's lints.
pub(super) fn lints(tree: &SourceTree) -> Vec<String> {
    let manifests =
        tree.ending(&["Cargo.toml"]).filter(|manifest| !manifest.path.starts_with("fuzz/"));
    let without = manifests.filter(|manifest| !manifest.text.contains("[lints]\nworkspace = true"));
    without
        .map(|manifest| format!("{} must inherit [lints] from the workspace", manifest.path))
        .collect()
}

/// What is wrong with the graph that cargo sees.
pub(super) fn graph(root: &Path, tree: &SourceTree) -> Vec<String> {
    let args = ["metadata", "--format-version", "1", "--no-deps", "--locked"];
    let output = match crate::suites::cargo(root).args(args).output() {
        Ok(output) => output,
        Err(error) => return vec![format!("cannot start cargo: {error}")],
    };
    match serde_json::from_slice(&output.stdout) {
        Ok(metadata) => {
            let table = tree.file(TABLE).map_or("", |table| table.text.as_str());
            judge(&metadata).into_iter().chain(unexplained(&metadata, table)).collect()
        }
        Err(_) => vec![String::from_utf8_lossy(&output.stderr).into_owned()],
    }
}

fn judge(metadata: &Value) -> Vec<String> {
    list(&metadata["packages"]).iter().flat_map(judge_package).collect()
}

fn judge_package(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some((_, allowed)) = EDGES.iter().find(|(from, _)| *from == name) else {
        return vec![format!("{name} has no row in the table of edges")];
    };
    let used = uses(package).filter(|to| !allowed.contains(to));
    let mut wrong: Vec<String> = used.map(|to| format!("{name} must not depend on {to}")).collect();
    if package["license"] != LICENCE {
        wrong.push(format!("{name} must be licensed {LICENCE}"));
    }
    wrong
}

/// The crates of this workspace that a package uses outside its tests.
fn uses(package: &Value) -> impl Iterator<Item = &str> {
    let ours = list(&package["dependencies"]).iter();
    let ours =
        ours.filter(|dependency| dependency["path"].is_string() && dependency["kind"] != "dev");
    ours.filter_map(|dependency| dependency["name"].as_str())
}

/// Crates of strangers, in tests too, that have no row in the table of dependencies.
fn unexplained(metadata: &Value, table: &str) -> Vec<String> {
    let all = list(&metadata["packages"]).iter().flat_map(|package| list(&package["dependencies"]));
    let foreign = all.filter(|dependency| !dependency["path"].is_string());
    let names: BTreeSet<&str> =
        foreign.filter_map(|dependency| dependency["name"].as_str()).collect();
    let silent = names.into_iter().filter(|name| !table.contains(&format!("\n| `{name}` |")));
    silent.map(|name| format!("{TABLE} has no row that says what {name} is for")).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, dependencies: &Value) -> Value {
        json!({ "packages": [{ "name": name, "license": LICENCE, "dependencies": dependencies }] })
    }

    fn edge(to: &str, kind: &Value) -> Value {
        json!({ "name": to, "path": format!("crates/{to}"), "kind": kind })
    }

    #[test]
    fn an_edge_that_points_outward_is_found() {
        let outward = package("aldis-wire", &json!([edge("aldis-engine", &Value::Null)]));
        assert_eq!(judge(&outward), ["aldis-wire must not depend on aldis-engine"]);
        let inward = package("aldis-engine", &json!([edge("aldis-wire", &Value::Null)]));
        assert!(judge(&inward).is_empty());
    }

    #[test]
    fn build_scripts_count_and_tests_do_not() {
        let build = package("aldis-wire", &json!([edge("aldis-packet", &json!("build"))]));
        assert_eq!(judge(&build).len(), 1);
        let test = package("aldis-wire", &json!([edge("aldis-packet", &json!("dev"))]));
        assert!(judge(&test).is_empty());
    }

    #[test]
    fn a_crate_without_a_row_or_with_another_licence_is_found() {
        assert_eq!(judge(&package("aldis-attic", &json!([]))).len(), 1);
        let metadata =
            json!({ "packages": [{ "name": "aldis", "license": null, "dependencies": [] }] });
        assert_eq!(judge(&metadata), ["aldis must be licensed Apache-2.0"]);
    }

    #[test]
    fn a_dependency_that_nobody_explained_is_found() {
        let metadata = package("aldis", &json!([{ "name": "left-pad", "kind": "dev" }]));
        assert_eq!(unexplained(&metadata, "\n| `right-pad` |").len(), 1);
        assert!(unexplained(&metadata, "\n| `left-pad` |").is_empty());
    }

    #[test]
    fn an_impure_crate_is_found() {
        let lib = |name: &str| format!("crates/{name}/src/lib.rs");
        let pure = "//! Bytes.\n\n#![no_std]\n";
        let tree = SourceTree::of(&[
            (&lib("wire"), pure),
            (&lib("packet"), pure),
            (&lib("control"), "use std;\n"),
        ]);
        assert_eq!(pure_crates(&tree), ["crates/control/src/lib.rs must say #![no_std]"]);
    }

    #[test]
    fn a_manifest_without_lints_is_found() {
        let tree =
            SourceTree::of(&[("a/Cargo.toml", "[package]\n"), ("fuzz/Cargo.toml", "[package]\n")]);
        assert_eq!(lints(&tree), ["a/Cargo.toml must inherit [lints] from the workspace"]);
    }
}
