//! Sandboxed applications, run by a pipeline as a worker does: what they answer, and that one that
//! fails harms nothing else.

mod appending;
mod capabilities;
mod failures;
mod guests;
mod hostile;
mod http;
mod lifecycle;
mod network;
mod python_sdk;
mod rust_sdk;
mod shadow;
