//! A scripted switch and a session, talking in virtual time.

use std::sync::Arc;
use std::time::Duration;

use aldis_control::Time;
use aldis_control::session::{Admission, Busy, Close, Config, Session, Step};
use aldis_wire::header::{Header, MESSAGE_LEN_MAX};
use aldis_wire::{Chop, DatapathId, Version, v10, v13};

/// The worker that holds the session: its transaction ids begin with this.
pub(crate) const WORKER: u8 = 0xa5;

/// The name of the switch.
pub(crate) const DPID: DatapathId = DatapathId(0x7);

/// A switch that says what the test wants it to, and the session that hears it.
pub(crate) struct Dialogue {
    pub(crate) session: Session,
    pub(crate) now: Time,
    /// The version that the switch writes in its headers.
    pub(crate) version: Version,
    /// What the session said, oldest first.
    request: Vec<(Header, Vec<u8>)>,
}

/// What came of one thing that the switch said, or of some time.
pub(crate) struct Turn {
    heard: Vec<String>,
    outcome: Result<Step, Close>,
    said: String,
    pub(crate) bytes: Vec<u8>,
}

impl Dialogue {
    /// A switch that speaks `version` connects.
    pub(crate) fn with(version: Version) -> Dialogue {
        Dialogue::configured(version, Config::default())
    }

    /// The same, to a session that is set up in some other way. The session greets first.
    pub(crate) fn configured(version: Version, config: Config) -> Dialogue {
        let (now, mut out) = (Time(5_000_000_000), Vec::new());
        let session = Session::new(Arc::new(config), now, WORKER, &mut out);
        let mut dialogue = Dialogue { session, now, version, request: Vec::new() };
        let greeting = dialogue.turn("the connection", out, Ok(Step::Nothing));
        greeting.hears("HELLO");
        dialogue
    }

    /// The same, with the handshake done.
    pub(crate) fn up(version: Version) -> Dialogue {
        let mut switch = Dialogue::with(version);
        switch.identifies();
        switch.is_admitted(Admission::Main);
        switch.finishes_setup();
        assert!(switch.session.is_up());
        switch
    }

    /// From HELLO to FEATURES_REQUEST, without a look at what is said.
    pub(crate) fn identifies(&mut self) {
        self.says_hello().hears("FEATURES_REQUEST");
        self.says_features(0).leads_to(Step::Identified { dpid: DPID, auxiliary_id: 0 });
    }

    /// The replies to what the session asks an admitted switch.
    pub(crate) fn finishes_setup(&mut self) -> Turn {
        if self.version == Version::V13 {
            self.says_ports(&[1, 2], false).leads_to(Step::Nothing);
        }
        self.says_barrier_reply()
    }

    /// The switch sends these bytes, one whole message.
    pub(crate) fn says_bytes(&mut self, said: &str, bytes: &[u8]) -> Turn {
        let (raw, mut out) = (Chop::new(bytes).next().unwrap().unwrap(), Vec::new());
        let outcome = self.session.receive(self.now, raw, &mut out);
        self.turn(said, out, outcome)
    }

    /// The switch sends a header and what follows it, whatever they mean.
    pub(crate) fn says_raw(&mut self, version: u8, kind: u8, xid: u32, body: &[u8]) -> Turn {
        self.says_bytes(
            &format!("type {kind} of version {version}"),
            &raw(version, kind, xid, body),
        )
    }

    /// The switch sends a message of its version.
    pub(crate) fn says(&mut self, xid: u32, message: impl Into<SentMessage>) -> Turn {
        let mut bytes = Vec::new();
        let said = match message.into() {
            SentMessage::V10(message) => {
                message.encode(xid, &mut bytes).unwrap();
                message.name()
            }
            SentMessage::V13(message) => {
                message.encode(xid, &mut bytes).unwrap();
                message.name()
            }
        };
        self.says_bytes(said, &bytes)
    }

    /// The engine lets the connection in, or not.
    pub(crate) fn is_admitted(&mut self, admission: Admission) -> Turn {
        let mut out = Vec::new();
        let outcome = self.session.admit(self.now, admission, &mut out);
        self.turn("an admission", out, outcome)
    }

    /// Another connection claims the switch's name.
    pub(crate) fn is_probed(&mut self) -> Turn {
        let mut out = Vec::new();
        self.session.probe(self.now, &mut out);
        self.turn("a probe", out, Ok(Step::Nothing))
    }

