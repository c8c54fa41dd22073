//! OpenFlow 1.3 against its golden vectors and its laws.

use crate::arbitrary_v13 as arbitrary;
use aldis_testkit::golden;
use aldis_wire::v13::stats::table_features::TablePropertyType;
use aldis_wire::v13::*;
use aldis_wire::{Malformed, Reason};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn decode_corpus() -> Vec<(golden::Golden, u32, Message)> {
    let decode = |golden: golden::Golden| {
        let (xid, message) = Message::decode(&golden.bytes)
            .unwrap_or_else(|error| panic!("{}: {error}", golden.name));
        (golden, xid, message)
    };
    golden::corpus("v13").into_iter().map(decode).collect()
}

fn encode(xid: u32, message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(xid, &mut bytes).expect("short enough");
    bytes
}

/// Gives `body` a header of type `kind` whose length is right.
fn with_header(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (8 + body.len()) as u16;
    let mut bytes = vec![4, kind];
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

/// Fails where a type with a name is not among `seen`, or no type without one.
fn assert_all<T: Ord + std::fmt::Debug>(
    named: &[T],
    name: impl Fn(&T) -> Option<&'static str>,
    seen: impl IntoIterator<Item = T>,
) {
    let seen: BTreeSet<T> = seen.into_iter().collect();
    for value in named {
        assert!(seen.contains(value), "no {value:?} among {seen:?}");
    }
    assert!(seen.iter().any(|value| name(value).is_none()), "only names in {seen:?}");
}

fn matches_of(message: &Message) -> Vec<&Match> {
    match message {
        Message::PacketIn(packet_in) => vec![&packet_in.match_],
        Message::FlowMod(flow_mod) => vec![&flow_mod.match_],
        _ => vec![],
    }
}

fn actions_of(message: &Message) -> &[Action] {
    match message {
        Message::PacketOut(packet_out) => &packet_out.actions,
        _ => &[],
    }
}

fn instructions_of(message: &Message) -> &[Instruction] {
    match message {
        Message::FlowMod(flow_mod) => &flow_mod.instructions,
        _ => &[],
    }
}

fn tables_of(message: &Message) -> &[stats::TableFeatures] {
    match message {
        Message::MultipartReply(MultipartReply {
            body: MultipartReplyBody::TableFeatures(tables),
            ..
        }) => tables,
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

    let errors = messages().filter_map(|message| match message {
        Message::Error(error) => Some(error.code.error_type()),
        _ => None,
    });
    assert_all(ErrorType::NAMED, |kind| kind.name(), errors);

    let requests = messages().filter_map(|message| match message {
        Message::MultipartRequest(request) => Some(request.body.multipart_type()),
        _ => None,
    });
    assert_all(MultipartType::NAMED, |kind| kind.name(), requests);
    let replies = messages().filter_map(|message| match message {
        Message::MultipartReply(reply) => Some(reply.body.multipart_type()),
        _ => None,
    });
    assert_all(MultipartType::NAMED, |kind| kind.name(), replies);

    let commands = messages().filter_map(|message| match message {
        Message::FlowMod(flow_mod) => Some(flow_mod.command),
        _ => None,
    });
    assert_all(FlowModCommand::NAMED, |command| command.name(), commands);
    let groups = messages().filter_map(|message| match message {
        Message::GroupMod(group_mod) => Some(group_mod.kind),
        _ => None,
    });
    assert_all(GroupType::NAMED, |kind| kind.name(), groups);
}

#[test]
fn the_corpus_covers_every_kind_of_part() {
    let corpus = decode_corpus();
    let messages = || corpus.iter().map(|(_, _, message)| message);

    let actions = messages().flat_map(actions_of).map(Action::action_type);
    assert_all(ActionType::NAMED, |kind| kind.name(), actions);
    let instructions = messages().flat_map(instructions_of).map(Instruction::instruction_type);
    assert_all(InstructionType::NAMED, |kind| kind.name(), instructions);
    let properties = messages().flat_map(tables_of).flat_map(|table| &table.properties);
    let properties = properties.map(stats::TableProperty::property_type);
    assert_all(TablePropertyType::NAMED, |kind| kind.name(), properties);

    let bands = messages().flat_map(|message| match message {
        Message::MeterMod(meter_mod) => meter_mod.bands.as_slice(),
        _ => &[],
    });
    assert_all(BandType::NAMED, |kind| kind.name(), bands.map(MeterBand::band_type));
    let queues = messages().flat_map(|message| match message {
        Message::QueueGetConfigReply(reply) => reply.queues.as_slice(),
        _ => &[],
    });
    let properties = queues.flat_map(|queue| &queue.properties).map(QueueProperty::property_type);
    assert_all(queue::QueuePropertyType::NAMED, |kind| kind.name(), properties);

    let fields: BTreeSet<u32> = messages()
        .flat_map(matches_of)
        .flat_map(|match_| &match_.fields)
        .map(|field| field.header().0 >> 8)
        .collect();
    for field in 0..40 {
        assert!(fields.contains(&(0x80_0000 | field << 1)), "field {field}");
    }
    // Those that can be masked, and three more fields with a mask that are kept raw.
    assert_eq!(fields.iter().filter(|field| **field & 1 == 1).count(), 16 + 3);
}

/// Messages whose last part takes whatever is left, or any number of parts: others are cut short or
/// too long if changed.
fn has_a_fixed_length(message: &Message) -> bool {
    match message {
        Message::FeaturesRequest
        | Message::FeaturesReply(_)
        | Message::GetConfigRequest
        | Message::GetConfigReply(_)
        | Message::SetConfig(_)
        | Message::PortStatus(_)
        | Message::PortMod(_)
        | Message::TableMod(_)
        | Message::FlowRemoved(_)
        | Message::BarrierRequest
        | Message::BarrierReply
        | Message::QueueGetConfigRequest(_)
        | Message::RoleRequest(_)
        | Message::RoleReply(_)
        | Message::GetAsyncRequest
        | Message::GetAsyncReply(_)
        | Message::SetAsync(_) => true,
        Message::MultipartRequest(request) => !matches!(
            request.body,
            MultipartRequestBody::TableFeatures(_)
                | MultipartRequestBody::Experimenter(_)
                | MultipartRequestBody::Unknown { .. }
        ),
        _ => false,
    }
}

#[test]
fn a_message_cut_short_or_too_long_is_refused() {
    for (golden, _, message) in decode_corpus() {
        let name = &golden.name;
        for end in 0..golden.bytes.len() {
            assert!(Message::decode(&golden.bytes[..end]).is_err(), "{name} cut at {end}");
        }
        if !has_a_fixed_length(&message) {
            continue;
        }
        let body = &golden.bytes[8..];
        for end in 0..body.len() {
            let cut = with_header(message.kind(), &body[..end]);
            assert!(Message::decode(&cut).is_err(), "{name} cut at {end}, and truthful");
        }
        let longer = with_header(message.kind(), &[body, &[0]].concat());
        assert!(Message::decode(&longer).is_err(), "{name} and a byte");
    }
}

/// Whatever is accepted encodes to the same length, and to the same message. (The last padding of a
/// HELLO may be missing, and is there afterwards.)
fn assert_refused_or_kept(bytes: &[u8]) {
    if let Ok((xid, message)) = Message::decode(bytes) {
        let again = encode(xid, &message);
        let length = match message {
            Message::Hello(_) => bytes.len().next_multiple_of(8),
            _ => bytes.len(),
        };
        assert_eq!(again.len(), length, "{message:?}");
        assert_eq!(Message::decode(&again), Ok((xid, message)));
    }
}

#[test]
fn a_prefix_with_a_truthful_header_is_refused_or_kept() {
    for (golden, _, message) in decode_corpus() {
        for end in 8..golden.bytes.len() {
            assert_refused_or_kept(&with_header(message.kind(), &golden.bytes[8..end]));
        }
    }
}

/// Every two bytes of every vector, read as a length that lies in every way there is.
#[test]
fn a_lying_length_is_refused_or_kept() {
    for (golden, ..) in decode_corpus() {
        for place in 0..golden.bytes.len() - 1 {
            let left = (golden.bytes.len() - place) as u16;
            for lie in [0, 1, 3, 4, 7, 8, 15, left - 1, left, left + 1, 0x7fff, 0xffff] {
                let mut bytes = golden.bytes.clone();
                bytes[place..place + 2].copy_from_slice(&lie.to_be_bytes());
                assert_refused_or_kept(&bytes);
            }
        }
    }
}

#[test]
fn every_other_version_and_type_is_refused() {
    let refused = |version: u8, kind: u8| {
        Message::decode(&[version, kind, 0, 8, 0, 0, 0, 0]).expect_err("a bare header").reason
    };
    for version in (0..=255).filter(|&version| version != 4) {
        assert_eq!(refused(version, 0), Reason::BadVersion);
    }
    for kind in 30..=255 {
        assert_eq!(refused(4, kind), Reason::BadType);
    }
}

/// A PACKET_OUT with the bytes of one action.
fn with_action(action: &[u8]) -> Result<(u32, Message), Malformed> {
    let mut body = vec![0; 16];
    body[9] = action.len() as u8;
    body.extend(action);
    Message::decode(&with_header(13, &body))
}

#[test]
fn malformed_actions_name_the_field_and_its_place() {
    let bad_length = Malformed { field: "action.length", offset: 26, reason: Reason::BadLength };
    for len in [0, 1, 4, 7, 9, 12, 15, 24, 255] {
        let action = [0, 0, 0, len, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(with_action(&action), Err(bad_length), "length {len}");
    }
    let long = [0, 18, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let error = with_action(&long).expect_err("a POP_VLAN of 16 bytes");
    assert_eq!((error.field, error.reason), ("action.length", Reason::BadLength));
    let beyond = [0, 25, 0, 8, 0x80, 0, 0, 9];
    let error = with_action(&beyond).expect_err("a field longer than its action");
    assert_eq!((error.field, error.offset), ("oxm.length", 32));
    let wrong = [0, 25, 0, 16, 0x80, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0];
    let error = with_action(&wrong).expect_err("an IN_PORT of three bytes");
    let expected = Malformed { field: "oxm.length", offset: 31, reason: Reason::BadLength };
    assert_eq!(error, expected);
}

#[test]
fn malformed_structures_name_the_field_and_its_place() {
    let wrong = |kind: u8, body: &[u8]| {
        let error = Message::decode(&with_header(kind, body)).expect_err("malformed");
        (error.field, error.offset, error.reason)
    };
    assert_eq!(wrong(0, &[0, 1, 0, 3]), ("hello.element.length", 10, Reason::BadLength));
    assert_eq!(wrong(9, &[0; 5]), ("message", 12, Reason::Trailing));

    let mut packet_out = [0; 16];
    packet_out[9] = 8;
    assert_eq!(wrong(13, &packet_out), ("packet_out.actions_len", 16, Reason::BadLength));

    let mut flow_mod = vec![0; 48];
    flow_mod[41] = 1;
    flow_mod[43] = 3;
    assert_eq!(wrong(14, &flow_mod), ("match.length", 50, Reason::BadLength));
    flow_mod[41] = 0;
    flow_mod[43] = 4;
    assert_eq!(wrong(14, &flow_mod), ("match.type", 48, Reason::BadValue));
    flow_mod[41] = 1;
    flow_mod.extend([0, 4, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(wrong(14, &flow_mod), ("instruction.length", 58, Reason::BadLength));

    let mut group_mod = vec![0; 8];
    group_mod.extend([0; 16]);
    assert_eq!(wrong(15, &group_mod), ("bucket.len", 16, Reason::BadLength));
    let meter_mod = [0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0];
    assert_eq!(wrong(29, &meter_mod), ("meter_band.len", 18, Reason::BadLength));
    let mut queues = vec![0; 8 + 16];
    queues[8 + 9] = 15;
    assert_eq!(wrong(23, &queues), ("packet_queue.len", 24, Reason::BadLength));
    let mut flow_stats = vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 55];
    flow_stats.resize(8 + 56, 0);
    assert_eq!(wrong(19, &flow_stats), ("flow_stats.length", 16, Reason::BadLength));
}

#[test]
fn a_mask_of_all_ones_is_not_no_mask() {
    let field = |mask| Oxm::VlanVid(Masked { value: 0x1064, mask });
    for mask in [None, Some(0xffff), Some(0)] {
        let packet_in = Message::PacketIn(PacketIn {
            buffer_id: 0,
            total_len: 0,
            reason: PacketInReason::ACTION,
            table_id: TableNo(0),
            cookie: 0,
            match_: Match { fields: vec![field(mask)] },
            data: vec![],
        });
        assert_eq!(Message::decode(&encode(1, &packet_in)), Ok((1, packet_in)));
    }
}

#[test]
fn a_hello_of_any_later_version_can_be_read() {
    for (golden, _, message) in decode_corpus() {
        if let Message::Hello(hello) = message {
            assert_eq!(Hello::read_body(&golden.bytes[8..]), Ok(hello));
        }
    }
}

#[test]
fn a_message_too_long_is_said_so() {
    let echo = |len| Message::EchoRequest(Echo { data: vec![0; len] });
    assert_eq!(encode(1, &echo(65_527)).len(), 65_535);
    let mut out = vec![7];
    assert!(echo(65_528).encode(1, &mut out).is_err());
    assert_eq!(out, [7]);
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

    #[test]
    fn any_bytes_are_refused_or_kept(kind in 0..32u8, body in prop::collection::vec(any::<u8>(), 0..300)) {
        assert_refused_or_kept(&with_header(kind, &body));
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
        assert_refused_or_kept(&bytes);
    }

    #[test]
    fn the_view_of_a_packet_in_says_what_decoding_says(packet_in in arbitrary::packet_in(), xid: u32) {
        let bytes = encode(xid, &Message::PacketIn(packet_in.clone()));
        match (packet_in::view(&bytes), packet_in.in_port()) {
            (Ok(view), Some(port)) => {
                prop_assert_eq!(PortNo(view.in_port), port);
                prop_assert_eq!(view.buffer_id, packet_in.buffer_id);
                prop_assert_eq!(view.total_len, packet_in.total_len);
                prop_assert_eq!(view.reason, packet_in.reason.0);
                prop_assert_eq!(view.frame, &packet_in.data);
                prop_assert_eq!(view.frame, &bytes[usize::from(view.frame_at)..]);
            }
            (Err(error), None) => prop_assert_eq!(error.field, "packet_in.in_port"),
            (view, port) => prop_assert!(false, "{view:?} though the port is {port:?}"),
        }
    }

    /// What decoding accepts and has a port, the view accepts; what it refuses in the header, the
    /// view refuses as well.
    #[test]
    fn the_view_refuses_what_has_no_frame(
        packet_in in arbitrary::packet_in(),
        place in 0..28usize,
        value: u8,
    ) {
        let mut bytes = encode(1, &Message::PacketIn(packet_in));
        bytes[place] = value;
        match (packet_in::view(&bytes), Message::decode(&bytes)) {
            (Ok(view), Ok((_, Message::PacketIn(packet_in)))) => {
                prop_assert_eq!(Some(PortNo(view.in_port)), packet_in.in_port());
                prop_assert_eq!(view.frame, &packet_in.data);
            }
            // The view stops at the port; what is wrong behind it is not its affair.
            (Ok(_), Err(error)) => prop_assert!(error.field.starts_with("oxm")),
            (Ok(_), Ok(_)) => prop_assert!(false, "a view of another message"),
            (Err(error), Ok((_, Message::PacketIn(_)))) => {
                prop_assert_eq!(error.field, "packet_in.in_port");
            }
            (Err(error), Ok(_)) => prop_assert_eq!(error.reason, Reason::BadType),
            (Err(_), Err(_)) => {}
        }
    }
}
