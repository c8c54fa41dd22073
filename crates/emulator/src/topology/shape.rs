//! What topologies there are, how they are spelled, and what their numbers may be.

use super::builder::Builder;
use super::{
    PORTS_MAX, SWITCHES_MAX, ShapeRefusal, Topology, graphml, random, regular, rocketfuel,
};
use crate::load::rng::SplitMix64;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

/// A topology that is wanted.
///
/// `hosts` is the hosts of each switch; [`Shape::lay_out`] can be told others.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    /// `single,HOSTS`: one switch.
    Single {
        /// Its hosts.
        hosts: u32,
    },
    /// `linear,SWITCHES[,HOSTS]`: a chain.
    Linear {
        /// How long.
        switches: u32,
        /// Hosts a switch.
        hosts: u32,
    },
    /// `tree,DEPTH,FANOUT`: a tree, with hosts at its leaves.
    Tree {
        /// Levels of switches, 1 at least.
        depth: u32,
        /// Switches below each switch, hosts below the last.
        fanout: u32,
    },
    /// `ring,SWITCHES[,HOSTS]`: a circle.
    Ring {
        /// How many, 3 at least.
        switches: u32,
        /// Hosts a switch.
        hosts: u32,
    },
    /// `torus,X,Y[,HOSTS]`: a grid whose rows and columns are rings.
    Torus {
        /// Rows, 3 at least.
        x: u32,
        /// Columns, 3 at least.
        y: u32,
        /// Hosts a switch.
        hosts: u32,
    },
    /// `fat-tree,K`: k pods of k switches, (k/2)² above them, k/2 hosts at each of the lower ones
    /// (Al-Fares, Loukissas and Vahdat, 2008).
    FatTree {
        /// Ports a switch; even, 2 to 88.
        k: u32,
    },
    /// `waxman,SWITCHES[,ALPHA,BETA]`: switches at random places of a square; the nearer two of
    /// them, the likelier a link (Waxman, 1988): β·exp(−d/αL), where d is their distance and L the
    /// diagonal. What is left apart is joined by the shortest links there are.
    Waxman {
        /// How many.
        switches: u32,
        /// α and β, each above 0 and at most 1; else α is 0.1 and β such that 4 links a switch are
        /// expected.
        density: Option<(f64, f64)>,
    },
    /// `preferential,SWITCHES[,LINKS]`: each switch links to earlier ones, the likelier the more
    /// links one has (Barabási and Albert, 1999).
    Preferential {
        /// How many.
        switches: u32,
        /// Links of each new switch.
        links: u32,
    },
    /// `FILE.graphml`: a file as the Topology Zoo publishes them; every node a switch, every edge a
    /// link.
    Graphml(PathBuf),
    /// `FILE.cch` or `FILE.intra`: a map, or the links, of a provider as Rocketfuel publishes them;
    /// every router of its largest connected part a switch.
    Rocketfuel(PathBuf),
}

/// How many links a switch has where none is given: about what the Topology Zoo's have.
const LINKS_EACH: u32 = 2;

impl Shape {
    /// Makes the topology: the same one for the same seed. `hosts` is how many hosts each switch
    /// has that would have some, instead of what the shape says.
    ///
    /// # Errors
    /// A size is nonsense or too large; a file is missing or cannot be read, or the switches of a
    /// GraphML file are not all connected.
    pub fn lay_out(&self, hosts: Option<u32>, seed: u64) -> Result<Topology, ShapeRefusal> {
        self.check(hosts)?;
        let or = |usual| hosts.unwrap_or(usual);
        let mut builder = Builder::default();
        let (to, rng) = (&mut builder, &mut SplitMix64::new(seed));
        match *self {
            Shape::Single { hosts } => regular::linear(to, 1, or(hosts)),
            Shape::Linear { switches, hosts } => regular::linear(to, switches, or(hosts)),
            Shape::Tree { depth, fanout } => {
                regular::tree(to, depth, fanout, or(fanout));
            }
            Shape::Ring { switches, hosts } => regular::ring(to, switches, or(hosts)),
            Shape::Torus { x, y, hosts } => regular::torus(to, (x, y), or(hosts)),
            Shape::FatTree { k } => regular::fat_tree(to, k, or(k / 2)),
            Shape::Waxman { switches, density } => {
                random::waxman(to, switches, density, or(1), rng);
            }
            Shape::Preferential { switches, links } => {
                random::preferential(to, switches, links, or(1), rng);
            }
            Shape::Graphml(ref path) => return graphml::read(path, or(1)),
            Shape::Rocketfuel(ref path) => return rocketfuel::read(path, or(1)),
        }
        builder.finish(Vec::new())
    }

