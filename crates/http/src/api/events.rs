//! What happens, as it happens: as server-sent events, over a WebSocket, and the newest as a list.

use std::sync::Arc;

use aldis_control::SwitchPort;
use aldis_control::controller_event::{ControllerEvent, Found, HostNow, LinkNow};
use aldis_control::session::Close;
use aldis_wire::DatapathId;
use aldis_wire::msg::PortChangeReason;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::header::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
#[cfg(test)]
use utoipa::{IntoParams, ToSchema};

use super::Page;
use super::links::LinkEnd;
use super::ports::Port;
use crate::auth::{Caller, Revocation};
use crate::events::EncodedEvent;
use crate::extract::Query;
use crate::limits::{EVENTS_KEPT, HEARD_MAX, LEAVE_WITHIN};
use crate::newest::{Follower, stream};
use crate::problem::Problem;
use crate::routes::Ctx;

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Event {
    /// Names it: a follower that saw it last goes on behind it
    #[cfg_attr(test, schema(example = "19b0c3d4e5f-17"))]
    pub id: String,
    /// When, in UTC (RFC 3339)
    pub at: String,
    /// What kind of thing
    pub kind: ApiEventKind,
    /// In words
    pub text: String,
    /// The switch it is about
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dpid: Option<String>,
    /// Where a connection comes from
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The port as it is now, or as it was
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,
    /// The host that it is about
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<EventHost>,
    /// The link that it is about
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<EventLink>,
    /// The guest that it is about
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<EventGuest>,
    /// How many events are missing here
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<u64>,
}

/// A host that something happened to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct EventHost {
    /// Its Ethernet address
    #[cfg_attr(test, schema(example = "00:00:00:00:00:01"))]
    pub mac: String,
    /// The VLAN that it was seen in; 0 where frames carry none
    pub vlan: u16,
    /// Where it is, or was last
    pub at: LinkEnd,
    /// Where it was before, where it moved
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<LinkEnd>,
}

/// A guest that does something else than before.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct EventGuest {
    /// Its name
    pub name: String,
    /// What it does now: a state as `/api/v1/guests` has it, or `removed`
    #[cfg_attr(test, schema(example = "serving"))]
    pub state: String,
}

/// A link that something happened to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct EventLink {
    /// The lower one of its ends
    pub a: LinkEnd,
    /// The other
    pub b: LinkEnd,
    /// How far it can be relied on now
    pub state: EventLinkState,
}

/// How far a link can be relied on now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EventLinkState {
    /// It carries traffic
    Up,
    /// Probes come through one way only: it carries no traffic
    OneWay,
    /// It may be two hosts that hand probes on: it carries no traffic
    Unproven,
    /// It is there no more
    Gone,
}

/// What kind of thing happened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, schema(as = EventKind))]
pub enum ApiEventKind {
    /// A switch finished its handshake
    SwitchUp,
    /// A switch is gone
    SwitchDown,
    /// A switch has another, auxiliary connection
    AuxiliaryUp,
    /// An auxiliary connection is gone, or one was turned away
    AuxiliaryDown,
    /// A switch has a new port
    PortAdded,
    /// A port is gone
    PortRemoved,
    /// A port is up or down, or configured otherwise
    PortChanged,
    /// A host was seen that was not known
    HostSeen,
    /// A host is at another port than before
    HostMoved,
    /// A host is forgotten
    HostGone,
    /// A link carries traffic
    LinkUp,
    /// A link carries no traffic: it is gone, or cannot be relied on
    LinkDown,
    /// A guest does something else than before, or is removed
    Guest,
    /// A switch refused something
    Refused,
    /// A connection did not become a switch
    Stranger,
    /// A connection was turned away, for there is no room
    NoRoom,
    /// An application has something to tell
    Note,
    /// Events are missing here: they were not kept, for there were too many
    LeftOut,
    /// Events are missing here: the follower was too slow, or away too long
    Missed,
    /// The controller started anew since the last event that was seen
    Restarted,
}

