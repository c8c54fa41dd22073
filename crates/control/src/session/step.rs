//! What a session says to the engine: what happened ([`Step`]), what it wants to be told
//! ([`Admission`]) and why it ended ([`Close`]).

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use aldis_wire::msg::PortChange;
use aldis_wire::{DatapathId, Header, Malformed, Raw, Reason, Version};

use super::codec::{self, ErrorMessage, Incoming};
use super::negotiate::Versions;
use crate::app::Event;
use crate::switch::SwitchInfo;

/// What is wrong with a message that is no error.
const NO_ERROR: Malformed = Malformed { field: "header.type", offset: 1, reason: Reason::BadType };

/// What came of a message or of the time that passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Nothing that the engine or an application has to know.
    Nothing,
    /// The switch named its datapath id. The handshake rests until the engine has asked which other
    /// connections claim that id, and answers with [`super::Session::admit`].
    Identified {
        /// Its name.
        dpid: DatapathId,
        /// 0 for the main connection (always, in 1.0), else the number of an auxiliary one.
        auxiliary_id: u8,
    },
    /// The handshake is done: the switch can be programmed. Comes once, and never on an auxiliary
    /// connection.
    Up(SwitchInfo),
    /// The switch was held back ([`super::Session::hold`]), and is served from now on.
    Served {
        /// What happened to its ports meanwhile, in order.
        changes: Vec<PortChange>,
        /// Whether the time for it passed ([`super::Config::joining_within`]), and applications
        /// still hold it back.
        late: bool,
    },
    /// An auxiliary connection is ready: its PACKET_INs are those of the main connection's switch.
    AuxiliaryUp {
        /// The name it shares with its main connection.
        dpid: DatapathId,
        /// Its number, not 0.
        auxiliary_id: u8,
    },
    /// Something for the applications. Only after [`Step::Up`].
    Event(Event),
    /// How a request of ours ended.
    Reply {
        /// The request's transaction id.
        xid: u32,
        /// What came of it.
        answer: Answer,
    },
    /// The switch refused something, or complains.
    SwitchError(Box<SwitchError>),
    /// The probe ([`super::Session::probe`]) was answered: this connection keeps its switch.
    ProbeAnswered,
    /// The probe was not answered: the connection is to end ([`Close::Superseded`]) if another one
    /// still waits for its switch.
    ProbeUnanswered,
}

/// How a request ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The switch did it, and everything that was sent before it.
    Done,
    /// The switch refused.
    Refused(Box<SwitchError>),
    /// The switch did not answer in time.
    TooLate,
}

/// What the engine decided about an identified connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// It is the switch's main connection.
    Main,
    /// It is an auxiliary connection of a switch that is connected.
    Auxiliary,
    /// It cannot stay.
    Refused(Refusal),
}

/// Why a connection was not admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Another connection holds the datapath id, and it answered when asked.
    AlreadyConnected,
    /// Another connection with the same datapath id is waiting for the same decision.
    AnotherWaits,
    /// A certificate proved the datapath id, and this connection has none.
    NotProved,
    /// An auxiliary connection without a main one to join.
    NoMain,
    /// The switch has as many auxiliary connections as one may have.
    TooManyAuxiliaries,
    /// The controller is shutting down or has no room.
    Full,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::AlreadyConnected => {
                "another connection has the same datapath id and is alive: give one of the two switches another id"
            }
            Refusal::AnotherWaits => {
                "another connection with the same datapath id is being decided on: the switch may try again"
            }
            Refusal::NotProved => {
                "its datapath id is that of a switch that came with a certificate, and it has none: have the switch connect with \
                 ssl:, to the port of --tls-listen (until the controller is started anew)"
            }
            Refusal::NoMain => {
                "an auxiliary connection came before its main connection: the switch may try again"
            }
            Refusal::TooManyAuxiliaries => {
                "the switch has as many auxiliary connections as one switch may have"
            }
            Refusal::Full => "the controller takes no more switches",
        })
    }
}

