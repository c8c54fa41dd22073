//! Where a switch stands: what was asked, what was sent, and what came of it.

use core::time::Duration;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aldis_control::account::{Held, flow_bytes};
use aldis_control::session::SwitchError;
use aldis_control::switch::Info;
use aldis_control::{Account, Cookie, Output, Time};
use aldis_wire::Version;
use aldis_wire::msg::{
    Action, FlowMod, FlowRemoved, FlowStats, FlowStatsRequest, GroupNo, Instruction, Match,
    Message, PortNo, StatsFlags, StatsReply, StatsReplyBody, StatsRequest, StatsRequestBody,
    TableNo,
};

use crate::leftovers::removal;

use super::{CHECK_EVERY, CHECK_EVERY_V10, Entry, FLOWS_MAX, ROOM_WITHIN, Status, Wanted};

/// How long a switch may take to name its flows before it is asked again.
const READ_WITHIN: Duration = Duration::from_secs(20);

/// A flow that was restored is restored again a second later at the earliest: with whoever removes it nobody races.
const RESTORE_EVERY: Duration = Duration::from_secs(1);

/// Flows of ours that a switch may have and nobody wants, as far as they are looked at in one round.
const STALE_MAX: usize = 2 * FLOWS_MAX;

/// See the file.
#[derive(Debug)]
pub(super) struct State {
    app: &'static str,
    cookie: Cookie,
    flows: Vec<Flow>,
    /// What is shown and not sent.
    others: Vec<Entry>,
    places: HashMap<u64, usize>,
    /// What the switch has, as far as it said so.
    reading: Option<Reading>,
    /// What is on its way, by transaction id.
    sent: HashMap<u32, usize>,
    barrier: Option<u32>,
    check_at: Time,
    changed: bool,
    /// Of what people want; 0 before any.
    edition: u64,
}

#[derive(Debug)]
struct Flow {
    wanted: Wanted,
    status: Status,
    /// When it was sent last.
    sent_at: Time,
    /// What the switch said that it does, just after it was sent: the same, in the switch's words.
    rendered: Option<Vec<Instruction>>,
    /// Whether what the switch says next is such.
    is_fresh: bool,
}

#[derive(Debug)]
struct Reading {
    xid: u32,
    since: Time,
    flows: Vec<FlowStats>,
    /// The same on the account of the switch, once there are any.
    held: Option<Held>,
}

impl State {
    pub(super) fn new(app: &'static str) -> State {
        State {
            app,
            cookie: Cookie::of(app),
            flows: vec![],
            others: vec![],
            places: HashMap::new(),
            reading: None,
            sent: HashMap::new(),
            barrier: None,
            check_at: Time::NEVER,
            changed: true,
            edition: 0,
        }
    }

    /// Whether people want something else than what was planned; from now on it is as they want.
    pub(super) fn has_to_follow(&mut self, edition: u64) -> bool {
        core::mem::replace(&mut self.edition, edition) != edition
    }

    /// From now on these should be there. Of those that should be there already, what became of them is still known.
    pub(super) fn keep(&mut self, switch: &Info, wanted: Vec<Wanted>, others: Vec<Entry>) {
        let before: Vec<u64> = self.flows.iter().map(|flow| flow.wanted.flow.cookie).collect();
        let mut old: HashMap<u64, Flow> =
            self.flows.drain(..).map(|flow| (flow.wanted.flow.cookie, flow)).collect();
        let mut scratch = Vec::new();
        let flow = |wanted: Wanted| match old.remove(&wanted.flow.cookie) {
            Some(flow) if flow.wanted.flow == wanted.flow => Flow { wanted, ..flow },
            _ => Flow::new(wanted, switch, &mut scratch),
        };
        self.flows = wanted.into_iter().map(flow).collect();
        let places = self.flows.iter().enumerate().map(|(at, flow)| (flow.wanted.flow.cookie, at));
        self.places = places.collect();
        let sent = self.sent.drain().filter_map(|(xid, at)| {
            let place = before.get(at).and_then(|cookie| self.places.get(cookie))?;
            Some((xid, *place))
        });
        self.sent = sent.collect();
        self.others = others;
        self.changed = true;
    }