impl ApiEventKind {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            ApiEventKind::SwitchUp => "switch-up",
            ApiEventKind::SwitchDown => "switch-down",
            ApiEventKind::AuxiliaryUp => "auxiliary-up",
            ApiEventKind::AuxiliaryDown => "auxiliary-down",
            ApiEventKind::PortAdded => "port-added",
            ApiEventKind::PortRemoved => "port-removed",
            ApiEventKind::PortChanged => "port-changed",
            ApiEventKind::HostSeen => "host-seen",
            ApiEventKind::HostMoved => "host-moved",
            ApiEventKind::HostGone => "host-gone",
            ApiEventKind::LinkUp => "link-up",
            ApiEventKind::LinkDown => "link-down",
            ApiEventKind::Guest => "guest",
            ApiEventKind::Refused => "refused",
            ApiEventKind::Stranger => "stranger",
            ApiEventKind::NoRoom => "no-room",
            ApiEventKind::Note => "note",
            ApiEventKind::LeftOut => "left-out",
            ApiEventKind::Missed => "missed",
            ApiEventKind::Restarted => "restarted",
        }
    }
}

impl Event {
    /// Its id and its moment come when it is kept.
    fn new(kind: ApiEventKind, text: String) -> Event {
        let (id, at) = (String::new(), String::new());
        let (dpid, address, port, missed) = (None, None, None, None);
        let (host, link, guest) = (None, None, None);
        Event { id, at, kind, text, dpid, address, port, host, link, guest, missed }
    }

    fn gap(kind: ApiEventKind, missed: u64, text: String) -> Event {
        Event { missed: Some(missed), ..Event::new(kind, text) }
    }

    pub(crate) fn note(text: String) -> Event {
        Event::new(ApiEventKind::Note, text)
    }

    pub(crate) fn left_out(count: u64) -> Event {
        let text = format!("{count} events were left out: there were too many at once");
        Event::gap(ApiEventKind::LeftOut, count, text)
    }

    pub(crate) fn missed(count: u64) -> Event {
        let text =
            format!("{count} events are missing here: only the newest {EVENTS_KEPT} are kept");
        Event::gap(ApiEventKind::Missed, count, text)
    }

    pub(crate) fn restarted(missed: u64) -> Event {
        let text =
            format!("the controller started anew; {missed} of its events since are not kept");
        Event::gap(ApiEventKind::Restarted, missed, text)
    }

    /// What kind of event it is, and the switch it is about.
    pub(crate) fn about(event: &ControllerEvent) -> (ApiEventKind, Option<DatapathId>) {
        match *event {
            ControllerEvent::Up { dpid, auxiliary: false, .. } => {
                (ApiEventKind::SwitchUp, Some(dpid))
            }
            ControllerEvent::Up { dpid, auxiliary: true, .. } => {
                (ApiEventKind::AuxiliaryUp, Some(dpid))
            }
            ControllerEvent::Down { dpid, main: true, .. } => {
                (ApiEventKind::SwitchDown, Some(dpid))
            }
            ControllerEvent::Down { why: Close::Refused(_), .. }
            | ControllerEvent::NeverJoined { .. } => (ApiEventKind::Stranger, None),
            ControllerEvent::Down { dpid, .. } => (ApiEventKind::AuxiliaryDown, Some(dpid)),
            ControllerEvent::Refused { dpid, .. } => (ApiEventKind::Refused, Some(dpid)),
            ControllerEvent::Failed { .. } | ControllerEvent::Noted { .. } => {
                (ApiEventKind::Note, None)
            }
            ControllerEvent::Found { found: Found::Host { at, now, .. }, .. } => {
                let kind = match now {
                    HostNow::Seen => ApiEventKind::HostSeen,
                    HostNow::Moved { .. } => ApiEventKind::HostMoved,
                    HostNow::Gone { .. } => ApiEventKind::HostGone,
                };
                (kind, Some(at.dpid))
            }
            ControllerEvent::Found { found: Found::Link { ends: [a, _], now }, .. } => {
                let kind = match now {
                    LinkNow::Up => ApiEventKind::LinkUp,
                    LinkNow::OneWay | LinkNow::Unproven | LinkNow::Gone => ApiEventKind::LinkDown,
                };
                (kind, Some(a.dpid))
            }
            ControllerEvent::Guest { .. } => (ApiEventKind::Guest, None),
            ControllerEvent::NotTold { .. } => (ApiEventKind::LeftOut, None),
            ControllerEvent::NoRoom { .. } => (ApiEventKind::NoRoom, None),
            ControllerEvent::Port { dpid, ref change } => {
                let kind = match change.reason {
                    PortChangeReason::Added => ApiEventKind::PortAdded,
                    PortChangeReason::Removed => ApiEventKind::PortRemoved,
                    PortChangeReason::Modified => ApiEventKind::PortChanged,
                };
                (kind, Some(dpid))
            }
        }
    }

