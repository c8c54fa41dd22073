//! Applications that fail.
//!
//! A panic in an application is caught where a worker called it. What the application wrote in that
//! call is forgotten, and it is called no more, on any worker, until it is started again. Neither
//! are those that read what it publishes: for example, `route-flow` would go on installing paths to
//! where the hosts were when `hosts` failed. The worker goes on with the others.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};

use crossbeam_queue::ArrayQueue;

use super::{AppNode, Graph};
use crate::limits::APPS_MAX;

/// Makes a call and catches its panic: what that said. This crate has no standard library, so its
/// owner says how.
pub type Guard = fn(&mut dyn FnMut()) -> Result<(), String>;

/// Catches nothing: a panic goes on.
pub(super) fn unguarded(call: &mut dyn FnMut()) -> Result<(), String> {
    call();
    Ok(())
}

/// An application is left out from now on.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) index: usize,
    pub(super) reason: String,
}

/// Which applications failed, by the number of their place. Shared by all workers and the
/// publishers.
#[derive(Debug)]
pub(crate) struct Failures {
    failed: Box<[AtomicBool]>,
    /// Why they did.
    reasons: Box<[ArrayQueue<Arc<str>>]>,
    at_start: Box<[AtStart]>,
    /// For each publisher, its application.
    owners: Box<[usize]>,
    publisher_failed: Box<[AtomicBool]>,
    /// Those that were not told yet.
    untold: ArrayQueue<Failure>,
}

/// What an application had to do with others at the start. It does not change.
#[derive(Debug)]
struct AtStart {
    name: &'static str,
    publishes: Vec<&'static str>,
    /// Those that need what it publishes.
    dependents: Box<[usize]>,
}

impl Failures {
    /// Of the applications of a graph; none has failed.
    pub(super) fn of(graph: &Graph) -> Failures {
        let owners = graph.parts.iter().filter_map(|part| position(graph, part.publisher));
        let at_start = |(index, app): (usize, &AppNode)| AtStart {
            name: app.name,
            publishes: app.publishes.clone(),
            dependents: dependents(graph, index),
        };
        let flags = |count| (0..count).map(|_| AtomicBool::new(false)).collect();
        let apps_max = APPS_MAX.max(graph.apps.len());
        Failures {
            failed: flags(apps_max),
            reasons: (0..apps_max).map(|_| ArrayQueue::new(1)).collect(),
            at_start: graph.apps.iter().enumerate().map(at_start).collect(),
            owners: owners.collect(),
            publisher_failed: flags(graph.parts.len()),
            untold: ArrayQueue::new(apps_max),
        }
    }

    /// Whether this application is left out.
    #[inline]
    pub(super) fn has_failed(&self, index: usize) -> bool {
        self.failed[index].load(Ordering::Relaxed)
    }

    /// Why this application failed, if it did.
    pub(super) fn reason(&self, index: usize) -> Option<String> {
        if !self.has_failed(index) {
            return None;
        }
        // Another reader may have it in hand, for a moment.
        let reason = self.reasons[index].pop();
        let words = reason.as_deref().map_or_else(|| "it failed".into(), String::from);
        reason.map(|reason| self.reasons[index].force_push(reason));
        Some(words)
    }

    /// The application failed, for this reason.
    #[cold]
    pub(super) fn fail(&self, index: usize, reason: String) {
        self.leave_out(index, reason);
        for &dependent in self.dependents(index) {
            let name = self.at_start[index].name;
            let reason = format!("it needs what {name} publishes, which failed");
            self.leave_out(dependent, reason);
        }
    }

    /// That the application failed is forgotten, before it is started again. No worker calls it.
    pub(super) fn forget(&self, index: usize) {
        self.failed[index].store(false, Ordering::Relaxed);
    }

    /// The applications that need what this one publishes.
    pub(super) fn dependents(&self, index: usize) -> &[usize] {
        self.at_start.get(index).map_or(&[], |app| &*app.dependents)
    }

    /// Whether this application publishes a part of the World.
    pub(super) fn publishes(&self, index: usize) -> bool {
        self.owners.contains(&index)
    }

    /// The application that publishes this part, if one does.
    pub(super) fn publisher_of(&self, part: &str) -> Option<usize> {
        self.at_start.iter().position(|app| app.publishes.contains(&part))
    }

    /// Whether a publisher of this application failed.
    pub(super) fn has_publisher_of_failed(&self, index: usize) -> bool {
        let failed = self.publisher_failed.iter().map(|failed| failed.load(Ordering::Relaxed));
        self.owners.iter().zip(failed).any(|(&owner, failed)| owner == index && failed)
    }

    /// Whether a publisher is left out: it failed, or its application did.
    pub(crate) fn has_publisher_failed(&self, place: usize) -> bool {
        let failed = self.publisher_failed[place].load(Ordering::Relaxed);
        failed || self.has_failed(self.owners[place])
    }

    /// A publisher failed, for this reason, and with it its application.
    pub(crate) fn fail_publisher(&self, place: usize, reason: String) {
        self.publisher_failed[place].store(true, Ordering::Relaxed);
        self.fail(self.owners[place], reason);
    }

    fn leave_out(&self, index: usize, reason: String) {
        if !self.failed[index].swap(true, Ordering::Relaxed) {
            self.reasons[index].force_push(Arc::from(&*reason));
            let _ = self.untold.push(Failure { index, reason });
        }
    }

    /// One that is to be told.
    #[inline]
    pub(super) fn take_untold(&self) -> Option<Failure> {
        if self.untold.is_empty() { None } else { self.untold.pop() }
    }
}

/// The applications that need what one publishes: they read it, or what is made of it.
fn dependents(graph: &Graph, index: usize) -> Box<[usize]> {
    let mut gone = BTreeSet::from([index]);
    loop {
        let is_gone = |name: &&str| {
            let publisher = graph.parts.iter().find(|part| part.name == *name);
            let publisher = publisher.and_then(|part| position(graph, part.publisher));
            publisher.is_some_and(|at| gone.contains(&at))
        };
        let needs = |app: &AppNode| {
            let parts = graph.parts.iter().filter(|part| part.publisher == app.name);
            app.reads.iter().chain(parts.flat_map(|part| &part.made_of)).any(is_gone)
        };
        let apps = graph.apps.iter().enumerate();
        let more = apps.filter(|(at, app)| !gone.contains(at) && needs(app)).map(|(at, _)| at);
        let more: Vec<usize> = more.collect();
        if more.is_empty() {
            gone.remove(&index);
            return gone.into_iter().collect();
        }
        gone.extend(more);
    }
}

fn position(graph: &Graph, app: &str) -> Option<usize> {
    graph.apps.iter().position(|there| there.name == app)
}
