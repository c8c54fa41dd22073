//! Applications that fail.
//!
//! A panic in an application is caught where a worker called it. What the application wrote in that
//! call is forgotten, and it is called no more, on any worker. Neither are those that read what it
//! publishes: for example, `route-flow` would go on installing paths to where the hosts were when
//! `hosts` failed. The worker goes on with the others.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};

use crossbeam_queue::ArrayQueue;

use super::{AppNode, Graph};

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

/// Which applications failed. Shared by all workers and the publishers.
#[derive(Debug)]
pub(crate) struct Failures {
    names: Box<[&'static str]>,
    failed: Box<[AtomicBool]>,
    /// For each application, those that need what it publishes.
    dependents: Box<[Box<[usize]>]>,
    /// For each publisher, its application.
    owners: Box<[usize]>,
    /// Those that were not told yet. Each fails once, so there is room.
    untold: ArrayQueue<Failure>,
}

impl Failures {
    /// Of the applications of a graph; none has failed.
    pub(super) fn of(graph: &Graph) -> Failures {
        let count = graph.apps.len();
        Failures {
            names: graph.apps.iter().map(|app| app.name).collect(),
            failed: (0..count).map(|_| AtomicBool::new(false)).collect(),
            dependents: (0..count).map(|index| dependents(graph, index)).collect(),
            owners: graph.parts.iter().filter_map(|part| position(graph, part.publisher)).collect(),
            untold: ArrayQueue::new(count.max(1)),
        }
    }

    /// The name of an application.
    pub(super) fn name(&self, index: usize) -> &'static str {
        self.names[index]
    }

    /// Whether this application is left out.
    #[inline]
    pub(super) fn has_failed(&self, index: usize) -> bool {
        self.failed[index].load(Ordering::Relaxed)
    }

    /// The application failed, for this reason.
    #[cold]
    pub(super) fn fail(&self, index: usize, reason: String) {
        self.leave_out(index, reason);
        for &dependent in &self.dependents[index] {
            let reason = format!("it needs what {} publishes, which failed", self.names[index]);
            self.leave_out(dependent, reason);
        }
    }

    /// Whether the application of a publisher is left out.
    pub(crate) fn has_publisher_failed(&self, place: usize) -> bool {
        self.has_failed(self.owners[place])
    }

    /// A publisher failed, for this reason, and with it its application.
    pub(crate) fn fail_publisher(&self, place: usize, reason: String) {
        self.fail(self.owners[place], reason);
    }

    fn leave_out(&self, index: usize, reason: String) {
        if !self.failed[index].swap(true, Ordering::Relaxed) {
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
