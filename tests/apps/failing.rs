//! An application that panics on the workers of a controller: its switches go on with the others.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use aldis_apps::Hub;
use aldis_control::app::{Next, State};
use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::{App, AppSet, Output, Request, session};
use aldis_engine::design::Knobs;
use aldis_engine::{Config, Design, Engine};
use aldis_wire::header::kind::PACKET_OUT;

use super::asking::{join, packet_in};

/// Panics at the third request that one of its instances sees, half an answer written.
#[derive(Default)]
struct Fragile {
    seen: u32,
}

impl App for Fragile {
    type Slot = ();
    const NAME: &'static str = "fragile";

    fn packet_in(&mut self, request: &Request<'_>, _: State<'_, Self>, out: &mut Output) -> Next {
        out.select(request.run);
        self.seen += 1;
        if self.seen == 3 {
            out.append(&[1, PACKET_OUT]);
            panic!("fragile things break");
        }
        Next::Continue
    }
}

struct EventSender(Mutex<Sender<ControllerEvent>>);

impl EventSink for EventSender {
    fn emit(&self, event: ControllerEvent) {
        let _ = self.0.lock().unwrap().send(event);
    }
}

#[test]
fn switches_are_served_by_the_other_applications_when_one_panics() {
    let (sender, events) = channel();
    let config = Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        workers: 2,
        design: Design::default(),
        spin: false,
        knobs: Knobs::default(),
        session: session::Config::default(),
    };
    let app_set = AppSet::default().with(Fragile::default).with(|| Hub);
    let listener = Arc::new(EventSender(Mutex::new(sender)));
    let engine = Engine::start(&config, app_set, listener).unwrap();
    let mut peers = [1, 2].map(|number| join(&engine, number));
    for round in 0..20 {
        for peer in &mut peers {
            let requests: Vec<u8> = (0..5).flat_map(|at| packet_in(5 * round + at)).collect();
            peer.send(&requests).unwrap();
            for at in 0..5 {
                let answer = peer.expect(PACKET_OUT).unwrap();
                assert_eq!(answer[4..8], (5 * round + at).to_be_bytes(), "{answer:?}");
            }
        }
    }
    // One that joins afterwards has no slot of it, and misses nothing.
    let mut late = join(&engine, 3);
    late.send(&packet_in(7)).unwrap();
    late.expect(PACKET_OUT).unwrap();
    let apps = engine.handle().apps();
    let failed: Vec<_> = apps.iter().map(|app| (app.app, app.failed)).collect();
    assert_eq!(failed, [("fragile", true), ("hub", false)]);
    let told = |event: ControllerEvent| match event {
        ControllerEvent::Failed { words } => Some(words),
        _ => None,
    };
    assert_eq!(
        events.try_iter().filter_map(told).collect::<Vec<_>>(),
        ["fragile: failed, and is left out from now on: it panicked: fragile things break"]
    );
}
