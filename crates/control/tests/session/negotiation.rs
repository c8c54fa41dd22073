//! Which version is agreed on, for every HELLO there can be.

use aldis_control::session::negotiate::negotiate;
use aldis_control::session::{Close, Config, Step, Versions};
use aldis_wire::Version::{self, V10, V13};
use aldis_wire::v10;

use crate::dialogue::Dialogue;

const BOTH: Versions = Versions::ALL;

/// A HELLO element of that type, with that length and body.
fn element(kind: u16, length: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &length.to_be_bytes(), body].concat()
}

fn bitmap(word: u32) -> Vec<u8> {
    element(1, 8, &word.to_be_bytes())
}

fn offering(versions: Versions) -> Dialogue {
    Dialogue::configured(V13, Config { versions, ..Config::default() })
}

/// What a session that offers `ours` makes of a HELLO: the version agreed on, or the refusal,
/// checked for its form.
fn agreed(ours: Versions, theirs: u8, body: &[u8]) -> Option<Version> {
    let mut switch = offering(ours);
    let turn = switch.says_raw(theirs, 0, 0x55, body);
    let Some(version) = switch.session.version() else {
        let turn = turn.hears("ERROR");
        assert_eq!((turn.bytes[0], &turn.bytes[4..8]), (theirs, &[0, 0, 0, 0x55][..]));
        assert_eq!(turn.bytes[8..12], [0, 0, 0, 0], "OFPET_HELLO_FAILED/OFPHFC_INCOMPATIBLE");
        assert!(turn.bytes[12..].starts_with(b"this controller speaks OpenFlow 1."));
        turn.closes(Close::BadVersion { theirs, ours });
        return None;
    };
    let turn = turn.hears("FEATURES_REQUEST");
    assert_eq!(turn.bytes[0], version.wire());
    turn.leads_to(Step::Nothing);
    Some(version)
}

/// 1.3.5 §6.3.1, written out for each version byte.
fn expected(ours: Versions, theirs: u8, bitmap: Option<u32>) -> Option<Version> {
    let (has10, has13) = bitmap.map_or((false, false), |word| (word & 2 != 0, word & 16 != 0));
    if ours == BOTH {
        match (has10, has13, theirs) {
            (_, true, _) => Some(V13),
            (true, false, _) => Some(V10),
            (false, false, 1) => Some(V10),
            (false, false, 4..) => Some(V13),
            (false, false, 0 | 2 | 3) => None,
        }
    } else if ours == Versions::only(V13) {
        (has13 || theirs >= 4).then_some(V13)
    } else {
        // We sent no bitmap, so theirs does not count.
        (theirs >= 1).then_some(V10)
    }
}

#[test]
fn every_version_byte_with_and_without_a_bitmap() {
    let bitmaps =
        [None, Some(0), Some(1 << 1), Some(1 << 4), Some(0x12), Some(0x7e), Some(0x20), Some(!0)];
    for ours in [BOTH, Versions::only(V10), Versions::only(V13)] {
        for word in bitmaps {
            let body = word.map_or(Vec::new(), bitmap);
            for theirs in 0..=255 {
                let expected = expected(ours, theirs, word);
                assert_eq!(negotiate(ours, theirs, word), expected, "{ours}, {theirs}, {word:?}");
                assert_eq!(agreed(ours, theirs, &body), expected, "{ours}, {theirs}, {word:?}");
            }
        }
    }
}

#[test]
fn our_hello_says_our_highest_version_and_from_1_3_on_all_of_them() {
    let said = |versions| offering(versions).bytes_of("HELLO");
    assert_eq!(said(Versions::only(V10))[..4], [1, 0, 0, 8]);
    let head = [4, 0, 0, 16];
    assert_eq!(said(BOTH)[..4], head);
    assert_eq!(said(BOTH)[8..], bitmap(0x12));
    assert_eq!(said(Versions::only(V13))[8..], bitmap(0x10));
}

