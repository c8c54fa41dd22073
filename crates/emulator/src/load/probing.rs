//! Switches that probe beside something else than load: a network that forwards, say. They are
//! those of a [`Load`] that has no others, on a thread of their own, and their owner leads them
//! through the same phases, without ever waiting.

use super::Load;
use super::coordinator::prepare;
use super::failure::LoadFailure;
use super::generator::Generator;
use super::phase::{PhaseBarrier, PhaseStep};
use super::report::{LoadReport, Probes};
use super::roles::Crew;
use super::sequence::SequenceRounds;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Longer than anything runs: their owner says when they end.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Switches that probe. They disconnect with it.
pub(crate) struct Probing {
    phases: Arc<PhaseBarrier>,
    switches: u32,
    thread: Option<JoinHandle<(LoadReport, Option<LoadFailure>)>>,
}

impl Probing {
    /// Begins to connect those of the load's switches that probe. The others belong elsewhere: they
    /// take their datapath ids and count among its switches, and that is all.
    ///
    /// # Errors
    /// Those of a load that cannot be.
    pub(crate) fn start(load: Load) -> Result<Probing, LoadFailure> {
        let load = Load { threads: 1, warm_up: 0, loops: 1, loop_length: FOREVER, ..load };
        prepare(&load)?;
        let phases = Arc::new(PhaseBarrier::new(&load));
        let (theirs, switches) = (Arc::clone(&phases), load.probes);
        let probe = move || {
            let mut crews = load.crews().into_iter();
            let (crew, numbers) = crews.find(|(crew, _)| *crew == Crew::Probes).unzip();
            let (crew, numbers) = (crew.unwrap_or(Crew::Probes), numbers.unwrap_or_default());
            match Generator::new(&load, &theirs, SequenceRounds::new(&load), crew, numbers) {
                Ok(generator) => generator.run(),
                Err(failure) => (LoadReport::empty(&load), Some(failure)),
            }
        };
        let thread = std::thread::Builder::new().name("probes".into()).spawn(probe)?;
        Ok(Probing { phases, switches, thread: Some(thread) })
    }

    /// Whether all have shaken hands and told where their addresses live; has them do the one and
    /// then the other.
    pub(crate) fn is_ready(&self) -> bool {
        let all = |step| self.phases.done(step) == self.switches;
        if all(PhaseStep::Connected) {
            self.phases.begin(PhaseStep::Taught);
        }
        all(PhaseStep::Taught)
    }

    /// They ask from now on.
    pub(crate) fn begin(&self) {
        self.phases.start_offering();
    }

    /// They ask no more, and end when what they asked was answered or waited for in vain
    /// ([`Load::patience`]).
    pub(crate) fn end(&self) {
        self.phases.left(Crew::Load, false);
    }

    /// Whether they have ended, by themselves or because they could not go on.
    pub(crate) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends them, once: what they saw, and why they ended before they were to, if they did. What
    /// waits still has no answer.
    pub(crate) fn finish(&mut self) -> Option<(Probes, Option<LoadFailure>)> {
        self.phases.abort();
        let joined = self.thread.take()?.join();
        let (report, failure) = joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Some((report.probes, failure))
    }
}

impl Drop for Probing {
    fn drop(&mut self) {
        self.phases.abort();
        // Whatever it was, it is not asked for any more.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
