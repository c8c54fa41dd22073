//! OpenFlow 1.0 against its golden vectors and its laws.

use crate::arbitrary_v10 as arbitrary;
use aldis_testkit::golden;
use aldis_wire::v10::error::ErrorType;
use aldis_wire::v10::stats::StatsType;
use aldis_wire::v10::*;
use aldis_wire::{Malformed, Reason};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn decode_corpus() -> Vec<(golden::Golden, u32, Message)> {
    let decode = |golden: golden::Golden| {
        let (xid, message) = Message::decode(&golden.bytes)
            .unwrap_or_else(|error| panic!("{}: {error}", golden.name));
        (golden, xid, message)
    };
    golden::corpus("v10").into_iter().map(decode).collect()
}

fn encode(xid: u32, message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(xid, &mut bytes).expect("short enough");
    bytes
}

/// Gives `bytes` a header of type `kind` whose length is right.
fn with_header(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (8 + body.len()) as u16;
    let mut bytes = vec![1, kind];
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0, 0, 9]);
    bytes.extend(body);
    bytes
}

#[test]
fn golden_vectors_decode_to_what_their_text_says_and_encode_again() {
    for (golden, xid, message) in decode_corpus() {
        golden.expect(&message);
        assert_eq!(encode(xid, &message), golden.bytes, "{}", golden.name);
    }
}

fn actions_of(message: &Message) -> &[Action] {
    match message {
        Message::FlowMod(flow_mod) => &flow_mod.actions,
        Message::PacketOut(packet_out) => &packet_out.actions,
        _ => &[],
    }
}

