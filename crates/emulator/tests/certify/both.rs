//! One program on both switches, and what came of each step.

use super::corpus_ports::restored;
use super::ovs::{Ovs, PORTS};
use super::seen::{CertifySeen, seen};
use super::step::CertifyStep;
use super::step::Site;
use aldis_emulator::datapath::{Datapath, PortSpec, Sink};
use aldis_emulator::peer::bare;
use aldis_wire::v13::bucket::GroupNo;
use aldis_wire::v13::group_mod::{GroupMod, GroupModCommand, GroupType};
use aldis_wire::v13::meter_mod::{MeterFlags, MeterMod, MeterModCommand, MeterNo};
use aldis_wire::{Chop, DatapathId, Version, v10, v13};
use std::path::PathBuf;
use std::sync::Once;
use std::time::{Duration, Instant};

/// How long a FLOW_REMOVED may take before it counts as missing.
const REMOVALS_WAIT: Duration = Duration::from_secs(10);

/// What came of each step.
pub(crate) type StepOutcomes = Vec<Vec<CertifySeen>>;

/// Both switches.
pub(crate) struct BothSwitches {
    version: Version,
    site: Site,
    ovs: Ovs,
}

/// Shows the program on which Open vSwitch ended itself, and what it said last, once: those that
/// follow find it gone.
struct LastWords<'a>(&'a [CertifyStep], PathBuf);

impl Drop for LastWords<'_> {
    fn drop(&mut self) {
        static SHOWN: Once = Once::new();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.1).unwrap_or_default();
            let last: Vec<&str> = log.lines().rev().take(LAST_WORDS).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            SHOWN.call_once(|| {
                eprintln!("the last program of Open vSwitch: {:#?}", self.0);
                eprintln!("what it said last:\n{}", last.join("\n"));
            });
        }
    }
}

/// So many lines of its log.
const LAST_WORDS: usize = 30;

/// What the emulated switch sends.
#[derive(Default)]
struct EmulatedOutput {
    version: Option<Version>,
    seen: Vec<CertifySeen>,
}

impl Sink for EmulatedOutput {
    fn to_controller(&mut self, message: &[u8]) {
        let version = self.version.expect("a version");
        self.seen.extend(seen(version, message));
    }

    fn to_port(&mut self, port: u32, frame: &[u8]) {
        self.seen.push(CertifySeen::Frame(port, frame.to_vec()));
    }
}

impl BothSwitches {
    pub(crate) fn start(version: Version) -> BothSwitches {
        let ovs = Ovs::start(version);
        let site = Site { version, addresses: ovs.addresses.clone() };
        BothSwitches { version, site, ovs }
    }

    /// With a clock that stands still but for [`CertifyStep::Pause`].
    pub(crate) fn start_at_rest(version: Version) -> BothSwitches {
        let mut both = BothSwitches::start(version);
        both.ovs.ctl.call("time/stop", &[]);
        both
    }

    /// Whether a program does the same on both; the report of the difference if not. A difference
    /// has to come twice.
    pub(crate) fn agree(&mut self, program: &[CertifyStep]) -> Result<(), String> {
        let _last_words = LastWords(program, self.ovs.log());
        self.compare(program).or_else(|_| self.compare(program))
    }

    /// At the end both are made empty again, which is part of what is compared.
    fn compare(&mut self, program: &[CertifyStep]) -> Result<(), String> {
        let program = [program, &reset(self.version, program)].concat();
        let mut ours = emulated(&self.site, &program);
        let our_removals = removals(&mut ours);
        let mut theirs = self.real_steps(&program);
        let their_removals = self.removals(&mut theirs, our_removals.len());
        let differ = (0..program.len()).find(|at| ours[*at] != theirs[*at]);
        if let Some(at) = differ {
            return Err(report(&program, at, &ours[at], &theirs[at]));
        }
        if our_removals != their_removals {
            return Err(report(&program, program.len() - 1, &our_removals, &their_removals));
        }
        Ok(())
    }

    /// The FLOW_REMOVEDs of a program, which a thread of Open vSwitch's own sends when it finds the
    /// time: so many are waited for.
    fn removals(&mut self, outcome: &mut StepOutcomes, expected: usize) -> Vec<CertifySeen> {
        let deadline = Instant::now() + REMOVALS_WAIT;
        let mut all = removals(outcome);
        while all.len() < expected && Instant::now() < deadline {
            self.ovs.ctl.turn();
            let mut more = vec![self.collect(&mut Vec::new())];
            all.extend(removals(&mut more));
        }
        all.sort();
        all
    }

