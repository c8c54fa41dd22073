//! One measurement by several processes: one of them coordinates, the others join it.
//!
//! Each plays every so many-th switch of the same run. A line of JSON at a time: a process that
//! joins says which Aldis it is, and is told the options and which part it is; at each gate it says
//! so and is told to go on when all are there; at last it sends its report. Where the coordinator
//! ends before its time it tells the others to stop, and one that is left alone stops by itself.
//! Histograms are merged, not percentiles. Every wait has an end.

use super::args::{BenchLoadArgs, JoinArgs, ModeArg};
use crate::failure::EXIT_PARTIAL;
use aldis_emulator::load::{self, Gate, GeneratorPart, Load, LoadFailure, LoadOutcome, Watch};
use clap::Parser;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the coordinator waits for all parts.
const JOIN_DEADLINE: Duration = Duration::from_secs(120);

/// How long a part may take to introduce itself.
const HELLO_DEADLINE: Duration = Duration::from_secs(5);

/// How long parts wait for each other at a gate: teaching many addresses to a slow controller takes
/// long.
const GATE_DEADLINE: Duration = Duration::from_secs(600);

/// How long the coordinator, itself at the end, waits for a report.
const REPORT_DEADLINE: Duration = Duration::from_secs(60);

/// How often a wait looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Most bytes of a line: 10,000 switches in 100 phases take some 40 MB.
const LINE_MAX: u64 = 128 << 20;

#[derive(Serialize, Deserialize)]
struct Hello {
    aldis: String,
}

#[derive(Serialize, Deserialize)]
struct Task {
    args: Vec<String>,
    index: u32,
    of: u32,
}

#[derive(PartialEq, Eq, Serialize, Deserialize)]
enum PartMessage {
    Connected,
    Taught,
    Go,
    /// The run ends before its time: what was measured until then is wanted.
    Stop,
}

/// What a part measured: requests, or handshakes.
#[derive(Serialize, Deserialize)]
struct PartResult<R> {
    report: R,
    failure: Option<String>,
}

/// The other end of a connection between parts.
struct PartConnection {
    socket: BufReader<TcpStream>,
    address: SocketAddr,
}

impl PartConnection {
    fn new(socket: TcpStream) -> io::Result<PartConnection> {
        let address = socket.peer_addr()?;
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(LOOK))?;
        socket.set_write_timeout(Some(REPORT_DEADLINE))?;
        Ok(PartConnection { socket: BufReader::new(socket), address })
    }

    fn say(&mut self, what: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        self.socket.get_mut().write_all(&line)
    }

    fn hear<T: DeserializeOwned>(&mut self, within: Duration, stop: &AtomicBool) -> io::Result<T> {
        let deadline = Instant::now() + within;
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            let left = LINE_MAX.saturating_sub(line.len() as u64);
            match (&mut self.socket).take(left).read_until(b'\n', &mut line) {
                Ok(0) if left == 0 => return Err(io::ErrorKind::InvalidData.into()),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if is_patience(&error) && stop.load(Ordering::Relaxed) => {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                Err(error) if is_patience(&error) && Instant::now() < deadline => {}
                Err(error) if is_patience(&error) => return Err(io::ErrorKind::TimedOut.into()),
                Err(error) => return Err(error),
            }
        }
        Ok(serde_json::from_slice(&line)?)
    }

    /// Whether there is something to hear, its end included; at once.
    fn has_news(&self) -> bool {
        let peek = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        !self.socket.buffer().is_empty()
            || !matches!(
                rustix::net::recv(self.socket.get_ref(), &mut [0u8; 1][..], peek),
                Err(Errno::AGAIN | Errno::INTR)
            )
    }

    /// Hangs up once the other end has: it would lose what was said last if something it said were
    /// left unread.
    fn end(mut self) {
        let deadline = Instant::now() + REPORT_DEADLINE;
        let _ = self.socket.get_ref().shutdown(Shutdown::Write);
        while Instant::now() < deadline {
            match self.socket.read(&mut [0; 1024]) {
                Ok(0) => return,
                Err(error) if !is_patience(&error) => return,
                _ => {}
            }
        }
    }
}

fn is_patience(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

/// What went wrong with a connection, in words.
fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it left".into(),
        io::ErrorKind::TimedOut => "it says nothing".into(),
        io::ErrorKind::Interrupted => "told to stop".into(),
        _ => error.to_string(),
    }
}

fn word_of(gate: Gate) -> PartMessage {
    match gate {
        Gate::Connected => PartMessage::Connected,
        Gate::Taught => PartMessage::Taught,
    }
}

