//! Orphan flows: those that stayed on a switch when their application was taken out of the
//! configuration. No application looks after them, and a rule that is configured no more would go
//! on denying. They are removed when the switch joins.
//!
//! The cookie of a flow names its owner. Of those of the applications named here, the ones that no
//! timeout ends are removed, each by itself; the others end by themselves, and until then traffic
//! goes on. Flows of others, and of applications that run, are left alone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use aldis_control::app::{Event, EventCtx, Next, Parallel};
use aldis_control::switch::SwitchInfo;
use aldis_control::{App, Cookie, EventKind, Output, Time};
use aldis_wire::Version;
use aldis_wire::msg::{
    Action, FlowMod, FlowStats, FlowStatsRequest, GroupNo, Match, Message, PortNo, StatsFlags,
    StatsReply, StatsReplyBody, StatsRequest, StatsRequestBody, TableNo,
};

/// The application: one instance for each worker.
#[derive(Clone, Debug)]
pub struct OrphanFlows {
    absent: Arc<[AbsentApp]>,
}

/// An application that does not run.
#[derive(Clone, Copy, Debug)]
struct AbsentApp {
    name: &'static str,
    cookie: Cookie,
}

/// What a switch was asked and has not said all of yet, by transaction id.
#[derive(Debug, Default)]
pub struct PendingReads(Mutex<Vec<PendingRead>>);

#[derive(Debug)]
struct PendingRead {
    xid: u32,
    /// Flows that were removed since, and their owners.
    removed: usize,
    owners: BTreeSet<&'static str>,
}

impl OrphanFlows {
    /// Of the applications with these names, which do not run.
    pub fn new(absent: impl IntoIterator<Item = &'static str>) -> OrphanFlows {
        let absent = absent.into_iter().map(|name| AbsentApp { name, cookie: Cookie::of(name) });
        OrphanFlows { absent: absent.collect() }
    }

    /// Asks a switch for them: OpenFlow 1.3 for those of each application, 1.0 for all flows, for
    /// it knows no more.
    fn ask(&self, switch: &SwitchInfo, out: &mut Output) -> Vec<PendingRead> {
        let marks: Vec<_> = match switch.version {
            Version::V10 => self.absent.first().map(|_| (0, 0)).into_iter().collect(),
            Version::V13 => {
                self.absent.iter().map(|absent| (absent.cookie.0, Cookie::MASK)).collect()
            }
        };
        let ask = |(cookie, cookie_mask)| {
            let request = FlowStatsRequest {
                table_id: TableNo::ALL,
                out_port: PortNo::ANY,
                out_group: GroupNo::ANY,
                cookie,
                cookie_mask,
                match_: Match::new(),
            };
            let xid = out.xid();
            let is_said =
                out.send_message(switch, xid, StatsRequest::new(StatsRequestBody::Flow(request)));
            is_said.then(|| PendingRead { xid, removed: 0, owners: BTreeSet::new() })
        };
        marks.into_iter().filter_map(ask).collect()
    }

    /// The application whose leftover the flow is, if it is one.
    fn owner(&self, flow: &FlowStats) -> Option<&'static str> {
        let its = |absent: &&AbsentApp| Cookie(flow.cookie).same_app(absent.cookie);
        let stays = (flow.idle_timeout, flow.hard_timeout) == (0, 0);
        self.absent.iter().find(its).filter(|_| stays).map(|absent| absent.name)
    }

    /// A reply, or a part of one: the orphans that it names are removed.
    fn remove(
        &self,
        switch: &SwitchInfo,
        flows: &[FlowStats],
        open: &mut PendingRead,
        out: &mut Output,
    ) {
        for flow in flows {
            if let Some(name) = self.owner(flow) {
                let xid = out.xid();
                out.send_message(switch, xid, removal(switch.version, flow));
                open.removed += 1;
                open.owners.insert(name);
            }
        }
    }
}

/// The message that removes just this flow.
pub(crate) fn removal(version: Version, flow: &FlowStats) -> FlowMod {
    let delete = FlowMod::delete_strict(flow.match_.clone()).priority(flow.priority);
    match version {
        // Switches do not look at it, and others call a change without any malformed.
        Version::V10 => delete.actions([Action::output(PortNo::CONTROLLER)]),
        Version::V13 => delete.table(flow.table_id).only_cookie(flow.cookie, u64::MAX),
    }
}

impl App for OrphanFlows {
    type Slot = Parallel<PendingReads>;

    const NAME: &'static str = "leftovers";
    const EVENTS: &'static [EventKind] = &[EventKind::Joining, EventKind::Reply, EventKind::Error];

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> PendingReads {
        PendingReads::default()
    }

