//! `meta.toml`: what ran, where, and whether it ended.

use serde::{Deserialize, Serialize};

use super::LineFault;
use crate::calibrate::MachineInfo;

/// What ran, where, and whether it ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Meta {
    /// The plan's name: `maestro/figure-7`.
    pub plan: String,
    /// What it reproduces, in the paper's words: `Maestro, figure 7`.
    pub source: String,
    /// What the figure shows.
    pub title: String,
    /// How thoroughly.
    pub form: RunForm,
    /// The version of Aldis.
    pub aldis: String,
    /// The commit of the repository that the program lay in when it ran, with `-dirty` where files
    /// differed from it; `unknown` where it lay in none. A program that was built from an older
    /// commit does not say so.
    pub commit: String,
    /// The command that ran it.
    pub command: String,
    /// The seed of everything random in it: below 2⁶³, which is what TOML can say.
    pub seed: i64,
    /// The day, UTC: `2026-11-21`.
    pub date: String,
    /// Not everything is here that the plan asked for.
    pub partial: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What a reader has to know, a sentence each: what was simulated, which controller was
    /// missing.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Where it ran.
    pub machine: MachineInfo,
}

/// How thoroughly a plan ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunForm {
    /// At most a minute.
    Quick,
    /// Every point, repeated.
    Full,
    /// As long as the paper measured.
    Long,
}

impl RunForm {
    /// All of them, the shortest first.
    pub const ALL: [RunForm; 3] = [RunForm::Quick, RunForm::Full, RunForm::Long];

    /// `quick`, `full` or `long`.
    pub fn name(self) -> &'static str {
        match self {
            RunForm::Quick => "quick",
            RunForm::Full => "full",
            RunForm::Long => "long",
        }
    }
}

impl Meta {
    /// The file's text.
    pub(super) fn text(&self) -> String {
        toml::to_string(self).expect("words, numbers and one table, which is last")
    }

    pub(super) fn parse(text: &str) -> Result<Meta, LineFault> {
        toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            LineFault { line, why: error.message().lines().collect::<Vec<_>>().join("; ") }
        })
    }
}
