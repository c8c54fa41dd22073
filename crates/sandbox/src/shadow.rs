//! A new version of an application beside the one that runs: it is handed the same events, its
//! commands are compared and not sent.
//!
//! Both have an instance of their own, and so has each its state: a version that learns what it
//! sees agrees once it has seen the same. The candidate's time is spent on the workers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use aldis_control::EventKind;
use aldis_records::{Command, CommandReader, Events};

use crate::application::Hosted;
use crate::instance::Instance;
use crate::slot::{InstanceSlot, Running};

/// How far a candidate agrees with the version that runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShadowStatus {
    /// Calls whose commands were the same.
    pub agreed: u64,
    /// Calls whose commands were others.
    pub differed: u64,
    /// The calls that agreed since the last that differed.
    pub agreed_last: u64,
    /// The first difference of the last call that differed.
    pub last_difference: Option<String>,
}

/// A candidate in the shadow of another version.
pub(crate) struct Shadow {
    hosted: Arc<Hosted>,
    slot: Arc<InstanceSlot>,
    agreed: AtomicU64,
    differed: AtomicU64,
    agreed_last: AtomicU64,
    last_difference: Mutex<Option<String>>,
}

impl Shadow {
    pub(crate) fn new(hosted: Arc<Hosted>, slot: Arc<InstanceSlot>) -> Shadow {
        Shadow {
            hosted,
            slot,
            agreed: AtomicU64::new(0),
            differed: AtomicU64::new(0),
            agreed_last: AtomicU64::new(0),
            last_difference: Mutex::default(),
        }
    }

    pub(crate) fn status(&self) -> ShadowStatus {
        let last = self.last_difference.lock().unwrap_or_else(PoisonError::into_inner);
        ShadowStatus {
            agreed: self.agreed.load(Ordering::Relaxed),
            differed: self.differed.load(Ordering::Relaxed),
            agreed_last: self.agreed_last.load(Ordering::Relaxed),
            last_difference: last.clone(),
        }
    }

    /// Hands over the events that the running version answered with `commands`. What the operator
    /// should know is returned: a candidate fails as any application does.
    pub(crate) fn compare(&self, events: &mut Events, commands: &[u8]) -> Option<String> {
        let mut running = self.slot.lock();
        let Running { instance, greeted, .. } = running.as_mut()?;
        let told = match *greeted {
            true => Ok(()),
            false => self.greet(instance),
        };
        *greeted = true;
        let answered = told.and_then(|()| instance.batch(events.finish()));
        instance.take_lines().for_each(|line| self.hosted.history.push(line));
        match answered {
            Ok(answer) => {
                self.note(commands, &answer);
                None
            }
            Err(fault) => Some(self.hosted.fail(&self.slot, &mut running, fault)),
        }
    }

    /// Tells the candidate of the switches that are there; what it says to that is not compared.
    fn greet(&self, instance: &mut Instance) -> Result<(), crate::fault::Fault> {
        if !self.hosted.manifest.sees(EventKind::Up) {
            return Ok(());
        }
        self.hosted.describe_switches(|events| instance.batch(events.finish()).map(|_| ()))
    }

    fn note(&self, commands: &[u8], answer: &[u8]) {
        if commands == answer {
            self.agreed.fetch_add(1, Ordering::Relaxed);
            self.agreed_last.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.differed.fetch_add(1, Ordering::Relaxed);
        self.agreed_last.store(0, Ordering::Relaxed);
        let mut last = self.last_difference.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(difference(commands, answer));
    }
}

/// The first command that differs, in words.
fn difference(commands: &[u8], answer: &[u8]) -> String {
    let read = |bytes| CommandReader::check(bytes, u32::MAX, usize::MAX);
    let (Ok(mut runs), Ok(mut candidate)) = (read(commands), read(answer)) else {
        return "the candidate's answer is no commands".to_owned();
    };
    for place in 0.. {
        match (runs.next(), candidate.next()) {
            (one, other) if one != other => {
                let (one, other) = (in_words(one.as_ref()), in_words(other.as_ref()));
                return format!("command {place}: {one} runs, {other} is the candidate's");
            }
            (None, None) => break,
            _ => {}
        }
    }
    "the bytes between the commands".to_owned()
}

fn in_words(command: Option<&Command<'_>>) -> String {
    let Some(command) = command else { return "none".to_owned() };
    let Command { kind, flags, request, value, dpid, body } = command;
    let digits: String = body.iter().take(64).map(|byte| format!("{byte:02x}")).collect();
    format!("kind {kind} flags {flags} request {request} value {value} dpid {dpid} body {digits}")
}
