//! Candidates: a version runs in the shadow of the one that is installed, on the same events. Its
//! commands are compared and not sent, until it is promoted or given up.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use aldis_sandbox::{AppState, Application, ShadowStatus};
use tracing::{info, warn};

use super::{InstallError, Installed, InstalledApps, Space, interned, start, unknown};

const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A version in the shadow of another.
#[derive(Clone)]
pub(super) struct Candidate {
    application: Application,
    package: Arc<[u8]>,
    space: Arc<Space>,
}

impl Installed {
    /// The version in its shadow, what that is doing, and how far it agrees.
    pub(super) fn candidate_status(&self) -> Option<(String, AppState, ShadowStatus)> {
        let candidate = &self.candidate.as_ref()?.application;
        let status = self.application.shadow_status().unwrap_or_default();
        Some((candidate.manifest().version.clone(), candidate.status().state, status))
    }

    /// Nothing runs in its shadow any more.
    pub(super) fn end_candidate(&self) {
        // To end a shadow cannot fail.
        let _ = self.application.shadow(None);
        if let Some(Candidate { application, .. }) = &self.candidate {
            let _ = application.stop();
        }
    }
}

impl InstalledApps {
    /// Runs another version in the shadow of an application, and promotes it by itself `after` so
    /// many batches in a row whose commands were the same, where that is said.
    ///
    /// # Errors
    /// Why not; what is there stays.
    pub(crate) fn shadow(
        self: &Arc<Self>,
        name: &str,
        bytes: &[u8],
        after: Option<u64>,
    ) -> Result<(), InstallError> {
        let mut apps = self.lock();
        let name = interned(name);
        let installed = apps.get_mut(name).ok_or_else(|| unknown(name))?;
        let (application, space) = self.version(installed, bytes)?;
        self.introduce(&application);
        start(&application)?;
        if let Err(why) = installed.application.shadow(Some(&application)) {
            let _ = application.stop();
            return Err(InstallError::Package(format!("the package is refused: {why}")));
        }
        if let Some(Candidate { application, .. }) = installed.candidate.take() {
            let _ = application.stop();
        }
        let (package, replaced) = (bytes.into(), installed.replaced);
        installed.candidate = Some(Candidate { application, package, space });
        drop(apps);
        if let Some(after) = after {
            self.promote_after(name, replaced, after);
        }
        Ok(())
    }

    /// Promotes the candidate of this version when it has agreed so often in a row.
    fn promote_after(self: &Arc<Self>, name: &'static str, replaced: u64, after: u64) {
        let apps = Arc::clone(self);
        let watch = move || {
            loop {
                let there = apps.apps.shown().get(name).cloned();
                let Some(there) = there.filter(|there| there.replaced == replaced) else { return };
                match there.candidate_status() {
                    Some((_, AppState::Running | AppState::Restarting(_), status)) => {
                        if status.agreed_last >= after {
                            return match apps.promote(name) {
                                Ok(()) => info!("{name}: the candidate agreed, and is promoted"),
                                Err(why) => warn!("{name}: not promoted: {}", why.sentence()),
                            };
                        }
                    }
                    _ => {
                        return warn!(
                            "{name}: the candidate is given up: it does not run any more"
                        );
                    }
                }
                thread::sleep(LOOK_EVERY);
            }
        };
        let started = thread::Builder::new().name(format!("shadow-{name}")).spawn(watch);
        if let Err(why) = started {
            warn!("{name}: the candidate is not promoted by itself: {why}");
        }
    }

    /// Puts the candidate in the place of the version that runs, with the state that it has.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn promote(self: &Arc<Self>, name: &str) -> Result<(), InstallError> {
        let mut apps = self.lock();
        let name = interned(name);
        let installed = apps.get_mut(name).ok_or_else(|| unknown(name))?;
        let Some(Candidate { application, package, space }) = installed.candidate.take() else {
            let why = format!("no version runs in the shadow of \"{name}\"");
            return Err(InstallError::Unknown(why));
        };
        let before = installed.clone();
        let _ = before.application.shadow(None);
        let new = Installed { application, package, space, replaced: 0, candidate: None };
        self.put_in_place(apps, name, before, new)
    }

    /// Gives a candidate up.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn end_shadow(&self, name: &str) -> Result<(), InstallError> {
        let mut apps = self.lock();
        let installed = apps.get_mut(name).ok_or_else(|| unknown(name))?;
        if installed.candidate.is_none() {
            let why = format!("no version runs in the shadow of \"{name}\"");
            return Err(InstallError::Unknown(why));
        }
        installed.end_candidate();
        installed.candidate = None;
        Ok(())
    }
}
