//! What the switch does wrong, and what it says that we did.

use std::time::Duration;

use aldis_control::app::Event;
use aldis_control::limits::FAULTS_MAX;
use aldis_control::session::{Admission, Close, Step};
use aldis_wire::msg::{PortChange, PortChangeReason};
use aldis_wire::{Malformed, Reason, Version, v10, v13};

use crate::dialogue::{Dialogue, Turn};
use crate::switch::{port, up};

/// The switch is told, in OFPET_BAD_REQUEST, that code about that message, and stays.
#[track_caller]
fn is_told(turn: Turn, code: u8, xid: u32, about: &[u8]) {
    let turn = turn.hears("ERROR");
    assert_eq!(turn.bytes[4..8], xid.to_be_bytes());
    assert_eq!(turn.bytes[8..12], [0, 1, 0, code]);
    assert_eq!(turn.bytes[12..], about[..about.len().min(64)]);
    turn.leads_to(Step::Nothing);
}

const BAD_VERSION: u8 = 0;
const BAD_TYPE: u8 = 1;
const BAD_LEN: u8 = 6;

#[test]
fn another_version_than_the_one_agreed_on_is_an_error() {
    for version in Version::ALL {
        for other in (0..=255).filter(|&other| other != version.wire()).step_by(17) {
            let mut switch = Dialogue::up(version);
            let message = crate::dialogue::raw(other, 2, 7, b"echo");
            let turn = switch.says_bytes("an echo of another version", &message);
            is_told(turn, BAD_VERSION, 7, &message);
            assert_eq!(switch.session.counts().faults, 1);
        }
    }
}

#[test]
fn types_that_do_not_exist_are_an_error() {
    for version in Version::ALL {
        let first = if version == Version::V10 { 22 } else { 30 };
        for kind in first..=255 {
            let mut switch = Dialogue::up(version);
            let message = crate::dialogue::raw(version.wire(), kind, 7, &[1; 100]);
            is_told(switch.says_bytes("an unknown type", &message), BAD_TYPE, 7, &message);
        }
    }
}

#[test]
fn what_only_a_controller_may_send_is_an_error() {
    for version in Version::ALL {
        let requests: &[u8] = if version == Version::V10 { &[5, 7, 18] } else { &[5, 7, 20, 26] };
        for &kind in requests {
            let mut switch = Dialogue::up(version);
            let message = crate::dialogue::raw(version.wire(), kind, 7, &[]);
            is_told(switch.says_bytes("a request", &message), BAD_TYPE, 7, &message);
        }
        let mut switch = Dialogue::up(version);
        switch.is_probed();
        let set_config = switch.bytes_of("SET_CONFIG");
        let xid = switch.xid_of("SET_CONFIG");
        is_told(switch.says_bytes("SET_CONFIG", &set_config), BAD_TYPE, xid, &set_config);
    }
}

#[test]
fn a_length_that_cannot_be_is_an_error() {
    for version in Version::ALL {
        let (port_status, barrier) = if version == Version::V10 { (12, 19) } else { (12, 21) };
        for (kind, body) in [(port_status, 3), (port_status, 200), (barrier, 1), (6, 0), (10, 2)] {
            let mut switch = Dialogue::up(version);
            let message = crate::dialogue::raw(version.wire(), kind, 7, &vec![0; body]);
            is_told(switch.says_bytes("a bad length", &message), BAD_LEN, 7, &message);
        }
    }
}

#[test]
fn a_fault_during_the_handshake_is_no_reason_to_end_it() {
    for version in Version::ALL {
        let mut switch = Dialogue::with(version);
        switch.says_hello();
        switch.says_raw(version.wire(), 12, 7, &[0; 3]).hears("ERROR").leads_to(Step::Nothing);
        switch.says_features(0);
        switch.says_raw(version.wire(), 12, 7, &[0; 3]).hears("ERROR").leads_to(Step::Nothing);
        switch.is_admitted(Admission::Main);
        switch.says_raw(version.wire(), 10, 7, &[0; 3]).hears("ERROR").leads_to(Step::Nothing);
        switch.finishes_setup().leads_to(up(version, &[1, 2]));
    }
}

