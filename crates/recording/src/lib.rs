//! Recordings of the control channel: pcapng that Wireshark opens as OpenFlow, and that Aldis plays
//! back.
//!
//! ```text
//! | section header | interface | head | packet | packet | mark | packet | gap | packet …
//! ```
//!
//! 1. [`event`]: what a recording holds, as the controller saw it: connections, bytes, marks, gaps;
//! 2. `frame`: the Ethernet, IP and TCP headers in front of those bytes, made up but for
//!    addresses, ports and sequence numbers;
//! 3. [`writer`]: events to blocks, into a buffer;
//! 4. [`reader`]: blocks to events, from any source of bytes;
//! 5. [`order`]: events in the order in which a replay does them again.
//!
//! What only Aldis needs stands where other programs pass over it: in a custom option of each
//! packet and in custom blocks (draft-ietf-opsawg-pcapng §4.9). What was encrypted on the wire is
//! recorded as it was before, so that no key is needed to read it.
//!
//! Deliberately absent: files, sockets and clocks. Blocks that other programs write are passed
//! over.

#![forbid(unsafe_code)]

mod block;
pub mod event;
mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod limits;
pub mod order;
pub mod reader;
pub mod writer;

pub use event::{ConnKey, Endpoints, Mark, RecordedEvent, TimedEvent};
pub use order::{PlayOrder, PlayedEvent, WholeEvent, WholeEvents};
pub use reader::{BadRecording, Fault, RecordingReader};
pub use writer::RecordingWriter;
