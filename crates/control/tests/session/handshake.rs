//! From the first HELLO until the switch is up.

use std::time::Duration;

use aldis_control::app::Event;
use aldis_control::session::{Admission, Close, Config, Refusal, Step, Versions};
use aldis_wire::msg::{Experimenter, Message, PortNo};
use aldis_wire::{DatapathId, Version, v10, v13};

use crate::dialogue::{DPID, Dialogue, WORKER};
use crate::switch::{port, up};

/// What an admitted switch is told in each version.
fn setup(version: Version) -> &'static str {
    match version {
        Version::V10 => "SET_CONFIG BARRIER_REQUEST",
        Version::V13 => "SET_CONFIG FLOW_MOD MULTIPART_REQUEST BARRIER_REQUEST",
    }
}

#[test]
fn the_good_handshake() {
    for version in Version::ALL {
        let mut switch = Dialogue::with(version);
        switch.says_hello().hears("FEATURES_REQUEST").leads_to(Step::Nothing);
        assert_eq!(switch.session.version(), Some(version));
        let identified = Step::Identified { dpid: DPID, auxiliary_id: 0 };
        switch.says_features(0).hears("").leads_to(identified);
        switch.is_admitted(Admission::Main).hears(setup(version)).leads_to(Step::Nothing);
        assert!(!switch.session.is_up());
        switch.finishes_setup().hears("").leads_to(up(version, &[1, 2]));
        assert!(switch.session.is_up());
        assert_eq!(switch.session.counts(), Default::default());
    }
}

#[test]
fn our_transaction_ids_carry_the_worker() {
    for version in Version::ALL {
        let switch = Dialogue::up(version);
        for name in ["HELLO", "FEATURES_REQUEST", "SET_CONFIG", "BARRIER_REQUEST"] {
            assert_eq!(switch.xid_of(name) >> 24, u32::from(WORKER), "{name}");
        }
        assert_ne!(switch.xid_of("SET_CONFIG"), switch.xid_of("BARRIER_REQUEST"));
    }
}

#[test]
fn whole_packets_are_asked_for() {
    let switch = Dialogue::up(Version::V10);
    let (_, config) = v10::Message::decode(&switch.bytes_of("SET_CONFIG")).unwrap();
    let v10::Message::SetConfig(config) = config else { panic!("{config:?}") };
    assert_eq!((config.miss_send_len, config.flags.0), (0xffff, 0));

    let switch = Dialogue::up(Version::V13);
    let (_, config) = v13::Message::decode(&switch.bytes_of("SET_CONFIG")).unwrap();
    let v13::Message::SetConfig(config) = config else { panic!("{config:?}") };
    assert_eq!((config.miss_send_len, config.flags.0), (0xffff, 0));
}

#[test]
fn the_table_miss_rule_sends_everything_here() {
    let switch = Dialogue::up(Version::V13);
    let (_, miss) = v13::Message::decode(&switch.bytes_of("FLOW_MOD")).unwrap();
    let v13::Message::FlowMod(miss) = miss else { panic!("{miss:?}") };
    assert_eq!((miss.table_id.0, miss.priority), (0, 0));
    assert_eq!((miss.idle_timeout, miss.hard_timeout, miss.command.0), (0, 0, 0));
    assert!(miss.match_.fields.is_empty());
    let output = v13::Action::Output { port: v13::PortNo::CONTROLLER, max_len: 0xffff };
    assert_eq!(miss.instructions, [v13::Instruction::ApplyActions(vec![output])]);
}

#[test]
fn flows_are_deleted_only_where_that_was_asked_for() {
    for version in Version::ALL {
        let config = Config { delete_flows: true, ..Config::default() };
        let mut switch = Dialogue::configured(version, config);
        switch.identifies();
        let told = setup(version).replace("SET_CONFIG", "SET_CONFIG FLOW_MOD");
        switch.is_admitted(Admission::Main).hears(&told);
    }
}

#[test]
fn an_auxiliary_connection_is_told_nothing() {
    let mut switch = Dialogue::with(Version::V13);
    switch.says_hello();
    switch.says_features(3).leads_to(Step::Identified { dpid: DPID, auxiliary_id: 3 });
    let joined = Step::AuxiliaryUp { dpid: DPID, auxiliary_id: 3 };
    switch.is_admitted(Admission::Auxiliary).hears("").leads_to(joined);
    assert!(switch.session.is_up());
    switch.waits_for(Duration::from_secs(15)).hears("ECHO_REQUEST");
}

