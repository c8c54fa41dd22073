//! Sessions with a scripted switch, as dialogues.

mod dialogue;
mod fault;
mod handshake;
mod liveness;
mod negotiation;
mod switch;
