//! The laboratory: experiments with the parts of Aldis, and what they need to know of the machine.
//!
//! 1. [`calibrate`] measures what the steps of a worker cost here, so that they can be simulated;
//! 2. [`simulate`] runs the workers over simulated cores, with such costs;
//! 3. [`results`] keeps what an experiment found as files;
//! 4. [`figure`] is what a plan says of its plots and of the papers' values.

#![forbid(unsafe_code)]

pub mod calibrate;
pub mod figure;
pub mod results;
pub mod simulate;
