//! What goes to one switch, from any worker: one of them writes at a time, and nobody waits for the one that does.
//!
//! Who finds the right to write taken leaves its bytes with the others that wait for it, and the holder looks again after
//! letting go. What the socket does not take stays in the outbox until there is room.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aldis_control::Time;
use aldis_control::outbox::{Full, Outbox};

use crate::limits::FAR_MAX;
use crate::machine::Word;

const FREE: u32 = 0;
const HELD: u32 = 1;
const HELD_AND_MORE: u32 = 2;

/// The right to write.
#[derive(Debug, Default)]
pub(crate) struct Token<A = AtomicU32>(A);

impl<A: Word> Token<A> {
    /// Takes it, if nobody has it.
    #[inline]
    #[must_use]
    pub(crate) fn take(&self) -> bool {
        self.0.replace(FREE, HELD).is_ok()
    }

    /// Takes it, or sees to it that who has it looks again.
    #[must_use]
    pub(crate) fn take_or_remind(&self) -> bool {
        self.0.update(|word| if word == FREE { HELD } else { HELD_AND_MORE }) == FREE
    }

    /// Whether somebody left something for who has it.
    #[inline]
    fn has_more(&self) -> bool {
        self.0.load() == HELD_AND_MORE
    }

    /// Lets go, unless somebody left something meanwhile: then it is still held, and true is returned.
    #[inline]
    #[must_use]
    pub(crate) fn look_again(&self) -> bool {
        if self.0.replace(HELD, FREE).is_ok() {
            return false;
        }
        self.0.update(|_| HELD);
        true
    }
}

/// The sending side of a connection.
#[derive(Debug)]
pub(crate) struct Outgoing {
    token: Token,
    /// Bytes of those who found the token taken.
    left: Mutex<Vec<u8>>,
    /// How many may wait there and in the outbox.
    max: usize,
    /// How long they may wait without one of them being taken.
    within: Duration,
    /// What the socket would not take; only the holder of the token locks it.
    outbox: Mutex<Outbox>,
    /// How much is in the outbox: reading pauses until nothing is.
    waiting: AtomicUsize,
    /// Bytes from other switches' batches that were promised room, and are not here yet.
    promised: AtomicUsize,
    /// When the switch is to be dropped, in nanoseconds; [`Time::NEVER`] while the outbox is empty.
    deadline: AtomicU64,
}

impl Outgoing {
    /// Nothing waits. Never more than `max` bytes will, and [`FAR_MAX`] that were promised room, and for no longer than
    /// `within` if none of them is taken.
    pub(crate) fn new(max: usize, within: Duration) -> Self {
        let max = max + FAR_MAX;
        Outgoing {
            token: Token::default(),
            left: Mutex::new(Vec::new()),
            max,
            within,
            outbox: Mutex::new(Outbox::new(max)),
            waiting: AtomicUsize::new(0),
            promised: AtomicUsize::new(0),
            deadline: AtomicU64::new(Time::NEVER.0),
        }
    }

    /// Whether something waits for the socket to have room.
    #[inline]
    pub(crate) fn is_stuck(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Whether somebody left bytes for who is sending: reading pauses until they are on their way, for who sends may be kept
    /// from it for milliseconds, and they have no bound but the outbox's.
    #[inline]
    pub(crate) fn is_behind(&self) -> bool {
        self.token.has_more()
    }

    /// When the switch has to be dropped if it takes nothing until then; never while nothing waits.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        Time(self.deadline.load(Ordering::Acquire))
    }