/// A body that cannot be read to its end counts as none.
#[test]
fn elements_that_cannot_be_read_leave_the_version_bytes_to_decide() {
    let garbage: [&[u8]; 8] = [
        &element(1, 0, &[0, 0, 0, 2]),
        &element(1, 3, &[0, 0, 0, 2]),
        &element(1, 7, &[0, 0, 0, 2]),
        &element(1, 9, &[0, 0, 0, 2]),
        &element(1, 65_535, &[0, 0, 0, 2]),
        &element(9, 0, &[0; 4]),
        &[0xff],
        &[0xff; 500],
    ];
    for body in garbage {
        assert_eq!(agreed(BOTH, 1, body), Some(V10), "{body:?}");
        assert_eq!(agreed(BOTH, 4, body), Some(V13), "{body:?}");
        assert_eq!(agreed(BOTH, 3, body), None, "{body:?}");
    }
    let after_a_good_one = [bitmap(2), element(1, 0, &[])].concat();
    assert_eq!(agreed(BOTH, 4, &after_a_good_one), Some(V13));
}

#[test]
fn elements_of_other_types_are_passed_over() {
    let body = [element(7, 5, &[0xaa, 0, 0, 0]), bitmap(2)].concat();
    assert_eq!(agreed(BOTH, 4, &body), Some(V10));
    let of_many_words = element(1, 12, &[0, 0, 0, 0x10, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    assert_eq!(agreed(BOTH, 0x25, &of_many_words), Some(V13));
    assert_eq!(agreed(BOTH, 4, &element(1, 4, &[0; 4])), Some(V13));
}

#[test]
fn a_second_hello_changes_nothing() {
    let mut switch = Dialogue::with(V13);
    switch.says_hello().hears("FEATURES_REQUEST");
    switch.says_raw(1, 0, 1, &[]).hears("").leads_to(Step::Nothing);
    assert_eq!(switch.session.version(), Some(V13));
}

#[test]
fn the_first_message_is_a_hello() {
    for kind in 4..=255 {
        let mut switch = Dialogue::with(V13);
        switch.says_raw(1, kind, 0, &[0; 80]).closes(Close::NoHello { version: 1, kind });
    }
}

/// The beginning is enough: the rest of what is no OpenFlow may never come.
#[test]
fn who_speaks_another_protocol_is_known_by_its_beginning() {
    let mut switch = Dialogue::with(V13);
    for (bytes, enough, version, kind) in
        [(b"\x16\x03\x01\x00\x50\x01\x00\x00", 2, 0x16, 3), (b"GET / HT", 8, b'G', b'E')]
    {
        assert_eq!(switch.session.begun(&bytes[..enough]), Err(Close::NoHello { version, kind }));
        assert_eq!(switch.session.begun(&bytes[..enough - 1]), Ok(()));
    }
    // Mininet looks whether a controller listens.
    assert_eq!(switch.session.begun(b"A\r\n"), Ok(()));
    for kind in [0, 1, 2] {
        assert_eq!(switch.session.begun(&[9, kind]), Ok(()));
    }
    // Behind the HELLO any type may begin.
    switch.says_hello().hears("FEATURES_REQUEST");
    assert_eq!(switch.session.begun(&[4, 6]), Ok(()));
}

#[test]
fn an_echo_before_the_hello_is_answered_in_its_own_version() {
    for version in 0..=255 {
        let mut switch = Dialogue::with(V13);
        let answer = switch.says_raw(version, 2, 9, b"early");
        assert_eq!(answer.bytes, crate::dialogue::raw(version, 3, 9, b"early"));
        answer.leads_to(Step::Nothing);
        switch.says_hello().hears("FEATURES_REQUEST");
    }
}

#[test]
fn a_switch_that_refuses_our_hello_is_quoted() {
    let code = v10::ErrorCode::HelloFailed(v10::error::HelloFailedCode::INCOMPATIBLE);
    let data = b"1.0 only, \x1b[31mplease\0".to_vec();
    let refusal = v10::Message::Error(v10::Error { code, data });
    let quoted = |close: Close| {
        let words = close.to_string();
        assert!(matches!(close, Close::HelloRefused(_)));
        assert!(
            words.contains("OFPHFC_INCOMPATIBLE") && words.contains("1.0 only, \\x1b[31mplease"),
            "{words}"
        );
    };
    // It may come before the switch's own HELLO or behind it, and in a version of the switch's
    // choice.
    quoted(Dialogue::with(V13).says(1, refusal.clone()).hears("").close());
    let mut switch = Dialogue::with(V13);
    switch.says_hello();
    quoted(switch.says(1, refusal).hears("").close());
}
