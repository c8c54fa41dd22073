//! The state of one switch: what was asked, what was sent, and what came of it.

use core::time::Duration;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use aldis_control::account::{Held, flow_bytes};
use aldis_control::session::SwitchError;
use aldis_control::switch::SwitchInfo;
use aldis_control::{Account, Cookie, Output, Time};
use aldis_wire::Version;
use aldis_wire::msg::{
    Action, Field, FlowMod, FlowRemoved, FlowStats, FlowStatsRequest, GroupNo, Instruction, Match,
    Message, PortNo, StatsFlags, StatsReply, StatsReplyBody, StatsRequest, StatsRequestBody,
    TableNo,
};

use crate::orphan_flows::removal;

use super::{
    CHECK_EVERY, CHECK_EVERY_V10, DesiredFlow, FLOWS_MAX, FlowStatus, ROOM_WITHIN, Status,
};

/// How long a switch may take to name its flows before it is asked again.
const READ_WITHIN: Duration = Duration::from_secs(20);

/// A flow that was restored is restored again a second later at the earliest: there is no race with
/// another controller that removes it.
const RESTORE_EVERY: Duration = Duration::from_secs(1);

/// Flows of ours that a switch may have and that are not desired, as far as they are looked at in
/// one round.
const STALE_MAX: usize = 2 * FLOWS_MAX;

/// Changes that are sent in one round, with a barrier behind them; the next round follows when that
/// is answered. So thousands of flows that change at once keep a worker, and the other switches
/// behind it, waiting for a fraction of a millisecond each time, and never come to a switch faster
/// than it takes them.
pub(super) const ROUND_MAX: usize = 128;

/// Bytes after which a round is over, too: a flow may say 64 KB.
pub(super) const ROUND_BYTES: usize = 16 * 1024;

/// What was asked of a switch and sent to it, and what came of it.
#[derive(Debug)]
pub(super) struct SwitchState {
    app: &'static str,
    cookie: Cookie,
    flows: Vec<KnownFlow>,
    /// What is shown and not sent.
    others: Vec<FlowStatus>,
    places: HashMap<u64, usize>,
    /// What the switch has, as far as it said so.
    reading: Option<Reading>,
    /// What is to be sent, in this order.
    to_do: VecDeque<FlowCorrection>,
    /// What is on its way, by transaction id.
    sent: HashMap<u32, usize>,
    /// The barrier behind it, and when it was sent.
    barrier: Option<(u32, Time)>,
    check_at: Time,
    changed: bool,
    /// The version of the desired flows; 0 before the first.
    version: u64,
}

#[derive(Debug)]
struct KnownFlow {
    wanted: DesiredFlow,
    status: Status,
    /// When it was sent last.
    sent_at: Time,
    /// What the switch said that it does, just after it was sent: the same, in the switch's words.
    rendered: Option<Vec<Instruction>>,
    /// Whether what the switch says next is such.
    is_fresh: bool,
}

/// What makes the switch more like it should be.
#[derive(Debug)]
enum FlowCorrection {
    Remove(FlowMod),
    /// The flow at this place.
    Add(usize),
}

/// By this one flow of a switch is told from another.
type FlowKey = (TableNo, u16, Vec<Field>);

#[derive(Debug)]
struct Reading {
    xid: u32,
    since: Time,
    flows: Vec<FlowStats>,
    /// The same on the account of the switch, once there are any.
    held: Option<Held>,
}

impl SwitchState {
    pub(super) fn new(app: &'static str) -> SwitchState {
        SwitchState {
            app,
            cookie: Cookie::of(app),
            flows: vec![],
            others: vec![],
            places: HashMap::new(),
            reading: None,
            to_do: VecDeque::new(),
            sent: HashMap::new(),
            barrier: None,
            check_at: Time::NEVER,
            changed: true,
            version: 0,
        }
    }

    /// Whether the desired flows are of another version than the planned ones; notes the version.
    pub(super) fn has_to_follow(&mut self, version: u64) -> bool {
        core::mem::replace(&mut self.version, version) != version
    }

