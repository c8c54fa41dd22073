//! What can be changed while an engine runs.

use std::sync::Arc;

use crate::design::{Design, Knobs};
use crate::hall::Hall;
use crate::net::epoll::Epoll;

/// Turns an engine's knobs, from any thread.
#[derive(Clone, Debug)]
pub struct Dials {
    pub(crate) hall: Arc<Hall<Epoll>>,
    pub(crate) design: Design,
}

impl Dials {
    /// Changes what can be changed while it runs. Sessions go on. What is absent is the design's again.
    pub fn set(&self, knobs: Knobs) {
        self.hall.set_knobs(knobs.over(&self.design));
    }
}
