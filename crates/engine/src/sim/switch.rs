//! An emulated switch: it shakes hands, asks when it is time to, and keeps account of what it is
//! answered.

use std::collections::VecDeque;
use std::time::Duration;

use aldis_control::Time;
use aldis_control::session::Close;
use aldis_control::stats::Histogram;
use aldis_wire::DatapathId;
use aldis_wire::chop::Chop;
use aldis_wire::header::Header;
use aldis_wire::header::kind::{ECHO_REPLY, ECHO_REQUEST, FLOW_MOD, PACKET_OUT};
use aldis_wire::v10::{Hello, Message};

use super::costs::Ps;
use super::dice::Dice;
use super::plan::{self, Offer, ReadSpeed};
use super::stream::{REQUEST_LEN, SimStream};
use crate::sim::handshake::{BARRIER_REQUEST, FEATURES_REQUEST, features};

/// A switch that always has more to say says it when so much has become free.
const REFILL: usize = 16 * 1024;

const SECOND: f64 = 1e12;

/// The moments between which is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MeasureWindow {
    pub(super) begin: Ps,
    pub(super) end: Ps,
}

impl MeasureWindow {
    pub(super) fn has(&self, at: Ps) -> bool {
        (self.begin..self.end).contains(&at)
    }
}

/// A switch.
#[derive(Debug)]
pub(super) struct SimSwitch {
    plan: plan::SimulatedSwitch,
    dpid: DatapathId,
    dice: Dice,
    /// Since when it asks.
    since: Option<Ps>,
    /// When it asks next; never, where its socket or its limit says.
    next: Ps,
    /// Requests that are due and did not fit into its socket: since when, and how many since then.
    /// What becomes due together is one entry, so that a switch that asks in turns for more than is
    /// served waits in little memory.
    waiting: VecDeque<(Ps, u32)>,
    /// Those that became due and were never sent, since too many waited.
    forgotten: u64,
    /// When those that were sent and are not answered yet became due, from `first` on. Not kept
    /// where it asks for ever.
    open: VecDeque<Option<Ps>>,
    first: u32,
    /// The beginning of a message still to come.
    half: Vec<u8>,
    pub(super) account: SwitchAccounts,
}

/// What a switch saw.
#[derive(Debug, Default)]
pub(super) struct SwitchAccounts {
    /// Whether its handshake was done.
    pub(super) up: bool,
    /// Requests that became due, that were sent, and that were answered.
    pub(super) offered: u64,
    pub(super) sent: u32,
    pub(super) answered: u64,
    /// The same between the moments that are measured.
    pub(super) offered_measured: u64,
    pub(super) answered_measured: u64,
    /// From becoming due to the answer, in nanoseconds, of requests that became due between these
    /// moments.
    pub(super) delay_ns: Histogram,
    /// Fences that were answered.
    pub(super) fences: u64,
    /// Fences that were not answered between what came before them and what came after.
    pub(super) disorder: u64,
    /// Answers to requests that were answered before, or never made.
    pub(super) strays: u64,
    /// The highest request that was answered.
    highest: u32,
    /// When its connection was closed, and why.
    pub(super) closed: Option<(Time, Close)>,
}

impl SimSwitch {
    pub(super) fn new(plan: &plan::SimulatedSwitch, number: u64, seed: u64) -> SimSwitch {
        SimSwitch {
            plan: plan.clone(),
            dpid: DatapathId(number),
            dice: Dice::new(seed.wrapping_add(number << 32)),
            since: None,
            next: Ps::MAX,
            waiting: VecDeque::new(),
            forgotten: 0,
            open: VecDeque::new(),
            first: 1,
            half: Vec::new(),
            account: SwitchAccounts::default(),
        }
    }

    /// What it says when it connects.
    pub(super) fn greeting() -> Vec<u8> {
        encode(&Message::Hello(Hello::default()), 0)
    }

    /// How fast it reads now.
    pub(super) fn reads(&self) -> ReadSpeed {
        if self.account.up { self.plan.reads } else { ReadSpeed::AtOnce }
    }

