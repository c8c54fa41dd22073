//! Silence, probes and barriers, once a switch is up.

use std::time::Duration;

use aldis_control::limits::{PROBE_LOOKS, REQUESTS_MAX};
use aldis_control::session::duplicate::{Claim, Verdict};
use aldis_control::session::{Admission, Answer, Busy, Close, Refusal, Step};
use aldis_wire::Version;

use crate::dialogue::Dialogue;
use crate::switch::up;

const FIFTEEN: Duration = Duration::from_secs(15);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_silent_switch_is_asked_and_stays_if_it_answers() {
    for version in Version::ALL {
        let mut switch = Dialogue::up(version);
        for _ in 0..3 {
            switch.waits_for(FIFTEEN).hears("ECHO_REQUEST").leads_to(Step::Nothing);
            switch.passes(SECOND).says_echo_reply().hears("").leads_to(Step::Nothing);
        }
        switch.waits_for(FIFTEEN).hears("ECHO_REQUEST");
    }
}

#[test]
fn a_silent_switch_is_asked_and_goes_if_it_does_not_answer() {
    for version in Version::ALL {
        let mut switch = Dialogue::up(version);
        switch.waits_for(FIFTEEN).hears("ECHO_REQUEST");
        switch.waits_for(FIFTEEN).hears("").closes(Close::NoEcho);
    }
}

#[test]
fn whatever_a_switch_says_breaks_its_silence() {
    for version in Version::ALL {
        let mut switch = Dialogue::up(version);
        switch.passes(SECOND * 14);
        switch.session.alive(switch.now);
        switch.waits_for(FIFTEEN).hears("ECHO_REQUEST");
        switch.passes(SECOND * 14);
        switch.session.alive(switch.now);
        switch.waits_for(FIFTEEN).hears("ECHO_REQUEST");
        switch.passes(SECOND).says_port_status(2, 1, true);
        switch.waits_for(FIFTEEN).hears("ECHO_REQUEST");
    }
}

#[test]
fn a_worker_that_was_away_does_not_blame_the_switch() {
    let mut switch = Dialogue::up(Version::V13);
    switch.passes(SECOND * 300).ticks().hears("ECHO_REQUEST").leads_to(Step::Nothing);
    switch.waits_for(FIFTEEN).closes(Close::NoEcho);
}

#[test]
fn a_probe_is_answered_by_its_own_echo_alone() {
    for version in Version::ALL {
        let mut switch = Dialogue::up(version);
        switch.is_probed().hears("ECHO_REQUEST");
        switch.passes(SECOND / 2).is_probed().hears("");
        switch.says_port_status(2, 1, true);
        switch.says_raw(version.wire(), 3, 0xdead, &[]).leads_to(Step::Nothing);
        switch.says_echo_reply().hears("").leads_to(Step::ProbeAnswered);
        switch.says_echo_reply().leads_to(Step::Nothing);
        switch.waits_for(FIFTEEN).hears("ECHO_REQUEST");
    }
}

/// Looks at the socket of a switch that was asked, when it is time to, and finds nothing: so many
/// times.
fn looks(switch: &mut Dialogue, times: u32) {
    for _ in 0..times {
        assert!(!switch.session.wants_a_look(switch.now));
        switch.session.was_read(0);
        switch.waits_for(SECOND / PROBE_LOOKS).hears("").leads_to(Step::Nothing);
    }
}

/// The last look of them.
fn looks_in_vain(switch: &mut Dialogue) {
    switch.session.was_read(0);
    switch.waits_for(SECOND / PROBE_LOOKS).hears("").leads_to(Step::ProbeUnanswered);
}

#[test]
fn a_probe_is_unanswered_when_nothing_came_for_a_second() {
    for version in Version::ALL {
        let mut switch = Dialogue::up(version);
        switch.is_probed().hears("ECHO_REQUEST");
        looks(&mut switch, PROBE_LOOKS / 2);
        // The answer may stand behind it.
        switch.session.was_read(64);
        switch.waits_for(SECOND / PROBE_LOOKS).leads_to(Step::Nothing);
        looks(&mut switch, PROBE_LOOKS - 1);
        looks_in_vain(&mut switch);
        switch.is_probed().hears("ECHO_REQUEST");
        switch.says_echo_reply().leads_to(Step::ProbeAnswered);
    }
}

