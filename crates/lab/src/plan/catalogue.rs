//! The plans that the program brings along, and the controllers of other projects that every plan
//! knows.

use super::{ControllerCommand, Plan};
use serde::Deserialize;
use std::path::Path;
use std::sync::LazyLock;

macro_rules! plans {
    ($($name:literal),* $(,)?) => {
        /// Name and text of each, in the papers' order.
        const PLANS: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../../experiments/", $name, ".toml")))),*
        ];
    };
}

plans![
    "maestro/figure-6",
    "maestro/figure-7",
    "maestro/figure-8",
    "maestro/figure-9",
    "maestro/figure-10",
    "maestro/figure-11",
    "maestro/figure-12",
    "maestro/figure-13",
    "maestro/figure-14",
    "maestro/figure-15",
    "maestro/figure-16",
    "maestro/table-1",
    "maestro/table-2",
    "maestro-scalable/figure-6",
    "maestro-scalable/figure-7",
    "maestro-scalable/figure-8",
    "maestro-scalable/figure-9",
    "maestro-scalable/figure-10",
    "maestro-scalable/figure-11",
    "maestro-scalable/figure-12",
    "beacon/figure-4a",
    "beacon/figure-4b",
    "beacon/figure-4c",
    "ours/default-set",
    "ours/presets",
    "ours/two-workers",
    "ours/writes",
    "ours/ten-thousand-switches",
    "ours/million-macs",
];

/// Where the plans stand in the repository: what an error in one of them names.
const FOLDER: &str = "experiments";

/// The file of controllers.
const CONTROLLERS: &str = include_str!("../../../../experiments/controllers.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Controllers {
    controller: Vec<ControllerCommand>,
}

static KNOWN: LazyLock<Vec<ControllerCommand>> = LazyLock::new(|| {
    let controllers: Controllers = toml::from_str(CONTROLLERS).expect("a test parses it");
    controllers.controller
});

/// Names of all plans, in the papers' order.
pub fn names() -> impl Iterator<Item = &'static str> {
    PLANS.iter().map(|(name, _)| *name)
}

/// The plan of this name, if there is one.
///
/// # Errors
/// What is wrong with it.
pub fn plan(name: &str) -> Option<Result<Plan, super::PlanError>> {
    let (name, text) = PLANS.iter().find(|(known, _)| *known == name)?;
    Some(Plan::parse(name, &format!("{FOLDER}/{name}.toml"), (*text).to_owned()))
}

/// The names of the controllers of other projects.
pub fn controllers() -> Vec<&'static str> {
    KNOWN.iter().map(|controller| controller.name.as_str()).collect()
}

/// The controller of another project that has this name.
pub(super) fn controller(name: &str) -> Option<ControllerCommand> {
    KNOWN.iter().find(|controller| controller.name == name).cloned()
}

/// What the results of a file are called: `maestro/figure-7` for
/// `experiments/maestro/figure-7.toml`, and the file's own name elsewhere.
pub(super) fn name_of(path: &Path) -> String {
    let word = |part: Option<&std::ffi::OsStr>| {
        let letters = part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let word: String =
            letters.chars().map(|letter| if plain(letter) { letter } else { '-' }).collect();
        word.trim_start_matches('.').to_owned()
    };
    let (file, folder) = (word(path.file_stem()), word(path.parent().and_then(Path::file_name)));
    let known = names().any(|name| name.split('/').next() == Some(folder.as_str()));
    match (known, file.is_empty()) {
        (true, false) => format!("{folder}/{file}"),
        (false, false) => file,
        (_, true) => "plan".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_of_other_projects_are_read_and_make_sense() {
        assert_eq!(controllers(), ["ovs-testcontroller", "os-ken"]);
        for controller in KNOWN.iter() {
            assert_eq!(controller.check(), Ok(()));
        }
    }

    #[test]
    fn a_file_is_named_after_its_paper() {
        for (path, name) in [
            ("experiments/maestro/figure-7.toml", "maestro/figure-7"),
            ("/tmp/mine.toml", "mine"),
            ("mine", "mine"),
            ("a b/c d.toml", "c-d"),
            (".hidden", "hidden"),
        ] {
            assert_eq!(name_of(Path::new(path)), name);
        }
    }
}
