//! Applications and guests that keep requests from those that would forward.

use super::is_up;
use crate::facts::{AppCounts, AppFacts, Facts, GuestFacts};
use crate::finding::{Diagnosis, Finding, Severity};

/// The event that a packet without a flow is.
const REQUEST: &str = "flow-request";

/// Applications that answer requests of hosts with a way for their packets.
const FORWARD: [&str; 4] = ["route-flow", "learning-switch", "spanning", "hub"];

/// Requests that an application swallowed within the time that was watched.
const SWALLOWED_MIN: u64 = 2;

/// An application failed.
pub const FAILED: Diagnosis = Diagnosis {
    id: "app-failed",
    severity: Severity::Fault,
    title: "application {about} failed, and is left out",
    shown_by: "the list of applications",
    what_to_do: "Read why it failed, then start it again, or remove it.",
    command: "aldis app start {about}",
};

/// An application swallows requests.
pub const SWALLOWED: Diagnosis = Diagnosis {
    id: "app-swallows-requests",
    severity: Severity::Fault,
    title: "application {about} stops requests and answers none: those behind it do not forward them",
    shown_by: "what each application stopped and wrote, counted for a second",
    what_to_do: "Stop it, or put it behind those that forward.",
    command: "aldis app stop {about}",
};

/// Nothing forwards.
pub const NO_FORWARDER: Diagnosis = Diagnosis {
    id: "no-forwarding-app",
    severity: Severity::Fault,
    title: "no application that forwards runs: packets without a flow go nowhere",
    shown_by: "the order of the applications that see flow requests",
    what_to_do: "Start one of them, or start the controller with its default applications.",
    command: "aldis app start learning-switch",
};

/// A guest swallows requests.
pub const GUEST: Diagnosis = Diagnosis {
    id: "guest-swallows-requests",
    severity: Severity::Fault,
    title: "guest {about} is handed requests, and answers none: nothing else forwards them",
    shown_by: "the requests that the guest was handed and the messages that it sent, for a second",
    what_to_do: "Look at the controller behind it; pause the guest so that the applications here \
                 forward.",
    command: "aldis guest pause {about}",
};

/// A guest is away.
pub const GUEST_AWAY: Diagnosis = Diagnosis {
    id: "guest-away",
    severity: Severity::Warning,
    title: "guest {about} does not serve: its packets are left to the applications behind it",
    shown_by: "the state of the guest, and requests that it missed",
    what_to_do: "Start the controller behind it, and see that it listens where the guest says; or \
                 remove the guest.",
    command: "aldis guest remove {about}",
};

/// Applications that failed.
pub fn failed(facts: &Facts) -> Vec<Finding> {
    let apps = &facts.controller.apps[1].apps;
    let failed = |app: &&AppFacts| ["failed", "quarantined", "restarting"].contains(&&*app.state);
    let all: Vec<_> = apps.iter().filter(failed).collect();
    let Some(first) = all.first() else { return vec![] };
    let words = all.iter().map(|app| {
        let reason = app.reason.as_deref().unwrap_or("it does not say why");
        format!("{} is {}: {reason}", app.name, app.state)
    });
    vec![FAILED.found(&[("about", &first.name)], words)]
}

/// Applications that stop what they do not answer; or that none is there which forwards.
pub fn swallowed(facts: &Facts) -> Vec<Finding> {
    let [before, after] = &facts.controller.apps;
    let Some(order) = after.sequences.iter().find(|sequence| sequence.on == REQUEST) else {
        return vec![];
    };
    let is_ours = |name: &String| {
        let app = after.apps.iter().find(|app| app.name == *name);
        app.is_some_and(|app| app.version.is_none())
    };
    let forwards = |name: &&String| FORWARD.contains(&name.as_str()) || !is_ours(name);
    if is_up(facts)
        && facts.controller.guests[1].is_empty()
        && !order.apps.iter().any(|name| forwards(&name))
    {
        let words = format!("{REQUEST}s are seen by: {}", order.apps.join(", "));
        return vec![NO_FORWARDER.found(&[], [words])];
    }
    let counts = |apps: &[AppFacts], name: &str| -> AppCounts {
        let app = apps.iter().find(|app| app.name == name);
        app.and_then(|app| app.counted.clone()).unwrap_or_default()
    };
    let swallowed = order.apps.iter().filter_map(|name| {
        let (before, now) = (counts(&before.apps, name), counts(&after.apps, name));
        let more = |what: &str| {
            let count = |counts: &AppCounts| counts.own.get(what).copied().unwrap_or(0);
            count(&now).saturating_sub(count(&before))
        };
        let (stopped, is_silent) = (more("stopped"), more("messages") == 0);
        (stopped >= SWALLOWED_MIN && is_silent).then_some((name, stopped))
    });
    let all: Vec<_> = swallowed.collect();
    let Some((name, _)) = all.first() else { return vec![] };
    let words = all.iter().map(|(name, stopped)| {
        format!("{name} stopped {stopped} requests while it was watched, and wrote nothing")
    });
    vec![SWALLOWED.found(&[("about", name)], words)]
}

