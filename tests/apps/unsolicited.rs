//! Messages that answer nothing of the controller's, over its engine: they reach the applications
//! that ask for them, and no other.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use aldis_control::app::{EventCtx, Next};
use aldis_control::{App, AppSet, Event, EventKind, Output};
use aldis_emulator::peer::{Peer, bare};
use aldis_engine::Engine;
use aldis_wire::Version;
use aldis_wire::header::kind::{ECHO_REPLY, ECHO_REQUEST};
use aldis_wire::msg::{
    AggregateStats, AsyncConfig, ConfigFlags, Experimenter, Message, Role, RoleMessage, StatsFlags,
    StatsReply, StatsReplyBody, SwitchConfig,
};
use aldis_wire::v13::AsyncMasks;

use super::asking::{PATIENCE, engine, join_speaking};

/// What an application was told of: the switch, the kind, the transaction id and the message.
type Told = (u64, EventKind, u32, Message);

/// Tells of messages that answer nothing, and of replies to a message of its own, which it sends
/// when a switch is up.
struct Listens(Sender<Told>);

impl App for Listens {
    type Slot = ();
    const NAME: &'static str = "listens";
    const EVENTS: &'static [EventKind] = &[EventKind::Unsolicited, EventKind::Reply, EventKind::Up];

    fn event(&mut self, ctx: EventCtx<'_, ()>, event: &Event, out: &mut Output) -> Next {
        match event {
            Event::Up => {
                let xid = out.xid();
                let asks = Message::GetConfigRequest;
                out.append_with(|vec| asks.encode(ctx.switch.version, xid, vec)).unwrap();
            }
            Event::Unsolicited { xid, message } | Event::Reply { xid, message } => {
                let told = (ctx.switch.dpid.0, event.kind(), *xid, (**message).clone());
                self.0.send(told).unwrap();
            }
            _ => {}
        }
        Next::Continue
    }
}

fn listening() -> (Engine, Receiver<Told>) {
    let (sender, told) = channel();
    let sender = Arc::new(Mutex::new(sender));
    (engine(AppSet::default().with(move || Listens(sender.lock().unwrap().clone()))), told)
}

fn experimenter() -> Message {
    Message::Experimenter(Experimenter {
        experimenter: 0x2320,
        exp_type: 9,
        body: vec![1, 2, 3, 4],
    })
}

fn role_reply() -> Message {
    Message::RoleReply(RoleMessage { role: Role::SLAVE, generation_id: 77 })
}

fn async_reply() -> Message {
    let masks = |master| AsyncMasks { master, slave: 0 };
    Message::GetAsyncReply(AsyncConfig {
        packet_in: masks(3),
        port_status: masks(7),
        flow_removed: masks(15),
    })
}

fn statistics() -> Message {
    let flows = AggregateStats { packet_count: 5, byte_count: 500, flow_count: 2 };
    let body = StatsReplyBody::Aggregate(flows);
    Message::StatsReply(StatsReply { flags: StatsFlags::EMPTY, body })
}

fn say(peer: &mut Peer, version: Version, xid: u32, message: &Message) {
    let mut bytes = Vec::new();
    message.encode(version, xid, &mut bytes).unwrap();
    peer.send(&bytes).unwrap();
}

/// A switch of this number joins, and sends this message: what the application is told, after the
/// reply to its own message.
fn told_of(number: u32, version: Version, message: &Message) -> Told {
    let (engine, told) = listening();
    let mut peer = join_speaking(&engine, number, version);
    // OFPT_GET_CONFIG_REQUEST, which the application sent.
    let asked = peer.expect(7).unwrap();
    let xid = u32::from_be_bytes([asked[4], asked[5], asked[6], asked[7]]);
    let config = SwitchConfig { flags: ConfigFlags::NORMAL, miss_send_len: 128 };
    say(&mut peer, version, xid, &Message::GetConfigReply(config));
    let (dpid, kind, replied, _) = told.recv_timeout(PATIENCE).unwrap();
    assert_eq!((dpid, kind, replied), (u64::from(number), EventKind::Reply, xid));
    say(&mut peer, version, 42, message);
    told.recv_timeout(PATIENCE).unwrap()
}

#[test]
fn an_experimenter_message_reaches_the_application() {
    for (number, version) in [(1, Version::V10), (2, Version::V13)] {
        let message = experimenter();
        let expected = (u64::from(number), EventKind::Unsolicited, 42, message.clone());
        assert_eq!(told_of(number, version, &message), expected);
    }
}

#[test]
fn a_role_reply_that_was_not_asked_for_reaches_the_application() {
    let expected = (3, EventKind::Unsolicited, 42, role_reply());
    assert_eq!(told_of(3, Version::V13, &role_reply()), expected);
}

#[test]
fn an_asynchronous_configuration_reaches_the_application() {
    let expected = (4, EventKind::Unsolicited, 42, async_reply());
    assert_eq!(told_of(4, Version::V13, &async_reply()), expected);
}

#[test]
fn statistics_that_were_not_asked_for_reach_the_application() {
    for (number, version) in [(5, Version::V10), (6, Version::V13)] {
        let expected = (u64::from(number), EventKind::Unsolicited, 42, statistics());
        assert_eq!(told_of(number, version, &statistics()), expected);
    }
}

/// Starts on replies alone.
struct RepliesOnly(Sender<Told>);

impl App for RepliesOnly {
    type Slot = ();
    const NAME: &'static str = "replies-only";
    const EVENTS: &'static [EventKind] = &[EventKind::Reply];

    fn event(&mut self, ctx: EventCtx<'_, ()>, event: &Event, _: &mut Output) -> Next {
        if let Event::Reply { xid, message } = event {
            self.0.send((ctx.switch.dpid.0, event.kind(), *xid, (**message).clone())).unwrap();
        }
        Next::Continue
    }
}

#[test]
fn an_application_that_does_not_start_on_them_hears_nothing_and_the_switch_stays() {
    let (sender, told) = channel();
    let sender = Arc::new(Mutex::new(sender));
    let engine =
        engine(AppSet::default().with(move || RepliesOnly(sender.lock().unwrap().clone())));
    let mut peer = join_speaking(&engine, 7, Version::V13);
    for message in [experimenter(), role_reply(), async_reply(), statistics()] {
        say(&mut peer, Version::V13, 42, &message);
    }
    peer.send(&bare(Version::V13, ECHO_REQUEST, 43)).unwrap();
    peer.expect(ECHO_REPLY).unwrap();
    assert!(told.try_recv().is_err());
    assert_eq!(engine.handle().switches().len(), 1);
}
