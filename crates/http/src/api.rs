//! The resources, one a file: what they look like as JSON, and how they are asked for. Programs of ours that ask read the
//! same types.

pub mod events;
pub mod health;
mod page;
pub mod ports;
pub mod statistics;
pub mod switches;
pub mod version;

pub use page::Page;