    pub(crate) fn of_controller(event: &ControllerEvent) -> Event {
        let (kind, dpid) = Event::about(event);
        let about = Event {
            dpid: dpid.map(|dpid| dpid.to_string()),
            ..Event::new(kind, event.to_string())
        };
        match event {
            ControllerEvent::Up { peer, .. }
            | ControllerEvent::Down { peer, .. }
            | ControllerEvent::NeverJoined { peer, .. }
            | ControllerEvent::NoRoom { peer, .. } => {
                Event { address: Some(peer.to_string()), ..about }
            }
            ControllerEvent::Port { dpid, change } => {
                Event { port: Some(Port::new(*dpid, &change.port)), ..about }
            }
            ControllerEvent::Found { found: Found::Host { mac, vlan, at, now }, .. } => {
                let from = match now {
                    HostNow::Moved { from } => Some(end(*from)),
                    HostNow::Seen | HostNow::Gone { .. } => None,
                };
                let host = EventHost { mac: mac.to_string(), vlan: *vlan, at: end(*at), from };
                Event { host: Some(host), ..about }
            }
            ControllerEvent::Found { found: Found::Link { ends: [a, b], now }, .. } => {
                let state = match now {
                    LinkNow::Up => EventLinkState::Up,
                    LinkNow::OneWay => EventLinkState::OneWay,
                    LinkNow::Unproven => EventLinkState::Unproven,
                    LinkNow::Gone => EventLinkState::Gone,
                };
                Event { link: Some(EventLink { a: end(*a), b: end(*b), state }), ..about }
            }
            ControllerEvent::Guest { name, state, .. } => {
                let guest = EventGuest { name: name.clone(), state: (*state).to_owned() };
                Event { guest: Some(guest), ..about }
            }
            ControllerEvent::NotTold { count } => Event::left_out(*count),
            ControllerEvent::Refused { .. }
            | ControllerEvent::Failed { .. }
            | ControllerEvent::Noted { .. } => about,
        }
    }
}

fn end(SwitchPort { dpid, port }: SwitchPort) -> LinkEnd {
    LinkEnd { dpid: dpid.to_string(), port: port.0 }
}

/// From where on.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct After {
    /// The id of the last one that was seen, or `oldest` for all that are kept; only new ones where
    /// it is absent. The header `Last-Event-ID`, which browsers send when they come back, goes before
    pub(super) after: Option<String>,
}

/// What happens from now on, or from an event on, as server-sent events
///
/// Each event is a JSON `Event`. A comment comes where nothing happened for 15 seconds.
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/events", operation_id = "events", tag = "events", params(After), responses(
    (status = 200, description = "A stream that does not end", content_type = "text/event-stream", body = Event),
    (status = 400, description = "No event's id", body = Problem),
    (status = 503, description = "Too many follow already", body = Problem),
)))]
pub(crate) async fn follow(
    State(shared): Ctx,
    Extension(caller): Extension<Caller>,
    Extension(revocation): Extension<Revocation>,
    headers: HeaderMap,
    Query(After { after }): Query<After>,
) -> Result<Response, Problem> {
    stream::<EncodedEvent>(shared, caller, &revocation, &headers, after.as_deref())
}

