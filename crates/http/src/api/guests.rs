//! Guests: other controllers, in processes of their own, to which the switches are presented over
//! OpenFlow. They are added, shown, paused and removed here.

#[cfg(test)]
use std::collections::BTreeMap;
use std::sync::Arc;

use aldis_guest::{GuestCounts, GuestSpec, GuestState, GuestStatus};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(test)]
use utoipa::ToSchema;

use super::apps::NotChanged;
use super::version::number;
use super::{Page, bad_field, blocking};
use crate::controller::Controller;
use crate::extract::{self, Json as Body, Path};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// A guest as it is now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Guest {
    /// Its name
    #[cfg_attr(test, schema(example = "lab-3"))]
    pub name: String,
    /// Where it listens for switches
    #[cfg_attr(test, schema(example = "127.0.0.1:6654"))]
    pub connect: String,
    /// What it is doing
    #[cfg_attr(test, schema(value_type = GuestDoing))]
    pub state: GuestState,
    /// Why, where there is more to say
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(example = "connection refused"))]
    pub reason: Option<String>,
    /// The switches that it is presented, by datapath id
    pub switches: Vec<PresentedSwitch>,
    /// What was counted since it was added, at all switches together
    #[cfg_attr(test, schema(value_type = GuestCounted))]
    pub counts: GuestCounts,
    /// What was said of it: where it listens, and its grant
    #[cfg_attr(test, schema(value_type = NewGuest))]
    pub spec: GuestSpec,
}

/// A switch that is presented to a guest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct PresentedSwitch {
    /// Its datapath id, sixteen hexadecimal digits
    #[cfg_attr(test, schema(example = "0000000000000001"))]
    pub dpid: String,
    /// The version of OpenFlow that the guest speaks there; absent where it is not connected
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(example = "1.3"))]
    pub version: Option<String>,
    /// Why it is not connected, where there was a reason
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(example = "no HELLO came within 5 s"))]
    pub reason: Option<String>,
}

/// A guest that is to be added.
#[cfg(test)]
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes `GuestSpec`")]
struct NewGuest {
    /// Its name: that of the path; small letters, digits and `-`, 64 at most
    #[cfg_attr(test, schema(required = false, example = "lab-3"))]
    name: String,
    /// Where it listens for switches: `HOST:PORT`, or `:PORT` on this machine
    #[cfg_attr(test, schema(example = "127.0.0.1:6654"))]
    connect: String,
    /// The switches that it may see: datapath ids, first octets, ranges; all where there are none
    #[cfg_attr(test, schema(required = false, example = json!(["1-4"])))]
    switches: Vec<String>,
    /// The packets that are its own; every packet where it is absent
    #[cfg_attr(test, schema(required = false, example = json!({"vlan_vid": "10"})))]
    r#match: BTreeMap<String, String>,
    /// The ports that it may see and use: `1-4,9`; all where it is absent
    #[cfg_attr(test, schema(required = false, example = "1-4,9"))]
    ports: String,
    /// The tables that it may change; all where it is absent
    #[cfg_attr(test, schema(required = false, example = "10-19"))]
    tables: String,
    /// The priorities of its flows; all where it is absent
    #[cfg_attr(test, schema(required = false, example = "100-200"))]
    priorities: String,
    /// The groups that it may use; all where it is absent, none with `match` or `ports`
    #[cfg_attr(test, schema(required = false, example = "1-99"))]
    groups: String,
    /// The meters that it may use; all where it is absent, none with `match` or `ports`
    #[cfg_attr(test, schema(required = false, example = "1-99"))]
    meters: String,
    /// The experimenters whose messages are passed on, both ways; none where it is absent
    #[cfg_attr(test, schema(required = false, example = "0x2320"))]
    experimenters: String,
    /// Whether it may ask, and change nothing
    #[cfg_attr(test, schema(required = false))]
    read_only: bool,
    /// Whether it gets copies, and the requests go on to the next application all the same
    #[cfg_attr(test, schema(required = false))]
    observe: bool,
    /// Most requests a second that it is handed, of all switches together; no limit where it is
    /// absent
    #[cfg_attr(test, schema(required = false, minimum = 1, example = 500))]
    rate: u32,
    /// Bytes that may wait for it at one switch; 1048576 where it is absent
    #[cfg_attr(test, schema(required = false, minimum = 4096, maximum = 67_108_864))]
    queue: usize,
    /// Its share of a worker, where several guests have more to say than a worker takes at once; 1
    /// where it is absent
    #[cfg_attr(test, schema(required = false, minimum = 1, maximum = 1000))]
    weight: u16,
    /// What becomes of a request that it cannot take: the next application gets it where this is
    /// absent
    #[cfg_attr(test, schema(required = false))]
    otherwise: GuestOtherwise,
    /// How connections to it are encrypted; not where it is absent
    #[cfg_attr(test, schema(required = false))]
    tls: GuestFiles,
}

