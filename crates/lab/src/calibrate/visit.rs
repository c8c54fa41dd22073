//! Visits under load: what a worker does with switches that always have more to say.
//!
//! The switches are those of the load generator, on the other core; they tell where their hosts
//! live and keep their queues full. At this end is a bare loop with nothing of the engine in it:
//! read, gather, let the learning switch answer, write, each of them timed by itself. So the costs
//! have in them what a run has and steps at rest (`exchange.rs`) have not: bytes that come from
//! another core's cache; a read that also makes room for a sender that has more to say, so that the
//! kernel acknowledges, and takes in what that brings, within the call; tables that all of this
//! drives out of the caches; and the memory that the other core uses meanwhile.
//!
//! Reads of several sizes take turns, and a line is drawn through their means. The longest of the
//! visits, which another thread interrupted, are left out of the mean: they are a cost of their
//! own. And several short visits are answered with one write, as batches are that come back to a
//! switch.

mod away;

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aldis_control::switch::SwitchInfo;
use aldis_control::world::View;
use aldis_control::{Batch, EventKind, Output, Pipeline, RequestHeader, Run, Switch, Time, parse};
use aldis_emulator::load::{self, Load, Mode, Moment, Watch};
use aldis_engine::limits::{
    EVENTS_PER_POLL, READ_MAX, RECEIVE_BUFFER, RECEIVE_BUFFER_OF_MANY, RECEIVE_BUFFERS, SEND_BUFFER,
};
use aldis_wire::msg::{Port, PortDetails, PortNo};
use aldis_wire::{Chop, DatapathId, FixedText, Header, MacAddr, Version, v10};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::net::{SendFlags, send, sockopt};

use super::Conditions;
use super::cores::{CorePair, pin};
use super::line::StraightLine;
use super::memory::learning_switch;
use super::rounds::{CostQuartiles, StepPace, busy};
use away::Away;

/// Bytes that a visit reads at most: Maestro's 2 KB to Beacon's 64 KB.
const SIZES: [usize; 4] = [2 * 1024, 8 * 1024, 32 * 1024, READ_MAX];

/// Laps over all switches with each size, behind one that does not count.
const LAPS: usize = 4;

/// Short visits that are answered with one write, to learn what a write takes more for each.
const SERIES: usize = 4;

/// Visits for each one that is left out of the mean.
const LEFT_OUT: usize = 64;

/// How long the switches may take to connect and to tell where their hosts live; to have as much to
/// say as is wanted; and to take an answer.
const PREPARED_WITHIN: Duration = Duration::from_secs(120);
const FILLED_WITHIN: Duration = Duration::from_secs(20);
const TAKEN_WITHIN: Duration = Duration::from_secs(20);

/// Ports of a switch.
const PORTS: u32 = 4;

/// `OFPT_FEATURES_REPLY` of OpenFlow 1.0.
const FEATURES_REPLY: u8 = 6;

/// Bytes of a flow: the answer to a request of hosts that are known.
const FLOW_LEN: usize = 80;

/// How long the switches would go on.
const FOR_EVER: Duration = Duration::from_secs(24 * 3600);

/// What visits cost, each as it is in [`super::StepCosts`].
pub(super) struct Visits {
    /// `full_read_ns` and `full_read_byte_ps`.
    pub(super) read: [CostQuartiles; 2],
    /// `full_write_ns` and `full_write_byte_ps`.
    pub(super) write: [CostQuartiles; 2],
    /// `batch_ns`, `gather_ns` and `request_ns`.
    pub(super) requests: [CostQuartiles; 3],
    /// `waver_pct`, of the smallest.
    pub(super) waver: CostQuartiles,
    /// `joined_ns`.
    pub(super) joined: CostQuartiles,
    /// `away_pct` and `away_ns`: of all rounds, since most have none.
    pub(super) away: [CostQuartiles; 2],
}