#[test]
fn a_connection_that_is_not_admitted_ends_with_the_reason() {
    let mut switch = Dialogue::with(Version::V10);
    switch.identifies();
    let refusal = Refusal::AlreadyConnected;
    switch.is_admitted(Admission::Refused(refusal)).hears("").closes(Close::Refused(refusal));
}

#[test]
fn the_port_description_may_come_in_parts_and_after_the_barrier() {
    let mut switch = Dialogue::with(Version::V13);
    switch.identifies();
    switch.is_admitted(Admission::Main);
    switch.says_ports(&[7, 8], true).leads_to(Step::Nothing);
    switch.says_barrier_reply().leads_to(Step::Nothing);
    switch.says_ports(&[], true).leads_to(Step::Nothing);
    switch.says_ports(&[1], false).leads_to(up(Version::V13, &[1, 7, 8]));
    switch.says_ports(&[9], false).leads_to(Step::Nothing);
    assert_eq!(switch.session.counts().unawaited, 1);
}

#[test]
fn ports_that_change_during_the_handshake_are_as_they_were_last() {
    for version in Version::ALL {
        let mut switch = Dialogue::with(version);
        switch.identifies();
        switch.says_port_status(0, 3, false).leads_to(Step::Nothing);
        switch.is_admitted(Admission::Main);
        if version == Version::V13 {
            switch.says_ports(&[1, 2, 3], false);
        }
        switch.says_port_status(1, 1, false).leads_to(Step::Nothing);
        switch.says_port_status(2, 3, true).leads_to(Step::Nothing);
        let Step::Up(info) = switch.says_barrier_reply().step() else { panic!("not up") };
        let mut third = port(3);
        third.link_down = true;
        assert_eq!(info.ports, [port(2), third], "{version}");
    }
}

#[test]
fn what_comes_too_early_is_passed_over() {
    for version in Version::ALL {
        let mut switch = Dialogue::with(version);
        switch.says_hello();
        switch.says_packet_in().hears("").leads_to(Step::Nothing);
        switch.says_port_status(2, 1, true).hears("").leads_to(Step::Nothing);
        switch.says_features(0);
        switch.says_packet_in().hears("").leads_to(Step::Nothing);
        switch.is_admitted(Admission::Main);
        switch.says_packet_in().hears("").leads_to(Step::Nothing);
        switch.finishes_setup().leads_to(up(version, &[1, 2]));
        assert_eq!(switch.session.counts().early, 4);
    }
}

#[test]
fn an_echo_request_is_answered_at_every_step_with_its_own_bytes() {
    for version in Version::ALL {
        let mut switch = Dialogue::with(version);
        let echoes = |switch: &mut Dialogue| {
            for data in [&b""[..], b"beacon", &[0xee; 65_527]] {
                let answer = switch.says_echo_request(data).hears("ECHO_REPLY");
                assert_eq!(answer.bytes[8..], *data);
                assert_eq!(answer.bytes[4..8], [0, 0, 0, 0x77]);
                answer.leads_to(Step::Nothing);
            }
        };
        echoes(&mut switch);
        switch.says_hello();
        echoes(&mut switch);
        switch.says_features(0);
        echoes(&mut switch);
        switch.is_admitted(Admission::Main);
        echoes(&mut switch);
        switch.finishes_setup().leads_to(up(version, &[1, 2]));
        echoes(&mut switch);
    }
}

#[test]
fn the_handshake_has_one_deadline_and_a_chatty_switch_does_not_move_it() {
    let ten = Duration::from_secs(10);
    let late = |switch: &mut Dialogue, waiting_for| {
        switch.passes(Duration::from_secs(9));
        switch.says_echo_request(b"still here").leads_to(Step::Nothing);
        switch
            .waits_for(ten - Duration::from_secs(9))
            .closes(Close::HandshakeTooLong { waiting_for });
    };
    for version in Version::ALL {
        let mut switch = Dialogue::with(version);
        late(&mut switch, "its HELLO");

        let mut switch = Dialogue::with(version);
        switch.says_hello();
        late(&mut switch, "its features");

        let mut switch = Dialogue::with(version);
        switch.identifies();
        switch.is_admitted(Admission::Main);
        if version == Version::V13 {
            switch.says_ports(&[1], false);
        }
        late(&mut switch, "its reply to a barrier");
    }
    let mut switch = Dialogue::with(Version::V13);
    switch.identifies();
    switch.is_admitted(Admission::Main);
    switch.says_ports(&[1], true);
    late(&mut switch, "its port description");
}

