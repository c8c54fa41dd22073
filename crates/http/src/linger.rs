//! The lingering close: the end of a connection whose peer still has something to say.
//!
//! A client that is refused while it sends may read the answer only once it has sent everything.
//! And where a socket is closed with unread bytes in it, the kernel resets the connection, and the
//! answer may be lost with it. So, after the last answer, our half is closed, and what still comes
//! is read and thrown away: until the peer closes its half, for [`LINGER_MAX`] bytes, or for
//! [`LINGER_WITHIN`]. Where every request was read to its end there is nothing to wait for.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::limits::{LINGER_MAX, LINGER_WITHIN};

/// Bytes that are thrown away at once.
const AT_ONCE: usize = 64 * 1024;

/// Whether a request was heard to its end, and nothing after it. Copies are the same.
#[derive(Clone, Debug)]
pub(crate) struct RequestEnd(Arc<AtomicBool>);

impl RequestEnd {
    /// A connection on which nothing was said.
    pub(crate) fn new() -> RequestEnd {
        RequestEnd(Arc::new(AtomicBool::new(true)))
    }

    fn say(&self, all: bool) {
        self.0.store(all, Ordering::Relaxed);
    }

    fn is_all(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The body of a request, which notes when it was heard to its end.
pub(crate) struct Listened {
    body: Incoming,
    heard: RequestEnd,
}

impl Listened {
    pub(crate) fn new(body: Incoming, heard: RequestEnd) -> Listened {
        heard.say(body.is_end_stream());
        Listened { body, heard }
    }
}

impl HttpBody for Listened {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.heard.say(true);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream that is closed in such a way that the peer can read what was said to it last.
pub(crate) struct Lingering<S> {
    stream: S,
    heard: RequestEnd,
    /// Since our half is closed.
    rest: Option<UnreadRest>,
}

/// What may still come.
struct UnreadRest {
    /// In bytes.
    left: usize,
    deadline: Pin<Box<Sleep>>,
    thrown: Box<[u8]>,
}

impl<S> Lingering<S> {
    pub(crate) fn new(stream: S, heard: RequestEnd) -> Lingering<S> {
        Lingering { stream, heard, rest: None }
    }
}

impl UnreadRest {
    fn new() -> UnreadRest {
        let (deadline, thrown) = (Box::pin(sleep(LINGER_WITHIN)), vec![0; AT_ONCE]);
        UnreadRest { left: LINGER_MAX, deadline, thrown: thrown.into() }
    }

    /// Throws away what comes, until nothing does or it is enough.
    fn poll<S: AsyncRead + Unpin>(&mut self, stream: &mut S, cx: &mut Context<'_>) -> Poll<()> {
        while self.left > 0 {
            let mut buffer = ReadBuf::new(&mut self.thrown);
            match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
                Poll::Pending => return self.deadline.as_mut().poll(cx),
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.left = self.left.saturating_sub(buffer.filled().len());
                }
                Poll::Ready(_) => break,
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.heard.say(false);
        }
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.rest.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
            if this.heard.is_all() {
                return Poll::Ready(Ok(()));
            }
        }
        let rest = this.rest.get_or_insert_with(UnreadRest::new);
        rest.poll(&mut this.stream, cx).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    /// What a peer reads that sends so many bytes first, of which no more than the first was read.
    fn read_by_one_who_sends(bytes: usize) -> (usize, String) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (ours, mut theirs) = duplex(1024);
            let mut ours = Lingering::new(ours, RequestEnd::new());
            let server = async {
                assert_eq!(ours.read_u8().await.unwrap(), 0);
                ours.write_all(b"no").await.unwrap();
                ours.shutdown().await.unwrap();
                drop(ours);
            };
            let client = async {
                let mut sent = 0;
                while sent < bytes && theirs.write_all(&[0; 1024]).await.is_ok() {
                    sent += 1024;
                }
                let mut said = String::new();
                theirs.read_to_string(&mut said).await.unwrap();
                drop(theirs);
                (sent, said)
            };
            tokio::join!(server, client).1
        })
    }

    #[test]
    fn who_sends_everything_first_reads_the_answer_and_nobody_is_heard_for_ever() {
        assert_eq!(read_by_one_who_sends(1 << 20), (1 << 20, "no".into()));
        let (sent, said) = read_by_one_who_sends(2 * LINGER_MAX);
        assert!((LINGER_MAX..LINGER_MAX + 4 * AT_ONCE).contains(&sent), "{sent}");
        assert_eq!(said, "no");
    }

    #[test]
    fn who_was_heard_to_the_end_is_not_waited_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (ours, _theirs) = duplex(16);
            let heard = RequestEnd::new();
            let mut ours = Lingering::new(ours, heard.clone());
            ours.shutdown().await.unwrap();
            assert!(ours.rest.is_none());
        });
    }
}
