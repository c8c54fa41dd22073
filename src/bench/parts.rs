//! One measurement by several processes: one of them coordinates, the others join it.
//!
//! Each plays every so many-th switch of the same run. A line of JSON at a time: who joins says which Aldis it is and is told
//! the options and which part it is; at each gate it says so and is told to go on when all are there; at last it sends its
//! report. Histograms are merged, not percentiles. Every wait has an end.

use super::args::{Joined, LoadArgs, ModeArg};
use aldis_emulator::load::{self, Failure, Gate, Load, Outcome, Part, Watch};
use clap::Parser;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the coordinator waits for all parts.
const JOIN_DEADLINE: Duration = Duration::from_secs(120);

/// How long a part may take to say who it is.
const HELLO_DEADLINE: Duration = Duration::from_secs(5);

/// How long parts wait for each other at a gate: teaching many addresses to a slow controller takes long.
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
enum Word {
    Connected,
    Taught,
    Go,
}

/// What a part measured: requests, or handshakes.
#[derive(Serialize, Deserialize)]
struct Finding<R> {
    report: R,
    failure: Option<String>,
}

/// The other end of a connection between parts.
struct Line {
    socket: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Line {
    fn new(socket: TcpStream) -> io::Result<Line> {
        let address = socket.peer_addr()?;
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(LOOK))?;
        socket.set_write_timeout(Some(REPORT_DEADLINE))?;
        Ok(Line { socket: BufReader::new(socket), address })
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

fn word_of(gate: Gate) -> Word {
    match gate {
        Gate::Connected => Word::Connected,
        Gate::Taught => Word::Taught,
    }
}

/// The parts that have joined; this process is part 1.
pub(super) struct Coordinator {
    others: Vec<Line>,
}

impl Coordinator {
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
        let mut coordinator = Coordinator { others: Vec::new() };
        while coordinator.others.len() + 1 < parts as usize {
            match listener.accept() {
                Ok((socket, _)) => coordinator.admit(socket, parts, stop)?,
                Err(error) if is_patience(&error) => std::thread::sleep(LOOK / 5),
                Err(error) => return Err(cannot(error)),
            }
            if stop.load(Ordering::Relaxed) || Instant::now() > deadline {
                let (here, after) = (coordinator.others.len() + 1, JOIN_DEADLINE.as_secs());
                return Err(format!(
                    "only {here} of {parts} parts were there, after {after} s at most"
                ));
            }
        }
        Ok(coordinator)
    }

    /// Takes one in, unless it is none of ours, which is said and no more.
    fn admit(&mut self, socket: TcpStream, of: u32, stop: &AtomicBool) -> Result<(), String> {
        let index = self.others.len() as u32 + 1;
        let greeted = Line::new(socket).and_then(|mut line| {
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
    pub(super) fn pass(&mut self, gate: Gate, stop: &AtomicBool) -> Result<(), Failure> {
        let of = self.others.len() + 1;
        let left = |(number, address): (usize, SocketAddr), error: &io::Error| {
            let why = words(error);
            Failure::Parts(format!(
                "part {number} of {of} ({address}) was lost before measuring: {why}"
            ))
        };
        for (line, number) in self.others.iter_mut().zip(2..) {
            let heard = line.hear::<Word>(GATE_DEADLINE, stop);
            let heard = heard.and_then(|word| match word == word_of(gate) {
                true => Ok(()),
                false => Err(io::ErrorKind::InvalidData.into()),
            });
            heard.map_err(|error| left((number, line.address), &error))?;
        }
        for (line, number) in self.others.iter_mut().zip(2..) {
            line.say(&Word::Go).map_err(|error| left((number, line.address), &error))?;
        }
        Ok(())
    }

    /// Hands over what the others measured, one after the other; what went wrong with the first that failed, if one did.
    pub(super) fn collect<R: DeserializeOwned>(
        self,
        stop: &AtomicBool,
        mut add: impl FnMut(R),
    ) -> Option<Failure> {
        let of = self.others.len() + 1;
        let mut failure = None;
        for (mut line, number) in self.others.into_iter().zip(2..) {
            let address = line.address;
            let why = match line.hear::<Finding<R>>(REPORT_DEADLINE, stop) {
                Ok(Finding { report, failure }) => {
                    add(report);
                    failure
                }
                Err(error) => Some(format!("no report came: {}", words(&error))),
            };
            let lost = |why| Failure::Parts(format!("part {number} of {of} ({address}): {why}"));
            failure = failure.or(why.map(lost));
        }
        failure
    }
}

/// A part that waits at gates for its coordinator.
struct Member<'a> {
    line: &'a mut Line,
    stop: &'a AtomicBool,
}

impl Watch for Member<'_> {
    fn is_stopped(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn pass(&mut self, gate: Gate) -> Result<(), Failure> {
        let said = self.line.say(&word_of(gate));
        let heard = said.and_then(|()| self.line.hear::<Word>(GATE_DEADLINE, self.stop));
        match heard {
            Ok(Word::Go) => Ok(()),
            Ok(_) => Err(Failure::Parts("the coordinator speaks of something else".into())),
            Err(error) => {
                Err(Failure::Parts(format!("the coordinator was lost: {}", words(&error))))
            }
        }
    }
}

/// Joins a coordinator and plays the part that it gives.
pub(super) fn join(address: SocketAddr, stop: &AtomicBool) -> Result<ExitCode, String> {
    let lost = |error: io::Error| format!("cannot join {address}: {}", words(&error));
    let socket = TcpStream::connect_timeout(&address, HELLO_DEADLINE).map_err(lost)?;
    let mut line = Line::new(socket).map_err(lost)?;
    line.say(&Hello { aldis: env!("CARGO_PKG_VERSION").into() }).map_err(lost)?;
    let Task { args, index, of } = line.hear(JOIN_DEADLINE, stop).map_err(lost)?;
    let (load, mode) = part(args, index, of)?;
    eprintln!("part {} of {of}: {} switches", index + 1, load.switches_here());
    let mut member = Member { line: &mut line, stop };
    if mode == ModeArg::Connect {
        let (report, failure) = load::handshakes(&load, &mut member);
        return conclude(line, report, failure);
    }
    let Outcome { report, failure } = load::measure(&load, &mut member);
    conclude(line, report, failure)
}

/// Tells the coordinator what was measured.
fn conclude(
    mut line: Line,
    report: impl Serialize,
    failure: Option<Failure>,
) -> Result<ExitCode, String> {
    let failure = failure.map(|failure| failure.to_string());
    line.say(&Finding { report, failure: failure.clone() })
        .map_err(|error| format!("the coordinator was lost: {}", words(&error)))?;
    failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// The load that the coordinator's options describe, and what is measured.
fn part(args: Vec<String>, index: u32, of: u32) -> Result<(Load, ModeArg), String> {
    let args = ["aldis".to_owned()].into_iter().chain(args);
    let Joined { load } = Joined::try_parse_from(args)
        .map_err(|error| format!("the coordinator's options are none of ours: {error}"))?;
    let load: LoadArgs = load;
    let mode = load.what();
    Ok((Load { part: Part { index, of }, ..load.load()? }, mode))
}
