//! Why there is no such topology, said so that a person knows what to write instead.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a [`super::Shape`] could not be read or laid out.
#[derive(Debug)]
pub enum ShapeRefusal {
    /// No shape is spelled like this.
    Unknown(String),
    /// A shape with too few, too many or unreadable parameters.
    Spelling {
        /// What was written.
        text: String,
        /// How the shape is spelled.
        usage: &'static str,
    },
    /// A parameter is out of its range.
    OutOfRange {
        /// The shape.
        shape: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What it accepts.
        accepted: String,
    },
    /// All its parameters are good, and together they are too much.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many at most.
        max: usize,
    },
    /// A switch would have too many ports.
    Ports {
        /// The switch.
        switch: u32,
        /// How many ports at most.
        max: u32,
    },
    /// A file could not be read.
    File {
        /// The topology's file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// What a file says is wrong.
    Line {
        /// The topology's file.
        path: PathBuf,
        /// The line, from 1.
        line: u32,
        /// What is wrong with it.
        wrong: String,
    },
}

impl fmt::Display for ShapeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeRefusal::Unknown(text) => write!(
                f,
                "there is no topology \"{text}\": write single, linear, tree, ring, torus, fat-tree, waxman or preferential \
                 with its numbers, as torus,3,3, or the path of a file that ends in .graphml, .cch or .intra"
            ),
            ShapeRefusal::Spelling { text, usage } => {
                write!(f, "the topology \"{text}\" cannot be read: write {usage}")
            }
            ShapeRefusal::OutOfRange { shape, parameter, accepted } => {
                write!(f, "{parameter} of a {shape} topology must be {accepted}")
            }
            ShapeRefusal::TooMany { what, max } => {
                write!(f, "the topology would have more than {max} {what}, which is the most")
            }
            ShapeRefusal::Ports { switch, max } => write!(
                f,
                "switch s{switch} of the topology would have more than {max} ports, which is the most"
            ),
            ShapeRefusal::File { path, error } => {
                write!(f, "{}: the topology cannot be read: {error}", path.display())
            }
            ShapeRefusal::Line { path, line, wrong } => {
                write!(f, "{}:{line}: {wrong}", path.display())
            }
        }
    }
}

impl std::error::Error for ShapeRefusal {}