pub(super) fn measure(
    pace: &StepPace<'_>,
    cores: CorePair,
    conditions: Conditions,
) -> io::Result<Visits> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    // As the engine has them.
    sockopt::set_socket_send_buffer_size(&listener, SEND_BUFFER)?;
    let of_many = conditions.switches as usize > RECEIVE_BUFFERS;
    let buffer = if of_many { RECEIVE_BUFFER_OF_MANY } else { RECEIVE_BUFFER };
    sockopt::set_socket_recv_buffer_size(&listener, buffer)?;
    listener.set_nonblocking(true)?;
    let load = Load { poll: cores.far.is_some(), ..conditions.load(listener.local_addr()?) };
    let signs = Signs::default();
    thread::scope(|scope| {
        let switches = scope.spawn(|| {
            pin(cores.far);
            let outcome = load::measure(&load, &mut VisitWatch(&signs));
            signs.gone.store(true, Ordering::Relaxed);
            outcome.failure
        });
        let measured = VisitController::open(&listener, &load, &signs, pace)
            .and_then(|mut desk| desk.prepare().and_then(|()| desk.rounds()));
        signs.over.store(true, Ordering::Relaxed);
        let failure = switches.join().expect("the load does not panic");
        match (measured, failure) {
            (Err(error), Some(failure)) if error.kind() != io::ErrorKind::Interrupted => {
                Err(io::Error::other(format!("{error}: {failure}")))
            }
            (measured, _) => measured,
        }
    })
}

impl Conditions {
    fn load(&self, controller: SocketAddr) -> Load {
        Load {
            switches: self.switches,
            macs: self.macs,
            ports: PORTS,
            mode: Mode::Full,
            warm_up: 0,
            loops: 1,
            loop_length: FOR_EVER,
            patience: PREPARED_WITHIN,
            handshake_deadline: PREPARED_WITHIN,
            ..Load::new(controller)
        }
    }
}

/// What the two ends tell each other beside the sockets.
#[derive(Default)]
struct Signs {
    /// The switches offer requests.
    offering: AtomicBool,
    /// They have ended.
    gone: AtomicBool,
    /// They are to end.
    over: AtomicBool,
}

struct VisitWatch<'a>(&'a Signs);

impl Watch for VisitWatch<'_> {
    fn tell(&mut self, moment: Moment) {
        if moment == Moment::MeasureBegins {
            self.0.offering.store(true, Ordering::Relaxed);
        }
    }

    fn is_stopped(&mut self) -> bool {
        self.0.over.load(Ordering::Relaxed)
    }
}

/// The controller's end.
struct VisitController<'a> {
    signs: &'a Signs,
    pace: &'a StepPace<'a>,
    /// Where the kernel notes what comes up at the sockets, as it does for a worker.
    epoll: OwnedFd,
    peers: Vec<VisitPeer>,
    pipeline: Pipeline,
    switches: Vec<Arc<Switch>>,
    room: Vec<u8>,
    requests: Vec<RequestHeader>,
    out: Output,
}

/// A switch, and the beginning of a message of which the rest has not come.
struct VisitPeer {
    socket: TcpStream,
    carry: Vec<u8>,
}

/// What the steps of a visit took, in nanoseconds.
#[derive(Clone, Copy)]
struct VisitTimes {
    /// Bytes that were read, requests in them, and bytes that were written.
    bytes: usize,
    requests: usize,
    written: usize,
    read: f64,
    gather: f64,
    answer: f64,
    write: f64,
}

