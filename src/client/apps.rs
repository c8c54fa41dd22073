//! `aldis apps --http`: the applications of a running controller.

use std::process::ExitCode;

use aldis_http::api::apps::Apps;

use super::table::printable;
use super::{Base, ClientArgs};

/// Prints what runs there, in these words.
///
/// # Errors
/// One sentence.
pub(crate) fn run(
    http: Base,
    json: bool,
    in_words: impl FnOnce(&Apps) -> String,
) -> Result<ExitCode, String> {
    let ask = ClientArgs { http, json };
    let answer = ask.http.get("/api/v1/apps")?;
    ask.print(&answer, |apps| {
        in_words(apps).lines().map(|line| printable(line) + "\n").collect::<String>()
    })
}
