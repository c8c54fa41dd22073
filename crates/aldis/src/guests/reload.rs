//! The guests follow the configuration when it is read again, and their certificates with them.

use std::mem;
use std::sync::PoisonError;

use aldis_guest::{GuestError, GuestSpec};
use tracing::warn;

use super::{GuestSet, NotAGuest, tls_of};

impl GuestSet {
    /// The guests of the configuration are these from now on: a line for each that is new, another
    /// or gone. Of one that differs in its bounds alone (rate, queue, weight, `otherwise`) the
    /// connections and flows stay; another is removed with its flows, and added again.
    ///
    /// One that was removed over HTTP stays away, as long as the file says the same of it. It waits
    /// for workers, and for switches of which flows are removed.
    pub(crate) fn configure(&self, specs: Vec<GuestSpec>) -> Vec<String> {
        let mut configured = self.configured.lock().unwrap_or_else(PoisonError::into_inner);
        let before = mem::replace(&mut *configured, specs.clone());
        let named = |all: &[GuestSpec], name: &str| all.iter().any(|spec| spec.name == name);
        let mut lines = vec![];
        let mut adding = vec![];
        for gone in before.iter().filter(|spec| !named(&specs, &spec.name)) {
            let removed = self.give_up(&gone.name);
            lines.push(format!("guest \"{}\" is gone{}", gone.name, unless(removed)));
            // One of this name that was added over HTTP stood back.
            let kept = self.admin.kept_guests().into_iter().find(|kept| kept.name == gone.name);
            adding.extend(kept);
        }
        for spec in specs.iter().filter(|spec| !before.contains(spec)) {
            let what = if named(&before, &spec.name) { "another" } else { "new" };
            let (done, adds) = self.give_way(spec);
            lines.push(format!("guest \"{}\" is {what}{}", spec.name, unless(done)));
            adding.extend(adds.then(|| spec.clone()));
        }
        // When all that goes is gone: its grant may be that of one that comes.
        for spec in adding {
            if let Err(why) = self.add(spec.clone()) {
                lines.push(format!("guest \"{}\" is not there: {why}", spec.name));
            }
        }
        lines
    }

    /// Makes way for a guest of the configuration, and whether it is to be added then.
    fn give_way(&self, spec: &GuestSpec) -> (Result<(), NotAGuest>, bool) {
        match self.guests.spec(&spec.name) {
            Some(there) if there.differs_in_bounds_alone(spec) => {
                (self.guests.bound(spec).map_err(NotAGuest::Guest), false)
            }
            Some(_) => (self.give_up(&spec.name), true),
            None => (Ok(()), true),
        }
    }

    /// Reads the certificates and keys of guests again, for connections from then on. A guest keeps
    /// those that it has where something is wrong with its files.
    pub(crate) fn read_tls_again(&self) {
        for spec in self.guests.statuses().into_iter().map(|status| status.spec) {
            match tls_of(&spec) {
                Ok(None) => {}
                // It may have been removed meanwhile.
                Ok(Some(tls)) => drop(self.guests.encrypt(&spec.name, tls)),
                Err(why) => warn!("{}: its certificates stay as they were: {why}", spec.name),
            }
        }
    }
}

/// What a line says further where something was not done.
fn unless(done: Result<(), NotAGuest>) -> String {
    match done {
        Ok(()) | Err(NotAGuest::Guest(GuestError::Unknown(_))) => String::new(),
        Err(why) => format!(", which was not done: {why}"),
    }
}