/// The files by which connections to a guest are encrypted, as PEM, on the controller's machine.
#[cfg(test)]
#[derive(ToSchema)]
#[cfg_attr(test, schema(as = GuestTls))]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes `GuestTlsFiles`")]
struct GuestFiles {
    /// The authorities of which one has to have signed the guest's certificate
    #[cfg_attr(test, schema(example = "/etc/aldis/guests/ca.pem"))]
    authority: String,
    /// The certificate that the guest is shown; none where it is absent
    #[cfg_attr(test, schema(required = false, example = "/etc/aldis/guests/aldis.pem"))]
    certificate: String,
    /// Its private key
    #[cfg_attr(test, schema(required = false, example = "/etc/aldis/guests/aldis.key"))]
    key: String,
    /// The name that the guest's certificate has to bear; its address where it is absent
    #[cfg_attr(test, schema(required = false, example = "far.example"))]
    name: String,
}

/// What becomes of a request that a guest cannot take.
#[cfg(test)]
#[derive(ToSchema)]
#[cfg_attr(test, schema(rename_all = "kebab-case"))]
#[expect(dead_code, reason = "it describes `Otherwise`")]
enum GuestOtherwise {
    /// The next application gets it
    Next,
    /// It is dropped
    Drop,
}

/// What a guest is doing.
#[cfg(test)]
#[derive(ToSchema)]
#[cfg_attr(test, schema(as = GuestState, rename_all = "kebab-case"))]
#[expect(dead_code, reason = "it describes `GuestState`")]
enum GuestDoing {
    /// No connection to it is open
    Away,
    /// It serves at least one switch
    Serving,
    /// It serves, and does not read as fast as requests come: some are shed
    Shedding,
    /// It sends more messages than it is handed requests for: it is read more slowly
    Flooding,
    /// An operator paused it: no request goes to it, and it is not connected
    Paused,
    /// It misbehaved: it is not connected until it is resumed
    Quarantined,
}

/// What was counted of a guest since it was added.
#[cfg(test)]
#[derive(ToSchema)]
#[cfg_attr(test, schema(as = GuestCounts))]
#[expect(dead_code, reason = "it describes `GuestCounts`")]
struct GuestCounted {
    /// Requests that it was handed
    requests: u64,
    /// Requests that found its queue full, or came faster than its rate
    shed: u64,
    /// Requests that came while it was away or paused
    missed: u64,
    /// Messages that it sent
    messages: u64,
    /// Messages of it that are outside of its grant, or that its switch cannot be told
    refused: u64,
    /// Messages of it that could not be read
    faults: u64,
    /// Replies, errors and notices of switches that it was handed
    replies: u64,
    /// Connections that were opened to it
    connections: u64,
}

