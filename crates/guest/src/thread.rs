//! The guest's thread: it waits in one place for the guest, and for what workers have for it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use aldis_control::controller_event::EventSink;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use tracing::warn;

use crate::guest::Guest;
use crate::serving::{READ_TOGETHER, Serving};

/// Sockets that one wait may report.
const READY_MAX: usize = 256;

/// Has a guest served until it is removed.
pub(crate) struct GuestThread {
    guest: Arc<Guest>,
    epoll: Arc<OwnedFd>,
}

impl GuestThread {
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn new(
        guest: Arc<Guest>,
        event_sink: Arc<dyn EventSink>,
    ) -> io::Result<GuestThread> {
        let serving = Serving::new(Arc::clone(&guest), event_sink)?;
        let epoll = serving.epoll();
        guest.begin_serving(serving);
        Ok(GuestThread { guest, epoll })
    }

    /// Serves.
    pub(crate) fn run(self) {
        let nothing = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = vec![nothing; READY_MAX];
        let mut wakes = Instant::now();
        while !self.guest.is_ended() {
            let wait = wakes.saturating_duration_since(Instant::now());
            let wait = Timespec { tv_sec: wait.as_secs() as _, tv_nsec: wait.subsec_nanos() as _ };
            let count = match epoll::wait(&self.epoll, &mut events[..], Some(&wait)) {
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => 0,
                Err(error) => {
                    let name = self.guest.name();
                    warn!("{name}: its thread cannot wait any more: {error}");
                    return;
                }
            };
            let now = Instant::now();
            for together in events[..count].chunks(READ_TOGETHER) {
                self.guest.serve(|serving| serving.take(together, now));
            }
            wakes = self.guest.serve(|serving| serving.look(now)).unwrap_or(now);
        }
    }
}

/// Also where the thread cannot wait, or panics.
impl Drop for GuestThread {
    fn drop(&mut self) {
        self.guest.end_serving();
    }
}
