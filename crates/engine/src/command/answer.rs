//! The answer to a command: a one-shot channel from the worker that hears the last reply to the
//! thread, or to the task of any runtime, that asked.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use aldis_control::command::{Failure, Outcome, Reply, Said};
use aldis_control::session::{Close, SwitchError};
use aldis_wire::{DatapathId, Version};

use super::reply_slot::ReplySlot;

/// The answer to a command, once there is one. Dropping it does not withdraw the command.
#[derive(Debug)]
pub struct Answer(Arc<Cell>);

/// The worker's end. Dropping it answers that the controller stops.
#[derive(Debug)]
pub(crate) struct AnswerSender {
    cell: Option<Arc<Cell>>,
    to: DatapathId,
    version: Version,
}

#[derive(Debug)]
struct Cell {
    state: Mutex<AnswerState>,
    sent: Condvar,
}

#[derive(Debug)]
enum AnswerState {
    Awaited(Option<Waker>),
    Sent(Sent),
}

#[derive(Debug)]
enum Sent {
    Replies {
        to: DatapathId,
        version: Version,
        slots: Vec<ReplySlot>,
    },
    Failed(Failure),
    /// The answer was taken.
    Taken,
}

/// The two ends, for a command to a switch that speaks `version`.
pub(crate) fn channel(to: DatapathId, version: Version) -> (AnswerSender, Answer) {
    let cell = Cell { state: Mutex::new(AnswerState::Awaited(None)), sent: Condvar::new() };
    let cell = Arc::new(cell);
    (AnswerSender { cell: Some(Arc::clone(&cell)), to, version }, Answer(cell))
}

impl AnswerSender {
    /// Sends the answer.
    pub(crate) fn send(mut self, replies: Result<Vec<ReplySlot>, Failure>) {
        self.send_once(replies);
    }

    fn send_once(&mut self, replies: Result<Vec<ReplySlot>, Failure>) {
        let Some(cell) = self.cell.take() else { return };
        let (to, version) = (self.to, self.version);
        let sent = match replies {
            Ok(slots) => Sent::Replies { to, version, slots },
            Err(failure) => Sent::Failed(failure),
        };
        let before = mem::replace(&mut *cell.lock(), AnswerState::Sent(sent));
        cell.sent.notify_all();
        if let AnswerState::Awaited(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl Drop for AnswerSender {
    fn drop(&mut self) {
        self.send_once(Err(Failure::Disconnected(Close::Stopping)));
    }
}

impl Answer {
    /// An answer that is there already.
    pub(crate) fn failed(failure: Failure) -> Answer {
        let state = Mutex::new(AnswerState::Sent(Sent::Failed(failure)));
        Answer(Arc::new(Cell { state, sent: Condvar::new() }))
    }

    /// Waits for it, on this thread.
    pub fn wait(self) -> Outcome {
        let mut state = self.0.lock();
        loop {
            match &mut *state {
                AnswerState::Sent(sent) => return mem::replace(sent, Sent::Taken).decode(),
                AnswerState::Awaited(_) => {
                    state = self.0.sent.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

impl Future for Answer {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        match &mut *self.0.lock() {
            AnswerState::Sent(sent) => Poll::Ready(mem::replace(sent, Sent::Taken).decode()),
            AnswerState::Awaited(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Sent {
    fn decode(self) -> Outcome {
        match self {
            Sent::Replies { to, version, slots } => {
                Ok(slots.into_iter().map(|slot| said(slot, to, version)).collect())
            }
            Sent::Failed(failure) => Err(failure),
            Sent::Taken => unreachable!("an answer is asked for until it is there"),
        }
    }
}

fn said(slot: ReplySlot, to: DatapathId, version: Version) -> Said {
    match slot {
        ReplySlot::Silent => Said::Done,
        ReplySlot::Awaited(bytes) | ReplySlot::Whole(bytes) => {
            Said::Reply(Reply::new(version, bytes))
        }
        ReplySlot::TooMuch { .. } => Said::TooMuch,
        ReplySlot::Refused(bytes) => {
            let unreadable = |why| SwitchError {
                dpid: Some(to),
                xid: 0,
                name: format!("an error that cannot be read ({why})"),
                about: None,
                hint: "",
                sent: Vec::new(),
            };
            let error = SwitchError::read(version, to, &bytes);
            Said::Refused(Box::new(error.unwrap_or_else(unreadable)))
        }
    }
}

impl Cell {
    fn lock(&self) -> MutexGuard<'_, AnswerState> {
        // Nothing between lock and unlock panics half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    const TO: DatapathId = DatapathId(7);

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_task_is_woken_once_and_a_thread_waits() {
        let (sender, mut answer) = channel(TO, Version::V13);
        let count = Arc::<Count>::default();
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        assert_eq!(Pin::new(&mut answer).poll(&mut context), Poll::Pending);
        sender.send(Ok(vec![ReplySlot::Silent]));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(Pin::new(&mut answer).poll(&mut context), Poll::Ready(Ok(vec![Said::Done])));

        let (sender, answer) = channel(TO, Version::V13);
        let waiting = std::thread::spawn(|| answer.wait());
        sender.send(Err(Failure::TooLate));
        assert_eq!(waiting.join().unwrap(), Err(Failure::TooLate));
    }

    #[test]
    fn a_dropped_sender_answers_that_the_controller_stops() {
        let (sender, answer) = channel(TO, Version::V10);
        drop(sender);
        assert_eq!(answer.wait(), Err(Failure::Disconnected(Close::Stopping)));
    }

    #[test]
    fn an_error_that_cannot_be_read_is_a_refusal_all_the_same() {
        let (sender, answer) = channel(TO, Version::V13);
        sender.send(Ok(vec![ReplySlot::Refused(vec![4, 1, 0, 9, 0, 0, 0, 1, 0])]));
        let said = answer.wait().unwrap();
        let Said::Refused(error) = &said[0] else { panic!("{said:?}") };
        assert!(error.to_string().contains("cannot be read"), "{error}");
    }
}