    /// From now on these should be there. Of those that should be there already, what became of
    /// them is still known.
    pub(super) fn keep(
        &mut self,
        switch: &SwitchInfo,
        wanted: Vec<DesiredFlow>,
        others: Vec<FlowStatus>,
    ) {
        let before: Vec<u64> = self.flows.iter().map(|flow| flow.wanted.flow.cookie).collect();
        let mut old: HashMap<u64, KnownFlow> =
            self.flows.drain(..).map(|flow| (flow.wanted.flow.cookie, flow)).collect();
        let mut scratch = Vec::new();
        let flow = |wanted: DesiredFlow| match old.remove(&wanted.flow.cookie) {
            Some(flow) if flow.wanted.flow == wanted.flow => KnownFlow { wanted, ..flow },
            _ => KnownFlow::new(wanted, switch, &mut scratch),
        };
        self.flows = wanted.into_iter().map(flow).collect();
        let places = self.flows.iter().enumerate().map(|(at, flow)| (flow.wanted.flow.cookie, at));
        self.places = places.collect();
        let sent = self.sent.drain().filter_map(|(xid, at)| {
            let place = before.get(at).and_then(|cookie| self.places.get(cookie))?;
            Some((xid, *place))
        });
        self.sent = sent.collect();
        // What is still to be done shows when the switch has been read.
        self.to_do.clear();
        self.others = others;
        self.changed = true;
    }

    /// Asks which flows of ours are there. OpenFlow 1.0 can only be asked for all.
    pub(super) fn read(&mut self, now: Time, switch: &SwitchInfo, out: &mut Output) {
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
        out.send_message(switch, xid, StatsRequest::new(StatsRequestBody::Flow(request)));
        self.reading = Some(Reading { xid, since: now, flows: vec![], held: None });
        self.check_at = match switch.version {
            _ if self.flows.is_empty() => Time::NEVER,
            Version::V10 => now + CHECK_EVERY_V10,
            Version::V13 => now + CHECK_EVERY,
        };
    }

    pub(super) fn second(&mut self, now: Time, switch: &SwitchInfo, out: &mut Output) {
        let waits =
            self.reading.as_ref().is_some_and(|reading| now.since(reading.since) < READ_WITHIN);
        if self.check_at <= now && !waits {
            self.read(now, switch, out);
        }
        if self.barrier.is_some_and(|(_, since)| now.since(since) >= READ_WITHIN) {
            self.reached(now, switch, out);
        }
    }

    /// The switch is done with what it was sent: what it did not refuse is there. It is sent more.
    fn reached(&mut self, now: Time, switch: &SwitchInfo, out: &mut Output) {
        self.barrier = None;
        self.confirm();
        self.go_on(now, switch, out);
    }