    /// The engine wants a barrier: its transaction id.
    pub(crate) fn asks_for_a_barrier(&mut self) -> Result<u32, Busy> {
        let mut out = Vec::new();
        let xid = self.session.barrier(self.now, &mut out);
        self.turn("a wish", out, Ok(Step::Nothing));
        xid
    }

    /// Time passes until the session wants to be called, and it is.
    pub(crate) fn waits(&mut self) -> Turn {
        assert!(self.session.deadline() > self.now, "a deadline in the past");
        self.now = self.session.deadline();
        self.ticks()
    }

    /// The same, if that is after just this time.
    pub(crate) fn waits_for(&mut self, duration: Duration) -> Turn {
        assert_eq!(self.session.deadline().since(self.now), duration, "the time to wait");
        self.waits()
    }

    /// The session is called, whatever the time.
    pub(crate) fn ticks(&mut self) -> Turn {
        let mut out = Vec::new();
        let outcome = self.session.tick(self.now, &mut out);
        self.turn("silence", out, outcome)
    }

    /// Time passes, and the session is not called.
    pub(crate) fn passes(&mut self, duration: Duration) -> &mut Self {
        self.now = self.now + duration;
        self
    }

    /// The transaction id of the last such request, `OFPT_` left out.
    pub(crate) fn xid_of(&self, name: &str) -> u32 {
        self.last(name).0.xid
    }

    /// The bytes of the last such request.
    pub(crate) fn bytes_of(&self, name: &str) -> Vec<u8> {
        self.last(name).1.clone()
    }

    fn last(&self, name: &str) -> &(Header, Vec<u8>) {
        let is_it = |(header, _): &&(Header, Vec<u8>)| name_of(header) == name;
        self.request.iter().rev().find(is_it).unwrap_or_else(|| panic!("nobody said {name}"))
    }

    fn turn(&mut self, said: &str, bytes: Vec<u8>, outcome: Result<Step, Close>) -> Turn {
        let mut chop = Chop::new(&bytes);
        let messages = chop.by_ref().map(|raw| raw.unwrap());
        let said_back: Vec<_> = messages.map(|raw| (raw.header, raw.bytes.to_vec())).collect();
        assert!(chop.rest().is_empty() && bytes.len() <= 4 * MESSAGE_LEN_MAX);
        let heard = said_back.iter().map(|(header, _)| name_of(header)).collect();
        self.request.extend(said_back);
        Turn { heard, outcome, said: said.into(), bytes }
    }
}

/// A whole message: a header, and what follows it.
pub(crate) fn raw(version: u8, kind: u8, xid: u32, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + body.len()).unwrap();
    [&Header { version, kind, length, xid }.to_bytes(), body].concat()
}

fn name_of(header: &Header) -> String {
    let name = match Version::from_wire(header.version) {
        Some(Version::V10) => v10::MessageType(header.kind).name(),
        _ => v13::MessageType(header.kind).name(),
    };
    name.unwrap_or("OFPT_UNKNOWN").trim_start_matches("OFPT_").into()
}

/// A message of the switch's version.
pub(crate) enum SentMessage {
    V10(v10::Message),
    V13(v13::Message),
}

impl From<v10::Message> for SentMessage {
    fn from(message: v10::Message) -> Self {
        SentMessage::V10(message)
    }
}

impl From<v13::Message> for SentMessage {
    fn from(message: v13::Message) -> Self {
        SentMessage::V13(message)
    }
}

impl Turn {
    /// What the switch hears: the types of the messages, a space between them, `OFPT_` left out.
    #[track_caller]
    pub(crate) fn hears(self, names: &str) -> Turn {
        assert_eq!(self.heard.join(" "), names, "heard after {}", self.said);
        self
    }

    /// What the engine is told. Nothing was sent that [`Turn::hears`] should have named.
    #[track_caller]
    pub(crate) fn leads_to(self, step: Step) -> Turn {
        assert_eq!(self.outcome, Ok(step), "after {}", self.said);
        self
    }

    /// Why the connection ends.
    #[track_caller]
    pub(crate) fn closes(self, close: Close) {
        assert_eq!(self.outcome, Err(close), "after {}", self.said);
    }

    /// The step itself.
    #[track_caller]
    pub(crate) fn step(self) -> Step {
        self.outcome.expect("the connection ended")
    }

    /// Why it ended.
    #[track_caller]
    pub(crate) fn close(self) -> Close {
        self.outcome.expect_err("the connection goes on")
    }
}