    pub(super) fn check(&self, hosts: Option<u32>) -> Result<(), ShapeRefusal> {
        let within = |shape, parameter, value: u32, range: RangeInclusive<u32>| match range
            .contains(&value)
        {
            true => Ok(()),
            false => {
                let accepted = format!("{} to {}", range.start(), range.end());
                Err(ShapeRefusal::OutOfRange { shape, parameter, accepted })
            }
        };
        let all = SWITCHES_MAX;
        hosts.map_or(Ok(()), |hosts| within("switched", "HOSTS", hosts, 0..=PORTS_MAX))?;
        match *self {
            Shape::Single { hosts } => within("single", "HOSTS", hosts, 0..=PORTS_MAX),
            Shape::Linear { switches, hosts } => {
                within("linear", "SWITCHES", switches, 1..=all)?;
                within("linear", "HOSTS", hosts, 0..=PORTS_MAX)
            }
            Shape::Tree { depth, fanout } => {
                within("tree", "DEPTH", depth, 1..=all)?;
                within("tree", "FANOUT", fanout, 1..=PORTS_MAX)
            }
            Shape::Ring { switches, hosts } => {
                within("ring", "SWITCHES", switches, 3..=all)?;
                within("ring", "HOSTS", hosts, 0..=PORTS_MAX)
            }
            Shape::Torus { x, y, hosts } => {
                within("torus", "X", x, 3..=all)?;
                within("torus", "Y", y, 3..=all)?;
                within("torus", "HOSTS", hosts, 0..=PORTS_MAX)
            }
            Shape::FatTree { k } if k % 2 == 1 => Err(ShapeRefusal::OutOfRange {
                shape: "fat-tree",
                parameter: "K",
                accepted: "even".into(),
            }),
            Shape::FatTree { k } => within("fat-tree", "K", k, 2..=88),
            Shape::Waxman { switches, density } => {
                within("waxman", "SWITCHES", switches, 1..=all)?;
                let (alpha, beta) = density.unwrap_or((1.0, 1.0));
                part("ALPHA", alpha)?;
                part("BETA", beta)
            }
            Shape::Preferential { switches, links } => {
                within("preferential", "SWITCHES", switches, 1..=all)?;
                within("preferential", "LINKS", links, 1..=100)
            }
            Shape::Graphml(_) | Shape::Rocketfuel(_) => Ok(()),
        }
    }
}

fn part(parameter: &'static str, value: f64) -> Result<(), ShapeRefusal> {
    match value > 0.0 && value <= 1.0 {
        true => Ok(()),
        false => {
            let accepted = "above 0 and at most 1".into();
            Err(ShapeRefusal::OutOfRange { shape: "waxman", parameter, accepted })
        }
    }
}

impl FromStr for Shape {
    type Err = ShapeRefusal;

    fn from_str(text: &str) -> Result<Shape, ShapeRefusal> {
        if text.ends_with(".graphml") {
            return Ok(Shape::Graphml(text.into()));
        }
        if text.ends_with(".cch") || text.ends_with(".intra") {
            return Ok(Shape::Rocketfuel(text.into()));
        }
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let numbers: Vec<&str> = parts.collect();
        let known = USAGE.iter().find(|(known, _)| *known == name);
        let &(_, usage) = known.ok_or_else(|| ShapeRefusal::Unknown(text.into()))?;
        parse(name, &numbers).ok_or_else(|| ShapeRefusal::Spelling { text: text.into(), usage })
    }
}