impl From<GuestStatus> for Guest {
    fn from(status: GuestStatus) -> Guest {
        let switches = status.switches.into_iter().map(|switch| PresentedSwitch {
            dpid: switch.dpid.to_string(),
            version: switch.version.map(number),
            reason: switch.reason,
        });
        Guest {
            name: status.spec.name.clone(),
            connect: status.spec.connect.0.to_string(),
            state: status.state,
            reason: status.reason,
            switches: switches.collect(),
            counts: status.counts,
            spec: status.spec,
        }
    }
}

/// A guest as a request has it, under the name of its path. A host in `connect` is looked up, which
/// may take seconds.
///
/// # Errors
/// It is none, or it has another name.
pub(crate) fn spec(name: &str, value: Value) -> Result<GuestSpec, Problem> {
    let spec: GuestSpec = extract::parse(value.to_string().as_bytes())?;
    if !spec.name.is_empty() && spec.name != name {
        return Err(bad_field("name: the path says another"));
    }
    let spec = GuestSpec { name: name.to_owned(), ..spec };
    spec.check().map_err(bad_field)?;
    Ok(spec)
}

/// A guest of the store, which has its name as a key.
///
/// # Errors
/// One sentence.
pub fn read(name: &str, value: &Value) -> Result<GuestSpec, String> {
    spec(name, value.clone()).map_err(|problem| problem.detail)
}

fn one(controller: &dyn Controller, name: &str) -> Result<Guest, Problem> {
    let there = controller.guest_status(name).map(Guest::from);
    there.ok_or_else(|| {
        let detail = format!("there is no guest {name:?}; /api/v1/guests lists those there are");
        Problem::missing("no-such-guest", detail)
    })
}

fn all(controller: &dyn Controller) -> Page<Guest> {
    Page::whole(controller.guests().into_iter().map(Guest::from))
}

/// Why the guests are as they were.
fn not_changed(why: NotChanged) -> Problem {
    match why {
        NotChanged::Unknown(why) => Problem::missing("no-such-guest", why),
        NotChanged::Refused(why) => Problem::new(StatusCode::CONFLICT, "guest-not-changed", why),
        NotChanged::BadPackage(why) => bad_field(why),
        disk_or_late => disk_or_late.into(),
    }
}

/// The guests
///
/// Other controllers, in processes of their own, to which the switches are presented over OpenFlow.
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/guests", operation_id = "guests", tag = "controller", responses(
    (status = 200, description = "Guests, by name", body = Page<Guest>),
)))]
pub(crate) async fn list(State(shared): Ctx) -> Page<Guest> {
    all(&*shared.controller)
}

/// One of them
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/guests/{name}", operation_id = "guest", tag = "controller", params(
    ("name" = String, Path, description = "Its name", example = "lab-3"),
), responses(
    (status = 200, description = "The guest", body = Guest),
    (status = 404, description = "There is none of this name", body = Problem),
)))]
pub(crate) async fn show(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<Guest>, Problem> {
    one(&*shared.controller, &name).map(Json)
}

/// Add a guest, or change the bounds of one
///
/// Connections to it are opened afterwards, one for each switch that it may see; where it does not
/// answer they are tried again. Of a guest that is there, `rate`, `queue`, `weight` and `otherwise`
/// change so; what is left out has its default again. Connections and flows stay.
#[cfg_attr(test, utoipa::path(put, path = "/api/v1/guests/{name}", operation_id = "add_guest", tag = "controller", params(
    ("name" = String, Path, description = "Its name", example = "lab-3"),
), request_body = NewGuest, responses(
    (status = 200, description = "It is there already; its bounds are these now", body = Guest),
    (status = 201, description = "It was added", body = Guest),
    (status = 400, description = "No JSON", body = Problem),
    (status = 409, description = "There is one of this name with another grant or address, or its grant overlaps with that of another", body = Problem),
    (status = 422, description = "A field cannot be so; the answer names it", body = Problem),
    (status = 503, description = "A worker did not follow in time", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
)))]
pub(crate) async fn put(
    State(shared): Ctx,
    Path(name): Path<String>,
    Body(value): Body<Value>,
) -> Result<(StatusCode, Json<Guest>), Problem> {
    let controller = Arc::clone(&shared.controller);
    blocking(move || add(&*controller, &name, value)).await?
}