/// An error that the switch sent, made readable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchError {
    /// The switch, once it said its name.
    pub dpid: Option<DatapathId>,
    /// The transaction id: that of the message it is about.
    pub xid: u32,
    /// Type and code of the error, by their names in the specification.
    pub name: String,
    /// The type of the message it is about, by its name, where the switch sent enough of it back.
    pub about: Option<&'static str>,
    /// What it means and what can be done.
    pub hint: &'static str,
    /// The beginning of the message itself, [`SwitchError::SENT_MAX`] bytes at most.
    pub sent: Vec<u8>,
}

impl SwitchError {
    /// Bytes of the message that are kept: its header, type and code, and the 64 bytes that a
    /// switch has to send back (1.3.5 §7.4.4).
    pub const SENT_MAX: usize = 76;

    /// The beginning of a message, as it is kept.
    pub(crate) fn beginning(bytes: &[u8]) -> Vec<u8> {
        Vec::from(&bytes[..bytes.len().min(SwitchError::SENT_MAX)])
    }

    /// Whether a flow was refused because there is no room for another: the switch is in order, and
    /// its table is full.
    pub fn is_table_full(&self) -> bool {
        // As 1.3 and 1.0 call it.
        self.name.ends_with("/OFPFMFC_TABLE_FULL")
            || self.name.ends_with("/OFPFMFC_ALL_TABLES_FULL")
    }

    /// Reads a whole ERROR message of this switch, which speaks `version` with us.
    ///
    /// # Errors
    /// It is no ERROR message, or a malformed one.
    pub fn read(
        version: Version,
        dpid: DatapathId,
        bytes: &[u8],
    ) -> Result<SwitchError, Malformed> {
        let header = Header::peek(bytes)?.ok_or(NO_ERROR)?;
        match codec::hear(version, Raw { header, bytes })? {
            Incoming::Error(ErrorMessage { name, about, hint, .. }) => {
                let (dpid, xid) = (Some(dpid), header.xid);
                let sent = SwitchError::beginning(bytes);
                Ok(SwitchError { dpid, xid, name, about, hint, sent })
            }
            _ => Err(NO_ERROR),
        }
    }
}

/// "switch 00…01 refused FLOW_MOD (xid 0x1000007): OFPFMFC_…; hint".
impl fmt::Display for SwitchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dpid {
            Some(dpid) => write!(f, "switch {dpid}")?,
            None => f.write_str("the switch")?,
        }
        match self.about {
            Some(about) => write!(f, " refused {about} (xid {:#x}): {}", self.xid, self.name)?,
            None => write!(f, " reports (xid {:#x}): {}", self.xid, self.name)?,
        }
        match self.hint {
            "" => Ok(()),
            hint => write!(f, "; {hint}"),
        }
    }
}

/// Why a session ended. What the session wrote before it ended is still worth sending.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Close {
    /// The peer closed the connection.
    PeerClosed,
    /// The connection was reset or failed; the engine's words.
    Failed(String),
    /// No version in common.
    BadVersion {
        /// The version byte of the peer's HELLO.
        theirs: u8,
        /// What we offer.
        ours: Versions,
    },
    /// The peer found no version in common, or did not like our HELLO, and says why.
    HelloRefused(String),
    /// The first message was no HELLO.
    NoHello {
        /// Its version byte.
        version: u8,
        /// Its type.
        kind: u8,
    },
    /// The handshake was not done in time.
    HandshakeTooLong {
        /// What the session was waiting for.
        waiting_for: &'static str,
    },
    /// The switch refused a request that the handshake cannot do without.
    HandshakeRefused(Box<SwitchError>),
    /// The switch sent a message that the handshake cannot read.
    HandshakeMalformed {
        /// The message, by its name.
        what: &'static str,
        /// What was wrong with it.
        why: Malformed,
    },
    /// The switch has more ports than [`crate::limits::PORTS_MAX`].
    TooManyPorts,
    /// The switch said nothing for a while, nor answered when asked.
    NoEcho,
    /// The switch connected again, and this connection did not answer when asked.
    Superseded,
    /// Another connection proved with a certificate that it is the switch, and this one has none.
    Outranked,
    /// The stream cannot be cut into messages any more.
    Framing(Malformed),
    /// Too many bad messages; the last of them.
    TooManyFaults(Malformed),
    /// The engine did not admit the connection.
    Refused(Refusal),
    /// TLS failed, or its certificate is not that of the switch; a sentence of the engine's.
    Insecure(String),
    /// The switch does not read what it is sent.
    NotReading,
    /// The main connection of this auxiliary one is gone.
    MainGone,
    /// Applications were started while others held the switch back: they did not see it join.
    JoinedBefore,
    /// The controller stops.
    Stopping,
}