    fn event(&mut self, ctx: EventCtx<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        // Only messages of this switch take the lock: no worker waits for long.
        let mut asked = ctx.slot.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (xid, message) = match event {
            Event::Joining => {
                *asked = self.ask(ctx.switch, out);
                return Next::Continue;
            }
            Event::Reply { xid, message } => (*xid, Some(&**message)),
            Event::Error(error) => (error.xid, None),
            _ => return Next::Continue,
        };
        let Some(place) = asked.iter().position(|open| open.xid == xid) else {
            return Next::Continue;
        };
        let mut open = asked.swap_remove(place);
        let mut has_more = false;
        if let Some(Message::StatsReply(StatsReply { flags, body: StatsReplyBody::Flow(flows) })) =
            message
        {
            has_more = flags.contains(StatsFlags::MORE);
            self.remove(ctx.switch, flows, &mut open, out);
        }
        if has_more {
            asked.push(open);
        } else if open.removed > 0 {
            out.commands().info(open.words(ctx.switch));
        }
        Next::Stop
    }
}

impl PendingRead {
    fn words(&self, switch: &SwitchInfo) -> String {
        let names: Vec<_> = self.owners.iter().copied().collect();
        let (count, dpid, names) = (self.removed, switch.dpid, names.join(", "));
        let flows = if count == 1 { "flow" } else { "flows" };
        format!(
            "{}: {count} {flows} of {names}, not among the applications any more, removed from switch {dpid}",
            OrphanFlows::NAME
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::switch::{TestSwitch, info};
    use aldis_control::session::SwitchError;
    use aldis_wire::msg::{FlowModCommand, FlowModFlags};

    const NAMES: [&str; 2] = ["acl", "learning-switch"];

    fn bench(version: Version, absent: &[&'static str]) -> TestSwitch {
        let leftovers = OrphanFlows::new(absent.iter().copied());
        TestSwitch::of(info(version, 2), |app_set| app_set.with(move || leftovers.clone()))
    }

    fn flow(app: &str, priority: u16, idle_timeout: u16) -> FlowStats {
        FlowStats {
            table_id: TableNo(0),
            duration_sec: 1,
            duration_nsec: 0,
            priority,
            idle_timeout,
            hard_timeout: 0,
            flags: FlowModFlags::EMPTY,
            cookie: Cookie::of(app).generation(7).0,
            packet_count: 0,
            byte_count: 0,
            match_: Match::new(),
            instructions: vec![],
        }
    }

    fn reply(xid: u32, flags: StatsFlags, flows: Vec<FlowStats>) -> Event {
        let message = StatsReply { flags, body: StatsReplyBody::Flow(flows) };
        Event::Reply { xid, message: Box::new(Message::StatsReply(message)) }
    }

    /// The flows that are removed, by their priorities.
    fn removed(said: Vec<(u32, Message)>) -> Vec<u16> {
        let priority = |(_, message)| match message {
            Message::FlowMod(flow) => {
                assert_eq!(flow.command, FlowModCommand::DELETE_STRICT);
                flow.priority
            }
            other => panic!("{other:?}"),
        };
        said.into_iter().map(priority).collect()
    }

    #[test]
    fn what_nobody_looks_after_and_nothing_ends_is_removed() {
        for version in Version::ALL {
            let mut bench = bench(version, &NAMES);
            let asked = bench.happens(Event::Joining);
            assert_eq!(asked.len(), if version == Version::V10 { 1 } else { 2 });
            let flows = vec![
                flow("acl", 1, 0),
                flow("acl", 2, 0),
                flow("learning-switch", 3, 60),
                flow("learning-switch", 4, 0),
                flow("static-flows", 5, 0),
                FlowStats { cookie: 6, ..flow("acl", 6, 0) },
            ];
            let first = bench.happens(reply(asked[0].0, StatsFlags::MORE, flows));
            assert_eq!(removed(first), [1, 2, 4], "{version}");
            let rest = bench.happens(reply(asked[0].0, StatsFlags::EMPTY, vec![flow("acl", 7, 0)]));
            assert_eq!(removed(rest), [7], "{version}");
            let late = bench.happens(reply(asked[0].0, StatsFlags::EMPTY, vec![flow("acl", 8, 0)]));
            assert!(late.is_empty(), "{version}: {late:?}");
        }
    }

    #[test]
    fn where_a_switch_says_nothing_of_its_flows_nothing_is_removed() {
        let mut bench = bench(Version::V13, &NAMES);
        let asked = bench.happens(Event::Joining);
        let (xid, name) = (asked[0].0, "OFPET_BAD_REQUEST/OFPBRC_BAD_STAT".to_owned());
        let refused = SwitchError { dpid: None, xid, name, about: None, hint: "", sent: vec![] };
        assert!(bench.happens(Event::Error(Box::new(refused))).is_empty());
        assert!(
            bench.happens(reply(asked[0].0, StatsFlags::EMPTY, vec![flow("acl", 1, 0)])).is_empty()
        );
    }

    #[test]
    fn where_every_application_runs_nothing_is_asked() {
        for version in Version::ALL {
            assert!(bench(version, &[]).happens(Event::Joining).is_empty());
        }
    }
}