    /// A reply came: whether it was to one of ours.
    pub(super) fn reply(
        &mut self,
        (now, switch, account): (Time, &SwitchInfo, &Account),
        xid: u32,
        message: &Message,
        out: &mut Output,
    ) -> bool {
        if self.barrier.is_some_and(|(barrier, _)| barrier == xid) {
            self.reached(now, switch, out);
            return true;
        }
        let Some(mut reading) = self.reading.take_if(|reading| reading.xid == xid) else {
            return false;
        };
        match message {
            Message::StatsReply(StatsReply { flags, body: StatsReplyBody::Flow(flows) }) => {
                let ours = flows.iter().filter(|flow| Cookie(flow.cookie).same_app(self.cookie));
                if !reading.add(ours, account) {
                    let (app, dpid, max) = (self.app, switch.dpid, account.max());
                    out.commands().warn(format!(
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
            // It is not known what is there: what is sent again changes nothing where it is.
            _ => self.compare(now, switch, vec![], out),
        }
        true
    }

    /// An error came: whether it was about one of ours.
    pub(super) fn error(
        &mut self,
        now: Time,
        switch: &SwitchInfo,
        error: &SwitchError,
        out: &mut Output,
    ) -> bool {
        if self.reading.take_if(|reading| reading.xid == error.xid).is_some() {
            self.compare(now, switch, vec![], out);
            return true;
        }
        if self.barrier.is_some_and(|(barrier, _)| barrier == error.xid) {
            // A switch that knows no barriers: what it did not refuse, it took.
            self.reached(now, switch, out);
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
            out.commands().warn(format!("{app}: \"{name}\" at switch {dpid}: {status}"));
            flow.status = status;
            self.changed = true;
        }
        true
    }

    /// The switch says that a flow of ours is gone.
    pub(super) fn removed(
        &mut self,
        now: Time,
        switch: &SwitchInfo,
        removed: &FlowRemoved,
        out: &mut Output,
    ) {
        let Some(&at) = self.places.get(&removed.cookie) else { return };
        if now.since(self.flows[at].sent_at) < RESTORE_EVERY {
            self.check_at = now;
            return;
        }
        self.to_do.push_back(FlowCorrection::Add(at));
        self.go_on(now, switch, out);
    }

    /// Makes what is there what should be there.
    fn compare(&mut self, now: Time, switch: &SwitchInfo, there: Vec<FlowStats>, out: &mut Output) {
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
        let places: HashSet<FlowKey> = match stale.is_empty() {
            true => HashSet::new(),
            false => missing.iter().map(|&at| self.flows[at].key()).collect(),
        };
        stale.retain(|flow| !places.contains(&key(flow.table_id, flow.priority, &flow.match_)));
        let removals =
            stale.iter().map(|flow| FlowCorrection::Remove(removal(switch.version, flow)));
        self.to_do = removals.chain(missing.into_iter().map(FlowCorrection::Add)).collect();
        for at in found {
            if self.flows[at].status != Status::There {
                self.flows[at].status = Status::There;
                self.changed = true;
            }
        }
        self.go_on(now, switch, out);
    }

    /// Sends some of what is to be done, and a barrier behind it, unless one is under way.
    fn go_on(&mut self, now: Time, switch: &SwitchInfo, out: &mut Output) {
        if self.barrier.is_some() || self.to_do.is_empty() {
            return;
        }
        let before = out.bytes().len();
        for _ in 0..ROUND_MAX {
            if out.bytes().len() - before >= ROUND_BYTES {
                break;
            }
            let Some(change) = self.to_do.pop_front() else { break };
            let xid = out.xid();
            match change {
                FlowCorrection::Remove(removal) => {
                    out.send_message(switch, xid, removal);
                }
                FlowCorrection::Add(at) => {
                    let flow = &mut self.flows[at];
                    out.send_message(switch, xid, flow.wanted.flow.clone());
                    (flow.sent_at, flow.rendered, flow.is_fresh) = (now, None, true);
                    if flow.status == Status::There {
                        flow.status = Status::Sent;
                        self.changed = true;
                    }
                    self.sent.insert(xid, at);
                }
            }
        }
        let xid = out.xid();
        out.send_message(switch, xid, Message::BarrierRequest);
        self.barrier = Some((xid, now));
    }

    /// What was sent before the barrier and not refused is there.
    fn confirm(&mut self) {
        for (_, at) in self.sent.drain() {
            self.flows[at].status = Status::There;
            self.changed = true;
        }
    }

    /// What became of the flows, if anything did since this was last asked; not after each of many
    /// rounds, but each second and at their end.
    pub(super) fn take_status(&mut self, second: bool) -> Option<Arc<[FlowStatus]>> {
        if !self.changed || !second && !self.to_do.is_empty() {
            return None;
        }
        let entry = |KnownFlow { wanted, status, .. }: &KnownFlow| FlowStatus {
            name: Arc::clone(&wanted.name),
            status: status.clone(),
        };
        let entries = self.flows.iter().map(entry).chain(self.others.iter().cloned());
        core::mem::take(&mut self.changed).then(|| entries.collect())
    }
}

impl Reading {
    /// Adds flows, [`STALE_MAX`] at most; false where there is no room for one on the account of
    /// the switch.
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

impl KnownFlow {
    fn new(wanted: DesiredFlow, switch: &SwitchInfo, scratch: &mut Vec<u8>) -> KnownFlow {
        scratch.clear();
        let message = Message::FlowMod(wanted.flow.clone());
        let status = match message.encode(switch.version, 0, scratch) {
            Ok(()) => Status::Sent,
            Err(why) => Status::Unsupported(why.to_string()),
        };
        KnownFlow { wanted, status, sent_at: Time::START, rendered: None, is_fresh: false }
    }

    /// Whether this, which has its cookie, does what it should. What the switch says of it right
    /// after it was sent is the same in its own words.
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

    /// The ADD overwrites what has the same.
    fn key(&self) -> FlowKey {
        let FlowMod { table_id, priority, match_, .. } = &self.wanted.flow;
        key(*table_id, *priority, match_)
    }
}

fn key(table: TableNo, priority: u16, match_: &Match) -> FlowKey {
    let mut fields = match_.fields.clone();
    fields.sort_by_key(|field| field.header().0);
    (table, priority, fields)
}

/// What instructions do, without what has no meaning: how much of a packet goes out of a port that
/// is not the controller.
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
