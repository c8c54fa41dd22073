//! Memory for answers: a request that may need more than the process can have is refused, and the
//! controller goes on.
//!
//! An allocation that fails ends a Rust process, so what may be large is asked for before. There
//! are two ways in which memory ends: the system refuses it (a limit on the address space, strict
//! overcommit), or it grants it and ends the process later (a limit of the cgroup). The first is
//! tried, the second computed.
//!
//! Memory is not held between this and its use. What another thread takes meanwhile, and small
//! allocations, may still fail.

use std::mem::size_of;
use std::sync::Arc;

use aldis_apps::hosts::{Host, Hosts};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::api::not_published;
use crate::limits::{HOST_BYTES, REQUEST_ROOM};
use crate::problem::Problem;
use crate::routes::Shared;

/// What says whether the controller is well, whatever there is of memory.
const HEALTH: &str = "/api/v1/health";

/// Refuses requests while there is not even room for a usual one.
pub(crate) async fn check(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    match shared.room_for(REQUEST_ROOM) {
        Err(problem) if request.uri().path() != HEALTH => problem.into_response(),
        _ => next.run(request).await,
    }
}

impl Shared {
    /// Whether the process may have so many bytes more.
    ///
    /// # Errors
    /// It may not.
    pub(crate) fn room_for(&self, bytes: usize) -> Result<(), Problem> {
        let is_granted = Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
        match is_granted && bytes <= self.controller.memory_left() {
            true => Ok(()),
            false => Err(no_room(bytes)),
        }
    }

    /// The table of hosts as it is now, which costs some hundred pointers.
    ///
    /// # Errors
    /// No application looks for hosts.
    pub(crate) fn host_table(&self) -> Result<Hosts, Problem> {
        let world = self.controller.world();
        world.part::<Hosts>().cloned().ok_or_else(|| not_published("hosts"))
    }

    /// Whether there is memory for an answer with so many hosts.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn room_for_hosts(&self, count: usize) -> Result<(), Problem> {
        self.room_for(count.saturating_mul(size_of::<Host>() + HOST_BYTES))
    }

    /// All hosts, in any order.
    ///
    /// # Errors
    /// No application looks for them, or there is no memory for so many.
    pub(crate) fn hosts(&self) -> Result<Vec<Host>, Problem> {
        let hosts = self.host_table()?;
        self.room_for_hosts(hosts.len())?;
        Ok(hosts.iter().cloned().collect())
    }
}

fn no_room(bytes: usize) -> Problem {
    let mib = bytes.div_ceil(1024 * 1024);
    let detail = format!(
        "there is no memory for this answer, which may need {mib} MiB; ask for less, ask again later, or let the controller \
         have more"
    );
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no-memory", detail)
}
