//! Flow reconciliation: the flows that a switch has are compared with the desired ones, when it
//! connects and from time to time; only the difference is sent.
//!
//! ```text
//!   joining ──▶ read our flows ──▶ compare ──▶ remove what is too much, add the rest ──▶ barrier
//!                     ▲                                                                    │
//!                     └── after a while ◀── there, or refused with the switch's error ◀────┘
//! ```
//!
//! A flow is known by its cookie: the application in its upper half, and in its lower half a digest
//! of all that the flow says. So a flow of a run before that says the same is recognised as the
//! same, whatever way the switch puts it, and traffic through it goes on. What another one changed
//! about a flow, its cookie left alone, shows in what it does.

mod desired;
mod state;
mod status;

use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use aldis_control::switch::SwitchInfo;
use aldis_control::{Account, App, Cookie, Event, Output, Time};
use aldis_wire::Version;
use aldis_wire::msg::{FlowMod, FlowModFlags, Message};

pub(crate) use desired::DesiredPublisher;
pub use desired::{Desired, DesiredItem};
use state::SwitchState;
pub use status::{FlowStatus, FlowStatuses, Owner, Status};
pub(crate) use status::{StatusPublisher, SwitchFlowReport};

/// Flows that one application may keep on a switch: as many as the smallest hardware switches have
/// room for.
pub const FLOWS_MAX: usize = 4096;

/// How often a switch is asked for the flows that are kept there. What is removed is told by the
/// switch at once; this finds what was changed, and what was not told.
const CHECK_EVERY: Duration = Duration::from_secs(30);

/// The same with OpenFlow 1.0, which has to name all flows of the switch, of every owner.
const CHECK_EVERY_V10: Duration = Duration::from_secs(300);

/// How long after a switch had no room for a flow it is tried again, whatever the version.
const ROOM_WITHIN: Duration = Duration::from_secs(30);

/// A desired flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DesiredFlow {
    /// The name under which it is shown.
    pub name: Arc<str>,
    /// The ADD. Its cookie is filled in.
    pub flow: FlowMod,
}

/// The flows that an application keeps on one switch.
#[derive(Debug)]
pub struct FlowReconciler {
    /// The application that owns them.
    cookie: Cookie,
    // Only messages of this switch take the lock: no worker waits for long.
    state: Mutex<SwitchState>,
}

/// The flows that should be on a switch, and what is shown beside them without being sent.
pub(crate) type DesiredPlan = (Vec<DesiredFlow>, Vec<FlowStatus>);

impl FlowReconciler {
    /// None yet: what should be there is planned when the switch joins.
    pub(crate) fn new<A: App>() -> FlowReconciler {
        FlowReconciler { cookie: Cookie::of(A::NAME), state: Mutex::new(SwitchState::new(A::NAME)) }
    }

    /// Something happened. Returns whether it was about these flows alone. `plan` is called for
    /// each new version of the desired flows. What the switch's version of OpenFlow cannot express
    /// is not sent.
    pub(crate) fn event<W: Owner>(
        &self,
        (now, switch, account): (Time, &SwitchInfo, &Account),
        event: &Event,
        version: u64,
        plan: impl FnOnce() -> DesiredPlan,
        out: &mut Output,
    ) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(event, Event::Joining | Event::Second) && state.has_to_follow(version) {
            let (wanted, others) = plan();
            state.keep(switch, marked(self.cookie, wanted), others);
            if *event == Event::Second {
                state.read(now, switch, out);
            }
        }
        let mine = match event {
            Event::Joining => {
                state.read(now, switch, out);
                false
            }
            Event::Second => {
                state.second(now, switch, out);
                false
            }
            Event::FlowRemoved(removed) if Cookie(removed.cookie).same_app(self.cookie) => {
                state.removed(now, switch, removed, out);
                true
            }
            Event::Reply { xid, message } => {
                state.reply((now, switch, account), *xid, message, out)
            }
            Event::Error(error) => state.error(now, switch, error, out),
            _ => false,
        };
        if let Some(entries) = state.take_status(*event == Event::Second) {
            // Where there is no room for it, the next change tells it.
            let _ = out.report::<FlowStatuses<W>>(SwitchFlowReport {
                dpid: switch.dpid,
                entries: Some(entries),
            });
        }
        if *event == Event::Down {
            let _ = out
                .report::<FlowStatuses<W>>(SwitchFlowReport { dpid: switch.dpid, entries: None });
        }
        mine
    }
}

/// The flows with their cookies, each with one of its own. They tell when they are removed.
fn marked(cookie: Cookie, wanted: Vec<DesiredFlow>) -> Vec<DesiredFlow> {
    let mut taken = std::collections::HashSet::new();
    let mark = |DesiredFlow { name, flow }: DesiredFlow| {
        let flow = flow.flags(FlowModFlags::SEND_FLOW_REM);
        let mut digest = digest(&flow);
        while !taken.insert(digest) {
            digest = digest.wrapping_add(1);
        }
        DesiredFlow { name, flow: flow.cookie(cookie.generation(digest).0) }
    };
    wanted.into_iter().map(mark).collect()
}

/// FNV-1a of the flow as 1.3 says it: the same in every run.
fn digest(flow: &FlowMod) -> u32 {
    let mut bytes = Vec::new();
    // One that is too long to be said has no switch that could be asked for it.
    let _ = Message::FlowMod(flow.clone()).encode(Version::V13, 0, &mut bytes);
    bytes
        .iter()
        .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