    /// It begins to ask.
    pub(super) fn begin(&mut self, now: Ps) {
        self.since = Some(now);
        self.next = match &self.plan.offer {
            Offer::Full => Ps::MAX,
            Offer::Poisson(_) => now + self.gap(now),
            Offer::Periodic(_) | Offer::Steps(_) => {
                now + (self.gap(now) as f64 * self.dice.unit()) as Ps
            }
            Offer::Turns { first, .. } => now + ps(*first),
        };
        if self.plan.limit == Some(0) {
            self.next = Ps::MAX;
        }
    }

    /// When it asks next.
    pub(super) fn next(&self) -> Ps {
        self.next
    }

    /// Whether nothing more comes of it, and everything is answered.
    pub(super) fn is_through(&self) -> bool {
        self.plan.limit.is_some_and(|limit| self.account.answered >= u64::from(limit))
    }

    /// It asks what is due, as far as there is `room` in its socket. Returns whether anything was
    /// sent.
    pub(super) fn ask(
        &mut self,
        now: Ps,
        room: usize,
        window: MeasureWindow,
        stream: &mut SimStream,
    ) -> bool {
        while self.next <= now {
            let due = self.next;
            let count = self.due_by(due);
            self.offer(due, count, window);
            self.forget(window);
            let all = self.plan.limit.is_some_and(|limit| self.account.offered >= limit.into());
            self.next = if all { Ps::MAX } else { due + self.gap(due) };
        }
        let fits = (room / REQUEST_LEN) as u32;
        if self.plan.offer == Offer::Full && self.since.is_some() && room >= REFILL {
            let left = self.plan.limit.map_or(u32::MAX, |limit| limit - self.account.sent);
            self.offer(now, fits.min(left), window);
        }
        let count = self.take_waiting(fits);
        self.send(count, stream);
        count > 0
    }

    /// Takes so many of those that wait, the first ones first, and says how many there were.
    fn take_waiting(&mut self, most: u32) -> u32 {
        let mut taken = 0;
        while let Some((due, count)) = self.waiting.front_mut() {
            let (due, some) = (*due, (*count).min(most - taken));
            *count -= some;
            if *count == 0 {
                self.waiting.pop_front();
            }
            if self.keeps_open() {
                self.open.extend(std::iter::repeat_n(Some(due), some as usize));
            }
            taken += some;
            if taken == most {
                break;
            }
        }
        taken
    }

    /// How many requests it offers when it asks at `now`.
    fn due_by(&self, now: Ps) -> u32 {
        let Offer::Turns { steps, first, every, .. } = &self.plan.offer else { return 1 };
        let since = (now - self.since.unwrap_or(now)) as f64 / SECOND;
        // Those of low rates have their first one at different turns.
        let ahead = first.as_secs_f64() / every.as_secs_f64();
        let offered = self.account.offered + self.forgotten;
        let due = ((due_after(steps, since) + ahead) as u64).saturating_sub(offered);
        let left = self.plan.limit.map(|limit| u64::from(limit) - self.account.offered);
        due.min(left.unwrap_or(u64::MAX)).try_into().unwrap_or(u32::MAX)
    }

    /// Forgets what waits beyond what it makes up for.
    fn forget(&mut self, window: MeasureWindow) {
        let Offer::Turns { steps, makes_up_for, .. } = &self.plan.offer else { return };
        let rate_max = steps.iter().map(|(rate, _)| *rate).fold(0.0, f64::max);
        let most = (rate_max * makes_up_for.as_secs_f64()).ceil() as u64;
        let waiting: u64 = self.waiting.iter().map(|(_, count)| u64::from(*count)).sum();
        let mut excess = waiting.saturating_sub(most);
        while excess > 0 {
            let Some((due, count)) = self.waiting.front_mut() else { return };
            let some = excess.min((*count).into());
            *count -= some as u32;
            self.account.offered -= some;
            self.account.offered_measured -= if window.has(*due) { some } else { 0 };
            self.forgotten += some;
            excess -= some;
            if *count == 0 {
                self.waiting.pop_front();
            }
        }
    }

