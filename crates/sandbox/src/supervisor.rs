//! The thread that starts failed applications again, each after its back-off, and puts away what is
//! left of their instances, so that no worker does.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Instant;

use crate::application::Hosted;
use crate::instance::Instance;
use crate::slot::InstanceSlot;

/// What the thread is asked to do.
pub(crate) enum Job {
    /// Instantiate again.
    Restart { hosted: Weak<Hosted>, slot: Arc<InstanceSlot>, at: Instant },
    /// Take the instance of an application that is in quarantine.
    Close(Arc<InstanceSlot>, u64),
    /// Unmap the memory of an instance.
    PutAway(Box<Instance>),
}

/// The way to the thread, which ends when this is dropped.
pub(crate) struct Supervisor {
    jobs: Sender<Job>,
}

impl Supervisor {
    pub(crate) fn start() -> io::Result<Supervisor> {
        let (jobs, queue) = mpsc::channel();
        let thread = thread::Builder::new().name("aldis-sandbox".to_owned());
        thread.spawn(move || work(&queue))?;
        Ok(Supervisor { jobs })
    }

    /// Hands over a job. A worker waits for nothing here.
    pub(crate) fn ask(&self, job: Job) {
        // The thread ends after this sender.
        let _ = self.jobs.send(job);
    }
}

fn work(queue: &Receiver<Job>) {
    let mut waiting: VecDeque<(Instant, Weak<Hosted>, Arc<InstanceSlot>)> = VecDeque::new();
    loop {
        let now = Instant::now();
        while waiting.front().is_some_and(|(at, ..)| *at <= now) {
            if let Some((_, hosted, slot)) = waiting.pop_front()
                && let Some(hosted) = hosted.upgrade()
            {
                hosted.restart(&slot);
            }
        }
        let job = match waiting.front() {
            Some((at, ..)) => match queue.recv_timeout(at.saturating_duration_since(now)) {
                Err(RecvTimeoutError::Timeout) => continue,
                job => job.ok(),
            },
            None => queue.recv().ok(),
        };
        match job {
            Some(Job::Restart { hosted, slot, at }) => {
                let place = waiting.partition_point(|(earlier, ..)| *earlier <= at);
                waiting.insert(place, (at, hosted, slot));
            }
            Some(Job::Close(slot, generation)) => drop(slot.close(generation)),
            Some(Job::PutAway(instance)) => drop(instance),
            None => return,
        }
    }
}