/// The corpus is only worth its name while it has everything in it.
#[test]
fn the_corpus_covers_every_kind_of_message_and_structure() {
    let corpus = decode_corpus();
    let messages = || corpus.iter().map(|(_, _, message)| message);

    let types: BTreeSet<_> = messages().map(Message::message_type).collect();
    assert_eq!(types, MessageType::NAMED.iter().copied().collect());

    let actions: BTreeSet<_> = messages().flat_map(actions_of).map(Action::action_type).collect();
    assert!(ActionType::NAMED.iter().all(|kind| actions.contains(kind)));
    assert!(actions.iter().any(|kind| kind.name().is_none()));

    let requests: BTreeSet<_> = messages()
        .filter_map(|message| match message {
            Message::StatsRequest(request) => Some(request.body.stats_type()),
            _ => None,
        })
        .collect();
    let replies: BTreeSet<_> = messages()
        .filter_map(|message| match message {
            Message::StatsReply(reply) => Some(reply.body.stats_type()),
            _ => None,
        })
        .collect();
    for kinds in [requests, replies] {
        assert!(StatsType::NAMED.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
        assert!(kinds.iter().any(|kind| kind.name().is_none()));
    }

    let errors: BTreeSet<_> = messages()
        .filter_map(|message| match message {
            Message::Error(error) => Some(error.code.error_type()),
            _ => None,
        })
        .collect();
    assert!(ErrorType::NAMED.iter().all(|kind| errors.contains(kind)));
    assert!(errors.iter().any(|kind| kind.name().is_none()));

    let commands: BTreeSet<_> = messages()
        .filter_map(|message| match message {
            Message::FlowMod(flow_mod) => Some(flow_mod.command),
            _ => None,
        })
        .collect();
    assert!(FlowModCommand::NAMED.iter().all(|command| commands.contains(command)));
}

/// Messages whose last field takes whatever is left: any shorter or longer message is one too, down
/// to a minimum.
fn has_a_raw_tail(message: &Message) -> bool {
    matches!(
        message,
        Message::Hello(_)
            | Message::Error(_)
            | Message::EchoRequest(_)
            | Message::EchoReply(_)
            | Message::Vendor(_)
            | Message::PacketIn(_)
            | Message::PacketOut(_)
    ) || matches!(message, Message::StatsRequest(request) if raw_stats(request.body.stats_type()))
        || matches!(message, Message::StatsReply(reply) if raw_stats(reply.body.stats_type()))
}

fn raw_stats(kind: StatsType) -> bool {
    kind == StatsType::VENDOR || kind.name().is_none()
}

#[test]
fn a_message_cut_short_or_too_long_is_refused() {
    for (golden, _, message) in decode_corpus() {
        let name = &golden.name;
        for end in 0..golden.bytes.len() {
            assert!(
                Message::decode(&golden.bytes[..end]).is_err(),
                "{name} cut at {end}, length unchanged"
            );
        }
        if has_a_raw_tail(&message) {
            continue;
        }
        let mut longer = golden.bytes[8..].to_vec();
        longer.push(0);
        assert!(
            Message::decode(&with_header(message.kind(), &longer)).is_err(),
            "{name} and a byte"
        );
    }
}

/// With a header that says the shorter length, what can be read is read whole, and encodes to that
/// length again.
#[test]
fn a_prefix_with_a_truthful_header_is_read_whole_or_refused() {
    for (golden, _, message) in decode_corpus() {
        for end in 8..golden.bytes.len() {
            let cut = with_header(message.kind(), &golden.bytes[8..end]);
            if let Ok((xid, message)) = Message::decode(&cut) {
                assert_eq!(encode(xid, &message), cut, "{} cut at {end}", golden.name);
            }
        }
    }
}

#[test]
fn every_other_version_and_type_is_refused() {
    let refused = |version: u8, kind: u8| {
        Message::decode(&[version, kind, 0, 8, 0, 0, 0, 0]).expect_err("a bare header").reason
    };
    for version in (0..=255).filter(|&version| version != 1) {
        assert_eq!(refused(version, 0), Reason::BadVersion);
    }
    for kind in 22..=255 {
        assert_eq!(refused(1, kind), Reason::BadType);
    }
}

#[test]
fn malformed_messages_name_the_field_and_its_place() {
    let flow_mod = |action: [u8; 8]| {
        let mut body = vec![0; 64];
        body.extend(action);
        Message::decode(&with_header(14, &body)).expect_err("a bad action")
    };
    let bad_len = Malformed { field: "action.len", offset: 72, reason: Reason::BadLength };
    for len in [0, 1, 4, 7, 9, 12, 15] {
        assert_eq!(flow_mod([0, 0, 0, len, 0, 1, 0, 0]), bad_len, "len {len}");
    }
    assert_eq!(flow_mod([0, 0, 0, 16, 0, 1, 0, 0]), bad_len, "an OUTPUT of 16 bytes");
    let beyond = flow_mod([0xff, 0xff, 0, 16, 0, 0, 0x23, 0x20]);
    assert_eq!((beyond.field, beyond.reason), ("action.len", Reason::BadLength));

    let packet_out = with_header(13, &[0, 0, 0, 1, 0, 1, 0, 9, 0, 0, 0, 8, 0, 1, 0, 0]);
    let error = Message::decode(&packet_out).expect_err("actions_len goes beyond the end");
    assert_eq!((error.field, error.reason), ("packet_out.actions_len", Reason::BadLength));

    let mut reply = vec![0, 1, 0, 0, 0, 87];
    reply.resize(4 + 88, 0);
    let error = Message::decode(&with_header(17, &reply)).expect_err("an entry of 87 bytes");
    assert_eq!((error.field, error.offset), ("flow_stats.length", 12));
}

#[test]
fn a_message_too_long_is_said_so() {
    let echo = |len| Message::EchoRequest(Echo { data: vec![0; len] });
    assert_eq!(encode(1, &echo(65_527)).len(), 65_535);
    let mut out = vec![7];
    assert!(echo(65_528).encode(1, &mut out).is_err());
    assert_eq!(out, [7]);
}

#[test]
fn bodies_that_are_no_multiple_of_eight_are_padded() {
    let message = Message::PacketOut(PacketOut {
        buffer_id: 1,
        in_port: PortNo(1),
        actions: vec![
            Action::Vendor { vendor: 1, body: vec![1] },
            Action::Unknown { kind: ActionType(99), body: vec![] },
        ],
        data: vec![],
    });
    let (_, decoded) = Message::decode(&encode(0, &message)).expect("a legal message");
    let padded = [
        Action::Vendor { vendor: 1, body: vec![1, 0, 0, 0, 0, 0, 0, 0] },
        Action::Unknown { kind: ActionType(99), body: vec![0; 4] },
    ];
    assert_eq!(actions_of(&decoded), padded);
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(message in arbitrary::message(), xid: u32) {
        let bytes = encode(xid, &message);
        let (read_xid, read) = Message::decode(&bytes).unwrap();
        prop_assert_eq!(read_xid, xid);
        prop_assert_eq!(&read, &message);
        prop_assert_eq!(encode(xid, &read), bytes);
    }

    /// Whatever is accepted encodes to the same length, and to the same message.
    #[test]
    fn any_bytes_are_refused_or_kept(kind in 0..24u8, body in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok((xid, message)) = Message::decode(&with_header(kind, &body)) {
            let bytes = encode(xid, &message);
            prop_assert_eq!(bytes.len(), 8 + body.len());
            prop_assert_eq!(Message::decode(&bytes).unwrap().1, message);
        }
    }

    /// The same for valid messages with some bytes overwritten, which get further.
    #[test]
    fn mutated_messages_are_refused_or_kept(
        message in arbitrary::message(),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = encode(3, &message);
        for (place, value) in places {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Ok((xid, message)) = Message::decode(&bytes) {
            let again = encode(xid, &message);
            prop_assert_eq!(again.len(), bytes.len());
            prop_assert_eq!(Message::decode(&again).unwrap().1, message);
        }
    }

    #[test]
    fn the_view_of_a_packet_in_says_what_decoding_says(packet_in in arbitrary::packet_in(), xid: u32) {
        let bytes = encode(xid, &Message::PacketIn(packet_in.clone()));
        let view = packet_in::view(&bytes).unwrap();
        prop_assert_eq!(view.buffer_id, packet_in.buffer_id);
        prop_assert_eq!(view.total_len, packet_in.total_len);
        prop_assert_eq!(PortNo::narrow(view.in_port), Some(packet_in.in_port));
        prop_assert_eq!(view.reason, packet_in.reason.0);
        prop_assert_eq!(view.frame, &packet_in.data);
        prop_assert_eq!(view.frame, &bytes[view.frame_at as usize..]);
    }

    #[test]
    fn the_view_refuses_what_decoding_refuses(
        kind in 8..12u8,
        body in prop::collection::vec(any::<u8>(), 0..40),
        place: prop::sample::Index,
        value: u8,
    ) {
        let mut bytes = with_header(kind, &body);
        let place = place.index(4);
        bytes[place] = value;
        let decoded = Message::decode(&bytes);
        match packet_in::view(&bytes) {
            Ok(_) => prop_assert!(matches!(decoded, Ok((_, Message::PacketIn(_))))),
            Err(error) => match decoded {
                Ok((_, message)) => {
                    prop_assert!(message.kind() != 10);
                    prop_assert_eq!(error.reason, Reason::BadType);
                }
                Err(said) => prop_assert_eq!(error, said),
            },
        }
    }
}