    /// It was sent this; what it says to it is put into `replies`.
    pub(super) fn hear(
        &mut self,
        now: Ps,
        bytes: &[u8],
        window: MeasureWindow,
        replies: &mut Vec<u8>,
    ) {
        if self.half.is_empty() {
            let rest = self.hear_whole(now, bytes, window, replies);
            self.half.extend_from_slice(&bytes[rest..]);
        } else {
            let mut whole = std::mem::take(&mut self.half);
            whole.extend_from_slice(bytes);
            let rest = self.hear_whole(now, &whole, window, replies);
            whole.drain(..rest);
            self.half = whole;
        }
    }

    /// Takes whole messages off the front, and says where the rest begins.
    fn hear_whole(
        &mut self,
        now: Ps,
        bytes: &[u8],
        window: MeasureWindow,
        replies: &mut Vec<u8>,
    ) -> usize {
        let mut at = 0;
        for message in Chop::new(bytes).map_while(Result::ok) {
            at += message.bytes.len();
            let Header { kind, xid, .. } = message.header;
            match kind {
                FLOW_MOD | PACKET_OUT if self.since.is_some() => self.answered(now, xid, window),
                ECHO_REPLY if self.since.is_some() => self.fence_answered(xid),
                FEATURES_REQUEST => replies.extend(encode(&features(self.dpid), xid)),
                BARRIER_REQUEST => {
                    self.account.up = true;
                    replies.extend(encode(&Message::BarrierReply, xid));
                }
                ECHO_REQUEST => {
                    let reply = Header { version: 1, kind: ECHO_REPLY, length: 8, xid };
                    replies.extend(reply.to_bytes());
                }
                _ => {}
            }
        }
        at
    }

    fn answered(&mut self, now: Ps, xid: u32, window: MeasureWindow) {
        let account = &mut self.account;
        if xid == 0 || xid > account.sent {
            account.strays += 1;
            return;
        }
        if self.keeps_open() {
            let open = xid.checked_sub(self.first).and_then(|at| self.open.get_mut(at as usize));
            let Some(due) = open.and_then(Option::take) else {
                self.account.strays += 1;
                return;
            };
            if window.has(due) {
                self.account.delay_ns.record(now.saturating_sub(due) / 1000);
            }
            while let Some(None) = self.open.front() {
                self.open.pop_front();
                self.first += 1;
            }
        }
        let account = &mut self.account;
        account.answered += 1;
        account.answered_measured += u64::from(window.has(now));
        account.highest = account.highest.max(xid);
    }

    /// A fence says how many requests were sent before it: they are answered by now, and nothing
    /// behind it is.
    fn fence_answered(&mut self, before: u32) {
        self.account.fences += 1;
        let in_place = self.account.answered == before.into() && self.account.highest <= before;
        self.account.disorder += u64::from(!in_place);
    }

    fn keeps_open(&self) -> bool {
        self.plan.offer != Offer::Full || self.plan.limit.is_some()
    }

    fn offer(&mut self, due: Ps, count: u32, window: MeasureWindow) {
        self.account.offered += u64::from(count);
        if window.has(due) {
            self.account.offered_measured += u64::from(count);
        }
        if count > 0 {
            self.waiting.push_back((due, count));
        }
    }

    fn send(&mut self, mut count: u32, stream: &mut SimStream) {
        while count > 0 {
            let sent = self.account.sent;
            let span = self.plan.fence_every.map_or(count, |every| every - sent % every);
            let some = count.min(span);
            stream.push_requests(sent + 1, some);
            self.account.sent += some;
            count -= some;
            let sent = self.account.sent;
            if self.plan.fence_every.is_some_and(|every| sent.is_multiple_of(every)) {
                let fence = Header { version: 1, kind: ECHO_REQUEST, length: 8, xid: sent };
                stream.push(fence.to_bytes().to_vec());
            }
        }
    }

