//! The resources, one a file: what they look like as JSON, and how they are asked for. Programs of ours that ask read the
//! same types.

pub mod apps;
pub(crate) mod ask;
pub mod events;
mod flow;
pub mod flows;
pub mod health;
pub mod hosts;
pub mod inventory;
pub mod links;
mod page;
pub mod ports;
pub mod statistics;
pub mod switches;
pub mod version;
pub mod weights;

pub use page::Page;

use crate::problem::Problem;

/// No application publishes what is asked for.
pub(crate) fn not_published(what: &str) -> Problem {
    let detail = format!(
        "no application looks for {what} here; /api/v1/apps says which run, and \"aldis apps\" which there are"
    );
    Problem::missing("not-published", detail)
}

fn bad_cursor(text: &str) -> Problem {
    let detail = format!("cursor: {text:?} is none; give the \"next\" of the page before");
    Problem::bad("bad-query", detail)
}