fn add(
    controller: &dyn Controller,
    name: &str,
    value: Value,
) -> Result<(StatusCode, Json<Guest>), Problem> {
    let spec = spec(name, value)?;
    match controller.guest_status(name) {
        Some(there) if there.spec == spec => Ok((StatusCode::OK, Json(there.into()))),
        Some(there) if there.spec.differs_in_bounds_alone(&spec) => {
            controller.bound_guest(spec).map_err(not_changed)?;
            Ok((StatusCode::OK, Json(one(controller, name)?)))
        }
        Some(_) => {
            let why = format!(
                "there is a guest {name:?}, and more than its bounds (rate, queue, weight, otherwise) would change; remove that one first"
            );
            Err(not_changed(NotChanged::Refused(why)))
        }
        None => {
            controller.add_guest(spec).map_err(not_changed)?;
            Ok((StatusCode::CREATED, Json(one(controller, name)?)))
        }
    }
}

/// Pause a guest
///
/// Its connections are closed, and no request goes to it until it is resumed.
#[cfg_attr(test, utoipa::path(post, path = "/api/v1/guests/{name}/pause", operation_id = "pause_guest", tag = "controller", params(
    ("name" = String, Path, description = "Its name", example = "lab-3"),
), responses(
    (status = 200, description = "It is paused", body = Guest),
    (status = 404, description = "There is none of this name", body = Problem),
    (status = 409, description = "It cannot be paused as things are", body = Problem),
    (status = 503, description = "A worker did not follow in time", body = Problem),
)))]
pub(crate) async fn pause(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<Guest>, Problem> {
    change(&shared, name, |controller, name| controller.pause_guest(name)).await
}

/// Have a guest that is paused or in quarantine connected again
#[cfg_attr(test, utoipa::path(post, path = "/api/v1/guests/{name}/resume", operation_id = "resume_guest", tag = "controller", params(
    ("name" = String, Path, description = "Its name", example = "lab-3"),
), responses(
    (status = 200, description = "It is connected again as soon as it answers", body = Guest),
    (status = 404, description = "There is none of this name", body = Problem),
    (status = 409, description = "It cannot be resumed as things are", body = Problem),
    (status = 503, description = "A worker did not follow in time", body = Problem),
)))]
pub(crate) async fn resume(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<Guest>, Problem> {
    change(&shared, name, |controller, name| controller.resume_guest(name)).await
}

/// Remove a guest, and close its connections
#[cfg_attr(test, utoipa::path(delete, path = "/api/v1/guests/{name}", operation_id = "remove_guest", tag = "controller", params(
    ("name" = String, Path, description = "Its name", example = "lab-3"),
), responses(
    (status = 200, description = "The guests that are left", body = Page<Guest>),
    (status = 404, description = "There is none of this name", body = Problem),
    (status = 409, description = "It cannot be removed as things are", body = Problem),
    (status = 503, description = "A worker did not follow in time", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
)))]
pub(crate) async fn remove(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Page<Guest>, Problem> {
    let controller = Arc::clone(&shared.controller);
    blocking(move || {
        controller.remove_guest(&name).map_err(not_changed)?;
        Ok(all(&*controller))
    })
    .await?
}

/// Makes a change, which waits for the workers, on another thread than the one that serves.
async fn change(
    shared: &Shared,
    name: String,
    make: impl FnOnce(&dyn Controller, &str) -> Result<(), NotChanged> + Send + 'static,
) -> Result<Json<Guest>, Problem> {
    let controller = Arc::clone(&shared.controller);
    blocking(move || {
        make(&*controller, &name).map_err(not_changed)?;
        one(&*controller, &name).map(Json)
    })
    .await?
}

#[cfg(test)]
pub(crate) mod tests;
