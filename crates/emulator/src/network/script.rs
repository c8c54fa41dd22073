//! What is to happen in the network, and when: a line for each thing, as `5s link-down s1 s2`.
//!
//! Times count from when the network is ready. Switches are s1, s2 …, hosts h1, h2 …, as in
//! Mininet.

use crate::topology::{Topology, TopologyLink};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Most steps of a script.
pub const STEPS_MAX: usize = 10_000;
/// Most pings that one step may send.
pub const PINGS_MAX: u64 = 2_000_000;
/// The highest rate of a storm, in frames a second.
pub const STORM_RATE_MAX: u32 = 1_000_000;
/// The latest that anything may happen: a week.
const AT_MAX: f64 = 7.0 * 86_400.0;

/// Frames a second of a storm, where none is given.
const STORM_RATE: u32 = 10_000;
/// Bytes a second that a slow reader reads, where none is given.
const SLOW_RATE: u64 = 1_000;

/// A switch or a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScriptNode {
    /// `s1`, `s2` …: its number.
    Switch(u32),
    /// `h1`, `h2` …: its number.
    Host(u32),
}

/// One line of a script.
#[derive(Clone, PartialEq, Debug)]
pub struct ScriptStep {
    /// When, counted from when the network is ready.
    pub at: Duration,
    /// What.
    pub action: ScriptAction,
}

/// Something that is done to the network, or asked of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ScriptAction {
    /// All links between two nodes break; both ends see it.
    LinkDown(ScriptNode, ScriptNode),
    /// They are whole again.
    LinkUp(ScriptNode, ScriptNode),
    /// A switch loses its power: its links break, its connection ends, its flows are gone.
    SwitchGone(u32),
    /// It comes back, without flows.
    SwitchBack(u32),
    /// A switch's connection is reset; the switch goes on forwarding and connects again.
    Reset(u32),
    /// A switch reads only so many bytes a second of what the controller sends.
    SlowReader(u32, u64),
    /// It reads as ever.
    FastReader(u32),
    /// One more switch connects with the datapath id of this one.
    DuplicateDpid(u32),
    /// A host is plugged in at another switch, and says so.
    HostMove(u32, u32),
    /// A host sends so many broadcasts a second.
    Storm(u32, u32),
    /// It sends no more of them.
    Calm(u32),
    /// A host sends one broadcast; the copies that each host sees are counted.
    Broadcast(u32),
    /// A host pings another one.
    Ping {
        /// The host that asks.
        from: u32,
        /// The host that is asked.
        to: u32,
        /// Over IPv6.
        v6: bool,
    },
    /// Every host pings every other one, or so many pairs of chance do.
    PingAll {
        /// How many pairs.
        pairs: Option<u32>,
        /// Over IPv6.
        v6: bool,
    },
    /// A host pings another one a hundred times a second from now on: how long does each fault keep
    /// them apart?
    Watch {
        /// The host that asks.
        from: u32,
        /// The host that is asked.
        to: u32,
    },
}

/// What may stand behind the time.
const USAGE: &str = "link-down A B, link-up A B, switch-gone S, switch-back S, reset S, slow-reader S [BYTES/S], \
                     fast-reader S, duplicate-dpid S, host-move H S, storm H [FRAMES/S], calm H, broadcast H, ping H H, \
                     ping6 H H, pingall [PAIRS], pingall6 [PAIRS] or watch H H";

impl FromStr for ScriptStep {
    type Err = String;

    fn from_str(text: &str) -> Result<ScriptStep, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some((at, words)) = words.split_first() else {
            return Err("a time and what happens then are wanted, as 5s link-down s1 s2".into());
        };
        let at = seconds(at).ok_or_else(|| {
            format!("\"{at}\" is no time: write 5s, 250ms or 2m, at most a week, before what happens then")
        })?;
        Ok(ScriptStep { at, action: action(words)? })
    }
}