#[test]
fn a_tick_too_early_does_no_harm() {
    let mut switch = Dialogue::with(Version::V13);
    for _ in 0..9 {
        switch.passes(Duration::from_secs(1)).ticks().hears("").leads_to(Step::Nothing);
    }
    switch.passes(Duration::from_secs(1));
    switch.ticks().closes(Close::HandshakeTooLong { waiting_for: "its HELLO" });
}

#[test]
fn the_wait_for_admission_does_not_count() {
    let mut switch = Dialogue::with(Version::V10);
    switch.passes(Duration::from_secs(4));
    switch.identifies();
    switch.passes(Duration::from_millis(900));
    switch.is_admitted(Admission::Main);
    let waiting_for = "its reply to a barrier";
    switch.waits_for(Duration::from_secs(6)).closes(Close::HandshakeTooLong { waiting_for });
}

#[test]
fn a_decision_that_never_comes_ends_the_wait_too() {
    let mut switch = Dialogue::with(Version::V10);
    switch.identifies();
    let waiting_for = "the decision which connection keeps its datapath id";
    switch.waits_for(Duration::from_secs(11)).closes(Close::HandshakeTooLong { waiting_for });
}

#[test]
fn features_with_another_transaction_id_are_taken() {
    let mut switch = Dialogue::with(Version::V10);
    switch.says_hello();
    let reply = v10::Message::FeaturesReply(crate::switch::features_10());
    switch.says(0, reply).leads_to(Step::Identified { dpid: DPID, auxiliary_id: 0 });
    let again = v10::FeaturesReply { datapath_id: DatapathId(9), ..crate::switch::features_10() };
    switch.says(0, v10::Message::FeaturesReply(again)).leads_to(Step::Nothing);
    assert_eq!(switch.session.counts().unawaited, 1);
    switch.is_admitted(Admission::Main);
    switch.finishes_setup().leads_to(up(Version::V10, &[1, 2]));
}

#[test]
fn messages_that_answer_nothing_are_given_out_only_where_that_is_wanted() {
    for version in Version::ALL {
        let mut switch = Dialogue::up(version);
        let message = Message::Experimenter(Experimenter {
            experimenter: 0x2320,
            exp_type: 1,
            body: vec![9; 12],
        });
        let mut bytes = Vec::new();
        message.encode(version, 5, &mut bytes).unwrap();
        switch.says_bytes("an experimenter message", &bytes).leads_to(Step::Nothing);
        switch.session.deliver_unsolicited(true);
        let expected = Event::Unsolicited { xid: 5, message: Box::new(message) };
        switch.says_bytes("the same", &bytes).leads_to(Step::Event(expected));
        // An echo reply and a barrier reply say nothing that an application could use.
        for kind in [3, if version == Version::V10 { 19 } else { 21 }] {
            switch.says_raw(version.wire(), kind, 0xdead, &[]).leads_to(Step::Nothing);
        }
    }
    let mut switch = Dialogue::up(Version::V13);
    switch.says_ports(&[9], false).leads_to(Step::Nothing);
    assert_eq!(switch.session.counts().unawaited, 1);
    switch.session.deliver_unsolicited(true);
    let step = switch.says_ports(&[9], false).step();
    assert!(matches!(step, Step::Event(Event::Unsolicited { .. })), "{step:?}");
    assert_eq!(switch.session.counts().unawaited, 1);
}

#[test]
fn replies_to_what_nobody_asked_change_nothing() {
    for version in Version::ALL {
        let mut switch = Dialogue::with(version);
        switch.identifies();
        switch.is_admitted(Admission::Main);
        let kind = if version == Version::V10 { 19 } else { 21 };
        switch.says_raw(version.wire(), kind, 0xdead, &[]).hears("").leads_to(Step::Nothing);
        let features = switch.xid_of("FEATURES_REQUEST");
        switch.says_raw(version.wire(), kind, features, &[]).leads_to(Step::Nothing);
        assert_eq!(switch.session.counts().unawaited, 2);
        switch.finishes_setup().leads_to(up(version, &[1, 2]));
    }
}

