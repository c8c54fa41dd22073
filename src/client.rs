//! The commands that ask a running controller over HTTP: tables for people, and `--json` for
//! scripts.
//!
//! One subcommand a file, each with its arguments (`Args`) and `run`. What they read is what
//! `docs/http.md` describes; nothing here knows more of a controller than any script can.

pub(crate) mod acl;
pub(crate) mod app;
pub(crate) mod apps;
mod connection;
mod each;
pub(crate) mod events;
pub(crate) mod flows;
pub(crate) mod groups;
pub(crate) mod guest;
pub(crate) mod health;
pub(crate) mod hosts;
pub(crate) mod links;
pub(crate) mod meters;
pub(crate) mod metrics;
pub(crate) mod paths;
pub(crate) mod ports;
pub(crate) mod queues;
pub(crate) mod record;
pub(crate) mod reload;
pub(crate) mod static_flows;
pub(crate) mod stats;
pub(crate) mod switches;
mod table;
mod text;
pub(crate) mod top;
pub(crate) mod trace;
pub(crate) mod weights;

use std::fmt::Display;
use std::process::ExitCode;

use aldis_http::api::Page;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use connection::Base;
use table::TextTable;

/// Which controller is asked, and how the answer is printed.
#[derive(clap::Args)]
pub(crate) struct ClientArgs {
    #[command(flatten)]
    http: Base,
    /// Print what the controller says as JSON
    #[arg(long)]
    json: bool,
}

impl ClientArgs {
    /// Asks for something, and prints it as JSON or as this table.
    ///
    /// # Errors
    /// One sentence: no answer, a problem, or something else than was asked for.
    fn show<T: DeserializeOwned>(
        &self,
        path: &str,
        table: impl FnOnce(&T) -> TextTable,
    ) -> Result<ExitCode, String> {
        let answer = self.http.get(path)?;
        self.print(&answer, table)
    }

    /// A list, with a last line that says how long it is.
    fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        what: (&str, &str),
        columns: &[&str],
        row: impl Fn(&T) -> Vec<String>,
    ) -> Result<ExitCode, String> {
        self.show(path, |page: &Page<T>| listed(page, what, columns, row))
    }

    fn print<T: DeserializeOwned, S: Display>(
        &self,
        answer: &str,
        table: impl FnOnce(&T) -> S,
    ) -> Result<ExitCode, String> {
        if self.json {
            println!("{:#}", self.read::<Value>(answer)?);
        } else {
            print!("{}", table(&self.read(answer)?));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn read<T: DeserializeOwned>(&self, answer: &str) -> Result<T, String> {
        serde_json::from_str(answer).map_err(|error| self.misread(&error))
    }

    fn misread(&self, error: &serde_json::Error) -> String {
        format!("{} answered something else: {error}", self.http)
    }
}

/// A row for each item of a list, with a last line that says how long it is.
fn listed<T>(
    page: &Page<T>,
    (one, many): (&str, &str),
    columns: &[&str],
    row: impl Fn(&T) -> Vec<String>,
) -> TextTable {
    let count = format!("{} {}", page.total, if page.total == 1 { one } else { many });
    TextTable::new(columns, page.items.iter().map(row).collect()).ending(count)
}

/// A part of a query, where there is a value: `key=value`, with everything escaped that means
/// something there.
fn query(parts: &[(&str, Option<&str>)]) -> String {
    let parts = parts.iter().filter_map(|(key, value)| Some((key, (*value)?)));
    let parts: Vec<_> = parts.map(|(key, value)| format!("{key}={}", escape(value))).collect();
    if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&")) }
}

/// Everything but letters, digits and `-._~` as `%XX` (RFC 3986 §2.3).
fn escape(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_cannot_be_broken_out_of() {
        assert_eq!(query(&[("a", None), ("b", None)]), "");
        let query = query(&[("dpid", Some("00:01")), ("x", None), ("after", Some("a&b=c d\r\n%"))]);
        assert_eq!(query, "?dpid=00%3A01&after=a%26b%3Dc%20d%0D%0A%25");
    }
}
