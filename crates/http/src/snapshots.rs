//! The lists of the network as REST gives them, whole and in their order, for applications in their
//! sandbox.
//!
//! A worker waits for them in the middle of a batch. So what would be too long is refused before it
//! is made.

use std::collections::BTreeMap;
use std::io::{self, Write};

use aldis_apps::hosts::Hosts;
use aldis_apps::monitor::Statistics;
use aldis_apps::topology::Map;
use aldis_control::switch::Seen;
use aldis_control::{Time, World};
use aldis_wire::DatapathId;
use serde::Serialize;

use crate::api::Page;
use crate::api::hosts::Host;
use crate::api::links::Link;
use crate::api::port_statistics::sampled;
use crate::api::ports::Port;
use crate::api::switches::Switch;
use crate::timestamp::Calendar;

/// Bytes that any item of a list has at least.
const ITEM_LEAST: usize = 128;

/// Makes documents of at most so many bytes.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotWriter {
    calendar: Calendar,
    bytes_max: usize,
}

impl SnapshotWriter {
    /// It is `now` on the controller's clock.
    pub fn new(now: Time, bytes_max: usize) -> SnapshotWriter {
        SnapshotWriter { calendar: Calendar::new(now), bytes_max }
    }

    /// The switches that are connected, which stand in the order of their datapath ids, with the
    /// names that people gave them.
    ///
    /// # Errors
    /// One sentence: it is too long.
    pub fn switches(
        &self,
        seen: &[Seen],
        names: &BTreeMap<DatapathId, String>,
    ) -> Result<Vec<u8>, String> {
        let switches = seen.iter().map(|seen| Switch::new(&self.calendar, names, seen));
        self.written("switches", seen.len(), switches)
    }

    /// Their ports.
    ///
    /// # Errors
    /// One sentence: it is too long.
    pub fn ports(&self, seen: &[Seen]) -> Result<Vec<u8>, String> {
        let count = seen.iter().map(|seen| seen.ports().len()).sum();
        let of = |seen: &'_ Seen| {
            seen.ports().iter().map(|port| Port::counted(seen, port)).collect::<Vec<_>>()
        };
        self.written("ports", count, seen.iter().flat_map(of))
    }

    /// The hosts that were seen, by address and VLAN.
    ///
    /// # Errors
    /// One sentence: no application looks for hosts, or it is too long.
    pub fn hosts(&self, world: &World) -> Result<Vec<u8>, String> {
        let hosts = world.part::<Hosts>().ok_or_else(|| not_published("hosts"))?;
        self.check("hosts", hosts.len())?;
        let mut hosts: Vec<_> = hosts.iter().collect();
        hosts.sort_unstable_by_key(|host| (host.mac().to_u64(), host.id().vlan));
        let items = hosts.iter().map(|host| Host::new(&self.calendar, host));
        self.written("hosts", hosts.len(), items)
    }

    /// The links between switches, by their lower ends.
    ///
    /// # Errors
    /// One sentence: no application looks for links, or it is too long.
    pub fn links(&self, world: &World) -> Result<Vec<u8>, String> {
        let map = world.part::<Map>().ok_or_else(|| not_published("links"))?;
        let most = self.bytes_max / ITEM_LEAST;
        let mut links: Vec<_> = map.links().take(most + 1).collect();
        self.check("links", links.len())?;
        links.sort_unstable_by_key(|link| link.ends);
        let items = links.iter().map(|link| Link::new(&self.calendar, link));
        self.written("links", links.len(), items)
    }

    /// What the ports carried when their switches were last asked.
    ///
    /// # Errors
    /// One sentence: no application asks the switches, or it is too long.
    pub fn port_statistics(&self, world: &World) -> Result<Vec<u8>, String> {
        let what = "port statistics";
        let statistics = world.part::<Statistics>().ok_or_else(|| not_published(what))?;
        let rows = sampled(statistics, self.bytes_max / ITEM_LEAST + 1);
        self.written(what, rows.len(), rows.iter().map(|row| row.show(&self.calendar)))
    }

    fn check(&self, what: &str, count: usize) -> Result<(), String> {
        match count <= self.bytes_max / ITEM_LEAST {
            true => Ok(()),
            false => Err(self.too_long(what)),
        }
    }

    fn too_long(&self, what: &str) -> String {
        format!("there are more {what} than fit {} bytes", self.bytes_max)
    }

    fn written<T: Serialize>(
        &self,
        what: &str,
        count: usize,
        items: impl Iterator<Item = T>,
    ) -> Result<Vec<u8>, String> {
        self.check(what, count)?;
        let mut document = BoundedDocument { bytes: Vec::new(), max: self.bytes_max };
        let written = serde_json::to_writer(&mut document, &Page::whole(items));
        written.map(|()| document.bytes).map_err(|_| self.too_long(what))
    }
}

fn not_published(what: &str) -> String {
    format!("no application looks for {what} here")
}

/// A document that refuses what is too long.
struct BoundedDocument {
    bytes: Vec<u8>,
    max: usize,
}

impl Write for BoundedDocument {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + more.len() > self.max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_written_whole_or_refused_before_it_is_made() {
        let short = SnapshotWriter::new(Time::START, 1024);
        let list =
            |count: usize| short.written("things", count, (0..count).map(|_| "x".repeat(130)));
        let whole: serde_json::Value = serde_json::from_slice(&list(7).unwrap()).unwrap();
        assert_eq!(
            (whole["total"].as_u64(), whole["items"].as_array().unwrap().len()),
            (Some(7), 7)
        );
        assert_eq!(list(8), Err("there are more things than fit 1024 bytes".to_owned()));
        // None of them is asked for.
        let never = (0..9).map(|_| -> u8 { panic!("it is made") });
        assert!(short.written("things", 9, never).is_err());
        assert!(
            short.hosts(&World::default()).unwrap_err().contains("no application looks for hosts")
        );
        assert!(short.links(&World::default()).unwrap_err().contains("for links"));
        assert!(short.port_statistics(&World::default()).unwrap_err().contains("port statistics"));
        assert_eq!(short.ports(&[]), Ok(br#"{"items":[],"total":0}"#.to_vec()));
        assert_eq!(short.switches(&[], &BTreeMap::new()), short.ports(&[]));
    }
}