/// How each shape is spelled.
const USAGE: &[(&str, &str)] = &[
    ("single", "single,HOSTS, for example single,3"),
    ("linear", "linear,SWITCHES or linear,SWITCHES,HOSTS, for example linear,4"),
    ("tree", "tree,DEPTH,FANOUT, for example tree,2,3"),
    ("ring", "ring,SWITCHES or ring,SWITCHES,HOSTS, for example ring,5"),
    ("torus", "torus,X,Y or torus,X,Y,HOSTS, for example torus,3,3"),
    ("fat-tree", "fat-tree,K, for example fat-tree,4"),
    (
        "waxman",
        "waxman,SWITCHES or waxman,SWITCHES,ALPHA,BETA, for example waxman,79 or waxman,79,0.1,0.4",
    ),
    (
        "preferential",
        "preferential,SWITCHES or preferential,SWITCHES,LINKS, for example preferential,1347,2",
    ),
];

fn parse(name: &str, numbers: &[&str]) -> Option<Shape> {
    if let ("waxman", &[switches, alpha, beta]) = (name, numbers) {
        let density = Some((alpha.parse().ok()?, beta.parse().ok()?));
        return Some(Shape::Waxman { switches: switches.parse().ok()?, density });
    }
    let numbers: Vec<u32> =
        numbers.iter().map(|number| number.parse()).collect::<Result<_, _>>().ok()?;
    Some(match (name, &numbers[..]) {
        ("single", &[hosts]) => Shape::Single { hosts },
        ("linear", &[switches]) => Shape::Linear { switches, hosts: 1 },
        ("linear", &[switches, hosts]) => Shape::Linear { switches, hosts },
        ("tree", &[depth, fanout]) => Shape::Tree { depth, fanout },
        ("ring", &[switches]) => Shape::Ring { switches, hosts: 1 },
        ("ring", &[switches, hosts]) => Shape::Ring { switches, hosts },
        ("torus", &[x, y]) => Shape::Torus { x, y, hosts: 1 },
        ("torus", &[x, y, hosts]) => Shape::Torus { x, y, hosts },
        ("fat-tree", &[k]) => Shape::FatTree { k },
        ("waxman", &[switches]) => Shape::Waxman { switches, density: None },
        ("preferential", &[switches]) => Shape::Preferential { switches, links: LINKS_EACH },
        ("preferential", &[switches, links]) => Shape::Preferential { switches, links },
        _ => return None,
    })
}

/// As it is spelled.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Single { hosts } => write!(f, "single,{hosts}"),
            Shape::Linear { switches, hosts: 1 } => write!(f, "linear,{switches}"),
            Shape::Linear { switches, hosts } => write!(f, "linear,{switches},{hosts}"),
            Shape::Tree { depth, fanout } => write!(f, "tree,{depth},{fanout}"),
            Shape::Ring { switches, hosts: 1 } => write!(f, "ring,{switches}"),
            Shape::Ring { switches, hosts } => write!(f, "ring,{switches},{hosts}"),
            Shape::Torus { x, y, hosts: 1 } => write!(f, "torus,{x},{y}"),
            Shape::Torus { x, y, hosts } => write!(f, "torus,{x},{y},{hosts}"),
            Shape::FatTree { k } => write!(f, "fat-tree,{k}"),
            Shape::Waxman { switches, density: None } => write!(f, "waxman,{switches}"),
            Shape::Waxman { switches, density: Some((alpha, beta)) } => {
                write!(f, "waxman,{switches},{alpha},{beta}")
            }
            Shape::Preferential { switches, links } => write!(f, "preferential,{switches},{links}"),
            Shape::Graphml(path) | Shape::Rocketfuel(path) => write!(f, "{}", path.display()),
        }
    }
}
