//! What the guests did, each by its name; nothing where there are none.

use aldis_guest::{GuestCounts, GuestState, GuestStatus};

use super::text::{MetricsText, ONE};

/// A count of a guest: name, what it is, the number.
type GuestMetricRow = (&'static str, &'static str, fn(&GuestCounts) -> u64);

const COUNTS: &[GuestMetricRow] = &[
    ("guest_requests_total", "Flow requests that the guest was handed", |c| c.requests),
    (
        "guest_shed_total",
        "Flow requests that found the guest's queue full, or came faster than its rate",
        |c| c.shed,
    ),
    ("guest_missed_total", "Flow requests that came while the guest was away or paused", |c| {
        c.missed
    }),
    ("guest_messages_total", "Messages that the guest sent", |c| c.messages),
    (
        "guest_refused_total",
        "Messages of the guest outside of its grant, or that its switch cannot be told",
        |c| c.refused,
    ),
    ("guest_faults_total", "Messages of the guest that could not be read", |c| c.faults),
    (
        "guest_replies_total",
        "Replies, errors and notices of switches that the guest was handed",
        |c| c.replies,
    ),
    ("guest_connections_total", "Connections that were opened to the guest", |c| c.connections),
];

/// Every state; that of the guest has the value 1, the others 0.
const STATES: [GuestState; 6] = [
    GuestState::Away,
    GuestState::Serving,
    GuestState::Shedding,
    GuestState::Flooding,
    GuestState::Paused,
    GuestState::Quarantined,
];

pub(super) fn render(text: &mut MetricsText, guests: &[GuestStatus]) {
    if guests.is_empty() {
        return;
    }
    let label = |guest: &GuestStatus| ("guest", guest.spec.name.clone());
    text.family("guest_state", "Whether the guest is in this state");
    for guest in guests {
        for state in STATES {
            let labels = [label(guest), ("state", state.name().to_owned())];
            text.sample("guest_state", &labels, ONE, u64::from(guest.state == state));
        }
    }
    text.family("guest_switches", "Switches at which the guest is connected");
    for guest in guests {
        let connected = guest.switches.iter().filter(|switch| switch.version.is_some()).count();
        text.sample("guest_switches", &[label(guest)], ONE, connected as u64);
    }
    for (name, help, of) in COUNTS {
        text.family(name, help);
        for guest in guests {
            text.sample(name, &[label(guest)], ONE, of(&guest.counts));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::guests::tests::guest;

    #[test]
    fn each_guest_has_a_line_for_each_count_and_each_state() {
        let mut text = MetricsText::default();
        render(&mut text, &[guest("one", GuestState::Serving), guest("two", GuestState::Paused)]);
        let text = text.finish();
        for line in [
            "# TYPE aldis_guest_requests_total counter",
            "# TYPE aldis_guest_state gauge",
            "aldis_guest_state{guest=\"one\",state=\"serving\"} 1",
            "aldis_guest_state{guest=\"one\",state=\"paused\"} 0",
            "aldis_guest_state{guest=\"two\",state=\"paused\"} 1",
            "aldis_guest_switches{guest=\"two\"} 1",
            "aldis_guest_requests_total{guest=\"one\"} 1",
            "aldis_guest_shed_total{guest=\"one\"} 2",
            "aldis_guest_missed_total{guest=\"one\"} 3",
            "aldis_guest_messages_total{guest=\"one\"} 4",
            "aldis_guest_refused_total{guest=\"one\"} 5",
            "aldis_guest_faults_total{guest=\"one\"} 6",
            "aldis_guest_replies_total{guest=\"one\"} 7",
            "aldis_guest_connections_total{guest=\"two\"} 8",
        ] {
            assert!(text.lines().any(|there| there == line), "{line} is missing:\n{text}");
        }
        // Twelve states, two numbers of switches, two of each of eight counts.
        assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 12 + 2 + 16);
    }

    #[test]
    fn no_guest_is_no_line() {
        let mut text = MetricsText::default();
        render(&mut text, &[]);
        assert_eq!(text.finish(), "");
    }
}
