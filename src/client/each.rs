//! Lists that switches have: of one of them, or of all that are connected, each asked by itself.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use aldis_http::api::Page;
use aldis_wire::DatapathId;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::table::{Fit, TextTable};
use super::{ClientArgs, escape};
use crate::failure::EXIT_PARTIAL;
use crate::help::terminal_width;

/// Switches that are asked at once: more would only wait for each other in the controller, which
/// serves people with one thread.
const AT_ONCE: usize = 8;

/// A list that each switch has.
pub(super) struct SwitchList<'a> {
    /// Where it is below the switch, with its query.
    pub(super) path: &'a str,
    /// One item, and several.
    pub(super) names: (&'a str, &'a str),
    /// What is said of each item.
    pub(super) columns: &'a [&'a str],
    /// The columns whose cells may be broken where the terminal is narrow; where there are none,
    /// the table is as wide as it is.
    pub(super) breakable: &'a [&'a str],
    /// Whether a datapath id is shortened, where the switches are several.
    pub(super) short: bool,
    /// Whether OpenFlow 1.0 has none: among all, switches that speak it are not asked.
    pub(super) new: bool,
}

/// What has to be known of a switch to ask it.
#[derive(Deserialize)]
struct ListedSwitch {
    dpid: String,
    version: String,
}

impl ClientArgs {
    /// The list of this switch; or of all, with the switch of each item, and a sentence for each
    /// switch that does not tell.
    ///
    /// # Errors
    /// One sentence: no answer, or no switch tells, all for the same reason.
    pub(super) fn of_switches<T: DeserializeOwned>(
        &self,
        dpid: Option<&str>,
        list: &SwitchList<'_>,
        row: impl Fn(&T) -> Vec<String>,
    ) -> Result<ExitCode, String> {
        match dpid {
            Some(dpid) => self.show(&place(dpid, list), |page: &Page<T>| {
                let rows = page.items.iter().map(row).collect();
                let table = TextTable::new(list.columns, rows).ending(counted(page.total, list));
                table.fitting(list.fit(list.columns))
            }),
            None => self.of_all(list, row),
        }
    }

    fn of_all<T: DeserializeOwned>(
        &self,
        list: &SwitchList<'_>,
        row: impl Fn(&T) -> Vec<String>,
    ) -> Result<ExitCode, String> {
        let switches: Page<ListedSwitch> = self.read(&self.http.get("/api/v1/switches")?)?;
        let switches =
            switches.items.into_iter().filter(|known| !list.new || known.version != "1.0");
        let dpids: Vec<String> = switches.map(|known| known.dpid).collect();
        let (mut items, mut refusals, mut told) = (vec![], vec![], 0);
        for (dpid, answer) in dpids.iter().zip(self.each(&dpids, list)) {
            match answer {
                Ok(answer) => {
                    told += 1;
                    let page: Page<Value> = self.read(&answer)?;
                    items.extend(page.items.into_iter().map(|item| (dpid, item)));
                }
                Err(sentence) if !refusals.contains(&sentence) => refusals.push(sentence),
                Err(_) => {}
            }
        }
        if let (0, [sentence]) = (told, &refusals[..]) {
            return Err(sentence.clone());
        }
        if self.json {
            let total = items.len();
            let items: Vec<Value> =
                items.into_iter().map(|(dpid, item)| with(dpid, item)).collect();
            println!("{:#}", json!({"items": items, "total": total}));
        } else {
            print!("{}", self.table(list, &items, row)?);
        }
        refusals.iter().for_each(|sentence| eprintln!("aldis: {sentence}"));
        Ok(if refusals.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_PARTIAL) })
    }

    /// What each of them answers, in their order.
    fn each(&self, dpids: &[String], list: &SwitchList<'_>) -> Vec<Result<String, String>> {
        let (next, (tell, told)) = (AtomicUsize::new(0), mpsc::channel());
        thread::scope(|scope| {
            for _ in 0..AT_ONCE.min(dpids.len()) {
                let (next, tell) = (&next, tell.clone());
                scope.spawn(move || {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(dpid) = dpids.get(at) else { break };
                        // The receiver listens until all have told.
                        let _ = tell.send((at, self.http.get(&place(dpid, list))));
                    }
                });
            }
        });
        drop(tell);
        let mut answers: Vec<_> = told.iter().collect();
        answers.sort_by_key(|(at, _)| *at);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    fn table<T: DeserializeOwned>(
        &self,
        list: &SwitchList<'_>,
        items: &[(&String, Value)],
        row: impl Fn(&T) -> Vec<String>,
    ) -> Result<TextTable, String> {
        let row = |(dpid, item): &(&String, Value)| {
            let item = T::deserialize(item).map_err(|error| self.misread(&error))?;
            let dpid = if list.short { short(dpid) } else { (*dpid).clone() };
            Ok([vec![dpid], row(&item)].concat())
        };
        let rows = items.iter().map(row).collect::<Result<Vec<_>, String>>()?;
        let columns = [&[if list.short { "switch" } else { "dpid" }], list.columns].concat();
        let table = TextTable::new(&columns, rows).ending(counted(items.len(), list));
        Ok(table.fitting(list.fit(&columns)))
    }
}

impl SwitchList<'_> {
    /// How the table fits the terminal; nothing where there is none, or no column to be broken. A
    /// program that reads it has a line for each item.
    fn fit(&self, columns: &[&str]) -> Option<Fit> {
        let is_breakable = |name: &&str| self.breakable.contains(name);
        let places = columns.iter().enumerate().filter(|(_, name)| is_breakable(name));
        let columns: Vec<usize> = places.map(|(place, _)| place).collect();
        let width = terminal_width().filter(|_| !columns.is_empty())?;
        Some(Fit { width, columns })
    }
}

/// How many there are, in words.
fn counted(total: usize, list: &SwitchList<'_>) -> String {
    let (one, many) = list.names;
    format!("{total} {}", if total == 1 { one } else { many })
}

/// A datapath id as it can be typed, without the zeros before it.
fn short(dpid: &str) -> String {
    dpid.parse::<DatapathId>().map_or_else(|_| dpid.to_owned(), |DatapathId(id)| format!("{id:#x}"))
}

fn place(dpid: &str, list: &SwitchList<'_>) -> String {
    format!("/api/v1/switches/{}/{}", escape(dpid), list.path)
}

/// An item, with the switch that has it.
fn with(dpid: &str, mut item: Value) -> Value {
    if let Some(item) = item.as_object_mut() {
        item.insert("dpid".into(), dpid.into());
    }
    item
}
