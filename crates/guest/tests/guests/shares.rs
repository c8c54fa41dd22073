//! Shares of a worker among guests that have much to say, by counts.

use std::sync::{Arc, Condvar, Mutex};

use aldis_control::app::{Next, Slots};
use aldis_control::{App, Batch, Cookie, Output};
use aldis_guest::GuestSpec;
use aldis_wire::msg::{Action, FlowMod, Match, PortNo};

use crate::stage::{GuestStage, Listening, frame, packet_in, send};
use crate::{V13, flow};

/// Messages that each guest says: together more than a worker takes at a poll, and no more than a
/// switch has room for that does not read.
const EACH: usize = 42;

/// Of those of the heavy guest, what a worker takes at the first poll.
const FIRST: usize = 36;

/// Actions of each: a message of 1024 bytes.
const ACTIONS: u32 = 60;

/// Keeps the worker at a request until it is opened.
#[derive(Clone, Default)]
pub(crate) struct Barred(Arc<(Mutex<BarredState>, Condvar)>);

#[derive(Default)]
pub(crate) struct BarredState {
    pub(crate) is_reached: bool,
    pub(crate) is_open: bool,
}

impl Barred {
    pub(crate) fn until(&self, holds: impl Fn(&BarredState) -> bool) {
        let (state, changed) = &*self.0;
        let state = state.lock().unwrap();
        drop(changed.wait_while(state, |state| !holds(state)).unwrap());
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut BarredState)) {
        let (state, changed) = &*self.0;
        change(&mut state.lock().unwrap());
        changed.notify_all();
    }
}

impl App for Barred {
    type Slot = ();
    const NAME: &'static str = "gate";

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, _: &mut Output) {
        batch.each(|_| {
            self.change(|state| state.is_reached = true);
            self.until(|state| state.is_open);
            Next::Stop
        });
    }
}

/// While a worker is busy two guests fill what waits for it. What it takes then of both, as long as
/// both have something, is as their weights: 1 to 3.
#[test]
fn what_a_worker_takes_of_guests_follows_their_weights() {
    let gate = Barred::default();
    let stage = GuestStage::behind(1, gate.clone(), false);
    let (light, heavy) = (Listening::new(), Listening::new());
    let numbers = |text: &str| Some(aldis_apps::spelling::Spelled(text.parse().unwrap()));
    let apart = |spec: GuestSpec, those: &str, weight| GuestSpec {
        priorities: numbers(those),
        groups: numbers(those),
        meters: numbers(those),
        weight,
        ..spec
    };
    stage.add_before(apart(light.spec("light"), "1-9", 1), None, None);
    stage.add_before(apart(heavy.spec("heavy"), "10-19", 3), None, None);
    let mut switch = stage.switch(V13, 7);
    let (mut light, mut heavy) = (light.guest(V13).0, heavy.guest(V13).0);
    send(&mut switch, V13, 1, packet_in(V13, 3, &frame(9, 0)));
    gate.until(|state| state.is_reached);
    let before = ["light", "heavy"].map(|name| stage.status(name).counts.messages);
    for said in 1..=EACH as u64 {
        let guests = [("light", &mut light, 1), ("heavy", &mut heavy, 10)];
        for ((name, guest, priority), before) in guests.into_iter().zip(before) {
            let actions = (0..ACTIONS).map(|_| Action::output(PortNo(1)));
            let said_flow = FlowMod::add(Match::new()).priority(priority).actions(actions);
            send(guest, V13, 5, said_flow);
            // One at a time: each waits on its own.
            stage.until(name, |status| status.counts.messages == before + said);
        }
    }
    gate.change(|state| state.is_open = true);
    let (mut of_light, mut of_heavy) = (0, 0);
    while of_heavy < FIRST {
        let (_, there) = flow(&mut switch, V13);
        match Cookie(there.cookie).same_app(Cookie::of("heavy")) {
            true => of_heavy += 1,
            false => of_light += 1,
        }
    }
    assert!(of_light * 5 / 2 < of_heavy && of_heavy < of_light * 7 / 2, "{of_light} {of_heavy}");
    // Nothing of either is lost.
    for _ in of_light + of_heavy..2 * EACH {
        flow(&mut switch, V13);
    }
    assert_eq!(stage.status("light").counts.refused + stage.status("heavy").counts.refused, 0);
    stage.stop();
}