/// Guests that are away, or that do not answer.
pub fn guests(facts: &Facts) -> Vec<Finding> {
    let [before, after] = &facts.controller.guests;
    let is_mute = |guest: &&GuestFacts| {
        let before = before.iter().find(|before| before.name == guest.name);
        before.is_some_and(|before| {
            let (before, now) = (&before.counts, &guest.counts);
            now.requests >= before.requests + SWALLOWED_MIN && now.messages == before.messages
        })
    };
    let is_away = |guest: &&GuestFacts| {
        ["away", "quarantined"].contains(&&*guest.state) && guest.counts.missed > 0
    };
    let mute = of_guests(&GUEST, after.iter().filter(is_mute).collect());
    mute.into_iter().chain(of_guests(&GUEST_AWAY, after.iter().filter(is_away).collect())).collect()
}

fn of_guests(diagnosis: &Diagnosis, all: Vec<&GuestFacts>) -> Option<Finding> {
    let first = all.first()?;
    let words = all.iter().map(|guest| {
        let counts = &guest.counts;
        let reason = guest.reason.as_deref().map_or(String::new(), |why| format!(" ({why})"));
        format!(
            "{} at {} is {}{reason}: {} requests handed over, {} missed, {} messages sent",
            guest.name, guest.connect, guest.state, counts.requests, counts.missed, counts.messages
        )
    });
    Some(diagnosis.found(&[("about", &first.name)], words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Answer, AppsFacts, GuestTally, SequenceFacts};

    fn app(name: &str, stopped: u64, messages: u64) -> AppFacts {
        let own = [("stopped".to_owned(), stopped), ("messages".to_owned(), messages)].into();
        let counted = Some(AppCounts { own });
        AppFacts { name: name.into(), state: "running".into(), counted, ..AppFacts::default() }
    }

    fn facts(before: Vec<AppFacts>, after: Vec<AppFacts>) -> Facts {
        let apps = after.iter().map(|app| app.name.clone()).collect();
        let sequences = vec![SequenceFacts { on: REQUEST.into(), apps }];
        let mut facts = Facts::default();
        facts.controller.answer = Answer::Yes;
        facts.controller.health.switches = 1;
        facts.controller.apps =
            [before, after].map(|apps| AppsFacts { apps, sequences: sequences.clone() });
        facts
    }

    fn ids(facts: &Facts) -> Vec<&'static str> {
        crate::diagnose(facts).iter().map(|found| found.id).collect()
    }

    #[test]
    fn an_application_that_stops_requests_and_says_nothing_swallows_them() {
        let ours = || app("learning-switch", 0, 0);
        let quiet = facts(vec![app("hole", 0, 7), ours()], vec![app("hole", 5, 7), ours()]);
        assert_eq!(ids(&quiet), ["app-swallows-requests"]);
        let busy = facts(vec![app("hole", 0, 7), ours()], vec![app("hole", 5, 99), ours()]);
        assert!(ids(&busy).is_empty(), "what it writes is an answer");
    }

    #[test]
    fn without_an_application_that_forwards_that_is_said() {
        let none = || vec![app("topology", 0, 0), app("hosts", 0, 0)];
        assert_eq!(ids(&facts(none(), none())), ["no-forwarding-app"]);
    }

    #[test]
    fn a_failed_application_is_named_with_its_reason() {
        let mut bad = app("hole", 0, 0);
        (bad.state, bad.reason) = ("quarantined".into(), Some("it trapped".into()));
        let mut facts = facts(vec![], vec![app("hub", 0, 0), bad]);
        let found = crate::diagnose(&facts);
        assert_eq!(found[0].evidence, ["hole is quarantined: it trapped"]);
        facts.controller.apps[1].apps[1].state = "stopped".into();
        assert!(ids(&facts).is_empty(), "what was stopped is meant");
    }

    #[test]
    fn a_guest_that_is_away_or_mute_is_named() {
        let mut facts = facts(vec![], vec![app("hub", 0, 0)]);
        let guest = |state: &str, requests, missed, messages| GuestFacts {
            name: "lab".into(),
            state: state.into(),
            counts: GuestTally { requests, missed, messages },
            ..GuestFacts::default()
        };
        let before = guest("serving", 1, 0, 5);
        for (guest, found) in [
            (guest("serving", 9, 0, 5), vec!["guest-swallows-requests"]),
            (guest("serving", 9, 0, 6), vec![]),
            (guest("away", 1, 3, 5), vec!["guest-away"]),
            (guest("paused", 1, 3, 5), vec![]),
            (guest("away", 1, 0, 5), vec![]),
        ] {
            facts.controller.guests = [vec![before.clone()], vec![guest.clone()]];
            assert_eq!(ids(&facts), found, "{guest:?}");
        }
    }
}
