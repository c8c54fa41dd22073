//! The laboratory: experiments with the parts of Aldis, and what they need to know of the machine.
//!
//! 1. [`calibrate`] measures what the steps of a worker cost here, so that they can be simulated;
//! 2. [`simulate`] runs the workers over simulated cores, with such costs;
//! 3. [`results`] keeps what an experiment found as files;
//! 4. [`figure`] is what a plan says of its plots and of the papers' values;
//! 5. [`plan`] is what a figure or table of a paper is made of, and [`run`] measures or simulates
//!    it;
//! 6. [`plot`] draws them, and [`report`] puts them on a page with the numbers.

#![forbid(unsafe_code)]

pub mod calibrate;
pub mod figure;
mod markup;
pub mod plan;
pub mod plot;
pub mod report;
pub mod results;
pub mod run;
pub mod simulate;
