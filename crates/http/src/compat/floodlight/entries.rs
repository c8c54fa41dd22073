//! The static entries: by name, sent when they are pushed and again when their switch joins.
//!
//! They are sent as any flow is: confirmed by the switch, whose error is the answer where it
//! refuses. What is answered is kept as everything is that people set: on disk where there is a
//! store, and found again after a restart. One that replaces another of its name removes what that
//! left on its switch, once it is there itself. What is removed while its switch is away is owed:
//! it is kept aside, on disk too, until the switch joins and is rid of it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aldis_wire::msg::{FlowMod, FlowModCommand, Message, PortNo};
use aldis_wire::{DatapathId, Version};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::entry::{PusherEntry, name};
use super::words::{self, does, matching, quoted};
use crate::api::events::ApiEventKind;
use crate::api::set;
use crate::compat::ryu::body::{DictBody, PathParts};
use crate::compat::ryu::switch_request::AskedSwitch;
use crate::desired::{ConfigStore, SetError};
use crate::extract::Dpid;
use crate::limits::{ENTRIES_MAX, EVENTS_AT_ONCE};
use crate::origin;
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// All of them, by name.
#[derive(Debug, Default)]
pub(crate) struct EntriesByName {
    all: Mutex<BTreeMap<String, Arc<PusherEntry>>>,
    /// Those that are no more, and may be on switches that were away when they went; by the name
    /// under which they are kept.
    owed: Mutex<BTreeMap<String, Arc<PusherEntry>>>,
    /// Held while entries change, over the disk too: here and there the same change is the last.
    changing: Mutex<()>,
}