    /// Promises room for so many bytes that are not an answer to this switch, unless it does not read and has [`FAR_MAX`]
    /// waiting already. Answers have room beside them.
    pub(crate) fn reserve(&self, bytes: usize) -> bool {
        let waiting = self.waiting.load(Ordering::Acquire);
        let fits = |promised: usize| {
            Some(promised + bytes).filter(|promised| waiting + promised <= FAR_MAX)
        };
        self.promised.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).is_ok()
    }

    /// They were sent, or will not be.
    pub(crate) fn redeem(&self, bytes: usize) {
        self.promised.fetch_sub(bytes, Ordering::AcqRel);
    }

    /// Sends `fresh` through `send`, which is given the outbox and bytes to put behind what it holds, or leaves it to
    /// whoever is sending.
    ///
    /// # Errors
    /// What `send` says, or [`Full`] where more is left than may wait.
    #[inline]
    pub(crate) fn send<E: From<Full>>(
        &self,
        fresh: &[u8],
        mut send: impl FnMut(&mut Outbox, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.token.take() {
            return self.holding(&mut send, |outbox, send| send(outbox, fresh));
        }
        {
            let mut left = lock(&self.left);
            let waiting = self.waiting.load(Ordering::Acquire);
            if waiting + left.len() + fresh.len() > self.max {
                return Err(Full.into());
            }
            left.extend_from_slice(fresh);
        }
        if !self.token.take_or_remind() {
            return Ok(());
        }
        self.holding(&mut send, |outbox, send| self.send_left(outbox, send))
    }

    #[inline]
    fn holding<E, F: FnMut(&mut Outbox, &[u8]) -> Result<(), E>>(
        &self,
        send: &mut F,
        first: impl FnOnce(&mut Outbox, &mut F) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut outbox = lock(&self.outbox);
        let mut sent = first(&mut outbox, send);
        loop {
            self.deadline.store(outbox.deadline(self.within).0, Ordering::Release);
            self.waiting.store(outbox.waiting().len(), Ordering::Release);
            drop(outbox);
            if !self.token.look_again() {
                return sent;
            }
            outbox = lock(&self.outbox);
            if sent.is_ok() {
                sent = self.send_left(&mut outbox, send);
            }
        }
    }

    fn send_left<E>(
        &self,
        outbox: &mut Outbox,
        send: &mut impl FnMut(&mut Outbox, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let left = std::mem::take(&mut *lock(&self.left));
        if left.is_empty() { Ok(()) } else { send(outbox, &left) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing between lock and unlock panics half-way through a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU32 as Watched, AtomicUsize as Number};

    const WITHIN: Duration = Duration::from_secs(10);

    struct Said(Vec<u8>);

    impl From<Full> for Said {
        fn from(Full: Full) -> Self {
            Said(vec![])
        }
    }

    #[test]
    fn what_the_socket_does_not_take_is_stuck_until_it_does() {
        let outgoing = Outgoing::new(8, WITHIN);
        let kept = outgoing.send(&[1, 2], |outbox, bytes| outbox.push(Time(0), bytes));
        assert_eq!(kept, Ok(()));
        assert!(outgoing.is_stuck());
        let gone: Result<(), Full> = outgoing.send(&[], |outbox, _| {
            outbox.taken(Time(0), 2);
            Ok(())
        });
        assert_eq!(gone, Ok(()));
        assert!(!outgoing.is_stuck());
    }

    #[test]
    fn what_is_left_while_another_sends_is_sent_by_it() {
        let outgoing = Outgoing::new(8, WITHIN);
        assert!(outgoing.reserve(FAR_MAX - 1) && !outgoing.reserve(2) && outgoing.reserve(1));
        outgoing.redeem(FAR_MAX);
        let mut seen = vec![];
        let sent: Result<(), Said> = outgoing.send(&[1], |_, bytes| {
            seen.extend_from_slice(bytes);
            if bytes == [1] {
                assert!(!outgoing.is_behind());
                outgoing.send(&[2, 3], |_, bytes| Err(Said(bytes.to_vec())))?;
                assert!(outgoing.is_behind());
            }
            Ok(())
        });
        assert!(sent.is_ok());
        assert_eq!(seen, [1, 2, 3]);
        assert!(!outgoing.is_behind());
        let full =
            outgoing.send(&[1], |_, _| outgoing.send(&[0; 9 + FAR_MAX], |_, _| Err(Said(vec![9]))));
        assert!(full.is_err_and(|Said(bytes)| bytes.is_empty()));
    }

    /// Of two that leave a thing each, one or the other sends both.
    #[test]
    fn nothing_is_left_behind() {
        loom::model(|| {
            let shared = Arc::new((Token::<Watched>::default(), Number::new(0), Number::new(0)));
            let leave = |shared: &(Token<Watched>, Number, Number)| {
                let (token, left, sent) = shared;
                left.fetch_add(1, Ordering::AcqRel);
                if token.take_or_remind() {
                    loop {
                        sent.fetch_add(left.swap(0, Ordering::AcqRel), Ordering::AcqRel);
                        if !token.look_again() {
                            return;
                        }
                    }
                }
            };
            let other = Arc::clone(&shared);
            let other = loom::thread::spawn(move || leave(&other));
            leave(&shared);
            other.join().unwrap();
            assert_eq!(shared.2.load(Ordering::Acquire), 2);
        });
    }
}