/// A length of time as a person writes it: 5s, 0.5s, 250ms, 2m.
pub fn seconds(text: &str) -> Option<Duration> {
    let split = text.find(|character: char| character.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * scale;
    (0.0..=AT_MAX).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

fn action(words: &[&str]) -> Result<ScriptAction, String> {
    let usage = || format!("\"{}\" cannot be read; there are: {USAGE}", words.join(" "));
    let (name, rest) = words.split_first().ok_or_else(usage)?;
    let number = |text: &str| text.replace('_', "").parse::<u64>().ok();
    Ok(match (*name, rest) {
        ("link-down", &[a, b]) => ScriptAction::LinkDown(node(a)?, node(b)?),
        ("link-up", &[a, b]) => ScriptAction::LinkUp(node(a)?, node(b)?),
        ("switch-gone", &[s]) => ScriptAction::SwitchGone(switch(s)?),
        ("switch-back", &[s]) => ScriptAction::SwitchBack(switch(s)?),
        ("reset", &[s]) => ScriptAction::Reset(switch(s)?),
        ("slow-reader", &[s]) => ScriptAction::SlowReader(switch(s)?, SLOW_RATE),
        ("slow-reader", &[s, rate]) => match number(rate) {
            Some(rate) if rate <= 1_000_000_000 => ScriptAction::SlowReader(switch(s)?, rate),
            _ => return Err(format!("\"{rate}\" is no rate: 0 to 1,000,000,000 bytes a second")),
        },
        ("fast-reader", &[s]) => ScriptAction::FastReader(switch(s)?),
        ("duplicate-dpid", &[s]) => ScriptAction::DuplicateDpid(switch(s)?),
        ("host-move", &[h, s]) => ScriptAction::HostMove(host(h)?, switch(s)?),
        ("storm", &[h]) => ScriptAction::Storm(host(h)?, STORM_RATE),
        ("storm", &[h, rate]) => match number(rate).and_then(|rate| u32::try_from(rate).ok()) {
            Some(rate) if (1..=STORM_RATE_MAX).contains(&rate) => {
                ScriptAction::Storm(host(h)?, rate)
            }
            _ => {
                return Err(format!(
                    "\"{rate}\" is no rate: 1 to {STORM_RATE_MAX} frames a second"
                ));
            }
        },
        ("calm", &[h]) => ScriptAction::Calm(host(h)?),
        ("broadcast", &[h]) => ScriptAction::Broadcast(host(h)?),
        ("ping", &[a, b]) => ScriptAction::Ping { from: host(a)?, to: host(b)?, v6: false },
        ("ping6", &[a, b]) => ScriptAction::Ping { from: host(a)?, to: host(b)?, v6: true },
        ("pingall" | "pingall6", pairs @ ([] | [_])) => {
            let pairs = match pairs.first() {
                None => None,
                Some(pairs) => {
                    match number(pairs).filter(|pairs| (1..=PINGS_MAX).contains(pairs)) {
                        Some(pairs) => Some(pairs as u32),
                        None => {
                            return Err(format!(
                                "\"{pairs}\" is no number of pairs: 1 to {PINGS_MAX}"
                            ));
                        }
                    }
                }
            };
            ScriptAction::PingAll { pairs, v6: *name == "pingall6" }
        }
        ("watch", &[a, b]) => ScriptAction::Watch { from: host(a)?, to: host(b)? },
        _ => return Err(usage()),
    })
}

fn node(text: &str) -> Result<ScriptNode, String> {
    let number = text.get(1..).and_then(|digits| digits.parse().ok());
    match (text.as_bytes().first(), number) {
        (Some(b's'), Some(number)) => Ok(ScriptNode::Switch(number)),
        (Some(b'h'), Some(number)) => Ok(ScriptNode::Host(number)),
        _ => Err(format!("\"{text}\" is neither a switch, as s1, nor a host, as h1")),
    }
}

fn switch(text: &str) -> Result<u32, String> {
    match node(text) {
        Ok(ScriptNode::Switch(number)) => Ok(number),
        _ => Err(format!("\"{text}\" is no switch: they are called s1, s2 and so on")),
    }
}

fn host(text: &str) -> Result<u32, String> {
    match node(text) {
        Ok(ScriptNode::Host(number)) => Ok(number),
        _ => Err(format!("\"{text}\" is no host: they are called h1, h2 and so on")),
    }
}

/// The steps of a file: one a line, `#` begins a comment.
///
/// # Errors
/// The line, from 1, and what is wrong with it.
pub fn parse(text: &str) -> Result<Vec<ScriptStep>, (usize, String)> {
    let mut steps = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if steps.len() == STEPS_MAX {
            return Err((number, format!("there are more than {STEPS_MAX} steps")));
        }
        steps.push(line.parse().map_err(|wrong| (number, wrong))?);
    }
    Ok(steps)
}

impl ScriptAction {
    /// Whether the topology has all that is named.
    pub(super) fn check(&self, topology: &Topology) -> Result<(), String> {
        match *self {
            ScriptAction::LinkDown(a, b) | ScriptAction::LinkUp(a, b) => {
                check_node(a, topology)?;
                check_node(b, topology)?;
                match links_between(topology, a, b).next().is_some() || plugged(topology, a, b) {
                    true => Ok(()),
                    false => Err(format!("there is no link between {a} and {b}")),
                }
            }
            ScriptAction::SwitchGone(s)
            | ScriptAction::SwitchBack(s)
            | ScriptAction::Reset(s)
            | ScriptAction::SlowReader(s, _)
            | ScriptAction::FastReader(s)
            | ScriptAction::DuplicateDpid(s) => check_node(ScriptNode::Switch(s), topology),
            ScriptAction::HostMove(h, s) => {
                check_node(ScriptNode::Host(h), topology)?;
                check_node(ScriptNode::Switch(s), topology)
            }
            ScriptAction::Storm(h, _) | ScriptAction::Calm(h) | ScriptAction::Broadcast(h) => {
                check_node(ScriptNode::Host(h), topology)
            }
            ScriptAction::Ping { from, to, .. } | ScriptAction::Watch { from, to } => {
                check_node(ScriptNode::Host(from), topology)?;
                check_node(ScriptNode::Host(to), topology)?;
                match from == to {
                    true => Err(format!("h{from} cannot ping itself through the network")),
                    false => Ok(()),
                }
            }
            ScriptAction::PingAll { pairs, .. } => {
                let hosts = topology.hosts().len() as u64;
                match pairs {
                    _ if hosts < 2 => {
                        Err(format!("there are {hosts} hosts, and two are needed to ping"))
                    }
                    None if hosts * (hosts - 1) > PINGS_MAX => Err(format!(
                        "{hosts} hosts are {} pairs, and at most {PINGS_MAX} are pinged: say how many, as pingall 1000",
                        hosts * (hosts - 1)
                    )),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Whether it may keep hosts apart.
    pub(super) fn is_fault(&self) -> bool {
        matches!(
            self,
            ScriptAction::LinkDown(..)
                | ScriptAction::SwitchGone(_)
                | ScriptAction::Reset(_)
                | ScriptAction::HostMove(..)
                | ScriptAction::LinkUp(..)
                | ScriptAction::SwitchBack(_)
        )
    }
}

/// The links between two switches.
pub(super) fn links_between(
    topology: &Topology,
    a: ScriptNode,
    b: ScriptNode,
) -> impl Iterator<Item = TopologyLink> {
    let pair = match (a, b) {
        (ScriptNode::Switch(a), ScriptNode::Switch(b)) => Some((a.min(b), a.max(b))),
        _ => None,
    };
    let joins = move |link: &&TopologyLink| {
        let (a, b) = (link.a.switch, link.b.switch);
        pair == Some((a.min(b), a.max(b)))
    };
    topology.links().iter().filter(joins).copied()
}

fn plugged(topology: &Topology, a: ScriptNode, b: ScriptNode) -> bool {
    match (a, b) {
        (ScriptNode::Switch(switch), ScriptNode::Host(host))
        | (ScriptNode::Host(host), ScriptNode::Switch(switch)) => {
            topology.hosts()[host as usize - 1].switch == switch
        }
        _ => false,
    }
}

fn check_node(node: ScriptNode, topology: &Topology) -> Result<(), String> {
    let (number, last, letter, what) = match node {
        ScriptNode::Switch(number) => (number, topology.switches(), 's', "switch"),
        ScriptNode::Host(number) => (number, topology.hosts().len() as u32, 'h', "host"),
    };
    match (1..=last).contains(&number) {
        true => Ok(()),
        false if last == 0 => Err(format!("there is no {what} {node}: the topology has none")),
        false => {
            Err(format!("there is no {what} {node}: the topology has {letter}1 to {letter}{last}"))
        }
    }
}

impl fmt::Display for ScriptNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptNode::Switch(number) => write!(f, "s{number}"),
            ScriptNode::Host(number) => write!(f, "h{number}"),
        }
    }
}

/// As it is written.
impl fmt::Display for ScriptAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptAction::LinkDown(a, b) => write!(f, "link-down {a} {b}"),
            ScriptAction::LinkUp(a, b) => write!(f, "link-up {a} {b}"),
            ScriptAction::SwitchGone(s) => write!(f, "switch-gone s{s}"),
            ScriptAction::SwitchBack(s) => write!(f, "switch-back s{s}"),
            ScriptAction::Reset(s) => write!(f, "reset s{s}"),
            ScriptAction::SlowReader(s, rate) => write!(f, "slow-reader s{s} {rate}"),
            ScriptAction::FastReader(s) => write!(f, "fast-reader s{s}"),
            ScriptAction::DuplicateDpid(s) => write!(f, "duplicate-dpid s{s}"),
            ScriptAction::HostMove(h, s) => write!(f, "host-move h{h} s{s}"),
            ScriptAction::Storm(h, rate) => write!(f, "storm h{h} {rate}"),
            ScriptAction::Calm(h) => write!(f, "calm h{h}"),
            ScriptAction::Broadcast(h) => write!(f, "broadcast h{h}"),
            ScriptAction::Ping { from, to, v6 } => write!(f, "ping{} h{from} h{to}", six(*v6)),
            ScriptAction::PingAll { pairs: None, v6 } => write!(f, "pingall{}", six(*v6)),
            ScriptAction::PingAll { pairs: Some(pairs), v6 } => {
                write!(f, "pingall{} {pairs}", six(*v6))
            }
            ScriptAction::Watch { from, to } => write!(f, "watch h{from} h{to}"),
        }
    }
}

