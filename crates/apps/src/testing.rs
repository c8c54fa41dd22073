//! What tests of applications share: one switch, a small network, and numbers from a seed.

pub(crate) mod network;
pub(crate) mod random;
pub(crate) mod switch;