#[test]
fn a_switch_that_knows_no_barriers_is_up_all_the_same() {
    for version in Version::ALL {
        let mut switch = Dialogue::with(version);
        switch.identifies();
        switch.is_admitted(Admission::Main);
        if version == Version::V13 {
            switch.says_ports(&[1, 2], false);
        }
        switch.says_error(1, 1, "BARRIER_REQUEST").hears("").leads_to(up(version, &[1, 2]));
    }
}

#[test]
fn a_switch_that_cannot_name_its_ports_is_up_all_the_same() {
    let mut switch = Dialogue::with(Version::V13);
    switch.identifies();
    switch.is_admitted(Admission::Main);
    let Step::SwitchError(error) = switch.says_error(1, 2, "MULTIPART_REQUEST").hears("").step()
    else {
        panic!("no error")
    };
    assert_eq!(error.about, Some("OFPT_MULTIPART_REQUEST"));
    switch.says_barrier_reply().leads_to(up(Version::V13, &[]));

    // The other way round, the barrier is asked for again.
    let mut switch = Dialogue::with(Version::V13);
    switch.identifies();
    switch.is_admitted(Admission::Main);
    switch.says_barrier_reply().leads_to(Step::Nothing);
    let error = switch.says_error(1, 2, "MULTIPART_REQUEST").hears("BARRIER_REQUEST").step();
    assert!(matches!(error, Step::SwitchError(_)));
    switch.says_barrier_reply().leads_to(up(Version::V13, &[]));
}

#[test]
fn a_switch_that_refuses_to_say_who_it_is_goes() {
    for version in Version::ALL {
        let mut switch = Dialogue::with(version);
        switch.says_hello();
        let close = switch.says_error(1, 5, "FEATURES_REQUEST").hears("").close();
        let words = close.to_string();
        assert!(matches!(close, Close::HandshakeRefused(_)));
        assert!(
            words.contains("OFPBRC_EPERM") && words.contains("OFPT_FEATURES_REQUEST"),
            "{words}"
        );
    }
}

#[test]
fn features_that_cannot_be_read_end_the_handshake() {
    for version in Version::ALL {
        let mut switch = Dialogue::with(version);
        switch.says_hello();
        let xid = switch.xid_of("FEATURES_REQUEST");
        let turn = switch.says_raw(version.wire(), 6, xid, &[0; 9]).hears("ERROR");
        let Close::HandshakeMalformed { what, why } = turn.close() else {
            panic!("another reason")
        };
        assert_eq!(what, "FEATURES_REPLY");
        assert!(why.offset >= 16, "{why}");
    }
}

#[test]
fn more_ports_than_the_bound_are_too_many() {
    let mut switch = Dialogue::with(Version::V13);
    switch.identifies();
    switch.is_admitted(Admission::Main);
    let part: Vec<u32> = (1..=1000).collect();
    for _ in 0..aldis_control::limits::PORTS_MAX / 1000 {
        switch.says_ports(&part, true).leads_to(Step::Nothing);
    }
    switch.says_ports(&part, true).closes(Close::TooManyPorts);
}

#[test]
fn reserved_ports_are_numbered_as_in_1_3() {
    let mut switch = Dialogue::with(Version::V10);
    switch.says_hello();
    let local = v10::PhyPort { port_no: v10::PortNo::LOCAL, ..crate::switch::port_10(1) };
    let features = v10::FeaturesReply { ports: vec![local], ..crate::switch::features_10() };
    switch.says(0, v10::Message::FeaturesReply(features));
    switch.is_admitted(Admission::Main);
    let Step::Up(info) = switch.says_barrier_reply().step() else { panic!("not up") };
    assert_eq!(info.ports[0].number, PortNo::LOCAL);
}

#[test]
fn a_controller_of_one_version_speaks_that_alone() {
    for version in Version::ALL {
        let versions = Versions::only(version);
        let config = Config { versions, ..Config::default() };
        let mut switch = Dialogue::configured(version, config);
        assert_eq!(switch.bytes_of("HELLO")[0], version.wire());
        switch.says_hello().hears("FEATURES_REQUEST");
        assert_eq!(switch.session.version(), Some(version));
    }
}
