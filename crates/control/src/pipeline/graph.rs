//! The graph of the applications and the parts that they read and publish, and whether it can work.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::app_set::{AppEntry, AppSet, Listed, Sequence};
use super::sequences::{told_branches, told_orders};
use crate::app::EventKind;
use crate::world::{AnyPublisher, PartId};

/// The places of the applications that see each kind of event, in order.
pub(super) type Orders = [Box<[usize]>; EventKind::ALL.len()];

type Makers = Vec<Box<dyn AnyPublisher>>;

/// Why applications cannot work together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AppSetError {
    /// An application is there twice.
    Twice(&'static str),
    /// A sequence names an application that is not there.
    Unknown {
        /// The place of the sequence among all.
        sequence: usize,
        /// The name.
        app: String,
        /// The applications that are there.
        known: Vec<&'static str>,
    },
    /// A sequence names an application that does not start on its event.
    Deaf {
        /// The place of the sequence among all.
        sequence: usize,
        /// The application.
        app: &'static str,
        /// The event.
        kind: EventKind,
        /// The events that it starts on.
        starts: &'static [EventKind],
    },
    /// A sequence names an application twice.
    Repeated {
        /// The place of the sequence among all.
        sequence: usize,
        /// The application.
        app: &'static str,
    },
    /// Sequences on one event contradict each other.
    Contrary {
        /// The place among all of the first that contradicts those before it.
        sequence: usize,
        /// The event.
        kind: EventKind,
        /// Applications that each come before the next one, and the last before the first.
        apps: Vec<&'static str>,
    },
    /// A part is read that no application publishes.
    Unpublished {
        /// The application that reads it, itself or by its publisher.
        app: &'static str,
        /// The part.
        part: &'static str,
    },
    /// Two publish the same part.
    Rivals {
        /// The part.
        part: &'static str,
        /// The applications.
        apps: [&'static str; 2],
    },
    /// Parts are made of each other in a circle.
    Circle(Vec<&'static str>),
}

impl AppSetError {
    /// The place of the sequence that is wrong, among all, in the order in which they were added;
    /// none where it is no sequence.
    pub fn sequence(&self) -> Option<usize> {
        match self {
            AppSetError::Unknown { sequence, .. }
            | AppSetError::Deaf { sequence, .. }
            | AppSetError::Repeated { sequence, .. }
            | AppSetError::Contrary { sequence, .. } => Some(*sequence),
            AppSetError::Twice(_)
            | AppSetError::Unpublished { .. }
            | AppSetError::Rivals { .. }
            | AppSetError::Circle(_) => None,
        }
    }
}

impl fmt::Display for AppSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AppSetError::Twice(app) => {
                write!(f, "the application \"{app}\" is there twice: name it once")
            }
            AppSetError::Unknown { app, known, .. } => write!(
                f,
                "there is no application \"{app}\" here; those that run are: {}",
                known.join(", ")
            ),
            AppSetError::Deaf { app, kind, starts, .. } => write!(
                f,
                "the application \"{app}\" does not start on \"{kind}\"; it starts on: {}",
                starts.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
            ),
            AppSetError::Repeated { app, .. } => {
                write!(f, "the application \"{app}\" is twice in one sequence: name it once")
            }
            AppSetError::Contrary { kind, apps, .. } => {
                write!(f, "the sequences on \"{kind}\" go in a circle: ")?;
                apps.iter().try_for_each(|app| write!(f, "\"{app}\" before "))?;
                write!(f, "\"{}\"", apps.first().copied().unwrap_or_default())
            }
            AppSetError::Unpublished { app, part } => write!(
                f,
                "the application \"{app}\" reads \"{part}\", which no application publishes: add the one that does \
                 (\"aldis apps\" says which), or leave \"{app}\" out"
            ),
            AppSetError::Rivals { part, apps: [one, other] } => write!(
                f,
                "the applications \"{one}\" and \"{other}\" both publish \"{part}\": leave one of them out"
            ),
            AppSetError::Circle(parts) => {
                write!(f, "the parts of the World are made of each other in a circle: ")?;
                parts.iter().try_for_each(|part| write!(f, "{part} of "))?;
                f.write_str(parts.first().copied().unwrap_or_default())
            }
        }
    }
}

