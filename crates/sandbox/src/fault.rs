//! Why an application failed.

use std::fmt;

use wasmtime::Trap;

/// A failure of an application, in words that an operator can act on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What kind.
    pub kind: FaultKind,
    /// More about it, and the last line that the application wrote to its log, if it wrote any.
    pub reason: String,
}

/// The kinds of failures, each of which is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FaultKind {
    /// The component trapped, for example because of a panic or an exception.
    Trap,
    /// A call took longer than the manifest allows.
    Time,
    /// It asked for more memory than the manifest allows.
    Memory,
    /// It asked for larger tables than the manifest allows.
    Table,
    /// It returned more commands than its limits allow.
    Flood,
    /// It returned bytes that are no commands.
    Garbage,
    /// It could not be instantiated, or refused to start.
    Start,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [FaultKind; 7] = [
        FaultKind::Trap,
        FaultKind::Time,
        FaultKind::Memory,
        FaultKind::Table,
        FaultKind::Flood,
        FaultKind::Garbage,
        FaultKind::Start,
    ];

    /// The name by which it is shown.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Trap => "trap",
            FaultKind::Time => "time",
            FaultKind::Memory => "memory",
            FaultKind::Table => "table",
            FaultKind::Flood => "flood",
            FaultKind::Garbage => "garbage",
            FaultKind::Start => "start",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.reason)
    }
}

impl std::error::Error for Fault {}

impl Fault {
    pub(crate) fn new(kind: FaultKind, reason: impl Into<String>) -> Fault {
        Fault { kind, reason: reason.into() }
    }

    /// What a call ended with. `allowed_ms` is the time that it had.
    pub(crate) fn of(error: &wasmtime::Error, allowed_ms: u64) -> Fault {
        if let Some(fault) = error.downcast_ref::<Fault>() {
            return fault.clone();
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::Interrupt) => {
                Fault::new(FaultKind::Time, format!("longer than {allowed_ms} ms for one call"))
            }
            Some(trap) => Fault::new(FaultKind::Trap, trap.to_string()),
            None => Fault::new(FaultKind::Trap, error.root_cause().to_string()),
        }
    }

    /// With the last line of the application's log.
    pub(crate) fn after(mut self, line: Option<&str>) -> Fault {
        if let Some(line) = line {
            self.reason += "; its last line was: ";
            self.reason += line;
        }
        self
    }
}