impl EntriesByName {
    /// Those that are kept, each of which makes sense ([`check`]).
    pub(crate) fn found(kept: BTreeMap<String, Value>) -> EntriesByName {
        let (mut all, mut owed) = (BTreeMap::new(), BTreeMap::new());
        for (name, value) in kept {
            let (shelf, value) = match value.get(GONE) {
                Some(gone) => (&mut owed, gone.clone()),
                None => (&mut all, value),
            };
            if let Some(Ok(entry)) = object(value).map(|value| PusherEntry::read(DictBody(value))) {
                shelf.insert(name, Arc::new(entry));
            }
        }
        EntriesByName { all: Mutex::new(all), owed: Mutex::new(owed), changing: Mutex::default() }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Arc<PusherEntry>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owed(&self) -> MutexGuard<'_, BTreeMap<String, Arc<PusherEntry>>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change, on disk first; waits for that.
    fn make(&self, store: &dyn ConfigStore, change: EntryChanges) -> Result<(), SetError> {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = change.kept;
        if kept.as_ref().is_some_and(|entry| self.is_full(&entry.name)) {
            return Err(SetError::Disk(too_many()));
        }
        let gone: Vec<_> = change.gone.into_iter().map(|entry| (key(&entry), entry)).collect();
        if self.owed().len() + gone.len() > ENTRIES_MAX {
            let what = "entries are to be removed from switches that are away";
            return Err(SetError::Disk(format!("{ENTRIES_MAX} {what}, and no more")));
        }
        let forgotten = change.forgotten.iter().chain(&change.settled);
        let mut changes: Vec<_> = forgotten.map(|name| (name.clone(), None)).collect();
        changes.extend(
            gone.iter().map(|(key, entry)| (key.clone(), Some(json!({ GONE: entry.written() })))),
        );
        changes.extend(kept.iter().map(|entry| (entry.name.clone(), Some(entry.written()))));
        store.change_floodlight_entries(changes)?;
        let (mut all, mut owed) = (self.all(), self.owed());
        change.forgotten.iter().for_each(|name| drop(all.remove(name)));
        change.settled.iter().for_each(|key| drop(owed.remove(key)));
        all.extend(kept.map(|entry| (entry.name.clone(), entry)));
        owed.extend(gone);
        Ok(())
    }

    /// Whether there is no room for one of this name.
    fn is_full(&self, name: &str) -> bool {
        let all = self.all();
        all.len() >= ENTRIES_MAX && !all.contains_key(name)
    }

    /// What a switch is to be rid of, or all of them.
    fn owed_by(&self, switch: Option<DatapathId>) -> Vec<(String, Arc<PusherEntry>)> {
        let owed = self.owed();
        let those = owed.iter().filter(|(_, entry)| switch.is_none_or(|dpid| entry.switch == dpid));
        those.map(|(key, entry)| (key.clone(), Arc::clone(entry))).collect()
    }

    /// Those of a switch, or all.
    fn of(&self, switch: Option<DatapathId>) -> Vec<Arc<PusherEntry>> {
        let all = self.all();
        let those = all.values().filter(|entry| switch.is_none_or(|dpid| entry.switch == dpid));
        those.cloned().collect()
    }
}

/// The one field of what is kept of an entry that is no more.
const GONE: &str = "gone";

/// The name under which it is kept.
fn key(gone: &PusherEntry) -> String {
    let mut hash = DefaultHasher::new();
    gone.written().to_string().hash(&mut hash);
    format!("gone from {}: {:016x}", gone.switch, hash.finish())
}

/// What becomes of entries, all or nothing.
#[derive(Default)]
struct EntryChanges {
    kept: Option<Arc<PusherEntry>>,
    /// Names.
    forgotten: Vec<String>,
    /// Switches that are away are to be rid of them.
    gone: Vec<Arc<PusherEntry>>,
    /// Switches are rid of them: the names under which they were kept.
    settled: Vec<String>,
}

fn too_many() -> String {
    format!("{ENTRIES_MAX} entries are kept, and no more")
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// Whether what is kept under this name is an entry.
///
/// # Errors
/// One sentence.
pub fn check(name: &str, value: &Value) -> Result<(), String> {
    let is_gone = value.get(GONE);
    let body = object(is_gone.unwrap_or(value).clone()).ok_or("no object of fields")?;
    let entry = PusherEntry::read(DictBody(body)).map_err(|problem| problem.detail)?;
    if is_gone.is_some() || entry.name == name {
        Ok(())
    } else {
        Err(format!("it has the name {:?}", entry.name))
    }
}

/// As Floodlight answers where it did something.
pub(super) fn status(words: impl Into<String>) -> Json<Value> {
    Json(json!({ "status": words.into() }))
}

/// And where not: it says 200 then, too, and only the words tell. Here the status does.
pub(super) fn refused(exclaimed: &str, problem: Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    (status, Json(json!({ "status": format!("{exclaimed} {}", problem.detail) }))).into_response()
}

type EntryResponse = Result<Json<Value>, Response>;

pub(super) fn not_done(problem: Problem) -> Response {
    refused("Error!", problem)
}

pub(super) async fn push(State(shared): Ctx, body: Result<DictBody, Problem>) -> EntryResponse {
    put(&shared, body).await.map_err(not_done)?;
    Ok(status("Entry pushed"))
}

async fn put(shared: &Shared, body: Result<DictBody, Problem>) -> Result<(), Problem> {
    let entry = Arc::new(PusherEntry::read(body?)?);
    if shared.entries.is_full(&entry.name) {
        return Err(Problem::new(StatusCode::INSUFFICIENT_STORAGE, "too-many", too_many()));
    }
    let before = shared.entries.all().get(&entry.name).cloned();
    let replaced = before.as_ref().filter(|before| !same(shared, before, &entry));
    // What it takes the place of is not to be removed any more.
    let owed = shared.entries.owed_by(Some(entry.switch));
    let settled: Vec<_> = owed.into_iter().filter(|(_, gone)| same(shared, gone, &entry)).collect();
    settled.iter().for_each(|(key, _)| drop(shared.entries.owed().remove(key)));
    let put = put_there(shared, &entry, before.as_ref(), replaced, &settled).await;
    if put.is_err() {
        shared.entries.owed().extend(settled);
    }
    put
}

/// Sent first, and kept once the switch took it; one whose switch is not there waits for it.
async fn put_there(
    shared: &Shared,
    entry: &Arc<PusherEntry>,
    before: Option<&Arc<PusherEntry>>,
    replaced: Option<&Arc<PusherEntry>>,
    settled: &[(String, Arc<PusherEntry>)],
) -> Result<(), Problem> {
    send(shared, entry).await?;
    let settled = settled.iter().map(|(key, _)| key.clone()).collect();
    let is_away = |before: &&Arc<PusherEntry>| connected(shared, before.switch).is_none();
    let gone = replaced.filter(is_away).cloned().into_iter().collect();
    let change =
        EntryChanges { kept: Some(Arc::clone(entry)), gone, settled, ..EntryChanges::default() };
    if let Err(why) = make(shared, change).await {
        // What is not kept does not stay on the switch either.
        let undone = match before {
            Some(before) if replaced.is_none() => send(shared, before).await,
            _ => take(shared, entry).await.map(drop),
        };
        return Err(undone.err().unwrap_or(why));
    }
    if let Some(before) = replaced
        && !take(shared, before).await?
    {
        // It left meanwhile, or was away; and may be back.
        make(shared, EntryChanges { gone: vec![Arc::clone(before)], ..EntryChanges::default() })
            .await?;
        rid(shared, Some(before.switch)).await;
    }
    Ok(())
}

async fn make(shared: &Shared, change: EntryChanges) -> Result<(), Problem> {
    let entries = Arc::clone(&shared.entries);
    set(shared, move |store| entries.make(store, change)).await
}

/// Whether one takes the place of the other on its switch by itself.
fn same(shared: &Shared, before: &PusherEntry, now: &PusherEntry) -> bool {
    let version = connected(shared, before.switch).map_or(Version::V13, |switch| switch.version);
    let place = |entry: &PusherEntry| {
        entry.flow(version).ok().map(|flow| (flow.table_id, flow.priority, flow.match_))
    };
    before.switch == now.switch && now.active && place(before) == place(now)
}

fn connected(shared: &Shared, dpid: DatapathId) -> Option<AskedSwitch> {
    AskedSwitch::find(shared, dpid).ok()
}

async fn send(shared: &Shared, entry: &PusherEntry) -> Result<(), Problem> {
    let switch = connected(shared, entry.switch).filter(|_| entry.active);
    let Some(switch) = switch else { return Ok(()) };
    switch.does(shared, Message::FlowMod(entry.flow(switch.version)?)).await
}

/// Takes away what an entry put on its switch, and not the flow of another entry in its place;
/// whether the switch is there, or nothing was put.
async fn take(shared: &Shared, entry: &PusherEntry) -> Result<bool, Problem> {
    let Some(switch) = connected(shared, entry.switch) else { return Ok(!entry.active) };
    let flow = entry.flow(switch.version)?;
    let cookie_mask = if switch.version == Version::V13 { u64::MAX } else { 0 };
    let gone = FlowMod {
        command: FlowModCommand::DELETE_STRICT,
        instructions: vec![],
        out_port: PortNo::ANY,
        cookie_mask,
        ..flow
    };
    switch.does(shared, Message::FlowMod(gone)).await.map(|()| true)
}

/// Rids a switch that is there, or all of them, of what is owed.
async fn rid(shared: &Shared, switch: Option<DatapathId>) {
    for (key, gone) in shared.entries.owed_by(switch) {
        let is_replaced = |now: &Arc<PusherEntry>| same(shared, &gone, now);
        let is_done = match shared.entries.of(Some(gone.switch)).iter().any(is_replaced) {
            true => Ok(true),
            false => take(shared, &gone).await,
        };
        let settled = match is_done {
            Ok(true) => {
                make(shared, EntryChanges { settled: vec![key], ..EntryChanges::default() }).await
            }
            Ok(false) => continue,
            Err(why) => Err(why),
        };
        if let Err(why) = settled {
            tell(shared, &gone, &why);
        }
    }
}

fn tell(shared: &Shared, entry: &PusherEntry, why: &Problem) {
    let text = format!("entry {:?}: {}", entry.name, why.detail);
    shared.events.note(text, &shared.date());
}

pub(super) async fn delete(State(shared): Ctx, body: Result<DictBody, Problem>) -> EntryResponse {
    let name = body.and_then(|body| name(&body)).map_err(not_done)?;
    let entry = shared.entries.all().get(&name).cloned();
    remove(&shared, entry.into_iter().collect()).await.map_err(not_done)?;
    Ok(status(format!("Entry {name} deleted")))
}

/// Takes entries from their switches, and keeps them no more. A client that does not get the answer
/// can ask for it again.
async fn remove(shared: &Shared, gone: Vec<Arc<PusherEntry>>) -> Result<(), Problem> {
    let forgotten = gone.iter().map(|entry| entry.name.clone()).collect();
    let mut away = vec![];
    for entry in gone {
        if !take(shared, &entry).await? {
            away.push(entry);
        }
    }
    let switches: BTreeSet<_> = away.iter().map(|entry| entry.switch).collect();
    make(shared, EntryChanges { forgotten, gone: away, ..EntryChanges::default() }).await?;
    // One may have come meanwhile.
    for switch in switches {
        rid(shared, Some(switch)).await;
    }
    Ok(())
}

/// The switch that a path names, or `all`.
fn which(at: &PathParts) -> Result<Option<DatapathId>, Problem> {
    let text = at.part("dpid").filter(|text| !text.eq_ignore_ascii_case("all"));
    text.map(|text| Dpid::read(text).map(|Dpid(dpid)| dpid)).transpose()
}

pub(super) async fn list(State(shared): Ctx, at: PathParts) -> Result<Json<Value>, Problem> {
    let only = which(&at)?;
    let mut shown: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    if let Some(dpid) = only {
        // As it was asked for.
        shown.insert(at.part("dpid").map_or_else(|| words::dpid(dpid), str::to_owned), vec![]);
    }
    for entry in shared.entries.of(only) {
        let key = shown.keys().next().filter(|_| only.is_some()).cloned();
        let key = key.unwrap_or_else(|| words::dpid(entry.switch));
        let version = connected(&shared, entry.switch).map_or(Version::V13, |one| one.version);
        if let Ok(flow) = entry.flow(version) {
            let one = Map::from_iter([(entry.name.clone(), show(&flow, version))]);
            shown.entry(key).or_default().push(Value::Object(one));
        }
    }
    Ok(Json(json!(shown)))
}

fn show(flow: &FlowMod, version: Version) -> Value {
    let mut shown = json!({
        "version": words::version(version),
        "command": "ADD",
        "cookie": flow.cookie,
        "priority": flow.priority,
        "idleTimeoutSec": flow.idle_timeout,
        "hardTimeoutSec": flow.hard_timeout,
        "outPort": "any",
        "match": matching(&flow.match_),
    });
    if version == Version::V13 {
        shown["flags"] = flow.flags.0.into();
        shown["cookieMask"] = flow.cookie_mask.into();
        shown["outGroup"] = "any".into();
        shown["tableId"] = format!("{:#x}", flow.table_id.0).into();
    }
    let (name, does) = does(&flow.instructions, &flow.match_, version);
    shown[name] = does;
    quoted(shown)
}

/// A GET that removes something, as scripts ask for it; no page of a stranger may, as little as it
/// may with another method.
pub(super) async fn clear(State(shared): Ctx, headers: HeaderMap, at: PathParts) -> EntryResponse {
    origin::own_site(&headers).map_err(not_done)?;
    let only = which(&at).map_err(not_done)?;
    remove(&shared, shared.entries.of(only)).await.map_err(not_done)?;
    Ok(match only {
        None => status("Deleted all flows/groups."),
        Some(_) => {
            let said = at.part("dpid").unwrap_or_default();
            status(format!("Deleted all flows/groups for switch {said}."))
        }
    })
}

/// Sends their entries to switches that join, until the end.
pub(crate) async fn keep(shared: Arc<Shared>) {
    // Switches may have come before the first look, and entries are there from the start.
    let first = shared.events.newest().place(Some("oldest"));
    let (mut news, Ok(mut place)) = (shared.events.newest().news(), first) else {
        return;
    };
    news.mark_changed();
    let mut stopping = shared.stopping.clone();
    loop {
        tokio::select! {
            more = news.changed() => if more.is_err() { return },
            () = crate::server::told(&mut stopping) => return,
        }
        loop {
            let read = shared.events.newest().read(&mut place, EVENTS_AT_ONCE, "");
            if read.is_empty() {
                break;
            }
            for event in &read {
                joined(&shared, event.kind, event.event.dpid.as_deref());
            }
        }
    }
}

/// A switch came, or some did of which nothing is known: events are missing.
fn joined(shared: &Arc<Shared>, kind: ApiEventKind, dpid: Option<&str>) {
    let dpid = dpid.and_then(|text| text.parse().ok());
    let only = match kind {
        ApiEventKind::SwitchUp if dpid.is_some() => dpid,
        ApiEventKind::Missed | ApiEventKind::LeftOut => None,
        _ => return,
    };
    let waiting = shared.entries.of(only);
    if waiting.is_empty() && shared.entries.owed_by(only).is_empty() {
        return;
    }
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        rid(&shared, only).await;
        for entry in waiting {
            if let Err(why) = send(&shared, &entry).await {
                tell(&shared, &entry, &why);
            }
        }
    });
}
