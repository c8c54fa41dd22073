//! The output to one switch, from any worker: one writes at a time, and no worker waits for it.
//!
//! A worker that finds the write token held leaves its bytes beside the outbox. The holder looks
//! for such bytes after it has let go. What the socket does not take stays in the outbox until
//! there is room. Modelled with loom.

use std::time::Duration;

use aldis_control::Time;
use aldis_control::outbox::{Full, Outbox};

use crate::limits::FAR_MAX;
use crate::sync::{Atomic, Lock, Primitives, Std};

const FREE: u32 = 0;
const HELD: u32 = 1;
const HELD_AND_MORE: u32 = 2;

/// The right to write.
#[derive(Debug, Default)]
struct Token<A>(A);

impl<A: Atomic> Token<A> {
    /// Takes it, if it is free.
    #[inline]
    #[must_use]
    fn take(&self) -> bool {
        self.0.replace(FREE, HELD).is_ok()
    }

    /// Takes it, or makes its holder look again.
    #[must_use]
    fn take_or_remind(&self) -> bool {
        self.0.update(|word| if word == FREE { HELD } else { HELD_AND_MORE }) == FREE
    }

    /// Whether bytes were left for its holder.
    #[inline]
    fn has_more(&self) -> bool {
        self.0.load() == HELD_AND_MORE
    }

    /// Releases it, unless bytes were left meanwhile: then it stays held, and true is returned.
    #[inline]
    #[must_use]
    fn look_again(&self) -> bool {
        if self.0.replace(HELD, FREE).is_ok() {
            return false;
        }
        let before = self.0.update(|_| HELD);
        debug_assert_ne!(before, FREE, "only the holder looks again");
        true
    }
}

/// How much waits in the outbox, and how much more is coming: bytes with a reservation, and bytes
/// that were left for the holder. Both are in one word, so that no reservation is given for room
/// that is being taken.
#[derive(Debug, Default)]
struct Room<A>(A);

impl<A: Atomic<u64>> Room<A> {
    #[inline]
    fn waiting(&self) -> usize {
        halves(self.0.load()).0
    }

    /// Reserves so many bytes, if no more than [`FAR_MAX`] wait or come then.
    fn reserve(&self, bytes: usize) -> bool {
        let fits = |word| {
            let (waiting, coming) = halves(word);
            waiting + coming + bytes <= FAR_MAX
        };
        fits(self.0.update(|word| if fits(word) { word + at_upper(bytes) } else { word }))
    }

    /// So many bytes are coming.
    fn expect(&self, bytes: usize) {
        self.0.add(at_upper(bytes));
    }

    /// So many bytes will not come, or did.
    fn expect_no_more(&self, bytes: usize) {
        let before = self.0.add(at_upper(bytes).wrapping_neg());
        debug_assert!(halves(before).1 >= bytes, "more came than was expected");
    }

    /// So many bytes wait, among them those that `came`. Only the holder of the token calls this.
    #[inline]
    fn settle(&self, waiting: usize, came: usize) {
        let before = self.waiting();
        if (waiting, came) != (before, 0) {
            let more = (waiting as u64).wrapping_sub(before as u64);
            let before = self.0.add(more.wrapping_sub(at_upper(came)));
            debug_assert!(halves(before).1 >= came, "more came than was expected");
        }
    }
}

/// The bytes that wait, and those that are coming.
#[inline]
fn halves(word: u64) -> (usize, usize) {
    (word as u32 as usize, (word >> 32) as usize)
}

fn at_upper(bytes: usize) -> u64 {
    (bytes as u64) << 32
}

/// The sending side of a connection.
#[derive(Debug)]
pub(crate) struct Outgoing<P: Primitives = Std> {
    token: Token<P::U32>,
    /// Bytes of workers that found the token held.
    left: P::Lock<Vec<u8>>,
    /// How many may wait there and in the outbox.
    max: usize,
    /// How long they may wait without one of them being taken: the write timeout.
    within: Duration,
    /// What the socket would not take. Only the holder of the token locks it.
    outbox: P::Lock<Outbox>,
    /// Reading pauses until nothing waits.
    room: Room<P::U64>,
    /// When the switch is dropped, in nanoseconds; [`Time::NEVER`] while the outbox is empty.
    deadline: P::U64,
}