/// The same over a WebSocket: a text message of JSON for each event
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/events/ws", operation_id = "events_ws", tag = "events", params(After), responses(
    (status = 101, description = "Messages that are each an `Event`"),
    (status = 400, description = "No event's id, or no WebSocket", body = Problem),
    (status = 503, description = "Too many follow already", body = Problem),
)))]
pub(crate) async fn socket(
    State(shared): Ctx,
    Extension(caller): Extension<Caller>,
    Query(After { after }): Query<After>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(no_socket)?.max_message_size(HEARD_MAX);
    let follower = Follower::new(shared, caller.grant, after.as_deref())?;
    Ok(upgrade.on_upgrade(|socket| speak(socket, follower)))
}

/// A request for a WebSocket that makes none.
pub(crate) fn no_socket(why: WebSocketUpgradeRejection) -> Problem {
    let detail = format!("this is for WebSockets: {}", why.body_text());
    Problem::new(why.status(), "no-websocket", detail)
}

/// Until either side ends it. What is said to us is read away.
async fn speak(mut socket: WebSocket, mut follower: Follower<EncodedEvent>) {
    loop {
        let sent = tokio::select! {
            events = follower.next() => match events {
                Some(events) => match follower.while_good(send(&mut socket, &events)).await {
                    Some(sent) => sent,
                    None => break,
                },
                None => break,
            },
            heard = socket.recv() => match heard {
                Some(Ok(_)) => Ok(()),
                Some(Err(_)) | None => return,
            },
        };
        if sent.is_err() {
            return;
        }
    }
    farewell(&mut socket, None).await;
}

/// Says that it is over, to a peer that may not read it.
pub(crate) async fn farewell(socket: &mut WebSocket, why: Option<CloseFrame>) {
    let _ = timeout(LEAVE_WITHIN, socket.send(Message::Close(why))).await;
}

async fn send(socket: &mut WebSocket, events: &[Arc<EncodedEvent>]) -> Result<(), axum::Error> {
    if events.is_empty() {
        return socket.send(Message::Ping(Bytes::new())).await;
    }
    for kept in events {
        socket.send(Message::Text(kept.json.as_str().into())).await?;
    }
    Ok(())
}

/// How many of those that are kept, and from where on.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct Recent {
    /// Events of a page, 1 to 10000; all that are kept where it is absent
    limit: Option<usize>,
    /// `next` of the page before, or the id of any event
    cursor: Option<String>,
}

/// The events that are kept, oldest first: the newest 4,096
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/events/recent", operation_id = "recent_events", tag = "events", params(Recent), responses(
    (status = 200, description = "Events", body = Page<Event>),
    (status = 400, description = "No event's id", body = Problem),
)))]
pub(crate) async fn recent(
    State(shared): Ctx,
    Query(Recent { limit, cursor }): Query<Recent>,
) -> Result<Page<Event>, Problem> {
    let mut place = shared.events.newest().place(Some(cursor.as_deref().unwrap_or("oldest")))?;
    let all = shared.events.newest().read(&mut place, EVENTS_KEPT, &shared.date());
    let at = |(at, _): &(usize, Arc<EncodedEvent>)| at + 1;
    let numbered: Vec<_> = all.into_iter().enumerate().collect();
    let page = Page::cut(&numbered, limit, None, at, |(_, kept)| kept.event.clone())?;
    // A place among the events is the id of one.
    let next = page.next.and_then(|_| page.items.last().map(|event| event.id.clone()));
    Ok(Page { next, ..page })
}
