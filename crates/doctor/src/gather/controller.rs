//! The controller, over REST: what any script can ask it for.

use std::collections::BTreeMap;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Ask, Asked, is_here};
use crate::facts::{
    Answer, AppsFacts, ControllerFacts, FlowFacts, HealthFacts, LinkFacts, SwitchFacts,
};

/// How long connecting may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);

/// Switches that are asked for the flows of their first table.
const FLOWS_OF_MAX: usize = 256;

/// Days from the first of March of the year 0 to 1970.
const DAYS_TO_1970: f64 = 719_468.0;

/// Threads that ask for them.
const ASKERS: usize = 4;

/// A list, as the interface sends all of them.
#[derive(Deserialize)]
struct Items<T> {
    items: Vec<T>,
}

/// Asks for everything, counters twice.
pub(super) fn controller(asked: &Asked<'_>, watched: Duration, until: Instant) -> ControllerFacts {
    let mut facts = ControllerFacts { url: asked.url.clone(), ..ControllerFacts::default() };
    facts.is_here = is_here(&asked.authority);
    if !listens(&asked.authority) {
        return facts;
    }
    let start = Instant::now();
    match read(asked.ask, "/api/v1/health") {
        Ok(health) => (facts.answer, facts.health) = (Answer::Yes, health),
        Err(why) => {
            facts.answer = Answer::No(why);
            return facts;
        }
    }
    let ask = asked.ask;
    let switches = || list::<SwitchFacts>(ask, "/api/v1/switches");
    // An application that is not there has no list, which is no fault.
    let apps = || read::<AppsFacts>(ask, "/api/v1/apps").unwrap_or_default();
    (facts.switches[0], facts.apps[0]) = (switches(), apps());
    let counted = Instant::now();
    facts.links = links(ask, &facts.health, start);
    facts.hosts = list(ask, "/api/v1/hosts");
    facts.guests[0] = list(ask, "/api/v1/guests");
    (facts.flows, facts.silent) = flows(ask, &facts.switches[0], until);
    if let Some(rest) = watched.checked_sub(start.elapsed()) {
        thread::sleep(rest);
    }
    (facts.switches[1], facts.apps[1]) = (switches(), apps());
    facts.guests[1] = list(ask, "/api/v1/guests");
    facts.watched_s = counted.elapsed().as_secs_f64();
    let here = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |now| now.as_secs_f64());
    let there = since_1970(&facts.health.up_since).map(|since| since + facts.health.up_for_s);
    facts.clock_ahead_s = there.map(|there| there + start.elapsed().as_secs_f64() - here);
    facts
}

/// The links, each with how long ago it was found; the health was read at `start`.
fn links(ask: &Ask<'_>, health: &HealthFacts, start: Instant) -> Vec<LinkFacts> {
    let mut links = list::<LinkFacts>(ask, "/api/v1/links");
    let now = since_1970(&health.up_since)
        .map(|since| since + health.up_for_s + start.elapsed().as_secs_f64());
    for link in &mut links {
        link.found_s_ago = now.zip(since_1970(&link.since)).map(|(now, since)| now - since);
    }
    links
}

/// Seconds from 1970 to a date as the controller writes it: `2026-02-03T04:05:06.789Z`.
fn since_1970(date: &str) -> Option<f64> {
    let (day, time) = date.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, by: char| -> Option<Vec<f64>> {
        text.split(by).map(|number| number.parse().ok()).collect()
    };
    let (day, time) = (numbers(day, '-')?, numbers(time, ':')?);
    let ([year, month, day], [hours, minutes, seconds]) = (&day[..], &time[..]) else {
        return None;
    };
    // The year begins in March, so that the day that may be missing is its last.
    let is_early = *month < 3.0;
    let year = if is_early { year - 1.0 } else { *year };
    let month = if is_early { month + 9.0 } else { month - 3.0 };
    let leap_days = (year / 4.0).floor() - (year / 100.0).floor() + (year / 400.0).floor();
    let days = year * 365.0 + leap_days + ((month * 153.0 + 2.0) / 5.0).floor() + day - 1.0;
    Some((days - DAYS_TO_1970) * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds)
}

