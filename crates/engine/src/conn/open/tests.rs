use super::*;
use crate::command::answer::{self, Answer};
use aldis_control::command::{Outcome, Said};
use aldis_control::{Account, AppSet};
use aldis_wire::msg::{
    AggregateStats, Message, MeterFeatures, StatsFlags, StatsReply, StatsReplyBody,
};
use aldis_wire::{Chop, DatapathId, Version};

const VERSION: Version = Version::V13;

/// What is list on account of the switch.
const BYTES: usize = 4 * 1024 * 1024;

/// A connection with its commands, and the ids that a worker gives them.
struct Scene {
    open: OpenCommands,
    account: Account,
    worker: aldis_control::Output,
}

impl Scene {
    fn new() -> Scene {
        let app_set = AppSet::default();
        let worker = app_set.build().unwrap().output(3);
        Scene { open: OpenCommands::default(), account: Account::new(BYTES), worker }
    }

    /// Sends a command of so many messages, those of which that await a reply say so.
    fn send(&mut self, awaits: &[bool], by: u64) -> (Xids, Answer, Option<Time>) {
        let (sender, answer) = answer::channel(DatapathId(7), VERSION);
        let xids = self.worker.commands().xids(awaits.len() as u32 + 1);
        let slots = awaits.iter().map(|awaits| ReplySlot::new(*awaits)).collect();
        let sent = SentCommand { xids, by: Time(by), slots, sender, reached: false };
        let look_at = self.open.enter(sent).unwrap_or(None);
        (xids, answer, look_at)
    }

    fn receive(&self, xid: u32, message: &Message) -> bool {
        let mut bytes = Vec::new();
        message.encode(VERSION, xid, &mut bytes).unwrap();
        let raw = Chop::new(&bytes).next().unwrap().unwrap();
        self.open.receive(&raw, raw.has_more(VERSION), &self.account)
    }
}

fn sums(flow_count: u32, more: bool) -> Message {
    let sums = AggregateStats { packet_count: 0, byte_count: 0, flow_count };
    let flags = if more { StatsFlags::MORE } else { StatsFlags::EMPTY };
    Message::StatsReply(StatsReply { flags, body: StatsReplyBody::Aggregate(sums) })
}

fn refusal() -> Message {
    let code = aldis_wire::v13::ErrorCode::FlowModFailed(
        aldis_wire::v13::error::FlowModFailedCode::TABLE_FULL,
    );
    let code = aldis_wire::msg::ErrorCode::V13(code);
    Message::Error(aldis_wire::msg::SwitchError { code, data: vec![] })
}

fn words(outcome: &Outcome) -> Vec<&'static str> {
    let word = |said: &Said| match said {
        Said::Done => "done",
        Said::Reply(_) => "reply",
        Said::Refused(_) => "refused",
        Said::TooMuch => "too much",
    };
    outcome.as_ref().unwrap().iter().map(word).collect()
}

#[test]
fn each_message_has_its_own_answer_and_the_barrier_ends_the_command() {
    let mut scene = Scene::new();
    let (first, one, _) = scene.send(&[false, true, false], 9);
    let (second, other, _) = scene.send(&[false], 9);
    assert!(
        scene.receive(second.at(1), &Message::BarrierReply),
        "whoever is done first is told first"
    );
    assert_eq!(words(&other.wait()), ["done"]);
    assert!(scene.receive(first.at(2), &refusal()));
    assert!(scene.receive(first.at(1), &sums(5, false)));
    assert!(scene.receive(first.at(3), &Message::BarrierReply));
    let outcome = one.wait();
    assert_eq!(words(&outcome), ["done", "reply", "refused"]);
    let Said::Refused(error) = &outcome.unwrap()[2] else { unreachable!("just seen") };
    assert!(
        error.to_string().contains("OFPFMFC_TABLE_FULL") && error.xid == first.at(2),
        "{error}"
    );
    assert!(scene.open.is_empty() && !scene.receive(first.at(3), &Message::BarrierReply));
}