#[test]
fn an_error_is_never_answered_with_an_error() {
    for version in Version::ALL {
        let mut switch = Dialogue::up(version);
        for body in [&[][..], &[0], &[0, 1, 0]] {
            for theirs in [version.wire(), 0, 0x99] {
                switch.says_raw(theirs, 1, 7, body).hears("").leads_to(Step::Nothing);
            }
        }
        assert_eq!(switch.session.counts().faults, 9);
    }
}

#[test]
fn a_flood_of_faults_ends_the_connection_and_a_trickle_does_not() {
    let why = Malformed { field: "header.type", offset: 1, reason: Reason::BadType };
    for version in Version::ALL {
        let mut switch = Dialogue::up(version);
        for _ in 0..3 * FAULTS_MAX {
            switch.passes(Duration::from_secs(1));
            switch.says_raw(version.wire(), 99, 7, &[]).hears("ERROR").leads_to(Step::Nothing);
        }
        let mut switch = Dialogue::up(version);
        for _ in 0..FAULTS_MAX {
            switch.says_raw(version.wire(), 99, 7, &[]).leads_to(Step::Nothing);
        }
        switch
            .says_raw(version.wire(), 99, 7, &[])
            .hears("ERROR")
            .closes(Close::TooManyFaults(why));
    }
}

#[test]
fn a_switchs_error_is_told_by_name_with_the_message_and_a_hint() {
    let mut switch = Dialogue::up(Version::V13);
    let Step::SwitchError(error) = switch.says_error(5, 1, "FLOW_MOD").hears("").step() else {
        panic!("no error")
    };
    let words = error.to_string();
    let xid = switch.xid_of("FLOW_MOD");
    let start = format!("switch 0000000000000007 refused OFPT_FLOW_MOD (xid {xid:#x}): ");
    assert!(words.starts_with(&start), "{words}");
    assert!(words.contains("OFPFMFC_TABLE_FULL") && words.len() > start.len() + 40, "{words}");

    let mut switch = Dialogue::up(Version::V10);
    let code = v10::ErrorCode::from_wire(3, 0);
    let error = v10::Message::Error(v10::Error { code, data: vec![1, 2, 3] });
    let Step::SwitchError(error) = switch.says(9, error).step() else { panic!("no error") };
    let words = error.to_string();
    assert!(
        words.contains("reports (xid 0x9)") && words.contains("OFPFMFC_ALL_TABLES_FULL"),
        "{words}"
    );
    assert_eq!(switch.session.counts().errors, 1);
}

#[test]
fn errors_without_a_name_are_told_by_number() {
    for version in Version::ALL {
        let mut switch = Dialogue::up(version);
        let step =
            switch.says_raw(version.wire(), 1, 7, &[0x12, 0x34, 0, 9, 1, 2]).hears("").step();
        let Step::SwitchError(error) = step else { panic!("no error") };
        assert!(error.to_string().contains("4660"), "{error}");
    }
}

#[test]
fn ports_that_change_are_told() {
    for version in Version::ALL {
        let mut switch = Dialogue::up(version);
        for (reason, means) in [
            (0, PortChangeReason::Added),
            (1, PortChangeReason::Removed),
            (2, PortChangeReason::Modified),
            (9, PortChangeReason::Modified),
        ] {
            let change = PortChange { reason: means, port: port(1) };
            switch.says_port_status(reason, 1, false).leads_to(Step::Event(Event::Port(change)));
        }
        let Step::Event(Event::Port(change)) = switch.says_port_status(2, 2, true).step() else {
            panic!("no port change")
        };
        assert!(change.port.link_down && !change.port.admin_down);
    }
}

#[test]
fn notices_that_nobody_needs_are_passed_over() {
    let mut switch = Dialogue::up(Version::V13);
    let experimenter = v13::Experimenter { experimenter: 0x2320, exp_type: 1, body: vec![0; 8] };
    switch.says(0, v13::Message::Experimenter(experimenter)).hears("").leads_to(Step::Nothing);
    assert_eq!(switch.session.counts(), Default::default());
}