    fn real_steps(&mut self, program: &[CertifyStep]) -> StepOutcomes {
        let mut outcome = vec![Vec::new(); program.len()];
        let mut at = 0;
        while at < program.len() {
            let messages = together(&program[at..]);
            if messages > 0 {
                self.real_messages(at, &program[at..at + messages], &mut outcome);
                at += messages;
            } else {
                match (&program[at], program[at].frame()) {
                    (_, Some((port, bytes))) => self.ovs.frame(port, &bytes),
                    (CertifyStep::Wait(seconds), _) => self.ovs.wait(*seconds),
                    (CertifyStep::Pause(ms), _) => self.ovs.pause(*ms),
                    _ => {}
                }
                outcome[at] = self.collect(&mut Vec::new());
                at += 1;
            }
        }
        outcome
    }

    /// Messages that stand together are sent together; what answers none of them counts as the last
    /// one's.
    fn real_messages(&mut self, first: usize, steps: &[CertifyStep], outcome: &mut StepOutcomes) {
        self.ovs.ctl.call("revalidator/purge", &[]);
        let mut sent = Vec::new();
        for (number, step) in (first as u32..).zip(steps) {
            sent.extend(step.message(&self.site, number).expect("a message"));
        }
        self.ovs.peer.send(&sent).expect("the bridge reads");
        let mut before = Vec::new();
        self.barrier(&mut before);
        self.ovs.ctl.turn();
        let last = first + steps.len() - 1;
        for one in self.collect(&mut before) {
            let at = match &one {
                CertifySeen::Answer(number, _) => *number as usize,
                _ => last,
            };
            outcome[at].push(one);
        }
        // Packets that follow must meet the flows, and the ports, as they are now.
        self.ovs.ctl.turn();
        self.ovs.ctl.call("revalidator/purge", &[]);
    }

    /// Everything that has come, `before` included.
    fn collect(&mut self, before: &mut Vec<CertifySeen>) -> Vec<CertifySeen> {
        self.barrier(before);
        let mut all = std::mem::take(before);
        all.extend(
            self.ovs.left().into_iter().map(|(port, frame)| CertifySeen::Frame(port, frame)),
        );
        in_order(all)
    }

    fn barrier(&mut self, into: &mut Vec<CertifySeen>) {
        let (request, reply) = match self.version {
            Version::V10 => (18, 19),
            Version::V13 => (20, 21),
        };
        self.ovs.peer.send(&bare(self.version, request, u32::MAX)).expect("the bridge reads");
        loop {
            let message = self.ovs.peer.receive().expect("the bridge answers");
            if message[1] == reply {
                return;
            }
            into.extend(seen(self.version, &message));
        }
    }
}

/// How many messages a program begins with that are sent together. A change of a port is the last
/// of them: Open vSwitch lets it have its effect a turn later.
fn together(program: &[CertifyStep]) -> usize {
    let messages = program.iter().take_while(|step| step.is_message());
    let port = messages.clone().position(|step| matches!(step, CertifyStep::Port { .. }));
    port.map_or(messages.count(), |at| at + 1)
}

/// The program on the emulated switch.
fn emulated(site: &Site, program: &[CertifyStep]) -> StepOutcomes {
    let version = site.version;
    let port = |number: u32| PortSpec {
        number,
        address: site.addresses[number as usize - 1],
        name: format!("p{number}"),
    };
    let ports: Vec<PortSpec> = (1..=PORTS).map(port).collect();
    let mut switch = Datapath::new(version, DatapathId(0xc1), &ports);
    let mut now = Duration::from_secs(1000);
    let mut outcome: StepOutcomes = Vec::new();
    let mut pending = Vec::new();
    for (at, step) in program.iter().enumerate() {
        let mut out = EmulatedOutput { version: Some(version), seen: Vec::new() };
        match (step.message(site, at as u32), step.frame()) {
            (Some(bytes), _) => {
                for raw in Chop::new(&bytes) {
                    switch.message(raw.expect("whole messages").bytes, now, &mut out);
                }
                let is_last = together(&program[at..]) == 1;
                let (answers, others): (Vec<CertifySeen>, Vec<CertifySeen>) =
                    out.seen.into_iter().partition(|one| matches!(one, CertifySeen::Answer(..)));
                pending.extend(others);
                let mut all = answers;
                if is_last {
                    all.append(&mut pending);
                }
                outcome.push(in_order(all));
            }
            (None, Some((port, bytes))) => {
                switch.frame(port, &bytes, now, &mut out);
                outcome.push(in_order(out.seen));
            }
            (None, None) => {
                now += match step {
                    CertifyStep::Wait(seconds) => Duration::from_secs(u64::from(*seconds)),
                    CertifyStep::Pause(ms) => Duration::from_millis(u64::from(*ms)),
                    _ => Duration::ZERO,
                };
                switch.expire(now, &mut out);
                outcome.push(in_order(out.seen));
            }
        }
    }
    outcome
}

