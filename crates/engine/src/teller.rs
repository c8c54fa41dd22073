//! What comes into the World from outside: what people decided, told to the publisher of a part as an application tells what it
//! saw. Applications read it there like anything else that is known of the network; nobody who tells waits for a worker.

use std::sync::Arc;

use aldis_control::world::{Part, Queues};

use crate::hall::Hall;
use crate::net::epoll::Epoll;

/// Tells publishers what is new, from any thread.
#[derive(Clone, Debug)]
pub struct Teller {
    hall: Arc<Hall<Epoll>>,
    queues: Arc<Queues>,
}

impl Teller {
    pub(crate) fn new(hall: Arc<Hall<Epoll>>, queues: Arc<Queues>) -> Teller {
        Teller { hall, queues }
    }

    /// Tells the publisher of a part.
    ///
    /// # Errors
    /// The report: nobody publishes the part, or [`aldis_control::bounds::REPORTS_MAX`] wait already. Whoever has to tell it
    /// tells it again.
    pub fn tell<P: Part>(&self, report: P::Report) -> Result<(), P::Report> {
        let told = self.queues.push::<P>(report);
        self.hall.newest.ring();
        told
    }
}
