//! An application that is alone with a switch: whatever the design, one batch of a switch runs at a
//! time, in order.

use aldis_control::app::{Event, EventCtx, Exclusive, Next, Slots};
use aldis_control::switch::SwitchInfo;
use aldis_control::{App, AppSet, Batch, EventKind, Output, Time};
use aldis_emulator::peer::bare;
use aldis_wire::Version;
use aldis_wire::header::kind::{ECHO_REQUEST, PACKET_OUT};
use aldis_wire::msg::{Action, PacketOut, PortNo};

use crate::combinations::{self, everywhere};
use crate::stage::{Stage, TICK};
use crate::switch::{ask_for_nobody, join, send_aside, xid_of};

const REQUESTS: u32 = 6_000;

/// Numbers the requests of each switch.
struct Numbers;

/// Of one switch: how many requests it made, and how many seconds passed.
#[derive(Default)]
struct Book {
    requests: u32,
    seconds: u32,
}

impl App for Numbers {
    type Slot = Exclusive<Book>;
    const NAME: &'static str = "numbers";
    const EVENTS: &'static [EventKind] =
        &[EventKind::FlowRequest, EventKind::Second, EventKind::Down];

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> Book {
        Book::default()
    }

    fn packet_ins(
        &mut self,
        batch: &mut Batch<'_>,
        mut slots: Slots<'_, Exclusive<Book>>,
        out: &mut Output,
    ) {
        for (place, run) in batch.runs.iter().enumerate() {
            let mut book = slots.of(run.switch);
            out.select(place);
            for request in &batch.requests[run.requests.clone()] {
                let number = PortNo(1 + book.requests % 1000);
                book.requests += 1;
                let answer = PacketOut {
                    actions: vec![Action::output(number)],
                    ..PacketOut::buffered(request.buffer_id)
                };
                let version = batch.switches[run.switch].info.version;
                out.append_with(|vec| answer.encode(version, request.xid, vec)).expect("said");
            }
        }
    }

    fn event(
        &mut self,
        mut ctx: EventCtx<'_, Self::Slot>,
        event: &Event,
        out: &mut Output,
    ) -> Next {
        if *event == Event::Second {
            ctx.slot.seconds += 1;
            out.append(&bare(ctx.switch.version, ECHO_REQUEST, TICK));
        }
        Next::Continue
    }
}

/// Asks in one go; the answers come in order and are numbered in order, and seconds pass in
/// between.
fn asks_and_is_numbered(stage: &Stage, version: Version) {
    let (mut peer, _) = join(stage, version);
    let mut bytes = Vec::new();
    ask_for_nobody(version, 0..REQUESTS, &mut bytes);
    let sender = send_aside(&peer, bytes, false);
    let (mut next, mut seconds) = (0, 0);
    while next < REQUESTS || seconds == 0 {
        let message = peer.receive().unwrap_or_else(|unexpected| panic!("{unexpected}"));
        match (message[1], xid_of(&message)) {
            (PACKET_OUT, xid) => {
                assert_eq!(xid, next);
                assert!(crate::switch::leads_to(version, &message, 1 + next % 1000));
                next += 1;
            }
            (ECHO_REQUEST, TICK) => seconds += 1,
            _ => {}
        }
    }
    sender.join().expect("all is sent");
}

#[test]
fn one_batch_of_a_switch_runs_at_a_time_and_in_order() {
    everywhere(&combinations::covering(), |combination| {
        let stage = Stage::open_with(combination, AppSet::default().with(|| Numbers));
        stage.play("alone with a switch", |stage| {
            std::thread::scope(|scope| {
                for version in Version::ALL {
                    scope.spawn(move || asks_and_is_numbered(stage, version));
                }
            });
        });
        stage.close();
    });
}
