//! Requests over HTTP to an application: one at a time, on the thread that asks, never a worker.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::Application;
use crate::http::{HttpError, HttpRequest, HttpResponse};
use crate::limits::{HTTP_WAIT, HTTP_WAITING_MAX};
use crate::slot::{InstanceSlot, Running};

/// How often a request looks whether the instance is free: a worker holds it for microseconds.
const LOOK_EVERY: Duration = Duration::from_micros(200);

impl Application {
    /// Has it answer a request. The caller waits for the instance, [`HTTP_WAIT`] at most, then for
    /// one call (`limits.batch-ms`): this is not for a worker. Where each worker has an instance of
    /// its own, the first of them answers.
    ///
    /// # Errors
    /// Why there is no answer of its own.
    pub fn http(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let hosted = &self.hosted;
        if !hosted.grants.http {
            return Err(HttpError::NotOffered);
        }
        let _turn = Turn::take(&hosted.http_waiting).ok_or(HttpError::Busy)?;
        let not_running = || HttpError::NotRunning(hosted.life().state.clone());
        let first = hosted.life().slots.first().map(Arc::clone);
        let slot = first.ok_or_else(not_running)?;
        if !slot.is_filled() {
            return Err(not_running());
        }
        let mut running = lock_within(&slot, HTTP_WAIT).ok_or(HttpError::Busy)?;
        let Some(Running { instance, .. }) = running.as_mut() else {
            drop(running);
            return Err(not_running());
        };
        let answered = instance.http(request);
        instance.take_lines().for_each(|line| hosted.history.push(line));
        match answered {
            Ok(answer) => {
                drop(running);
                hosted.counted.http_requests.fetch_add(1, Ordering::Relaxed);
                HttpResponse::check(answer)
            }
            Err(fault) => Err(HttpError::Failed(hosted.fail(&slot, &mut running, fault))),
        }
    }
}

/// Locks a slot that workers take and give back again and again.
fn lock_within(slot: &InstanceSlot, within: Duration) -> Option<MutexGuard<'_, Option<Running>>> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(running) = slot.try_lock() {
            return Some(running);
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// One of the requests that wait for an application.
struct Turn<'a>(&'a AtomicUsize);

impl<'a> Turn<'a> {
    fn take(waiting: &'a AtomicUsize) -> Option<Turn<'a>> {
        if waiting.fetch_add(1, Ordering::Relaxed) >= HTTP_WAITING_MAX {
            waiting.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Turn(waiting))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
