//! A first look at a recording: its head, how far it can be read, and what of it cannot be played.

use std::collections::HashSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use aldis_apps::topology::RecordedTags;
use aldis_engine::limits::WORKERS_MAX;
use aldis_recording::{
    BadRecording, ConnKey, Mark, PlayedEvent, RecordingReader, WholeEvent, WholeEvents,
};
use aldis_wire::header::kind::PACKET_OUT;
use aldis_wire::{Chop, Version};
use serde::Deserialize;

use super::told;

/// Bytes that are read at once.
const PIECE: usize = 256 * 1024;

/// What the head says.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct RecordingHead {
    /// The version of Aldis.
    pub(super) aldis: String,
    design: String,
    /// Whether the batches of the design can be played.
    #[serde(default)]
    replays: bool,
    pub(super) workers: usize,
    pub(super) apps: Vec<String>,
    switches: serde_json::Value,
}

/// What a look at a recording shows.
pub(super) struct RecordingLook {
    pub(super) head: RecordingHead,
    /// When the controller started, in nanoseconds since 1970.
    pub(super) started_ns: u64,
    /// When the recording begins and ends, in nanoseconds since then.
    pub(super) begin_ns: u64,
    end_ns: u64,
    /// The probes that were sent.
    pub(super) tags: RecordedTags,
    switches: usize,
    /// Connections that were there before.
    known: usize,
    /// Reads and writes that are missing: the time of the first, its place, and how many.
    gap: Option<(u64, u64, u64)>,
    /// Requests that were shed.
    shed: u64,
    /// How often a worker began to run applications while another one did, and when none did.
    beside: u64,
    alone: u64,
    /// Whether applications were started, stopped or put in another order.
    changes: bool,
    /// Why it cannot be read to its end.
    bad: Option<BadRecording>,
}

/// Opens a recording, behind its head.
///
/// # Errors
/// One sentence that begins with the file.
pub(super) fn open(file: &Path) -> Result<RecordingReader<BufReader<File>>, String> {
    let opened = File::open(file);
    let opened = opened.map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let input = BufReader::with_capacity(PIECE, opened);
    RecordingReader::begin(input).map_err(|bad| told(file, &bad.to_string()))
}

impl RecordingLook {
    /// Reads a recording through.
    ///
    /// # Errors
    /// One sentence that begins with the file: it is no recording of Aldis, or a newer one, or its
    /// head makes no sense.
    pub(super) fn at(file: &Path) -> Result<RecordingLook, String> {
        let reader = open(file)?;
        let head = serde_json::from_str::<RecordingHead>(reader.about())
            .map_err(|error| told(file, &format!("the head cannot be read: {error}")))?;
        if !(1..=WORKERS_MAX).contains(&head.workers) {
            let why =
                format!("the head says {} workers; there are 1 to {WORKERS_MAX}", head.workers);
            return Err(told(file, &why));
        }
        let mut look = RecordingLook {
            head,
            started_ns: reader.started_ns(),
            begin_ns: u64::MAX,
            end_ns: 0,
            tags: RecordedTags::default(),
            switches: 0,
            known: 0,
            gap: None,
            shed: 0,
            beside: 0,
            alone: 0,
            changes: false,
            bad: None,
        };
        let (mut events, mut known) = (WholeEvents::new(reader), HashSet::new());
        loop {
            match events.next_event() {
                Ok(Some(played)) => look.note(&played, &mut known),
                Ok(None) => break,
                Err(bad) => {
                    look.bad = Some(bad);
                    break;
                }
            }
        }
        look.begin_ns = look.begin_ns.min(look.end_ns);
        look.known = known.len();
        Ok(look)
    }

    fn note(&mut self, played: &PlayedEvent, known: &mut HashSet<ConnKey>) {
        self.begin_ns = self.begin_ns.min(played.at_ns);
        self.end_ns = self.end_ns.max(played.at_ns);
        match &played.event {
            WholeEvent::Opened { conn, .. } => {
                known.remove(conn);
                self.switches += 1;
            }
            WholeEvent::Known { conn, .. } => {
                known.insert(*conn);
            }
            WholeEvent::Written { bytes, .. } if RecordedTags::may_be_in(bytes) => {
                let messages = Chop::new(bytes).map_while(Result::ok);
                let frames = messages.filter_map(|raw| sent_frame(raw.bytes));
                frames.for_each(|frame| self.tags.add(frame));
            }
            WholeEvent::Gap { events } => {
                let gap = self.gap.get_or_insert((played.at_ns, played.offset, 0));
                gap.2 = gap.2.saturating_add(*events);
            }
            WholeEvent::Marked(Mark::Shed { requests }) => {
                self.shed = self.shed.saturating_add(*requests);
            }
            WholeEvent::Marked(Mark::Apps { alone: true, .. }) => self.alone += 1,
            WholeEvent::Marked(Mark::Apps { alone: false, .. }) => self.beside += 1,
            WholeEvent::Marked(Mark::LineUp { .. }) => self.changes = true,
            _ => {}
        }
    }

