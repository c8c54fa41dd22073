//! The same scenarios over every combination of the engine's knobs: whatever the design, switches
//! get the same answers, in the same order, and none of them waits for one that misbehaves.
//!
//! Short scenarios run over every combination ([`combinations::all`]), several on one engine. Those
//! that take their time run over a part of them ([`combinations::covering`], which says what it
//! leaves out).

mod alone;
mod combinations;
mod company;
mod counted;
mod flip;
mod order;
mod outside;
mod priorities;
mod pump;
mod stage;
mod stuck;
mod switch;
mod time;

use aldis_wire::Version;

use combinations::{Combination, READS, everywhere};
use stage::Stage;

/// What is played on an engine, by switches of a version.
type Scenario = fn(&Stage, Version);

/// The scenarios that are short enough for every combination and both versions.
const SHORT: [(&str, Scenario); 13] = [
    ("every request is answered once", company::every_request_is_answered_once),
    ("fences between floods", order::fences_between_floods),
    ("questions of the handshake", order::questions_of_the_handshake),
    ("a host that moves", order::a_host_that_moves),
    ("a port that goes down", order::a_port_that_goes_down),
    ("the end behind requests", order::the_end_behind_requests),
    ("newcomers", company::newcomers),
    ("visits and batches of a switch", counted::each_visit_and_each_batch_of_a_switch),
    ("each message of a command has its answer", outside::each_message_has_its_answer),
    ("answers in any order", outside::answers_in_any_order),
    ("the end in the middle of a command", outside::the_end_in_the_middle),
    ("a command that is too late", outside::too_late),
    ("commands that are refused beforehand", outside::refused_beforehand),
];

/// Plays all short scenarios, one behind the other, on one engine for each combination.
fn play(combinations: &[Combination]) {
    everywhere(combinations, |combination| {
        let stage = Stage::open(combination);
        for (name, scenario) in SHORT {
            for version in Version::ALL {
                stage.play(&format!("{name}, {version}"), |stage| scenario(stage, version));
            }
        }
        stage.close();
    });
}

#[test]
fn every_named_design() {
    play(&combinations::named());
}

/// One test for each read design, so that a failure names it and the tests share the cores.
macro_rules! of_each_read_design {
    ($($name:ident: $place:expr;)*) => {
        $(#[test]
        fn $name() {
            play(&combinations::of(READS[$place]));
        })*
    };
}

of_each_read_design! {
    every_combination_of_fair_rounds: 0;
    every_combination_of_static_partition: 1;
    every_combination_of_dynamic_partition: 2;
    every_combination_of_round_robin: 3;
    every_combination_of_the_shared_queue: 4;
    every_combination_of_the_shared_queue_with_several_readers: 5;
    every_combination_of_a_queue_for_each_switch: 6;
}