impl<'a> VisitController<'a> {
    /// All switches connect and shake hands.
    fn open(
        listener: &TcpListener,
        load: &Load,
        signs: &'a Signs,
        pace: &'a StepPace<'a>,
    ) -> io::Result<VisitController<'a>> {
        let app_set = learning_switch();
        let mut desk = VisitController {
            signs,
            pace,
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            peers: Vec::new(),
            pipeline: app_set.build().expect("it works alone").pipeline(0),
            switches: Vec::new(),
            room: vec![0; 2 * READ_MAX],
            requests: Vec::new(),
            out: Output::default(),
        };
        let deadline = Instant::now() + PREPARED_WITHIN;
        while desk.peers.len() < load.switches as usize {
            match listener.accept() {
                Ok((socket, _)) => desk.shake_hands(socket, deadline)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => desk.wait(deadline)?,
                Err(error) => return Err(error),
            }
        }
        Ok(desk)
    }

    /// Lets others have the core, unless it has taken too long.
    fn wait(&self, deadline: Instant) -> io::Result<()> {
        if self.pace.stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.signs.gone.load(Ordering::Relaxed) || Instant::now() >= deadline {
            return Err(io::Error::other("the switches do not go on"));
        }
        thread::yield_now();
        Ok(())
    }

    fn shake_hands(&mut self, socket: TcpStream, deadline: Instant) -> io::Result<()> {
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        let mut greeting = Vec::new();
        for (xid, message) in
            [v10::Message::Hello(v10::Hello::default()), v10::Message::FeaturesRequest]
                .iter()
                .enumerate()
        {
            message.encode(xid as u32, &mut greeting).expect("a short message");
        }
        (&socket).write_all(&greeting)?;
        let mut heard = Vec::new();
        while !Chop::new(&heard)
            .map_while(Result::ok)
            .any(|message| message.header.kind == FEATURES_REPLY)
        {
            match (&socket).read(&mut self.room) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => heard.extend_from_slice(&self.room[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(deadline)?,
                Err(error) => return Err(error),
            }
        }
        let dpid = self.peers.len() as u64 + 1;
        let events = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &socket, EventData::new_u64(dpid), events)?;
        self.switches.push(self.pipeline.join(Time::START, info(dpid)));
        self.peers.push(VisitPeer { socket, carry: Vec::new() });
        Ok(())
    }

    /// Until the switches have told where their hosts live, and their queues are full.
    fn prepare(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + PREPARED_WITHIN;
        while !self.signs.offering.load(Ordering::Relaxed) {
            for at in 0..self.peers.len() {
                self.visit(at, READ_MAX)?;
            }
            self.wait(deadline)?;
        }
        Ok(())
    }

    fn rounds(&mut self) -> io::Result<Visits> {
        let pace = self.pace;
        let mut away = Away::default();
        let [read, read_byte, write, write_byte, batch, gather, request, waver, joined] = pace
            .rounds(|| {
                let [mut reads, mut writes, mut gathers, mut answers] =
                    [[(0.0, 0.0); SIZES.len()]; 4];
                let mut wavers = 0.0;
                for (index, size) in SIZES.into_iter().enumerate() {
                    let visits = self.visits(size)?;
                    if index == 0 {
                        wavers = waver(&visits, self.peers.len());
                    }
                    for of in VisitTimes::STEPS {
                        away.add(visits.iter().map(of).collect());
                    }
                    let mean = |of: fn(&VisitTimes) -> f64| mean(visits.iter().map(of).collect());
                    let requests = mean(|visit| visit.requests as f64);
                    reads[index] = (mean(|visit| visit.bytes as f64), mean(|visit| visit.read));
                    writes[index] = (mean(|visit| visit.written as f64), mean(|visit| visit.write));
                    gathers[index] = (requests, mean(|visit| visit.gather));
                    answers[index] = (requests, mean(|visit| visit.answer));
                }
                let [read, write, gather, answer] =
                    [reads, writes, gathers, answers].map(|points| StraightLine::through(&points));
                let joined = self.joined(write)?;
                let batch = gather.base + answer.base;
                let [read_byte, write_byte] = [read, write].map(|line| line.each * 1e3);
                let [gather, answer] = [gather.each, answer.each];
                Ok([
                    read.base, read_byte, write.base, write_byte, batch, gather, answer, wavers,
                    joined,
                ])
            })?;
        Ok(Visits {
            read: [read, read_byte],
            write: [write, write_byte],
            requests: [batch, gather, request],
            waver,
            joined,
            away: away.costs(),
        })
    }

    /// Visits of one size that found as much as they wanted.
    fn visits(&mut self, size: usize) -> io::Result<Vec<VisitTimes>> {
        let wanted = LAPS * self.peers.len();
        let mut visits = Vec::with_capacity(wanted);
        let deadline = Instant::now() + FILLED_WITHIN;
        for lap in 0.. {
            let mut room = [MaybeUninit::uninit(); EVENTS_PER_POLL];
            epoll::wait(&self.epoll, &mut room, Some(&Timespec::default()))?;
            for at in 0..self.peers.len() {
                match self.visit(at, size)? {
                    Some(visit) if lap > 0 && visit.bytes == size => visits.push(visit),
                    Some(_) => {}
                    // Where there is one core, the switches wait for it.
                    None => thread::yield_now(),
                }
            }
            if visits.len() >= wanted {
                break;
            }
            if Instant::now() >= deadline {
                return Err(busy());
            }
        }
        Ok(visits)
    }

    /// What a write takes more than its bytes do, for each further short visit whose answers it
    /// takes along.
    fn joined(&mut self, write: StraightLine) -> io::Result<f64> {
        let count = self.peers.len();
        let mut more = Vec::with_capacity(LAPS * count);
        let mut together = Vec::new();
        let deadline = Instant::now() + FILLED_WITHIN;
        for lap in 0.. {
            let mut answers = vec![Vec::new(); count];
            let mut whole = vec![0; count];
            for at in (0..SERIES).flat_map(|_| 0..count) {
                match self.look(at, SIZES[0])? {
                    Some((visit, is_usual)) => {
                        whole[at] += usize::from(is_usual && visit.bytes == SIZES[0]);
                        answers[at].push(self.out.bytes().to_vec());
                    }
                    None => thread::yield_now(),
                }
            }
            for (at, answers) in answers.iter().enumerate().filter(|(_, some)| !some.is_empty()) {
                together.clear();
                let (put, ()) =
                    self.pace.clock.time(|| answers.iter().for_each(|one| together.extend(one)));
                let took = put + self.write(at, &together)?;
                if lap > 0 && whole[at] == SERIES {
                    more.push(took - write.base - write.each * together.len() as f64);
                }
            }
            // More laps where queues were not full.
            if lap >= LAPS && more.len() >= count {
                break;
            }
            if Instant::now() >= deadline {
                return Err(busy());
            }
        }
        Ok(mean(more) / (SERIES - 1) as f64)
    }

    /// Reads at most so many bytes from a switch, and answers them. Nothing when there is nothing,
    /// or when something else was among the requests or among the answers: an unknown host is
    /// flooded, which costs something else.
    fn visit(&mut self, at: usize, size: usize) -> io::Result<Option<VisitTimes>> {
        let Some((visit, is_usual)) = self.look(at, size)? else { return Ok(None) };
        let write = self.write(at, self.out.bytes())?;
        Ok(is_usual.then_some(VisitTimes { write, ..visit }))
    }

    /// The same without writing the answers, and whether they are all that there was to answer.
    fn look(&mut self, at: usize, size: usize) -> io::Result<Option<(VisitTimes, bool)>> {
        let VisitController { peers, room, requests, pace, .. } = self;
        let VisitPeer { socket, carry } = &mut peers[at];
        let kept = carry.len();
        room[..kept].copy_from_slice(carry);
        let (read, got) =
            pace.clock.time(|| rustix::io::read(&*socket, &mut room[kept..kept + size]));
        let bytes = match got {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => bytes,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let all = &room[..kept + bytes];
        requests.clear();
        let (gather, end) = pace.clock.time(|| parse::parse(Version::V10, all, 0, &mut *requests));
        // Anything else is passed over, and the visit with it.
        let mut rest = end;
        while let Ok(Some(header)) = Header::peek(&all[rest..])
            && rest + header.length as usize <= all.len()
        {
            rest += header.length as usize;
        }
        carry.clear();
        carry.extend_from_slice(&all[rest..]);
        let count = requests.len();
        let (answer, ()) = pace.clock.time(|| self.answer(at, kept + bytes));
        let written = self.out.bytes().len();
        let visit =
            VisitTimes { bytes, requests: count, written, read, gather, answer, write: 0.0 };
        let all_known = written == count * FLOW_LEN;
        Ok(Some((visit, rest == end && count > 0 && all_known)))
    }

    #[inline]
    fn answer(&mut self, switch: usize, len: usize) {
        let mut batch = Batch {
            kind: EventKind::FlowRequest,
            now: Time::START,
            world: View::nothing(),
            bytes: &self.room[..len],
            switches: &[&self.switches[switch]],
            runs: &[Run { switch: 0, requests: 0..self.requests.len() }],
            requests: &mut self.requests,
        };
        self.out.clear();
        self.pipeline.packet_ins(&mut batch, &mut self.out);
    }

    /// Writes what there is to say; nanoseconds of the first write.
    fn write(&self, at: usize, bytes: &[u8]) -> io::Result<f64> {
        let socket = &self.peers[at].socket;
        let (spent, taken) = self.pace.clock.time(|| send(socket, bytes, SendFlags::NOSIGNAL));
        let mut taken = taken.unwrap_or(0);
        let deadline = Instant::now() + TAKEN_WITHIN;
        while taken < bytes.len() {
            self.wait(deadline)?;
            match send(socket, &bytes[taken..], SendFlags::NOSIGNAL) {
                Ok(more) => taken += more,
                Err(rustix::io::Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(spent)
    }
}

impl VisitTimes {
    /// Its steps.
    const STEPS: [fn(&VisitTimes) -> f64; 4] =
        [|visit| visit.read, |visit| visit.gather, |visit| visit.answer, |visit| visit.write];
}

/// By how much a lap over all switches takes more or less than the mean to run and to write, at
/// most, in percent of it.
///
/// What counts is how far apart two laps are that follow each other, as that is what adaptive
/// batching compares. Of numbers that lie evenly around their mean, two are two thirds of the
/// greatest distance from it apart, on average.
fn waver(visits: &[VisitTimes], lap: usize) -> f64 {
    let took = |visit: &VisitTimes| visit.answer + visit.write;
    let laps: Vec<f64> = visits.chunks_exact(lap).map(|lap| lap.iter().map(took).sum()).collect();
    let apart: f64 = laps.windows(2).map(|two| (two[1] - two[0]).abs()).sum();
    let (between, mean) = (laps.len() - 1, laps.iter().sum::<f64>() / laps.len() as f64);
    apart / between as f64 * 1.5 / mean * 100.0
}

/// The mean without the greatest.
fn mean(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.truncate(values.len() - values.len() / LEFT_OUT);
    values.iter().sum::<f64>() / values.len() as f64
}

fn info(dpid: u64) -> SwitchInfo {
    let port = |number: u32| Port {
        number: PortNo(number),
        hw_addr: MacAddr::from_u64(0x0600_0000_0000 | u64::from(number)),
        name: FixedText::default(),
        admin_down: false,
        link_down: false,
        speed_kbps: 0,
        details: PortDetails::default(),
    };
    let ports = (1..=PORTS).map(port).collect();
    SwitchInfo { dpid: DatapathId(dpid), version: Version::V10, buffers: 256, tables: 1, ports }
}

#[cfg(test)]
mod tests {
    use super::super::clock::CalibratedClock;
    use super::super::rounds::Middle;
    use super::*;

    #[test]
    fn visits_find_full_queues_and_known_hosts() {
        let stop = AtomicBool::new(false);
        let pace = StepPace {
            warm_up: Duration::ZERO,
            length: Duration::ZERO,
            middle: Middle::Mean,
            stop: &stop,
            clock: CalibratedClock::new(),
        };
        let few = Conditions { switches: 2, macs: 100 };
        let Visits { read, write, requests, waver, joined, away } =
            measure(&pace, CorePair::choose(), few).unwrap();
        let costs = [read.as_slice(), &write, &requests, &[waver, joined], &away].concat();
        assert!(costs.iter().all(|cost| (0.1..1e8).contains(&cost.value)), "{costs:?}");
    }

    #[test]
    fn it_wavers_by_what_laps_are_apart() {
        let visit = |answer, write| VisitTimes {
            bytes: 2048,
            requests: 24,
            written: 1920,
            read: 1000.0,
            gather: 50.0,
            answer,
            write,
        };
        let even = vec![visit(400.0, 4000.0); 8];
        assert_eq!(waver(&even, 2), 0.0);
        // Laps of 110 and 90 in turn are 20 apart.
        let uneven = [(30.0, 25.0), (20.0, 35.0), (25.0, 25.0), (30.0, 10.0)]
            .map(|(run, write)| visit(run, write));
        let spread = waver(&uneven.repeat(3), 2);
        assert!((spread - 30.0).abs() < 1e-9, "{spread}");
    }

    #[test]
    fn what_the_longest_took_beyond_is_away() {
        let mut away = Away::default();
        for longest in [1000.0, 3000.0] {
            let mut steps = vec![100.0; LEFT_OUT - 1];
            steps.insert(7, longest);
            away.add(steps);
        }
        // 900 and 2900 beyond 128 times 100.
        let [part, each] = away.costs().map(|cost| cost.value);
        assert_eq!((part, each), (29.7, 1900.0));
        assert_eq!(Away::default().costs().map(|cost| cost.value), [0.1, 0.1]);
    }

    #[test]
    fn the_greatest_do_not_count() {
        let mut values = vec![2.0; 127];
        values.push(1e9);
        assert_eq!(mean(values), 2.0);
        assert_eq!(mean(vec![1.0, 3.0]), 2.0);
    }
}