    /// Whether it can be played up to this time.
    ///
    /// # Errors
    /// One sentence that begins with the file: why not.
    pub(super) fn check(&self, file: &Path, until: Option<u64>) -> Result<(), String> {
        let reaches = |at: u64| until.is_none_or(|until| until >= at);
        if let Some((at, offset, events)) = self.gap.filter(|(at, ..)| reaches(*at)) {
            return Err(told(
                file,
                &format!(
                    "at byte {offset}: {events} reads and writes are missing from here on, and what \
                     came of them too; {}",
                    self.before(at)
                ),
            ));
        }
        if let Some(bad) = self.bad.as_ref().filter(|_| reaches(self.end_ns)) {
            return Err(told(file, &format!("{bad}; {}", self.before(self.end_ns))));
        }
        if !self.head.replays {
            let why = format!(
                "it is of the design {}, whose batches run elsewhere than they were read: which ones \
                 is not recorded",
                self.head.design
            );
            return Err(told(file, &why));
        }
        if self.switches == 0 {
            return Err(told(
                file,
                "no switch connects in it, and what was said before is not known; record before the \
                 switches connect, or save more of what a controller with --recording-mib 64 keeps \
                 (--last 24h)",
            ));
        }
        Ok(())
    }

    /// What can be played before something that is wrong at this time.
    fn before(&self, at: u64) -> String {
        let before = at.saturating_sub(self.begin_ns).saturating_sub(1) / 1_000_000;
        match before {
            0 => "nothing is before that".into(),
            ms => format!(
                "what is before that can be played with --until {}.{:03}",
                ms / 1000,
                ms % 1000
            ),
        }
    }

    /// Whether no two workers ran applications in the same moment.
    pub(super) fn is_one_after_the_other(&self) -> bool {
        self.head.workers == 1 || (self.alone > 0 && self.beside == 0)
    }

    /// What it is, in a sentence.
    pub(super) fn introduce(&self, file: &Path, apps: &[String]) -> String {
        let seconds = (self.end_ns - self.begin_ns) as f64 / 1e9;
        format!(
            "{}: {seconds:.1} s of Aldis {}, {} connections; playing it with {}",
            file.display(),
            self.head.aldis,
            self.switches,
            apps.join(", ")
        )
    }

    /// What of it is not played as it was, a sentence each.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let of = |count: u64, text: &str| (count > 0).then(|| format!("{count} {text}"));
        let other = self.head.aldis != env!("CARGO_PKG_VERSION");
        [
            of(
                self.known as u64,
                "connections were there before the recording began, and are left out: what the \
                 applications knew of their switches is missing",
            ),
            of(
                self.shed,
                "requests were shed, and which ones is not recorded: all are answered here",
            ),
            self.changes.then(|| {
                "applications were started, stopped or put in order meanwhile: here they run as at \
                 the start"
                    .to_owned()
            }),
            (self.head.switches != "all").then(|| {
                "only some switches are in it: what came because of others is missing".to_owned()
            }),
            other.then(|| {
                format!(
                    "it is of Aldis {}, and this is {}: what is sent may differ",
                    self.head.aldis,
                    env!("CARGO_PKG_VERSION")
                )
            }),
        ]
        .into_iter()
        .flatten()
    }
}

/// The frame that a PACKET_OUT sends.
fn sent_frame(message: &[u8]) -> Option<&[u8]> {
    let (&[version, PACKET_OUT, ..], _) = message.split_first_chunk::<4>()? else { return None };
    // Where the length of the actions stands, and where they begin (OpenFlow 1.0.1 §5.3.6, 1.3.5
    // §7.3.7).
    let (len_at, actions_at) = match Version::from_wire(version)? {
        Version::V10 => (14, 16),
        Version::V13 => (16, 24),
    };
    let len = u16::from_be_bytes(*message.get(len_at..)?.first_chunk()?);
    message.get(actions_at + usize::from(len)..)
}
