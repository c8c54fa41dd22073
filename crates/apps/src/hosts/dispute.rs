//! Two that say to be the same: a host that is seen at a second port, an address that a second host
//! claims.
//!
//! ```text
//! claim ──▶ asking: the old place is request, ASKS times, ASK_EVERY apart
//!             │ silent to the end                       │ answered
//!             ▼                                         ▼
//!           granted                                   refused for REFUSED_FOR; then a claim is request about again
//! ```
//!
//! The answer has to come in by the old port, where nobody but who is there can send. Until it is
//! decided, nothing changes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use aldis_control::Time;

use aldis_control::SwitchPort;

use super::host::Identity;

/// How often the old place is asked: one question or answer may get lost, two in a row are rare.
pub const ASKS: u8 = 3;

/// Between two questions, and from the last to the verdict: hosts answer within milliseconds, slow
/// ones within a few hundred. A host that moved without its old port going down is thus believed
/// after less than four tenths of a second.
pub const ASK_EVERY: Duration = Duration::from_millis(120);

/// How long a refused claim is refused without asking again, so that a stubborn liar costs its
/// victim one question in ten seconds.
pub const REFUSED_FOR: Duration = Duration::from_secs(10);

/// Disputes at a time: so many hosts may move within a second without their ports going down. More
/// are refused.
pub const DISPUTES_MAX: usize = 1024;

/// Of which one port may begin so many, so that a liar leaves room for those who move.
pub const PORT_DISPUTES_MAX: usize = 64;

/// What is claimed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    /// To be this host, at another place.
    Place(Identity),
    /// To have this address, which another host in the VLAN has.
    Address(IpAddr, u16),
}

/// Who claims it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// What.
    pub what: Subject,
    /// The host, as it says.
    pub by: Identity,
    /// The port where it said so.
    pub at: SwitchPort,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// So many questions were sent.
    Asking(u8),
    Refused,
}

#[derive(Clone, Copy, Debug)]
struct Dispute {
    claim: Claim,
    state: State,
    /// When it goes on by itself.
    due: Time,
}

/// What becomes of a claim at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// The owner is to be asked.
    Ask,
    /// It is being asked already.
    Waits,
    /// It answered a short while ago.
    Refused,
    /// There is no room for another dispute.
    Full,
}

/// What time brings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// Ask again.
    Ask(Claim),
    /// The old place was silent.
    Granted(Claim),
}

/// All disputes.
#[derive(Debug, Default)]
pub(super) struct Disputes(BTreeMap<Subject, Dispute>);

impl Disputes {
    /// Somebody claims something. `Ask` opens a dispute, and asking was counted once.
    pub(super) fn claim(&mut self, now: Time, claim: Claim) -> Verdict {
        match self.0.get(&claim.what).map(|dispute| dispute.state) {
            Some(State::Asking(_)) => return Verdict::Waits,
            Some(State::Refused) => return Verdict::Refused,
            None => {}
        }
        if !self.has_room(claim.at) {
            return Verdict::Full;
        }
        let dispute = Dispute { claim, state: State::Asking(1), due: now + ASK_EVERY };
        self.0.insert(claim.what, dispute);
        Verdict::Ask
    }

    /// Whether a port may begin one more; makes room by forgetting a refusal.
    fn has_room(&mut self, at: SwitchPort) -> bool {
        let of_port = self.0.values().filter(|dispute| dispute.claim.at == at).count();
        if of_port >= PORT_DISPUTES_MAX {
            return false;
        }
        if self.0.len() >= DISPUTES_MAX {
            let refused = self.0.iter().filter(|(_, dispute)| dispute.state == State::Refused);
            let oldest = refused.min_by_key(|(_, dispute)| dispute.due).map(|(&what, _)| what);
            oldest.and_then(|what| self.0.remove(&what));
        }
        self.0.len() < DISPUTES_MAX
    }

    /// The owner showed itself: the claim that is refused by it.
    pub(super) fn answered(&mut self, now: Time, what: Subject) -> Option<Claim> {
        let dispute = self.0.get_mut(&what)?;
        if dispute.state == State::Refused {
            return None;
        }
        (dispute.state, dispute.due) = (State::Refused, now + REFUSED_FOR);
        Some(dispute.claim)
    }

    /// The owner is gone for good, or what was claimed is: the claim that stood.
    pub(super) fn end(&mut self, what: Subject) -> Option<Claim> {
        let ended = self.0.remove(&what)?;
        (ended.state != State::Refused).then_some(ended.claim)
    }

    /// The next thing that time has brought.
    pub(super) fn due(&mut self, now: Time) -> Option<Due> {
        while let Some((&what, dispute)) = self.0.iter_mut().find(|(_, dispute)| dispute.due <= now)
        {
            match dispute.state {
                State::Asking(times) if times < ASKS => {
                    (dispute.state, dispute.due) = (State::Asking(times + 1), now + ASK_EVERY);
                    return Some(Due::Ask(dispute.claim));
                }
                State::Asking(_) => return self.end(what).map(Due::Granted),
                State::Refused => self.0.remove(&what),
            };
        }
        None
    }

    /// The claims that are not decided.
    pub(super) fn open(&self) -> impl Iterator<Item = Claim> {
        let open = self.0.values().filter(|dispute| dispute.state != State::Refused);
        open.map(|dispute| dispute.claim)
    }

    /// When [`Disputes::due`] has something to say.
    pub(super) fn next(&self) -> Option<Time> {
        self.0.values().map(|dispute| dispute.due).min()
    }
}
