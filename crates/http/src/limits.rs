//! Every bound of this crate, with its reason.

use std::time::Duration;

/// Connections at once. A browser opens six, and a hundred subscribers one each; a descriptor and some 40 KB apiece.
pub const CONNECTIONS_MAX: usize = 512;

/// Bytes of a request's line and headers together. Browsers send two kilobytes.
pub const HEAD_MAX: usize = 16 * 1024;

/// Header lines of a request.
pub const HEADERS_MAX: usize = 64;

/// How long a request's line and headers may take, from the first byte or from the end of the last request.
pub const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// Bytes of a request's body, where a resource does not say otherwise.
pub const BODY_MAX: usize = 1024 * 1024;

/// How deep a body's arrays and objects may be nested. Nothing that is asked for needs more than eight.
pub const DEPTH_MAX: usize = 32;

/// How long a request may take from its headers to the first byte of its answer, the reading of its body included.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// How long a peer may leave an answer unread.
pub const WRITE_WITHIN: Duration = Duration::from_secs(30);

/// How long answers on their way are waited for when the controller stops.
pub const STOP_WITHIN: Duration = Duration::from_millis(500);

/// Items of one page of a list, at most.
pub const PAGE_MAX: usize = 10_000;

/// How long accepting rests when the process has no descriptor to spare.
pub const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
