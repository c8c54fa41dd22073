//! What the controller knows by itself to be wrong: counted from its events, kept while it lasts,
//! and shown in `/api/v1/health`, in the metrics and once in the log.
//!
//! What it is called, how grave it is and what to do about it is in the catalogue of
//! [`aldis_doctor`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aldis_control::controller_event::{ControllerEvent, Found, LinkNow};
use aldis_control::session::{Close, Refusal};
use aldis_doctor::Diagnosis;
use aldis_doctor::rules::connecting::{HANDSHAKE, NO_ROOM, TLS_REFUSED, TLS_TO_PLAIN, VERSION};
use aldis_doctor::rules::network::ONE_WAY;
use aldis_doctor::rules::switches::{DUPLICATE, OTHER_CONTROLLER, SLOW, TABLE_FULL};

/// Things that are kept; what comes beyond them is counted under none.
const WATCHED_MAX: usize = 256;

/// How long something counts after it was seen last: a switch tries again every few seconds.
const LASTS: Duration = Duration::from_secs(20);

/// What is wrong, by diagnosis and by what it is about. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watchlist(Arc<Mutex<BTreeMap<WatchKey, Observed>>>);

/// A diagnosis, and what it is about.
type WatchKey = (&'static str, String);

/// What was seen of it.
#[derive(Clone, Debug)]
#[cfg_attr(not(any(feature = "http", test)), expect(dead_code, reason = "HTTP shows it"))]
pub(crate) struct Observed {
    /// What was seen last, in words.
    pub(crate) evidence: String,
    /// How often.
    pub(crate) count: u64,
    /// When last.
    pub(crate) last: Instant,
    /// Whether it goes on until it is said to be over.
    persists: bool,
}

impl Watchlist {
    /// Takes notice of an event: the diagnosis, where this is the first thing of its kind.
    pub(crate) fn notice(
        &self,
        now: Instant,
        event: &ControllerEvent,
    ) -> Option<&'static Diagnosis> {
        if let ControllerEvent::Found {
            found: Found::Link { ends, now: LinkNow::Up | LinkNow::Gone | LinkNow::Unproven },
            ..
        } = event
        {
            self.lock().remove(&(ONE_WAY.id, format!("{} - {}", ends[0], ends[1])));
        }
        let (diagnosis, about) = judge(event)?;
        let mut all = self.lock();
        all.retain(|_, seen| seen.lasts(now));
        let is_first = !all.keys().any(|(id, _)| *id == diagnosis.id);
        let has_room = all.len() < WATCHED_MAX;
        let seen = Observed {
            evidence: event.to_string(),
            count: 0,
            last: now,
            persists: diagnosis.id == ONE_WAY.id,
        };
        let key = (diagnosis.id, about);
        if has_room || all.contains_key(&key) {
            let kept = all.entry(key).or_insert_with(|| seen.clone());
            *kept = Observed { count: kept.count + 1, ..seen };
        }
        is_first.then(|| aldis_doctor::catalogue::named(diagnosis.id)).flatten()
    }

    /// What is wrong now.
    #[cfg(any(feature = "http", test))]
    pub(crate) fn now(&self, now: Instant) -> Vec<(WatchKey, Observed)> {
        let mut all = self.lock();
        all.retain(|_, seen| seen.lasts(now));
        all.iter().map(|(key, seen)| (key.clone(), seen.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<WatchKey, Observed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observed {
    fn lasts(&self, now: Instant) -> bool {
        self.persists || now.saturating_duration_since(self.last) < LASTS
    }
}

/// What an event shows to be wrong, and what that is about.
fn judge(event: &ControllerEvent) -> Option<(&'static Diagnosis, String)> {
    match event {
        ControllerEvent::NeverJoined { peer, why } => {
            Some((of_close(why)?, format!("a switch at {}", peer.ip())))
        }
        ControllerEvent::Down { dpid, why, .. } => Some((of_close(why)?, dpid.to_string())),
        ControllerEvent::NoRoom { peer, .. } => Some((&NO_ROOM, peer.ip().to_string())),
        ControllerEvent::Refused { dpid, error } if error.is_table_full() => {
            Some((&TABLE_FULL, dpid.to_string()))
        }
        ControllerEvent::Refused { dpid, error } if error.name.ends_with("IS_SLAVE") => {
            Some((&OTHER_CONTROLLER, dpid.to_string()))
        }
        ControllerEvent::Found { found: Found::Link { ends, now: LinkNow::OneWay }, .. } => {
            Some((&ONE_WAY, format!("{} - {}", ends[0], ends[1])))
        }
        _ => None,
    }
}

/// Why a connection ended, where that is a fault of the network. What strangers cause (a port that
/// is scanned, a browser) is none.
fn of_close(why: &Close) -> Option<&'static Diagnosis> {
    match why {
        Close::BadVersion { .. } | Close::HelloRefused(_) => Some(&VERSION),
        Close::NoHello { version: 0x16, kind: 3 } => Some(&TLS_TO_PLAIN),
        Close::Insecure(_) | Close::Outranked | Close::Refused(Refusal::NotProved) => {
            Some(&TLS_REFUSED)
        }
        Close::Refused(Refusal::AlreadyConnected) => Some(&DUPLICATE),
        Close::Refused(Refusal::Full) => Some(&NO_ROOM),
        Close::HandshakeRefused(_) | Close::HandshakeMalformed { .. } | Close::TooManyPorts => {
            Some(&HANDSHAKE)
        }
        Close::NotReading | Close::NoEcho => Some(&SLOW),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_control::SwitchPort;
    use aldis_wire::DatapathId;

    fn link(now: LinkNow) -> ControllerEvent {
        let ends = [SwitchPort::new(1, 2), SwitchPort::new(2, 1)];
        ControllerEvent::Found { by: "topology", found: Found::Link { ends, now } }
    }

    fn down(dpid: u64, why: Close) -> ControllerEvent {
        let peer = "127.0.0.1:4000".parse().unwrap();
        ControllerEvent::Down { dpid: DatapathId(dpid), peer, why, main: false }
    }

    fn ids(list: &Watchlist, now: Instant) -> Vec<&'static str> {
        list.now(now).into_iter().map(|((id, _), _)| id).collect()
    }

    #[test]
    fn what_is_wrong_is_told_once_counted_and_forgotten_after_a_while() {
        let (list, start) = (Watchlist::default(), Instant::now());
        let twice = down(7, Close::Refused(Refusal::AlreadyConnected));
        assert_eq!(list.notice(start, &twice).map(|known| known.id), Some("duplicate-dpid"));
        assert_eq!(list.notice(start + LASTS / 2, &twice), None);
        let [((id, about), seen)] = &list.now(start + LASTS)[..] else { panic!("one") };
        assert_eq!((*id, &**about, seen.count), ("duplicate-dpid", "0000000000000007", 2));
        assert!(ids(&list, start + 2 * LASTS).is_empty());
        assert!(list.notice(start + 2 * LASTS, &twice).is_some(), "it is news again");
    }

    #[test]
    fn a_link_is_watched_until_it_works_both_ways() {
        let (list, start) = (Watchlist::default(), Instant::now());
        list.notice(start, &link(LinkNow::OneWay));
        assert_eq!(ids(&list, start + 9 * LASTS), ["one-way-link"]);
        list.notice(start, &link(LinkNow::Up));
        assert!(ids(&list, start).is_empty());
    }

    #[test]
    fn what_strangers_cause_is_no_fault_and_what_many_cause_has_a_bound() {
        let (list, start) = (Watchlist::default(), Instant::now());
        for why in
            [Close::PeerClosed, Close::Stopping, Close::NoHello { version: 0x47, kind: 0x45 }]
        {
            assert_eq!(list.notice(start, &down(1, why)), None);
        }
        for dpid in 0..1000 {
            list.notice(start, &down(dpid, Close::NotReading));
        }
        assert_eq!(list.now(start).len(), WATCHED_MAX);
    }
}