impl From<crate::outbox::Full> for Close {
    fn from(crate::outbox::Full: crate::outbox::Full) -> Self {
        Close::NotReading
    }
}

impl fmt::Display for Close {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Close::PeerClosed => f.write_str("the switch closed the connection"),
            Close::Failed(why) => write!(f, "the connection failed: {why}"),
            Close::BadVersion { theirs, ours } => write!(
                f,
                "no version in common: the switch's HELLO says {}, we offer {ours}; set the switch to one of ours",
                VersionByte(*theirs)
            ),
            Close::HelloRefused(text) => write!(
                f,
                "the switch refused our HELLO: {text}; check which versions it is set to speak"
            ),
            // The first bytes of a record of TLS.
            Close::NoHello { version: 0x16, kind: 3 } => f.write_str(
                "the switch speaks TLS, and this port is for plain OpenFlow: have it connect to the port of --tls-listen, or \
                 with tcp:",
            ),
            Close::NoHello { version, kind } => write!(
                f,
                "the first message was no HELLO (version byte {version:#04x}, type {kind}); is this an OpenFlow switch?"
            ),
            Close::HandshakeTooLong { waiting_for } => write!(
                f,
                "the handshake took too long, waiting for {waiting_for}; the switch may try again"
            ),
            Close::HandshakeRefused(error) => write!(f, "the handshake failed: {error}"),
            Close::HandshakeMalformed { what, why } => {
                write!(f, "the handshake failed: the switch's {what} cannot be read: {why}")
            }
            Close::TooManyPorts => write!(
                f,
                "the switch has more than {} ports, the most that is accepted",
                crate::limits::PORTS_MAX
            ),
            Close::NoEcho => {
                f.write_str("the switch fell silent and did not answer an echo request")
            }
            Close::Superseded => f.write_str(
                "the switch connected again, and this older connection did not answer when asked",
            ),
            Close::Outranked => f.write_str(
                "another connection proved with a certificate that it is this switch, and this one has none",
            ),
            Close::Framing(why) => write!(f, "the stream is no OpenFlow any more: {why}"),
            Close::TooManyFaults(why) => {
                write!(f, "the switch sent too many bad messages, last: {why}")
            }
            Close::Refused(refusal) => write!(f, "the connection was not admitted: {refusal}"),
            Close::Insecure(why) => f.write_str(why),
            Close::NotReading => f.write_str("the switch does not read what it is sent"),
            Close::MainGone => {
                f.write_str("the main connection is gone, and this auxiliary one with it")
            }
            Close::JoinedBefore => f.write_str(
                "applications were started while others held the switch back; the switch may try again",
            ),
            Close::Stopping => f.write_str("the controller stops"),
        }
    }
}

impl core::error::Error for Close {}

/// A version byte in words.
struct VersionByte(u8);

impl fmt::Display for VersionByte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (Version::from_wire(self.0), self.0) {
            (Some(version), _) => version.fmt(f),
            (None, byte @ 1..=6) => write!(f, "OpenFlow 1.{}", byte - 1),
            (None, byte) => write!(f, "the version byte {byte:#04x}"),
        }
    }
}