impl core::error::Error for AppSetError {}

/// The applications and the parts of the World, for people to look at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    /// The applications, in the order in which they were added.
    pub apps: Vec<AppNode>,
    /// The parts, each behind those that it is made of.
    pub parts: Vec<PartNode>,
    /// The order of the applications for each kind of event that any of them starts on.
    pub sequences: Vec<(EventKind, Vec<&'static str>)>,
    /// The sequences as they were told, for each kind of event that has several: branches, which
    /// join where they name the same application.
    pub branches: Vec<(EventKind, Vec<Vec<&'static str>>)>,
}

/// An application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppNode {
    /// Its name.
    pub name: &'static str,
    /// Whether it runs from the start.
    pub runs: bool,
    /// The events that it starts on.
    pub starts: &'static [EventKind],
    /// The parts that it reads.
    pub reads: Vec<&'static str>,
    /// The parts that it publishes.
    pub publishes: Vec<&'static str>,
    /// Whether it is alone with a switch.
    pub exclusive: bool,
}

/// A part of the World.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartNode {
    /// Its name.
    pub name: &'static str,
    /// The application that publishes it.
    pub publisher: &'static str,
    /// The parts that it is made of.
    pub made_of: Vec<&'static str>,
}

impl AppSet {
    /// Which application reads and publishes which parts, and the order for each kind of event.
    ///
    /// # Errors
    /// As [`AppSet::build`].
    pub fn graph(&self) -> Result<Graph, AppSetError> {
        let (orders, makers) = self.check()?;
        let sequence = |kind: EventKind| {
            let indices = orders[kind as usize].iter();
            (kind, indices.map(|&index| self.apps[index].app.name).collect::<Vec<_>>())
        };
        Ok(Graph {
            apps: self.apps.iter().map(Listed::node).collect(),
            parts: makers.iter().map(|maker| self.part(maker.as_ref())).collect(),
            sequences: EventKind::ALL
                .map(sequence)
                .into_iter()
                .filter(|(_, of)| !of.is_empty())
                .collect(),
            branches: told_branches(&self.running(), &self.sequences, |_| true),
        })
    }

    /// The order for each event, and the publishers in the order in which they work.
    pub(super) fn check(&self) -> Result<(Orders, Makers), AppSetError> {
        for (index, app) in self.entries().enumerate() {
            if self.entries().take(index).any(|other| other.name == app.name) {
                return Err(AppSetError::Twice(app.name));
            }
        }
        Ok((self.orders()?, self.makers()?))
    }

    fn orders(&self) -> Result<Orders, AppSetError> {
        let runs = |at: &usize| self.apps[*at].runs;
        let usual = |kind: EventKind| {
            let starts = |(at, app): (usize, &AppEntry)| app.starts.contains(&kind).then_some(at);
            self.entries().enumerate().filter_map(starts).filter(runs).collect()
        };
        let mut orders = EventKind::ALL.map(usual);
        // What does not run is named by mistake.
        for (kind, order) in told_orders(&self.running(), &self.sequences)? {
            orders[kind as usize] = order.into();
        }
        Ok(orders)
    }

    /// The applications that run, each with its place.
    fn running(&self) -> Vec<(usize, &AppEntry)> {
        self.entries().enumerate().filter(|(at, _)| self.apps[*at].runs).collect()
    }

    /// The applications that run, which publish and read.
    fn runs(&self) -> impl Iterator<Item = &AppEntry> {
        self.apps.iter().filter(|listed| listed.runs).map(|listed| &*listed.app)
    }

