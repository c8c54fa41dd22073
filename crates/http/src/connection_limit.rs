//! The limit of connections: so many at once, and so many of them from one address.
//!
//! Connections from this machine count as a whole and not by their address, which all of them have:
//! browsers, scripts, and the proxy through which other machines connect.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::rate::network;
use crate::limits::{CONNECTIONS_MAX, CONNECTIONS_OF_ONE_MAX};

/// Permits for all connections. Copies are the same.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLimit {
    room: Arc<Semaphore>,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One of them, free again when this is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    whose: Option<IpAddr>,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    _permit: OwnedSemaphorePermit,
}

/// Why there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnectionsFull {
    /// There are [`CONNECTIONS_MAX`].
    Here,
    /// There are [`CONNECTIONS_OF_ONE_MAX`] from the same address.
    FromThere,
}

impl std::fmt::Display for ConnectionsFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConnectionsFull::Here => write!(f, "there are {CONNECTIONS_MAX} connections already"),
            ConnectionsFull::FromThere => {
                write!(
                    f,
                    "there are {CONNECTIONS_OF_ONE_MAX} connections from your address already"
                )
            }
        }
    }
}

impl ConnectionLimit {
    pub(crate) fn new() -> ConnectionLimit {
        ConnectionLimit { room: Arc::new(Semaphore::new(CONNECTIONS_MAX)), taken: Arc::default() }
    }

    /// A permit for a connection from this address.
    pub(crate) fn take(&self, from: IpAddr) -> Result<ConnectionPermit, ConnectionsFull> {
        let permit =
            Arc::clone(&self.room).try_acquire_owned().map_err(|_| ConnectionsFull::Here)?;
        let whose = Some(from.to_canonical()).filter(|from| !from.is_loopback()).map(network);
        if let Some(whose) = whose {
            let mut taken = lock(&self.taken);
            let count = taken.entry(whose).or_default();
            if *count >= CONNECTIONS_OF_ONE_MAX {
                return Err(ConnectionsFull::FromThere);
            }
            *count += 1;
        }
        Ok(ConnectionPermit { whose, taken: Arc::clone(&self.taken), _permit: permit })
    }

    /// Waits until all are back, and gives out none afterwards.
    pub(crate) async fn all_left(&self) {
        let _ = self.room.acquire_many(CONNECTIONS_MAX as u32).await.map(|all| all.forget());
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some(whose) = self.whose else { return };
        let mut taken = lock(&self.taken);
        if let Some(count) = taken.get_mut(&whose) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&whose);
            }
        }
    }
}

fn lock(taken: &Mutex<HashMap<IpAddr, usize>>) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_address_cannot_take_all_permits() {
        let limit = ConnectionLimit::new();
        let take = |from: &str| limit.take(ip(from));
        let mut held: Vec<_> =
            (0..CONNECTIONS_OF_ONE_MAX).map(|_| take("192.0.2.1").unwrap()).collect();
        for same in ["192.0.2.1", "::ffff:192.0.2.1"] {
            assert_eq!(take(same).unwrap_err(), ConnectionsFull::FromThere, "{same}");
        }
        held.push(take("192.0.2.2").unwrap());
        held.remove(0);
        held.push(take("192.0.2.1").unwrap());
        // A machine with an address of IPv6 has many.
        held.extend(
            (0..CONNECTIONS_OF_ONE_MAX).map(|nth| take(&format!("2001:db8::{nth:x}")).unwrap()),
        );
        assert_eq!(take("2001:db8::ffff:1").unwrap_err(), ConnectionsFull::FromThere);
        held.push(take("2001:db8:0:1::1").unwrap());
        // All connections of this machine have one address: only the number of all counts.
        let left = CONNECTIONS_MAX - held.len();
        held.extend((0..left).map(|_| take("127.0.0.1").unwrap()));
        for from in ["127.0.0.1", "::1", "192.0.2.9"] {
            assert_eq!(take(from).unwrap_err(), ConnectionsFull::Here, "{from}");
        }
        held.clear();
        assert!(lock(&limit.taken).is_empty() && limit.take(ip("192.0.2.1")).is_ok());
    }
}