fn six(v6: bool) -> &'static str {
    if v6 { "6" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Shape;
    use proptest::prelude::*;

    const EVERY: &str = "\
# A bad day.
0s pingall
0s pingall6 20
250ms watch h1 h9   # from here on
1s link-down s1 s2
2s link-up s2 s1
2s link-down s1 h1
3s switch-gone s3
4s switch-back s3
5s reset s3
6s slow-reader s3 0
7s fast-reader s3
8s duplicate-dpid s3
9s host-move h1 s5
0.5m storm h1 1000000
31s calm h1
32s broadcast h2
33s ping h1 h2
34s ping6 h2 h1
";

    #[test]
    fn every_step_is_read_as_it_is_written() {
        let steps = parse(EVERY).unwrap();
        assert_eq!(steps.len(), 19 - 1);
        assert_eq!(steps[2].at, Duration::from_millis(250));
        assert_eq!(steps[13].at, Duration::from_secs(30));
        let topology = Shape::Torus { x: 3, y: 3, hosts: 1 }.lay_out(None, 1).unwrap();
        for step in steps {
            let again: ScriptStep = format!("1s {}", step.action).parse().unwrap();
            assert_eq!(again.action, step.action);
            assert_eq!(step.action.check(&topology), Ok(()), "{}", step.action);
        }
    }

    #[test]
    fn what_cannot_be_read_is_said_with_its_line() {
        for (text, line, words) in [
            ("0s pingall\n\nlink-down s1 s2", 3, "\"link-down\" is no time"),
            ("5 pingall", 1, "\"5\" is no time"),
            ("-1s pingall", 1, "no time"),
            ("nans pingall", 1, "no time"),
            ("9999999s pingall", 1, "no time"),
            ("1s", 1, "there are: link-down A B"),
            ("1s explode", 1, "\"explode\" cannot be read"),
            ("1s link-down s1", 1, "cannot be read"),
            ("1s link-down s1 3", 1, "\"3\" is neither a switch, as s1, nor a host"),
            ("1s reset h1", 1, "\"h1\" is no switch"),
            ("1s ping s1 h1", 1, "\"s1\" is no host"),
            ("1s ping hé h1", 1, "is no host"),
            ("1s storm h1 0", 1, "no rate"),
            ("1s slow-reader s1 x", 1, "no rate"),
            ("1s pingall 0", 1, "no number of pairs"),
        ] {
            let (found, sentence) = parse(text).unwrap_err();
            assert!(found == line && sentence.contains(words), "{text}: {found}: {sentence}");
        }
        let many = "1s calm h1\n".repeat(STEPS_MAX + 1);
        assert_eq!(parse(&many).unwrap_err().0, STEPS_MAX + 1);
    }

    #[test]
    fn what_the_topology_does_not_have_is_said() {
        let topology = Shape::Linear { switches: 3, hosts: 1 }.lay_out(None, 1).unwrap();
        for (text, words) in [
            ("link-down s1 s3", "no link between s1 and s3"),
            ("link-up h1 s2", "no link between h1 and s2"),
            ("link-down h1 h2", "no link between h1 and h2"),
            ("reset s4", "no switch s4: the topology has s1 to s3"),
            ("host-move h0 s1", "no host h0: the topology has h1 to h3"),
            ("ping h2 h2", "h2 cannot ping itself"),
        ] {
            let step: ScriptStep = format!("0s {text}").parse().unwrap();
            let wrong = step.action.check(&topology).unwrap_err();
            assert!(wrong.contains(words), "{text}: {wrong}");
        }
        let all = ScriptAction::PingAll { pairs: None, v6: false };
        let one = Shape::Single { hosts: 1 }.lay_out(None, 1).unwrap();
        assert!(all.check(&one).unwrap_err().contains("two are needed"));
        let many = Shape::Linear { switches: 1000, hosts: 2 }.lay_out(None, 1).unwrap();
        assert!(all.check(&many).unwrap_err().contains("say how many"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9]{0,3}(ms|s|m|é)? ?(link-down|storm|pingall|ping|reset)?( [shé]?[0-9]{0,12}){0,3}") {
            let _ = parse(&text);
        }
    }
}