    /// All publishers, each behind those whose parts it reads.
    fn makers(&self) -> Result<Makers, AppSetError> {
        let mut makers: Vec<(&'static str, Box<dyn AnyPublisher>)> = Vec::new();
        for app in self.runs() {
            for maker in (app.publishers)().0 {
                let rival = makers.iter().find(|(_, other)| other.part() == maker.part());
                if let Some((other, _)) = rival {
                    return Err(AppSetError::Rivals {
                        part: maker.part().name,
                        apps: [other, app.name],
                    });
                }
                makers.push((app.name, maker));
            }
        }
        let reads = makers.iter().map(|(app, maker)| (*app, maker.reads()));
        let reads = self.runs().map(|app| (app.name, app.reads)).chain(reads);
        for (app, part) in reads.flat_map(|(app, reads)| reads.iter().map(move |part| (app, *part)))
        {
            if !makers.iter().any(|(_, maker)| maker.part() == part) {
                return Err(AppSetError::Unpublished { app, part: part.name });
            }
        }
        sorted(makers.into_iter().map(|(_, maker)| maker).collect())
    }

    fn part(&self, maker: &dyn AnyPublisher) -> PartNode {
        let id = maker.part();
        let publishes = |app: &&AppEntry| (app.publishers)().0.iter().any(|it| it.part() == id);
        PartNode {
            name: id.name,
            publisher: self.runs().find(publishes).map_or("", |app| app.name),
            made_of: names(maker.reads()),
        }
    }
}

impl Listed {
    fn node(&self) -> AppNode {
        let publishers = (self.app.publishers)().0;
        AppNode {
            name: self.app.name,
            runs: self.runs,
            starts: self.app.starts,
            reads: names(self.app.reads),
            publishes: publishers.iter().map(|maker| maker.part().name).collect(),
            exclusive: self.app.exclusive,
        }
    }
}

/// The places that a sequence names, the one of this number among all. `all` are the applications,
/// each with its place.
pub(super) fn order_of(
    all: &[(usize, &AppEntry)],
    number: usize,
    sequence: &Sequence,
) -> Result<Vec<usize>, AppSetError> {
    let (kind, sequence, names) = (sequence.kind, number, &sequence.apps);
    let mut order = Vec::new();
    for name in names {
        let Some((at, app)) = all.iter().find(|(_, app)| app.name == *name) else {
            let known = all.iter().map(|(_, app)| app.name).collect();
            return Err(AppSetError::Unknown { sequence, app: name.clone(), known });
        };
        let AppEntry { name, starts, .. } = **app;
        if !starts.contains(&kind) {
            return Err(AppSetError::Deaf { sequence, app: name, kind, starts });
        }
        if order.contains(at) {
            return Err(AppSetError::Repeated { sequence, app: name });
        }
        order.push(*at);
    }
    Ok(order)
}

fn names(parts: &[PartId]) -> Vec<&'static str> {
    parts.iter().map(|part| part.name).collect()
}

/// The first come first that need none of those that are left.
fn sorted(mut left: Makers) -> Result<Makers, AppSetError> {
    let mut sorted = Vec::new();
    while !left.is_empty() {
        match (0..left.len()).find(|&index| need(&left, index).is_none()) {
            Some(index) => sorted.push(left.remove(index)),
            None => return Err(AppSetError::Circle(circle(&left))),
        }
    }
    Ok(sorted)
}

/// One of those that the one in this place needs.
fn need(makers: &[Box<dyn AnyPublisher>], index: usize) -> Option<usize> {
    makers.iter().position(|other| makers[index].reads().contains(&other.part()))
}

/// Where each needs one of the others: one circle of them.
fn circle(left: &[Box<dyn AnyPublisher>]) -> Vec<&'static str> {
    let mut way = Vec::new();
    let mut at = 0;
    while !way.contains(&at) {
        way.push(at);
        at = need(left, at).unwrap_or(0);
    }
    let begin = way.iter().position(|&index| index == at).unwrap_or(0);
    way[begin..].iter().map(|&index| left[index].part().name).collect()
}