    /// Asks which flows of ours are there. OpenFlow 1.0 can only be asked for all.
    pub(super) fn read(&mut self, now: Time, switch: &Info, out: &mut Output) {
        let (cookie, cookie_mask) = match switch.version {
            Version::V10 => (0, 0),
            Version::V13 => (self.cookie.0, Cookie::MASK),
        };
        let request = FlowStatsRequest {
            table_id: TableNo::ALL,
            out_port: PortNo::ANY,
            out_group: GroupNo::ANY,
            cookie,
            cookie_mask,
            match_: Match::new(),
        };
        let xid = out.xid();
        out.say(switch, xid, StatsRequest::new(StatsRequestBody::Flow(request)));
        self.reading = Some(Reading { xid, since: now, flows: vec![], held: None });
        self.check_at = match switch.version {
            _ if self.flows.is_empty() => Time::NEVER,
            Version::V10 => now + CHECK_EVERY_V10,
            Version::V13 => now + CHECK_EVERY,
        };
    }

    pub(super) fn second(&mut self, now: Time, switch: &Info, out: &mut Output) {
        let waits =
            self.reading.as_ref().is_some_and(|reading| now.since(reading.since) < READ_WITHIN);
        if self.check_at <= now && !waits {
            self.read(now, switch, out);
        }
    }

    /// A reply came: whether it was to one of ours.
    pub(super) fn reply(
        &mut self,
        (now, switch, account): (Time, &Info, &Account),
        xid: u32,
        message: &Message,
        out: &mut Output,
    ) -> bool {
        if self.barrier == Some(xid) {
            self.barrier = None;
            self.confirm();
            return true;
        }
        let Some(mut reading) = self.reading.take_if(|reading| reading.xid == xid) else {
            return false;
        };
        match message {
            Message::StatsReply(StatsReply { flags, body: StatsReplyBody::Flow(flows) }) => {
                let ours = flows.iter().filter(|flow| Cookie(flow.cookie).is_kin(self.cookie));
                if !reading.add(ours, account) {
                    let (app, dpid, max) = (self.app, switch.dpid, account.max());
                    out.far().note(format!(
                        "{app}: switch {dpid} says so much about its flows that no more than {max} bytes are kept of it; which of \
                         the flows are there is not known"
                    ));
                    self.compare(now, switch, vec![], out);
                } else if flags.contains(StatsFlags::MORE) {
                    self.reading = Some(reading);
                } else {
                    self.compare(now, switch, reading.flows, out);
                }
            }
            // Nobody knows what is there: what is sent again changes nothing where it is.
            _ => self.compare(now, switch, vec![], out),
        }
        true
    }

    /// An error came: whether it was about one of ours.
    pub(super) fn error(
        &mut self,
        now: Time,
        switch: &Info,
        error: &SwitchError,
        out: &mut Output,
    ) -> bool {
        if self.reading.take_if(|reading| reading.xid == error.xid).is_some() {
            self.compare(now, switch, vec![], out);
            return true;
        }
        if self.barrier == Some(error.xid) {
            // A switch that knows no barriers: what it did not refuse, it took.
            self.barrier = None;
            self.confirm();
            return true;
        }
        let Some(at) = self.sent.remove(&error.xid) else { return false };
        if error.is_table_full() {
            self.check_at = self.check_at.min(now + ROOM_WITHIN);
        }
        let flow = &mut self.flows[at];
        let status = match error.is_table_full() {
            true => Status::NoRoom,
            false => Status::Refused(match error.hint {
                "" => error.name.clone(),
                hint => format!("{}; {hint}", error.name),
            }),
        };
        if flow.status != status {
            let (app, name, dpid) = (self.app, &flow.wanted.name, switch.dpid);
            out.far().note(format!("{app}: \"{name}\" at switch {dpid}: {status}"));
            flow.status = status;
            self.changed = true;
        }
        true
    }

    /// The switch says that a flow of ours is gone.
    pub(super) fn removed(
        &mut self,
        now: Time,
        switch: &Info,
        removed: &FlowRemoved,
        out: &mut Output,
    ) {
        let Some(&at) = self.places.get(&removed.cookie) else { return };
        if now.since(self.flows[at].sent_at) < RESTORE_EVERY {
            self.check_at = now;
            return;
        }
        self.push(now, switch, &[at], out);
    }

    /// Makes what is there what should be there.
    fn compare(&mut self, now: Time, switch: &Info, there: Vec<FlowStats>, out: &mut Output) {
        let mut found = HashSet::new();
        let mut stale = vec![];
        for flow in there {
            match self.places.get(&flow.cookie) {
                Some(&at) if self.flows[at].is(&flow) => {
                    found.insert(at);
                }
                Some(_) => {}
                None => stale.push(flow),
            }
        }
        let missing = |at: &usize| !found.contains(at) && self.flows[*at].is_to_be_sent();
        let missing: Vec<usize> = (0..self.flows.len()).filter(missing).collect();
        // What takes the place of another needs no removal, and no moment without either.
        stale.retain(|flow| !missing.iter().any(|&at| self.flows[at].takes_the_place_of(flow)));
        for flow in &stale {
            let xid = out.xid();
            out.say(switch, xid, removal(switch.version, flow));
        }
        for at in found {
            if self.flows[at].status != Status::There {
                self.flows[at].status = Status::There;
                self.changed = true;
            }
        }
        self.push(now, switch, &missing, out);
    }