    /// How long from a request at `now` to the next.
    fn gap(&mut self, now: Ps) -> Ps {
        let (rate, scale) = match &self.plan.offer {
            Offer::Full => return Ps::MAX,
            Offer::Periodic(rate) => (*rate, 1.0),
            Offer::Poisson(rate) => (*rate, self.dice.gap()),
            Offer::Turns { every, .. } => return ps(*every),
            Offer::Steps(steps) => {
                let mut since = now - self.since.unwrap_or(now);
                let current = steps.iter().find(|(_, length)| {
                    let length = ps(*length);
                    let here = since < length;
                    since = since.saturating_sub(length);
                    here
                });
                (current.or(steps.last()).map_or(1.0, |(rate, _)| *rate), 1.0)
            }
        };
        ((SECOND / rate * scale) as Ps).max(1)
    }
}

/// How many requests have become due so many seconds after the beginning.
fn due_after(steps: &[(f64, Duration)], seconds: f64) -> f64 {
    let (mut due, mut left) = (0.0, seconds);
    for (number, (rate, length)) in (1..).zip(steps) {
        let here = if number == steps.len() { left } else { left.min(length.as_secs_f64()) };
        due += rate * here;
        left -= here;
    }
    due
}

fn ps(length: Duration) -> Ps {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX / 1000).saturating_mul(1000)
}