impl<P: Primitives> Outgoing<P> {
    /// Nothing waits. Never more than `max` bytes will, and [`FAR_MAX`] that were reserved; and for
    /// no longer than `within` if none of them is taken.
    pub(crate) fn new(max: usize, within: Duration) -> Self {
        Outgoing::keeping(max, within, Outbox::new)
    }

    /// The same, and what waits is put in the order of its classes.
    pub(crate) fn by_priority(max: usize, within: Duration) -> Self {
        Outgoing::keeping(max, within, |max| Outbox::new(max).by_priority())
    }

    fn keeping(max: usize, within: Duration, outbox: impl Fn(usize) -> Outbox) -> Self {
        let max = max + FAR_MAX;
        Outgoing {
            token: Token::default(),
            left: Vec::new().into(),
            max,
            within,
            outbox: outbox(max).into(),
            room: Room::default(),
            deadline: Time::NEVER.0.into(),
        }
    }

    /// Whether output waits for the socket to have room.
    #[inline]
    pub(crate) fn is_stuck(&self) -> bool {
        self.room.waiting() > 0
    }

    /// Whether bytes were left for the holder of the token. Reading pauses until they are sent: the
    /// holder may be kept from it for milliseconds, and only the outbox bounds them.
    #[inline]
    pub(crate) fn is_behind(&self) -> bool {
        self.token.has_more()
    }