#[test]
fn a_reply_that_comes_after_the_barrier_is_waited_for() {
    let mut scene = Scene::new();
    let (xids, answer, _) = scene.send(&[true], 9);
    scene.receive(xids.at(1), &Message::BarrierReply);
    assert!(!scene.open.is_empty());
    let features = StatsReply::new(StatsReplyBody::MeterFeatures(MeterFeatures {
        max_meter: 1,
        band_types: 2,
        capabilities: 0,
        max_bands: 3,
        max_color: 4,
    }));
    scene.receive(xids.at(0), &Message::StatsReply(features.clone()));
    let Said::Reply(reply) = &answer.wait().unwrap()[0] else { panic!("no reply") };
    assert_eq!(reply.stats(), Ok(features.body));
}

#[test]
fn parts_are_kept_up_to_the_bound_and_the_next_command_has_all_of_it_again() {
    let long = |more| {
        let flags = if more { StatsFlags::MORE } else { StatsFlags::EMPTY };
        let table = aldis_wire::msg::TableStats {
            table_id: aldis_wire::msg::TableNo(1),
            active_count: 2,
            lookup_count: 3,
            matched_count: 4,
        };
        Message::StatsReply(StatsReply { flags, body: StatsReplyBody::Table(vec![table; 2000]) })
    };
    let mut scene = Scene::new();
    let parts = BYTES / (2000 * 24 + 16);
    for (count, said) in [(parts, "reply"), (parts + 1, "too much"), (parts, "reply")] {
        let (xids, answer, _) = scene.send(&[true], 9);
        scene.receive(xids.at(1), &Message::BarrierReply);
        for part in 1..=count {
            assert!(
                scene.receive(xids.at(0), &long(part < count)),
                "the command waits for the last part"
            );
        }
        let outcome = answer.wait();
        assert_eq!(words(&outcome), [said]);
        assert_eq!(scene.account.used(), 0, "what was answered is not list any more");
        if let Said::Reply(reply) = &outcome.unwrap()[0] {
            let StatsReplyBody::Table(tables) = reply.stats().unwrap() else {
                panic!("other words")
            };
            assert_eq!(tables.len(), count * 2000);
        }
    }
}

#[test]
fn deadlines_are_looked_at_in_their_order_and_each_once() {
    let mut scene = Scene::new();
    let (_, late, first) = scene.send(&[false], 20);
    let (_, early, second) = scene.send(&[false], 10);
    let (third, answered, none) = scene.send(&[false], 15);
    assert_eq!([first, second, none], [Some(Time(20)), Some(Time(10)), None]);
    scene.receive(third.at(1), &Message::BarrierReply);
    assert_eq!(scene.open.expire(Time(10)), Some(Time(20)));
    assert_eq!(early.wait(), Err(Failure::TooLate));
    assert_eq!(words(&answered.wait()), ["done"]);
    assert_eq!(scene.open.expire(Time(10)), None, "somebody looks at 20");
    assert_eq!(scene.open.expire(Time(20)), None);
    assert_eq!(late.wait(), Err(Failure::TooLate));
}

#[test]
fn the_end_of_the_connection_ends_all_and_nothing_begins_after_it() {
    let mut scene = Scene::new();
    let (_, answer, _) = scene.send(&[true, false], 9);
    scene.open.close(&Close::PeerClosed);
    let (_, after, look_at) = scene.send(&[false], 9);
    for answer in [answer, after] {
        assert_eq!(answer.wait(), Err(Failure::Disconnected(Close::PeerClosed)));
    }
    assert!(look_at.is_none() && scene.open.is_empty());
}

#[test]
fn no_more_are_open_than_the_bound() {
    let mut scene = Scene::new();
    let open: Vec<_> = (0..COMMANDS_OPEN_MAX).map(|_| scene.send(&[false], 9)).collect();
    let (_, answer, _) = scene.send(&[false], 9);
    assert_eq!(answer.wait(), Err(Failure::Busy));
    scene.receive(open[0].0.at(1), &Message::BarrierReply);
    let (xids, answer, _) = scene.send(&[false], 9);
    scene.receive(xids.at(1), &Message::BarrierReply);
    assert_eq!(words(&answer.wait()), ["done"]);
}
