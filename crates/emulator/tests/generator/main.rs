//! The load generator, the null controller and the emulated switch, against a scripted end.

mod answers;
mod datapath;
mod handshakes;
mod load;
mod null;
mod outcome;
mod scripted;
mod unequal;
