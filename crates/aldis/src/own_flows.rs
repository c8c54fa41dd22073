//! The flows of one owner, an installed application or a guest, are removed from all switches.

use std::time::{Duration, Instant};

use aldis_control::Cookie;
use aldis_control::command::{Outcome, Said};
use aldis_control::limits::COMMAND_MESSAGES_MAX;
use aldis_control::switch::{Seen, SwitchInfo};
use aldis_engine::Handle;
use aldis_engine::command::Answer;
use aldis_guest::GuestSpec;
use aldis_wire::msg::{
    Action, FlowMod, FlowStats, FlowStatsRequest, Match, Message, PortNo, StatsRequest,
    StatsRequestBody, TableNo,
};
use aldis_wire::{DatapathId, Version};
use tracing::{info, warn};

/// The time that a switch is given for each step.
const WITHIN: Duration = Duration::from_secs(2);

/// The time that all of them are given together.
const ALL_WITHIN: Duration = Duration::from_secs(10);

/// Switches that work at a time: their flows are held in memory, where they have to be asked.
const AT_A_TIME: usize = 16;

/// Removes the flows of an owner from all switches, and says in the log how that went. It waits for
/// the switches.
pub(crate) fn remove_all(engine: &Handle, name: &str) {
    let cookie = Cookie::of(name);
    let switches = engine.switches();
    let switches: Vec<(DatapathId, Version)> =
        switches.iter().map(|seen| (seen.switch.info.dpid, seen.switch.info.version)).collect();
    let by = Instant::now() + ALL_WITHIN;
    let failed = |some: &[(DatapathId, Version)]| match Instant::now() < by {
        true => remove(engine, cookie, some),
        false => {
            some.iter().map(|(dpid, _)| (*dpid, "too many switches are slow".into())).collect()
        }
    };
    let failures: Vec<(DatapathId, String)> = switches.chunks(AT_A_TIME).flat_map(failed).collect();
    info!("{name}: its flows are removed from {} switches", switches.len() - failures.len());
    if let Some((dpid, why)) = failures.first() {
        warn!("{name}: its flows stay on {} switches; on {dpid}: {why}", failures.len());
    }
}

/// Puts back, on the switches of 1.3 of a guest that was removed, the flow by which packets that
/// match nothing come to the controller: the guest may have had one of its own in that place.
pub(crate) fn restore_table_miss(engine: &Handle, guest: &GuestSpec) {
    let to_controller = Action::output(PortNo::CONTROLLER);
    let miss = FlowMod::add(Match::new()).priority(0).actions([to_controller]);
    let restore = |seen: Seen| {
        let SwitchInfo { dpid, version, .. } = seen.switch.info;
        let is_needed = version == Version::V13 && guest.has_switch(dpid);
        is_needed.then(|| (dpid, engine.command(dpid, &[miss.clone().into()], WITHIN)))
    };
    let asked: Vec<_> = engine.switches().into_iter().filter_map(restore).collect();
    for (dpid, answer) in asked {
        if let Err(why) = answer.wait() {
            warn!("switch {dpid}: packets that match no flow may not come any more: {why}");
        }
    }
}

/// Removes the flows of an owner from some switches; those that failed, and why.
fn remove(
    engine: &Handle,
    cookie: Cookie,
    switches: &[(DatapathId, Version)],
) -> Vec<(DatapathId, String)> {
    let listing = StatsRequestBody::Flow(FlowStatsRequest::all());
    let ask = |(dpid, version): &(DatapathId, Version)| {
        let first = match version {
            Version::V10 => Message::StatsRequest(StatsRequest::new(listing.clone())),
            Version::V13 => {
                let flows = FlowMod::delete(Match::new()).table(TableNo::ALL);
                Message::FlowMod(flows.only_cookie(cookie.0, Cookie::MASK))
            }
        };
        (*dpid, engine.command(*dpid, &[first], WITHIN))
    };
    let asked: Vec<(DatapathId, Answer)> = switches.iter().map(ask).collect();
    let mut failures = Vec::new();
    let mut removing = Vec::new();
    for (dpid, answer) in asked {
        match found(answer.wait(), cookie) {
            Ok(flows) => removing.extend(
                flows
                    .chunks(COMMAND_MESSAGES_MAX)
                    .map(|messages| (dpid, engine.command(dpid, messages, WITHIN))),
            ),
            Err(why) => failures.push((dpid, why)),
        }
    }
    let removed = removing.into_iter().map(|(dpid, answer)| (dpid, found(answer.wait(), cookie)));
    failures.extend(removed.filter_map(|(dpid, removed)| Some((dpid, removed.err()?))));
    failures
}

/// The removals of the owner's flows that a switch listed, one by one: OpenFlow 1.0 has no removal
/// by cookie. None where it was not asked to list any.
fn found(outcome: Outcome, cookie: Cookie) -> Result<Vec<Message>, String> {
    let mut removals = Vec::new();
    for said in outcome.map_err(|failure| failure.to_string())? {
        match said {
            Said::Done => {}
            Said::Reply(reply) => {
                for flow in reply.flows() {
                    let flow = flow.map_err(|why| why.to_string())?;
                    removals.extend(removal(flow, cookie));
                }
            }
            Said::Refused(error) => return Err(error.to_string()),
            Said::TooMuch => return Err("it has too many flows to be listed".to_owned()),
        }
    }
    Ok(removals)
}

fn removal(flow: FlowStats, cookie: Cookie) -> Option<Message> {
    let is_own = Cookie(flow.cookie).same_app(cookie);
    let flow_mod = FlowMod::delete_strict(flow.match_).table(flow.table_id).priority(flow.priority);
    is_own.then_some(Message::FlowMod(flow_mod))
}