fn listens(authority: &str) -> bool {
    let addresses = authority.to_socket_addrs().into_iter().flatten();
    addresses.take(4).any(|address| TcpStream::connect_timeout(&address, CONNECT_WITHIN).is_ok())
}

fn read<T: DeserializeOwned>(ask: &Ask<'_>, path: &str) -> Result<T, String> {
    let text = ask(path)?;
    serde_json::from_str(&text).map_err(|error| format!("{path} is something else: {error}"))
}

fn list<T: DeserializeOwned>(ask: &Ask<'_>, path: &str) -> Vec<T> {
    read::<Items<T>>(ask, path).map_or_else(|_| vec![], |page| page.items)
}

/// The flows of the first table, by switch, and what those said that did not answer.
type FlowsBySwitch = (BTreeMap<String, Vec<FlowFacts>>, BTreeMap<String, String>);

/// Asks switches for their flows, spread over all that there are, as long as there is time.
fn flows(ask: &Ask<'_>, switches: &[SwitchFacts], until: Instant) -> FlowsBySwitch {
    let step = switches.len().div_ceil(FLOWS_OF_MAX).max(1);
    let chosen: Vec<&str> = switches.iter().step_by(step).map(|switch| &*switch.dpid).collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(FlowsBySwitch::default()));
    let work = || {
        while let Some(dpid) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
            if Instant::now() > until {
                return;
            }
            let answer = read::<Items<FlowFacts>>(ask, &format!("/api/v1/switches/{dpid}/flows"));
            let Ok(mut found) = found.lock() else { return };
            match answer {
                Ok(page) => found.0.insert((*dpid).to_owned(), page.items).map(drop),
                Err(why) => found.1.insert((*dpid).to_owned(), why).map(drop),
            };
        }
    };
    thread::scope(|scope| (0..ASKERS).for_each(|_| drop(scope.spawn(work))));
    found.into_inner().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const BUSY: &str = r#"{"items":[{"dpid":"01","version":"1.3","counters":{"requests":7}}]}"#;

    fn answer(path: &str) -> Result<String, String> {
        match path {
            "/api/v1/health" => Ok(r#"{"state":"up","switches":1,"up_for_s":2.5}"#.into()),
            "/api/v1/switches" => Ok(BUSY.into()),
            "/api/v1/switches/01/flows" => Ok(r#"{"items":[{"table":0,"match":{}}]}"#.into()),
            "/api/v1/hosts" => Ok("[".into()),
            _ => Err("no such thing".into()),
        }
    }

    #[test]
    fn a_controller_is_asked_for_what_it_has_and_the_rest_is_left_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let asked = Asked { url: String::new(), authority, ask: &answer };
        let until = Instant::now() + Duration::from_secs(60);
        let facts = controller(&asked, Duration::ZERO, until);
        assert_eq!((facts.answer, facts.is_here, facts.health.switches), (Answer::Yes, true, 1));
        assert_eq!(facts.switches[1][0].counters.requests, 7);
        assert_eq!((facts.flows["01"].len(), facts.hosts.len(), facts.silent.len()), (1, 0, 0));
    }

    #[test]
    fn dates_are_read() {
        assert_eq!(since_1970("1970-01-01T00:00:00Z"), Some(0.0));
        assert_eq!(since_1970("2024-02-29T12:00:00.5Z"), Some(1_709_208_000.5));
        assert_eq!(since_1970("2026-11-26T05:14:40Z"), Some(1_795_670_080.0));
        for odd in ["", "Z", "2024-02-29", "2024-02T1:2:3Z", "x-y-zTa:b:cZ"] {
            assert_eq!(since_1970(odd), None, "{odd}");
        }
    }

    #[test]
    fn where_nothing_listens_nothing_is_asked() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        drop(listener);
        let never = |_: &str| -> Result<String, String> { panic!("it was asked") };
        let asked = Asked { url: String::new(), authority, ask: &never };
        let facts = controller(&asked, Duration::ZERO, Instant::now());
        assert_eq!(facts.answer, Answer::NoListener);
    }
}
