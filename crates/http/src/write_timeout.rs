//! The write timeout: a write that waits longer than [`WRITE_WITHIN`] ends the connection, so that
//! a peer that does not read cannot keep answers in memory.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::connection_limit::ConnectionPermit;
use crate::limits::WRITE_WITHIN;

/// A stream whose writes have a timeout.
pub(crate) struct WriteTimeout<S> {
    stream: S,
    within: Duration,
    /// While a write waits for room: until when.
    deadline: Option<Pin<Box<Sleep>>>,
    /// Held as long as the stream is there. A WebSocket outlives the connection that it began on.
    _permit: Option<ConnectionPermit>,
}

impl<S> WriteTimeout<S> {
    pub(crate) fn new(stream: S) -> WriteTimeout<S> {
        WriteTimeout { stream, within: WRITE_WITHIN, deadline: None, _permit: None }
    }

    /// The same stream, which holds this permit.
    pub(crate) fn holding(self, permit: Option<ConnectionPermit>) -> WriteTimeout<S> {
        WriteTimeout { _permit: permit, ..self }
    }

    /// The result of trying to write: after too long, waiting is an error.
    fn judge<T>(
        &mut self,
        cx: &mut Context<'_>,
        tried: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if tried.is_ready() {
            self.deadline = None;
            return tried;
        }
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(self.within)));
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(cx, tried)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.judge(cx, tried)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tried = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(cx, tried)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tried = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.judge(cx, tried)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[test]
    fn a_peer_that_does_not_read_is_given_up_and_one_that_reads_is_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (ours, mut theirs) = duplex(16);
            let mut ours =
                WriteTimeout { within: Duration::from_millis(1), ..WriteTimeout::new(ours) };
            let given_up = ours.write_all(&[0; 64]).await.unwrap_err();
            assert_eq!(given_up.kind(), io::ErrorKind::TimedOut);
            ours.within = Duration::from_secs(3600);
            ours.deadline = None;
            let mut room = [0; 16];
            theirs.read_exact(&mut room).await.unwrap();
            ours.write_all(&[0; 16]).await.unwrap();
        });
    }
}