#[test]
fn time_in_which_nobody_looked_is_no_time_to_answer() {
    let mut switch = Dialogue::up(Version::V13);
    switch.is_probed();
    // The question waited to go out, or the worker was somewhere else.
    switch.passes(SECOND * 7).ticks().leads_to(Step::Nothing);
    switch.passes(SECOND * 7);
    assert!(switch.session.wants_a_look(switch.now));
    switch.session.was_read(0);
    switch.ticks().leads_to(Step::Nothing);
    looks(&mut switch, PROBE_LOOKS - 2);
    looks_in_vain(&mut switch);
}

#[test]
fn a_connection_in_its_handshake_can_be_probed_too() {
    let mut switch = Dialogue::with(Version::V13);
    switch.identifies();
    switch.is_admitted(Admission::Main);
    switch.is_probed().hears("ECHO_REQUEST");
    switch.says_echo_reply().leads_to(Step::ProbeAnswered);
    switch.finishes_setup().leads_to(up(Version::V13, &[1, 2]));
}

/// Two connections with one name, and the table that carries their questions.
#[test]
fn a_rebooted_switch_takes_its_place_again() {
    let mut claim = Claim::default();
    let mut old = Dialogue::up(Version::V13);
    assert_eq!(claim.arrive("old", 0, false), Verdict::Main);

    let mut new = Dialogue::with(Version::V13);
    new.identifies();
    assert_eq!(claim.arrive("new", 0, false), Verdict::Probe("old"));
    old.is_probed().hears("ECHO_REQUEST");
    looks(&mut old, PROBE_LOOKS - 1);
    looks_in_vain(&mut old);
    assert!(claim.is_awaited("old") && !claim.is_awaited("new"));
    assert_eq!(claim.gone("old").promoted, Some("new"));
    new.passes(SECOND).is_admitted(Admission::Main);
    new.finishes_setup().leads_to(up(Version::V13, &[1, 2]));
}

#[test]
fn two_switches_with_one_name_do_not_take_turns() {
    let mut claim = Claim::default();
    let mut first = Dialogue::up(Version::V10);
    claim.arrive("first", 0, false);
    for _ in 0..3 {
        let mut second = Dialogue::with(Version::V10);
        second.identifies();
        assert_eq!(claim.arrive("second", 0, false), Verdict::Probe("first"));
        first.is_probed().hears("ECHO_REQUEST");
        first.says_echo_reply().leads_to(Step::ProbeAnswered);
        assert_eq!(claim.answered("first"), Some("second"));
        let refusal = Refusal::AlreadyConnected;
        second.is_admitted(Admission::Refused(refusal)).closes(Close::Refused(refusal));
        claim.gone("second");
    }
}

#[test]
fn a_barrier_is_answered_refused_or_late() {
    for version in Version::ALL {
        let mut switch = Dialogue::up(version);
        let xid = switch.asks_for_a_barrier().unwrap();
        switch.says_barrier_reply().hears("").leads_to(Step::Reply { xid, answer: Answer::Done });
        switch.says_barrier_reply().leads_to(Step::Nothing);
        assert_eq!(switch.session.counts().unawaited, 1);

        let xid = switch.asks_for_a_barrier().unwrap();
        let refused = switch.says_error(1, 1, "BARRIER_REQUEST").step();
        let Step::Reply { answer: Answer::Refused(error), .. } = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((error.xid, error.about), (xid, Some("OFPT_BARRIER_REQUEST")));

        let xid = switch.asks_for_a_barrier().unwrap();
        let late = Step::Reply { xid, answer: Answer::TooLate };
        switch.waits_for(SECOND * 10).hears("").leads_to(late);
        switch.says_barrier_reply().leads_to(Step::Nothing);
    }
}

#[test]
fn a_switch_that_answers_nothing_is_not_asked_without_end() {
    let mut switch = Dialogue::up(Version::V10);
    for _ in 0..REQUESTS_MAX {
        assert!(switch.asks_for_a_barrier().is_ok());
    }
    assert_eq!(switch.asks_for_a_barrier(), Err(Busy));
    switch.passes(SECOND * 10);
    for _ in 0..REQUESTS_MAX {
        let late = switch.ticks().step();
        assert!(matches!(late, Step::Reply { answer: Answer::TooLate, .. }), "{late:?}");
    }
    assert!(switch.asks_for_a_barrier().is_ok());
    assert_eq!(Dialogue::with(Version::V10).asks_for_a_barrier(), Err(Busy));
}
