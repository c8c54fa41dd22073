//! `/v1.0/topology/ws`: what changes in the network, told over a WebSocket as Ryu's `ws_topology`
//! does: JSON-RPC 2.0 calls of `event_switch_enter`, `event_switch_leave`, `event_link_add`,
//! `event_link_delete` and `event_host_add`, each with one parameter.
//!
//! Links and hosts are published, not told one by one. So a task looks at what there is, four times
//! a second while there are followers, and tells what is new and what is gone. Ryu waits for the
//! answer to each call before it makes the next; here answers are read and not waited for, so that
//! a follower that does not answer holds up no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use aldis_apps::SwitchPort;
use aldis_control::Time;
use aldis_wire::DatapathId;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender, WeakSender, channel};
use tokio::time::sleep;

use super::topology::{carrying, host, link, ports, switch};
use crate::api::events::{farewell, no_socket};
use crate::auth::{Caller, Grant};
use crate::limits::{CHANGES_WAITING, HEARD_MAX, HEARTBEAT, LOOK_EVERY};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};
use crate::server::told;

/// The task that looks for changes, while there are followers.
#[derive(Debug, Default)]
pub(crate) struct TopologyWatcher(Mutex<Option<WeakSender<Arc<Call>>>>);

/// What is called, and with what.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Call {
    method: &'static str,
    about: Value,
}

impl Call {
    /// As it is sent, under this number.
    fn text(&self, id: u64) -> String {
        let call =
            json!({"jsonrpc": "2.0", "id": id, "method": self.method, "params": [self.about]});
        call.to_string()
    }
}

impl TopologyWatcher {
    /// A receiver of what changes from now on; the task begins to look if it does not yet.
    fn join(&self, shared: &Arc<Shared>) -> Receiver<Arc<Call>> {
        let mut looking = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = looking.as_ref().and_then(WeakSender::upgrade) {
            return sender.subscribe();
        }
        let (sender, receiver) = channel(CHANGES_WAITING);
        *looking = Some(sender.downgrade());
        // As the network is now, and not when the task has its turn: a follower may change
        // something as soon as it has its receiver.
        let before = Picture::take(shared).unwrap_or_default();
        tokio::spawn(look(Arc::clone(shared), sender, before));
        receiver
    }
}

/// Until there is no follower any more, or the end comes.
async fn look(shared: Arc<Shared>, sender: Sender<Arc<Call>>, mut before: Picture) {
    while sender.receiver_count() > 0 && !*shared.stopping.borrow() {
        sleep(LOOK_EVERY).await;
        // Without memory for it the picture of a moment ago stays.
        let Ok(now) = Picture::take(&shared) else { continue };
        for call in before.changes(&now) {
            let _ = sender.send(Arc::new(call));
        }
        before = now;
    }
}

/// The network at a moment.
#[derive(Clone, Debug, Default)]
struct Picture {
    /// Since when each is up, and what is said of it.
    switches: BTreeMap<DatapathId, (Time, Value)>,
    links: BTreeMap<[SwitchPort; 2], Value>,
    hosts: BTreeMap<(u64, u16), Value>,
}

impl Picture {
    fn take(shared: &Shared) -> Result<Picture, Problem> {
        let seen = shared.controller.switches();
        let ports = ports(&seen);
        let links = shared.controller.links().unwrap_or_default();
        let hosts = match shared.controller.hosts_count() {
            None => vec![],
            Some(_) => shared.hosts()?,
        };
        let both = carrying(&links).flat_map(|[a, b]| [[a, b], [b, a]]);
        Ok(Picture {
            switches: seen
                .iter()
                .map(|seen| (seen.switch.info.dpid, (seen.up_since, switch(seen))))
                .collect(),
            links: both.map(|ends| (ends, link(ends, &ports))).collect(),
            hosts: hosts
                .iter()
                .map(|each| ((each.mac().to_u64(), each.id().vlan), host(each, &ports)))
                .collect(),
        })
    }

    /// What happened until then: links go before their switches, and come after them.
    fn changes(&self, now: &Picture) -> Vec<Call> {
        let gone = |dpid: &DatapathId| {
            let since = |picture: &Picture| picture.switches.get(dpid).map(|(since, _)| *since);
            since(self) != since(now)
        };
        let changed: BTreeSet<DatapathId> =
            self.switches.keys().chain(now.switches.keys()).copied().filter(gone).collect();
        let all =
            |method, about: Vec<Value>| about.into_iter().map(move |about| Call { method, about });
        let of = |picture: &Picture| -> Vec<Value> {
            let those = changed.iter().filter_map(|dpid| picture.switches.get(dpid));
            those.map(|(_, value)| value.clone()).collect()
        };
        all("event_link_delete", without(&self.links, &now.links))
            .chain(all("event_switch_leave", of(self)))
            .chain(all("event_switch_enter", of(now)))
            .chain(all("event_link_add", without(&now.links, &self.links)))
            .chain(all("event_host_add", without(&now.hosts, &self.hosts)))
            .collect()
    }
}