/// The parts that have joined; this process is part 1.
pub(super) struct BenchCoordinator {
    others: Vec<PartConnection>,
}

impl BenchCoordinator {
    /// Waits for `parts` − 1 others and gives each its part.
    pub(super) fn gather(
        address: SocketAddr,
        parts: u32,
        stop: &AtomicBool,
    ) -> Result<Self, String> {
        let cannot = |error: io::Error| format!("cannot wait for parts on {address}: {error}");
        let listener = TcpListener::bind(address).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        eprintln!("waiting for {} parts; each is: aldis bench --join {address}", parts - 1);
        let deadline = Instant::now() + JOIN_DEADLINE;
        let mut coordinator = BenchCoordinator { others: Vec::new() };
        while coordinator.others.len() + 1 < parts as usize {
            let here = coordinator.others.len() + 1;
            if stop.load(Ordering::Relaxed) {
                return Err(format!("told to stop when {here} of {parts} parts were there"));
            }
            if Instant::now() > deadline {
                let after = JOIN_DEADLINE.as_secs();
                return Err(format!("only {here} of {parts} parts were there after {after} s"));
            }
            match listener.accept() {
                Ok((socket, _)) => coordinator.admit(socket, parts, stop)?,
                Err(error) if is_patience(&error) => std::thread::sleep(LOOK / 5),
                Err(error) => return Err(cannot(error)),
            }
        }
        Ok(coordinator)
    }

    /// Takes one in, unless it is none of ours, which is said and no more.
    fn admit(&mut self, socket: TcpStream, of: u32, stop: &AtomicBool) -> Result<(), String> {
        let index = self.others.len() as u32 + 1;
        let greeted = PartConnection::new(socket).and_then(|mut line| {
            let Hello { aldis } = line.hear(HELLO_DEADLINE, stop)?;
            let task = Task { args: std::env::args().skip(2).collect(), index, of };
            line.say(&task)?;
            Ok((line, aldis))
        });
        match greeted {
            Err(error) => {
                eprintln!("somebody who is no part of this was turned away: {}", words(&error))
            }
            Ok((line, aldis)) if aldis != env!("CARGO_PKG_VERSION") => {
                return Err(format!(
                    "part {} ({}) is Aldis {aldis}, and this is another",
                    index + 1,
                    line.address
                ));
            }
            Ok((line, _)) => self.others.push(line),
        }
        Ok(())
    }

    /// Waits until all are at the gate, and opens it.
    pub(super) fn pass(&mut self, gate: Gate, stop: &AtomicBool) -> Result<(), LoadFailure> {
        let of = self.others.len() + 1;
        let left = |(number, address): (usize, SocketAddr), error: &io::Error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return LoadFailure::Stopped;
            }
            let why = words(error);
            LoadFailure::Parts(format!(
                "part {number} of {of} ({address}) was lost before measuring: {why}"
            ))
        };
        for (line, number) in self.others.iter_mut().zip(2..) {
            let heard = line.hear::<PartMessage>(GATE_DEADLINE, stop);
            let heard = heard.and_then(|word| match word == word_of(gate) {
                true => Ok(()),
                false => Err(io::ErrorKind::InvalidData.into()),
            });
            heard.map_err(|error| left((number, line.address), &error))?;
        }
        for (line, number) in self.others.iter_mut().zip(2..) {
            line.say(&PartMessage::Go).map_err(|error| left((number, line.address), &error))?;
        }
        Ok(())
    }

    /// Hands over what the others measured, one after the other; what went wrong with the first
    /// that failed, if one did. Where this process was `cut_short`, the others are told to stop
    /// first: what they have until then is kept as well.
    pub(super) fn collect<R: DeserializeOwned>(
        mut self,
        cut_short: bool,
        mut add: impl FnMut(R),
    ) -> Option<LoadFailure> {
        if cut_short {
            // A part that has left already has said so, or will be missed below.
            self.others.iter_mut().for_each(|line| drop(line.say(&PartMessage::Stop)));
        }
        // The first signal ends what is measured, and not the wait for it.
        let stop = AtomicBool::new(false);
        let of = self.others.len() + 1;
        let mut failure = None;
        for (mut line, number) in self.others.into_iter().zip(2..) {
            let address = line.address;
            let why = match line.hear::<PartResult<R>>(REPORT_DEADLINE, &stop) {
                Ok(PartResult { report, failure }) => {
                    add(report);
                    failure
                }
                Err(error) => Some(format!("no report came: {}", words(&error))),
            };
            let lost =
                |why| LoadFailure::Parts(format!("part {number} of {of} ({address}): {why}"));
            failure = failure.or(why.map(lost));
        }
        failure
    }
}

