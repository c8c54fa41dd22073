//! The REST interfaces of other controllers, for scripts that were written for those: [`ryu`] and
//! [`floodlight`].

pub(crate) mod floodlight;
pub(crate) mod ryu;
