//! Move checks: a host that is seen at a second port, or an address that a second host claims, is
//! probed where it was before the claim is believed.
//!
//! ```text
//! claim ──▶ probing: the old port is probed, PROBES times, PROBE_EVERY apart
//!             │ silent to the end               │ answered
//!             ▼                                 ▼
//!           granted                           refused for REFUSED_FOR; then checked again
//! ```
//!
//! The answer has to come in by the old port, where only a host that is there can send. Until it is
//! decided, nothing changes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use aldis_control::{SwitchPort, Time};

use super::host::Identity;

/// How often the old port is probed: one probe or answer may get lost, two in a row are rare.
pub const PROBES: u8 = 3;

/// Between two probes, and from the last to the verdict: hosts answer within milliseconds, slow
/// ones within a few hundred. A host that moved without its old port going down is thus believed
/// after less than four tenths of a second.
pub const PROBE_EVERY: Duration = Duration::from_millis(120);

/// How long a refused claim is refused without another probe, so that a persistent attacker costs
/// its victim one probe in ten seconds.
pub const REFUSED_FOR: Duration = Duration::from_secs(10);

/// Disputes at a time: so many hosts may move within a second without their ports going down. More
/// are refused.
pub const CHECKS_MAX: usize = 1024;

/// Of which one port may begin so many, so that an attacker leaves room for hosts that move.
pub const PORT_CHECKS_MAX: usize = 64;

/// What is claimed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    /// To be this host, at another place.
    Place(Identity),
    /// To have this address, which another host in the VLAN has.
    Address(IpAddr, u16),
}

/// The host that claims it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MoveClaim {
    /// What.
    pub what: Subject,
    /// The host, as it says.
    pub by: Identity,
    /// The port where it said so.
    pub at: SwitchPort,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MoveState {
    /// So many questions were sent.
    Probing(u8),
    Refused,
}

#[derive(Clone, Copy, Debug)]
struct MoveCheck {
    claim: MoveClaim,
    state: MoveState,
    /// When it goes on by itself.
    due: Time,
}

/// What becomes of a claim at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// The owner is to be asked.
    Probe,
    /// It is being asked already.
    Waits,
    /// It answered a short while ago.
    Refused,
    /// There is no room for another move check.
    Full,
}

/// What time brings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MoveDue {
    /// Ask again.
    Probe(MoveClaim),
    /// The old place was silent.
    Granted(MoveClaim),
}

/// All move checks.
#[derive(Debug, Default)]
pub(super) struct MoveChecks(BTreeMap<Subject, MoveCheck>);

impl MoveChecks {
    /// A host claims something. `Probe` opens a move check: the first probe is counted already.
    pub(super) fn claim(&mut self, now: Time, claim: MoveClaim) -> Decision {
        match self.0.get(&claim.what).map(|move_check| move_check.state) {
            Some(MoveState::Probing(_)) => return Decision::Waits,
            Some(MoveState::Refused) => return Decision::Refused,
            None => {}
        }
        if !self.has_room(claim.at) {
            return Decision::Full;
        }
        let move_check = MoveCheck { claim, state: MoveState::Probing(1), due: now + PROBE_EVERY };
        self.0.insert(claim.what, move_check);
        Decision::Probe
    }

    /// Whether a port may begin one more; makes room by forgetting a refusal.
    fn has_room(&mut self, at: SwitchPort) -> bool {
        let of_port = self.0.values().filter(|move_check| move_check.claim.at == at).count();
        if of_port >= PORT_CHECKS_MAX {
            return false;
        }
        if self.0.len() >= CHECKS_MAX {
            let refused =
                self.0.iter().filter(|(_, move_check)| move_check.state == MoveState::Refused);
            let oldest =
                refused.min_by_key(|(_, move_check)| move_check.due).map(|(&what, _)| what);
            oldest.and_then(|what| self.0.remove(&what));
        }
        self.0.len() < CHECKS_MAX
    }

    /// The owner showed itself: the claim that is refused by it.
    pub(super) fn answered(&mut self, now: Time, what: Subject) -> Option<MoveClaim> {
        let move_check = self.0.get_mut(&what)?;
        if move_check.state == MoveState::Refused {
            return None;
        }
        (move_check.state, move_check.due) = (MoveState::Refused, now + REFUSED_FOR);
        Some(move_check.claim)
    }

    /// The owner is gone for good, or what was claimed is: the claim that stood.
    pub(super) fn end(&mut self, what: Subject) -> Option<MoveClaim> {
        let ended = self.0.remove(&what)?;
        (ended.state != MoveState::Refused).then_some(ended.claim)
    }

    /// The next thing that time has brought.
    pub(super) fn due(&mut self, now: Time) -> Option<MoveDue> {
        while let Some((&what, move_check)) =
            self.0.iter_mut().find(|(_, move_check)| move_check.due <= now)
        {
            match move_check.state {
                MoveState::Probing(times) if times < PROBES => {
                    (move_check.state, move_check.due) =
                        (MoveState::Probing(times + 1), now + PROBE_EVERY);
                    return Some(MoveDue::Probe(move_check.claim));
                }
                MoveState::Probing(_) => return self.end(what).map(MoveDue::Granted),
                MoveState::Refused => self.0.remove(&what),
            };
        }
        None
    }

    /// The claims that are not decided.
    pub(super) fn open(&self) -> impl Iterator<Item = MoveClaim> {
        let open = self.0.values().filter(|move_check| move_check.state != MoveState::Refused);
        open.map(|move_check| move_check.claim)
    }

    /// When [`MoveChecks::due`] has something to say.
    pub(super) fn next(&self) -> Option<Time> {
        self.0.values().map(|move_check| move_check.due).min()
    }
}