/// What is in one and not in the other.
fn without<K: Ord>(one: &BTreeMap<K, Value>, other: &BTreeMap<K, Value>) -> Vec<Value> {
    let left = one.iter().filter(|(key, _)| !other.contains_key(*key));
    left.map(|(_, value)| value.clone()).collect()
}

pub(super) async fn socket(
    State(shared): Ctx,
    Extension(caller): Extension<Caller>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(no_socket)?.max_message_size(HEARD_MAX);
    let permit = shared.events.permit()?;
    let calls = shared.topology_watcher.join(&shared);
    Ok(upgrade.on_upgrade(async move |socket| {
        speak(socket, calls, &shared, caller.grant).await;
        drop(permit);
    }))
}

/// Until either side ends it.
async fn speak(
    mut socket: WebSocket,
    mut calls: Receiver<Arc<Call>>,
    shared: &Shared,
    mut grant: Grant,
) {
    let mut stopping = shared.stopping.clone();
    let mut id = 0;
    let why = loop {
        if !grant.is_good() {
            break None;
        }
        let next = tokio::select! {
            call = calls.recv() => match call {
                Ok(call) => {
                    id += 1;
                    Message::Text(call.text(id).into())
                }
                Err(RecvError::Lagged(_)) => break Some(late()),
                Err(RecvError::Closed) => break None,
            },
            heard = socket.recv() => match heard {
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return,
            },
            () = told(&mut stopping) => break None,
            () = grant.ends() => break None,
            () = sleep(HEARTBEAT) => Message::Ping(Bytes::new()),
        };
        match grant.while_good(socket.send(next)).await {
            Some(Ok(())) => {}
            Some(Err(_)) => return,
            None => break None,
        }
    };
    farewell(&mut socket, why).await;
}

/// The follower was too slow to get everything: it had better connect again than not know that
/// something is missing.
fn late() -> CloseFrame {
    let reason = "too slow: changes were missed; ask for the topology again".into();
    CloseFrame { code: close_code::POLICY, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: SwitchPort = SwitchPort::new(1, 1);
    const B: SwitchPort = SwitchPort::new(2, 1);

    fn picture(switches: &[(u64, u64)], linked: bool, hosts: &[u64]) -> Picture {
        Picture {
            switches: switches
                .iter()
                .map(|&(dpid, since)| (DatapathId(dpid), (Time(since), json!({ "dpid": dpid }))))
                .collect(),
            links: if linked {
                [([A, B], json!("ab")), ([B, A], json!("ba"))].into()
            } else {
                BTreeMap::new()
            },
            hosts: hosts.iter().map(|&mac| ((mac, 0), json!({ "mac": mac }))).collect(),
        }
    }

    fn told(before: &Picture, now: &Picture) -> Vec<String> {
        before.changes(now).iter().map(|call| format!("{} {}", call.method, call.about)).collect()
    }

    #[test]
    fn what_is_new_and_what_is_gone_is_told() {
        let nothing = Picture::default();
        let two = picture(&[(1, 5), (2, 5)], true, &[9]);
        assert_eq!(
            told(&nothing, &two),
            [
                "event_switch_enter {\"dpid\":1}",
                "event_switch_enter {\"dpid\":2}",
                "event_link_add \"ab\"",
                "event_link_add \"ba\"",
                "event_host_add {\"mac\":9}",
            ]
        );
        assert!(told(&two, &two).is_empty());
        let one = picture(&[(1, 5)], false, &[9]);
        assert_eq!(
            told(&two, &one),
            [
                "event_link_delete \"ab\"",
                "event_link_delete \"ba\"",
                "event_switch_leave {\"dpid\":2}",
            ]
        );
        let again = picture(&[(1, 7)], false, &[9]);
        assert_eq!(
            told(&one, &again),
            ["event_switch_leave {\"dpid\":1}", "event_switch_enter {\"dpid\":1}",]
        );
    }

    #[test]
    fn a_call_is_json_rpc() {
        let call = Call { method: "event_switch_enter", about: json!({"dpid": "1"}) };
        let json: Value = serde_json::from_str(&call.text(7)).unwrap();
        let expected = json!({"jsonrpc": "2.0", "id": 7, "method": "event_switch_enter", "params": [{"dpid": "1"}]});
        assert_eq!(json, expected);
    }
}