    /// When the switch has to be dropped if it takes nothing until then; never while nothing waits.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        Time(self.deadline.load())
    }

    /// How many bytes could be reserved now.
    pub(crate) fn room(&self) -> usize {
        let (waiting, coming) = halves(self.room.0.load());
        FAR_MAX.saturating_sub(waiting + coming)
    }

    /// Reserves room for so many bytes that are not a reply to this switch. It fails where the
    /// switch does not read and [`FAR_MAX`] bytes wait already. Replies have room beside them.
    pub(crate) fn reserve(&self, bytes: usize) -> bool {
        self.room.reserve(bytes)
    }

    /// Ends a reservation: the bytes were sent, or will not be.
    pub(crate) fn redeem(&self, bytes: usize) {
        self.room.expect_no_more(bytes);
    }

    /// Sends `fresh` through `send`, which is given the outbox and the bytes to put behind what it
    /// holds. Where another worker is sending, the bytes are left to that one.
    ///
    /// # Errors
    /// The error of `send`, or [`Full`] where more is left than may wait.
    #[inline]
    pub(crate) fn send<E: From<Full>>(
        &self,
        fresh: &[u8],
        mut send: impl FnMut(&mut Outbox, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.token.take() {
            return self.holding(Some(fresh), &mut send);
        }
        self.leave(fresh)?;
        if self.token.take_or_remind() { self.holding(None, &mut send) } else { Ok(()) }
    }

    fn leave(&self, fresh: &[u8]) -> Result<(), Full> {
        let mut left = self.left.take();
        if self.room.waiting() + left.len() + fresh.len() > self.max {
            return Err(Full);
        }
        self.room.expect(fresh.len());
        left.extend_from_slice(fresh);
        Ok(())
    }

    /// With the token: sends `fresh`, if given, and what was left, until nothing more is.
    #[inline]
    fn holding<E>(
        &self,
        fresh: Option<&[u8]>,
        send: &mut impl FnMut(&mut Outbox, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut outbox = self.outbox.take();
        let (mut sent, mut came) = (Ok(()), 0);
        match fresh {
            Some(fresh) => sent = send(&mut outbox, fresh),
            None => came = self.send_left(&mut outbox, &mut sent, send),
        }
        loop {
            self.deadline.store(outbox.deadline(self.within).0);
            self.room.settle(outbox.waiting().len(), came);
            self.check(&outbox);
            drop(outbox);
            if !self.token.look_again() {
                return sent;
            }
            outbox = self.outbox.take();
            came = self.send_left(&mut outbox, &mut sent, send);
        }
    }

    /// Sends what was left, unless something that was `sent` before it failed. Returns how much
    /// that is.
    fn send_left<E>(
        &self,
        outbox: &mut Outbox,
        sent: &mut Result<(), E>,
        send: &mut impl FnMut(&mut Outbox, &[u8]) -> Result<(), E>,
    ) -> usize {
        let left = std::mem::take(&mut *self.left.take());
        if sent.is_ok() && !left.is_empty() {
            *sent = send(outbox, &left);
        }
        left.len()
    }

    /// With the token: what the words say is what the outbox holds.
    #[inline]
    fn check(&self, outbox: &Outbox) {
        debug_assert_eq!(self.room.waiting(), outbox.waiting().len());
        debug_assert_eq!(self.deadline() == Time::NEVER, outbox.is_empty());
        debug_assert!(outbox.waiting().len() <= self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::models::Loom;
    use loom::sync::{Arc, Mutex};

    const WITHIN: Duration = Duration::from_secs(10);

    struct Said(Vec<u8>);

    impl From<Full> for Said {
        fn from(Full: Full) -> Self {
            Said(vec![])
        }
    }

    #[test]
    fn what_the_socket_does_not_take_is_stuck_until_it_does() {
        let outgoing = Outgoing::<Std>::new(8, WITHIN);
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
        let outgoing = Outgoing::<Std>::new(8, WITHIN);
        assert!(outgoing.room() == FAR_MAX && outgoing.reserve(FAR_MAX - 1));
        assert!(outgoing.room() == 1 && !outgoing.reserve(2) && outgoing.reserve(1));
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

    type Shared = (Outgoing<Loom>, Mutex<Vec<u8>>);

    /// Two workers do this, each with bytes of its own.
    fn both(work: fn(&Shared, u8), then: fn(&Shared)) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let shared = Arc::new((Outgoing::new(0, WITHIN), Mutex::default()));
            let other = Arc::clone(&shared);
            let other = loom::thread::spawn(move || work(&other, 1));
            work(&shared, 3);
            other.join().unwrap();
            assert_eq!(halves(Atomic::load(&shared.0.room.0)).1, 0, "what came still comes");
            then(&shared);
        });
    }

    /// Of two that send two things each, one or the other sends all of them: once, and those of
    /// each in their order.
    #[test]
    fn nothing_is_left_behind() {
        both(
            |(outgoing, sent), first| {
                for byte in [first, first + 1] {
                    let left = outgoing.send(&[byte], |_, bytes| {
                        sent.lock().unwrap().extend_from_slice(bytes);
                        Ok::<(), Full>(())
                    });
                    assert_eq!(left, Ok(()));
                }
            },
            |(_, sent)| {
                let sent = sent.lock().unwrap();
                let of = |two: [u8; 2]| -> Vec<u8> {
                    sent.iter().copied().filter(|byte| two.contains(byte)).collect()
                };
                assert_eq!((of([1, 2]), of([3, 4])), (vec![1, 2], vec![3, 4]));
            },
        );
    }

    /// A reservation has its room, though the socket takes nothing, whichever worker sends.
    #[test]
    fn a_reservation_has_its_room() {
        const EACH: usize = FAR_MAX * 2 / 5;
        both(
            |(outgoing, _), byte| {
                for _ in 0..2 {
                    if outgoing.reserve(EACH) {
                        let bytes = vec![byte; EACH];
                        let kept = outgoing.send(&bytes, |outbox, it| outbox.push(Time(0), it));
                        assert_eq!(kept, Ok(()));
                        outgoing.redeem(EACH);
                    }
                }
            },
            |(outgoing, _)| assert_eq!(outgoing.room.waiting(), 2 * EACH),
        );
    }
}