    /// Sends these flows, and a barrier behind them.
    fn push(&mut self, now: Time, switch: &Info, places: &[usize], out: &mut Output) {
        if places.is_empty() {
            return;
        }
        for &at in places {
            let flow = &mut self.flows[at];
            let xid = out.xid();
            out.say(switch, xid, flow.wanted.flow.clone());
            (flow.sent_at, flow.rendered, flow.is_fresh) = (now, None, true);
            if flow.status == Status::There {
                flow.status = Status::Sent;
                self.changed = true;
            }
            self.sent.retain(|_, other| *other != at);
            self.sent.insert(xid, at);
        }
        let xid = out.xid();
        out.say(switch, xid, Message::BarrierRequest);
        self.barrier = Some(xid);
    }

    /// What was sent before the barrier and not refused is there.
    fn confirm(&mut self) {
        for (_, at) in self.sent.drain() {
            self.flows[at].status = Status::There;
            self.changed = true;
        }
    }

    /// What became of the flows, if anything did since this was last asked.
    pub(super) fn take_news(&mut self) -> Option<Arc<[Entry]>> {
        let entry = |Flow { wanted, status, .. }: &Flow| Entry {
            name: Arc::clone(&wanted.name),
            status: status.clone(),
        };
        let entries = self.flows.iter().map(entry).chain(self.others.iter().cloned());
        core::mem::take(&mut self.changed).then(|| entries.collect())
    }
}

impl Reading {
    /// Adds flows, [`STALE_MAX`] at most; false where there is no room for one on the account of the switch.
    fn add<'f>(&mut self, flows: impl Iterator<Item = &'f FlowStats>, account: &Account) -> bool {
        let held = self.held.get_or_insert_with(|| account.hold());
        let room = STALE_MAX.saturating_sub(self.flows.len());
        for flow in flows.take(room) {
            if !held.more(flow_bytes(flow)) {
                return false;
            }
            self.flows.push(flow.clone());
        }
        true
    }
}

impl Flow {
    fn new(wanted: Wanted, switch: &Info, scratch: &mut Vec<u8>) -> Flow {
        scratch.clear();
        let message = Message::FlowMod(wanted.flow.clone());
        let status = match message.encode(switch.version, 0, scratch) {
            Ok(()) => Status::Sent,
            Err(why) => Status::Unsupported(why.to_string()),
        };
        Flow { wanted, status, sent_at: Time::START, rendered: None, is_fresh: false }
    }

    /// Whether this, which has its cookie, does what it should. What the switch says of it right after it was sent is the same in
    /// its own words.
    fn is(&mut self, there: &FlowStats) -> bool {
        let does = plain(&there.instructions);
        let is_fresh = core::mem::take(&mut self.is_fresh);
        if does == plain(&self.wanted.flow.instructions) {
            return true;
        }
        if is_fresh {
            self.rendered = Some(does);
            return true;
        }
        self.rendered.as_ref() == Some(&does)
    }

    /// What was refused would be refused again, unless it was for want of room.
    fn is_to_be_sent(&self) -> bool {
        !matches!(self.status, Status::Refused(_) | Status::Unsupported(_))
    }

    /// Whether the ADD overwrites this one: its match and its priority are the same.
    fn takes_the_place_of(&self, there: &FlowStats) -> bool {
        let FlowMod { table_id, priority, match_, .. } = &self.wanted.flow;
        let sorted = |match_: &Match| {
            let mut fields = match_.fields.clone();
            fields.sort_by_key(|field| field.header().0);
            fields
        };
        (*table_id, *priority) == (there.table_id, there.priority)
            && sorted(match_) == sorted(&there.match_)
    }
}

/// What instructions do, without what has no meaning: how much of a packet goes out of a port that is not the controller.
fn plain(instructions: &[Instruction]) -> Vec<Instruction> {
    let action = |action: &Action| match action {
        Action::Output { port, .. } if *port != PortNo::CONTROLLER => Action::output(*port),
        other => other.clone(),
    };
    let plain = |instruction: &Instruction| match instruction {
        Instruction::ApplyActions(actions) if actions.is_empty() => None,
        Instruction::ApplyActions(actions) => {
            Some(Instruction::ApplyActions(actions.iter().map(action).collect()))
        }
        other => Some(other.clone()),
    };
    instructions.iter().filter_map(plain).collect()
}