fn encode(message: &Message, xid: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(xid, &mut bytes).expect("a short message");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALWAYS: MeasureWindow = MeasureWindow { begin: 0, end: Ps::MAX };

    fn asking(plan: plan::SimulatedSwitch) -> SimSwitch {
        let mut switch = SimSwitch::new(&plan, 1, 1);
        switch.begin(0);
        switch
    }

    fn flow_mod(xid: u32) -> [u8; 8] {
        Header { version: 1, kind: FLOW_MOD, length: 8, xid }.to_bytes()
    }

    fn turns(steps: &[(f64, Duration)], first: Duration, every: Duration) -> Offer {
        let makes_up_for = Duration::from_millis(100);
        Offer::Turns { steps: steps.to_vec(), first, every, makes_up_for }
    }

    fn waiting(switch: &SimSwitch) -> u64 {
        switch.waiting.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    #[test]
    fn it_asks_at_its_rates_and_keeps_what_does_not_fit() {
        let steps = vec![(1e6, Duration::from_millis(1)), (2e6, Duration::from_millis(1))];
        for (offer, expected) in [
            (Offer::Periodic(1e6), 3000..3001),
            (Offer::Steps(steps), 4999..5002),
            (Offer::Poisson(1e6), 2800..3200),
        ] {
            let mut switch = asking(plan::SimulatedSwitch::new(offer.clone()));
            let mut stream = SimStream::default();
            assert!(switch.ask(3_000_000_000, 10 * REQUEST_LEN, ALWAYS, &mut stream));
            assert_eq!(stream.len(), 10 * REQUEST_LEN);
            let offered = switch.account.offered;
            assert!(expected.contains(&offered), "{offer:?}: {offered}");
            assert_eq!(waiting(&switch) + 10, offered);
        }
    }

    #[test]
    fn in_turns_it_sends_together_what_has_become_due() {
        let [first, every] = [2, 10].map(Duration::from_millis);
        let offer = turns(&[(1e5, Duration::MAX)], first, every);
        let plan =
            plan::SimulatedSwitch { limit: Some(2_500), ..plan::SimulatedSwitch::new(offer) };
        let mut switch = asking(plan);
        let mut sent = |ms: u64| {
            let mut stream = SimStream::default();
            switch.ask(ms * 1_000_000_000, usize::MAX, ALWAYS, &mut stream);
            (stream.len() / REQUEST_LEN, switch.next())
        };
        let at = |ms: u64| ms * 1_000_000_000;
        assert_eq!(sent(1), (0, at(2)));
        assert_eq!(sent(2), (200, at(12)));
        assert_eq!(sent(12), (1_000, at(22)));
        // No more than it makes in all.
        assert_eq!(sent(40), (1_300, Ps::MAX));
    }

    #[test]
    fn what_waits_takes_little_memory_and_is_as_old_as_it_is() {
        let every = Duration::from_millis(1);
        let offer = turns(&[(1e6, Duration::MAX)], Duration::ZERO, every);
        let mut switch = asking(plan::SimulatedSwitch::new(offer));
        let mut stream = SimStream::default();
        let ms = |ms: u64| ms * 1_000_000_000;
        // Nothing at the first turn, a thousand at each of the hundred that follow.
        switch.ask(ms(100), 1_500 * REQUEST_LEN, ALWAYS, &mut stream);
        assert_eq!((waiting(&switch), switch.waiting.len()), (98_500, 99));
        assert_eq!(switch.open.len(), 1_500);
        switch.hear(ms(100), &[flow_mod(1), flow_mod(1_500)].concat(), ALWAYS, &mut vec![]);
        let delays = switch.account.delay_ns.read();
        // The first has been due for 99 ms, the last that was sent for 98.
        assert_eq!((delays.count(), delays.sum()), (2, 99_000_000 + 98_000_000));
    }

    #[test]
    fn one_rate_follows_another_and_what_waits_too_long_is_forgotten() {
        let [first, every, step] = [0, 1, 10].map(Duration::from_millis);
        let offer = turns(&[(1e6, step), (1e5, step), (2e5, step)], first, every);
        let mut switch = asking(plan::SimulatedSwitch::new(offer));
        let mut offered = |ms: u64| {
            switch.ask(ms * 1_000_000_000, 0, ALWAYS, &mut SimStream::default());
            switch.account.offered
        };
        assert_eq!([5, 10, 15, 20, 30].map(&mut offered), [5_000, 10_000, 10_500, 11_000, 13_000]);
        // The last rate stays, up to a tenth of a second's of the highest: nothing of it fits.
        assert_eq!([465, 470].map(&mut offered), [100_000, 100_000]);
        assert_eq!((waiting(&switch), switch.account.offered_measured), (100_000, 100_000));
        // A thousand were forgotten, give or take a rounding: the first turn's.
        let first_turn = switch.waiting.iter().filter(|(due, _)| *due <= 1_000_000_000);
        assert!(first_turn.map(|(_, count)| count).sum::<u32>() <= 1);
        assert_eq!(switch.waiting.back(), Some(&(470_000_000_000, 200)));
        // Room again: no more is due than there was.
        assert!(switch.ask(471_000_000_000, usize::MAX, ALWAYS, &mut SimStream::default()));
        assert_eq!(u64::from(switch.account.sent), switch.account.offered);
    }

    #[test]
    fn it_notices_what_is_answered_twice_never_asked_or_out_of_order() {
        let plan = plan::SimulatedSwitch {
            limit: Some(4),
            fence_every: Some(2),
            ..plan::SimulatedSwitch::new(Offer::Full)
        };
        let fence = |xid| Header { version: 1, kind: ECHO_REPLY, length: 8, xid }.to_bytes();
        let hear = |messages: &[[u8; 8]]| {
            let mut switch = asking(plan.clone());
            switch.ask(0, 1 << 20, ALWAYS, &mut SimStream::default());
            switch.hear(0, &messages.concat()[..3], ALWAYS, &mut vec![]);
            switch.hear(0, &messages.concat()[3..], ALWAYS, &mut vec![]);
            let SwitchAccounts { answered, fences, disorder, strays, .. } = switch.account;
            [answered, fences, disorder, strays]
        };
        let [one, two, three, four] = [1, 2, 3, 4].map(flow_mod);
        assert_eq!(hear(&[two, one, fence(2), three, four, fence(4)]), [4, 2, 0, 0]);
        assert_eq!(hear(&[one, fence(2), two]), [2, 1, 1, 0]);
        assert_eq!(hear(&[one, three, fence(2)]), [2, 1, 1, 0]);
        assert_eq!(hear(&[one, one, flow_mod(5), flow_mod(0)]), [1, 0, 0, 3]);
    }
}