/// Takes the FLOW_REMOVEDs out of an outcome: which step they come with does not matter.
fn removals(outcome: &mut StepOutcomes) -> Vec<CertifySeen> {
    let is = |one: &mut CertifySeen| matches!(one, CertifySeen::Removed(_));
    let mut all: Vec<CertifySeen> =
        outcome.iter_mut().flat_map(|step| step.extract_if(.., is)).collect();
    all.sort();
    all
}

/// By kind, and by port: the order among ports does not matter.
fn in_order(mut all: Vec<CertifySeen>) -> Vec<CertifySeen> {
    all.sort_by_key(|one| match one {
        CertifySeen::Frame(port, _) => (0, *port),
        CertifySeen::Status(port, _) => (1, *port),
        CertifySeen::Said(_) | CertifySeen::Removed(_) => (2, 0),
        CertifySeen::Answer(number, _) => (3, *number),
    });
    all
}

/// What makes a switch empty again behind a program.
fn reset(version: Version, program: &[CertifyStep]) -> Vec<CertifyStep> {
    let ports = program.iter().any(|step| matches!(step, CertifyStep::Port { .. }));
    let ports = if ports { restored(version) } else { Vec::new() };
    let rest = match version {
        Version::V10 => vec![
            CertifyStep::V10(v10::Message::FlowMod(v10::FlowMod {
                command: v10::FlowModCommand::DELETE,
                ..super::corpus_v10::flow(v10::Match::ANY, 0, vec![])
            })),
            CertifyStep::V10(v10::Message::SetConfig(v10::SwitchConfig {
                flags: v10::ConfigFlags::FRAG_NORMAL,
                miss_send_len: 128,
            })),
        ],
        Version::V13 => vec![
            CertifyStep::V13(v13::Message::FlowMod(v13::flow_mod::FlowMod {
                command: v13::flow_mod::FlowModCommand::DELETE,
                table_id: v13::table_mod::TableNo::ALL,
                ..super::corpus_v13::flow(0, 0, vec![], vec![])
            })),
            // The flows first: Open vSwitch 3.1 ends itself when a flow loses two groups at once.
            CertifyStep::V13(v13::Message::GroupMod(GroupMod {
                command: GroupModCommand::DELETE,
                kind: GroupType::ALL,
                group_id: GroupNo::ALL,
                buckets: vec![],
            })),
            CertifyStep::V13(v13::Message::MeterMod(MeterMod {
                command: MeterModCommand::DELETE,
                flags: MeterFlags::EMPTY,
                meter_id: MeterNo::ALL,
                bands: vec![],
            })),
            CertifyStep::V13(v13::Message::SetConfig(v13::config::SwitchConfig {
                flags: v13::config::ConfigFlags::NORMAL,
                miss_send_len: 128,
            })),
        ],
    };
    [rest, ports].concat()
}

fn report(
    program: &[CertifyStep],
    at: usize,
    ours: &[CertifySeen],
    theirs: &[CertifySeen],
) -> String {
    use std::fmt::Write;
    let mut text = String::from("the emulated switch and Open vSwitch differ\n");
    for (number, step) in program[..=at].iter().enumerate() {
        let _ = writeln!(text, "  {number}: {step:?}");
    }
    for (who, seen) in [("emulated", ours), ("Open vSwitch", theirs)] {
        let _ = writeln!(text, "{who}, of step {at}:");
        for one in seen {
            let _ = writeln!(text, "      {one:?}");
        }
        if seen.is_empty() {
            let _ = writeln!(text, "      nothing");
        }
    }
    text
}

/// A case of a corpus: its name and its program.
pub(crate) type Case = (&'static str, Vec<CertifyStep>);

/// Every case on both; all differences at the end.
pub(crate) fn run_corpus(mut both: BothSwitches, cases: Vec<Case>) {
    let count = cases.len();
    let different = cases.into_iter().filter_map(|(name, program)| {
        both.agree(&program).err().map(|report| format!("{name}: {report}"))
    });
    let different: Vec<String> = different.collect();
    assert!(
        different.is_empty(),
        "{} of {count} differ\n\n{}",
        different.len(),
        different.join("\n")
    );
}
