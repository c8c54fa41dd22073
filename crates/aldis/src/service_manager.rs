//! The service manager, systemd, where it started this controller: it is told when the controller
//! is ready, reads its settings again, is alive and stops (`sd_notify`, Type=notify).
//!
//! Alive means that every worker came back from its applications since the last time: the manager
//! starts a controller again of which one does not.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use aldis_engine::Engine;

/// A service manager, or none.
#[derive(Debug, Default)]
pub(crate) struct ServiceManager {
    to: Option<(UnixDatagram, SocketAddr)>,
    /// How often it wants to hear that the controller is alive.
    every: Option<Duration>,
    /// When it is told next.
    next: Option<Instant>,
    /// Polls of each worker, when it was last told.
    polls: Vec<u64>,
}

impl ServiceManager {
    /// The one that the environment names (`NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`).
    pub(crate) fn of_environment() -> ServiceManager {
        let value = |name| env::var(name).ok();
        let is_ours = value("WATCHDOG_PID").is_none_or(|pid| pid == std::process::id().to_string());
        let watchdog = value("WATCHDOG_USEC").filter(|_| is_ours);
        ServiceManager::at(value("NOTIFY_SOCKET").as_deref(), watchdog.as_deref())
    }

    /// The one at a socket, by its path or, behind an `@`, its abstract name; `watchdog` are the
    /// microseconds within which it wants to hear of the controller.
    fn at(socket: Option<&str>, watchdog: Option<&str>) -> ServiceManager {
        let address = socket.and_then(|socket| match socket.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name).ok(),
            None => SocketAddr::from_pathname(socket).ok(),
        });
        let open = || UnixDatagram::unbound().and_then(|it| it.set_nonblocking(true).map(|()| it));
        let to = address.and_then(|address| Some((open().ok()?, address)));
        let microseconds = watchdog.and_then(|text| text.parse::<u64>().ok());
        // Half of it: one message may be late.
        let every = microseconds.filter(|us| *us > 0).map(|us| Duration::from_micros(us) / 2);
        let next = every.filter(|_| to.is_some()).map(|every| Instant::now() + every);
        ServiceManager { to, every, next, polls: vec![] }
    }

    /// The controller serves.
    pub(crate) fn ready(&self) {
        self.tell("READY=1\n");
    }

    /// The controller reads its settings again; [`ServiceManager::ready`] follows.
    pub(crate) fn rereads(&self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let us = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={us}\n"));
    }

    /// The controller stops.
    pub(crate) fn stops(&self) {
        self.tell("STOPPING=1\n");
    }

    /// When [`ServiceManager::look`] is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Tells it that the controller is alive, where it is time to and every worker has polled
    /// since.
    pub(crate) fn look(&mut self, engine: &Engine) {
        let (Some(every), Some(next)) = (self.every, self.next) else { return };
        if next > Instant::now() {
            return;
        }
        self.next = Some(Instant::now() + every);
        let snapshot = engine.snapshot();
        let polls: Vec<u64> = snapshot.workers.iter().map(|worker| worker.counts.polls).collect();
        if came_back(&self.polls, &polls) {
            self.tell("WATCHDOG=1\n");
        }
        self.polls = polls;
        // A worker that sleeps polls when it is roused.
        (0..self.polls.len()).for_each(|worker| engine.handle().rouse(worker));
    }

    fn tell(&self, what: &str) {
        if let Some((socket, address)) = &self.to {
            // Where it does not listen any more, there is none to be told so.
            let _ = socket.send_to_addr(what.as_bytes(), address);
        }
    }
}

/// Whether every worker polled since.
fn came_back(before: &[u64], now: &[u64]) -> bool {
    before.iter().zip(now).all(|(before, now)| now > before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_does_not_poll_is_missed() {
        assert!(came_back(&[], &[0, 0]));
        assert!(came_back(&[1, 2], &[2, 3]));
        assert!(!came_back(&[1, 2], &[2, 2]));
    }

    #[test]
    fn a_manager_is_told_by_path_and_by_abstract_name() {
        let name = format!("aldis-manager-{}", std::process::id());
        let file = env::temp_dir().join(&name);
        let paths = [file.to_str().unwrap().to_owned(), format!("@{name}")];
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        let listeners =
            [UnixDatagram::bind(&file).unwrap(), UnixDatagram::bind_addr(&abstract_name).unwrap()];
        for (path, listener) in paths.iter().zip(listeners) {
            let manager = ServiceManager::at(Some(path), Some("2000000"));
            assert_eq!(manager.every, Some(Duration::from_secs(1)));
            manager.ready();
            let mut said = [0; 64];
            let length = listener.recv(&mut said).unwrap();
            assert_eq!(&said[..length], b"READY=1\n");
        }
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn without_one_nothing_is_due() {
        let manager = ServiceManager::at(None, Some("2000000"));
        assert!(manager.next().is_none());
        manager.ready();
    }
}
