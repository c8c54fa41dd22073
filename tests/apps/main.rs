//! Applications under a controller in this process, on emulated networks. They share a program,
//! because each is linked with the whole controller.

mod asking;
mod failing;
mod joining;
mod lifecycle;
mod loops;
mod network;
mod reporting;
mod shed;
mod unsolicited;