/// A part that waits at gates for its coordinator, and looks meanwhile whether it says to stop.
struct PartMember<'a> {
    line: &'a mut PartConnection,
    stop: &'a AtomicBool,
    /// Why the coordinator wants no more, once it does.
    dismissed: Option<String>,
}

impl PartMember<'_> {
    /// Where nothing but the end can be meant by what is heard.
    fn heed(&mut self) {
        if self.dismissed.is_none() && self.line.has_news() {
            self.dismissed = Some(match self.line.hear::<PartMessage>(HELLO_DEADLINE, self.stop) {
                Ok(PartMessage::Stop) => DISMISSED.into(),
                Ok(_) => MISUNDERSTOOD.into(),
                Err(error) => lost(&error),
            });
        }
    }

    /// With what is known of its reason.
    fn explain(self, failure: Option<LoadFailure>) -> Option<LoadFailure> {
        match (failure, self.dismissed) {
            (Some(LoadFailure::Stopped), Some(why)) => Some(LoadFailure::Parts(why)),
            (failure, _) => failure,
        }
    }
}

const DISMISSED: &str = "the coordinator said to stop";
const MISUNDERSTOOD: &str = "the coordinator speaks of something else";

fn lost(error: &io::Error) -> String {
    format!("the coordinator was lost: {}", words(error))
}

impl Watch for PartMember<'_> {
    fn is_stopped(&mut self) -> bool {
        self.heed();
        self.dismissed.is_some() || self.stop.load(Ordering::Relaxed)
    }

    fn pass(&mut self, gate: Gate) -> Result<(), LoadFailure> {
        let said = self.line.say(&word_of(gate));
        let heard = said.and_then(|()| self.line.hear::<PartMessage>(GATE_DEADLINE, self.stop));
        match heard {
            Ok(PartMessage::Go) => Ok(()),
            Ok(PartMessage::Stop) => Err(LoadFailure::Parts(DISMISSED.into())),
            Ok(_) => Err(LoadFailure::Parts(MISUNDERSTOOD.into())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(LoadFailure::Stopped),
            Err(error) => Err(LoadFailure::Parts(lost(&error))),
        }
    }
}

/// Joins a coordinator and plays the part that it gives.
pub(super) fn join(address: SocketAddr, stop: &AtomicBool) -> Result<ExitCode, String> {
    let cannot = |error: io::Error| format!("cannot join {address}: {}", words(&error));
    let socket = TcpStream::connect_timeout(&address, HELLO_DEADLINE).map_err(cannot)?;
    let mut line = PartConnection::new(socket).map_err(cannot)?;
    line.say(&Hello { aldis: env!("CARGO_PKG_VERSION").into() }).map_err(cannot)?;
    let Task { args, index, of } = line.hear(JOIN_DEADLINE, stop).map_err(cannot)?;
    let (load, mode) = part(args, index, of)?;
    eprintln!("part {} of {of}: {} switches", index + 1, load.switches_here());
    let mut member = PartMember { line: &mut line, stop, dismissed: None };
    if mode == ModeArg::Connect {
        let (report, failure) = load::handshakes(&load, &mut member);
        let failure = member.explain(failure);
        let is_empty = report.elapsed.is_zero();
        return conclude(line, report, is_empty, failure);
    }
    let LoadOutcome { report, failure } = load::measure(&load, &mut member);
    let failure = member.explain(failure);
    let is_empty = report.is_empty();
    conclude(line, report, is_empty, failure)
}

/// Tells the coordinator what was measured.
fn conclude(
    mut line: PartConnection,
    report: impl Serialize,
    is_empty: bool,
    failure: Option<LoadFailure>,
) -> Result<ExitCode, String> {
    let failure = failure.map(|failure| failure.to_string());
    line.say(&PartResult { report, failure: failure.clone() }).map_err(|error| lost(&error))?;
    let Some(why) = failure else {
        line.end();
        return Ok(ExitCode::SUCCESS);
    };
    if is_empty {
        return Err(why);
    }
    eprintln!("aldis: the result is partial: {why}");
    line.end();
    Ok(ExitCode::from(EXIT_PARTIAL))
}

/// The load that the coordinator's options describe, and what is measured.
fn part(args: Vec<String>, index: u32, of: u32) -> Result<(Load, ModeArg), String> {
    let args = ["aldis".to_owned()].into_iter().chain(args);
    let JoinArgs { load } = JoinArgs::try_parse_from(args)
        .map_err(|error| format!("the coordinator's options are none of ours: {error}"))?;
    let load: BenchLoadArgs = load;
    let mode = load.what();
    Ok((Load { part: GeneratorPart { index, of }, ..load.load()? }, mode))
}
