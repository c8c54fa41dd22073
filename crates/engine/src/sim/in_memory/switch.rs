//! A switch in memory, which is its socket too: it shakes hands, asks, and counts what it is
//! answered.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use aldis_wire::header::kind::{FLOW_MOD, PACKET_OUT};
use aldis_wire::v10::{Hello, Message};
use aldis_wire::{Chop, DatapathId, Raw};

use super::script::{MemoryScript, ScriptPosition};
use super::{WakeReason, lock};
use crate::sim::handshake::{BARRIER_REQUEST, FEATURES_REQUEST, features};

/// One of them.
pub(crate) struct MemorySwitch {
    dpid: DatapathId,
    script: Arc<MemoryScript>,
    /// Requests that it makes in all.
    limit: u64,
    mouth: CacheApart<Mutex<Mouth>>,
    answered: CacheApart<AtomicU64>,
}

/// Nothing else shares its cache lines.
#[derive(Debug)]
#[repr(align(128))]
struct CacheApart<T>(T);

/// What it says.
#[derive(Debug)]
struct Mouth {
    /// The handshake, before anything else.
    replies: Vec<u8>,
    place: ScriptPosition,
    /// Bytes of requests that it may still say; none before the handshake is over.
    left: u64,
    /// The bell that is rung when there is something to read, and its token.
    registered: Option<(WakeReason, u64)>,
}

impl fmt::Debug for MemorySwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "switch in memory {}", self.dpid.0)
    }
}

impl MemorySwitch {
    /// The `number`th switch, from 1, which has connected.
    pub(super) fn new(number: u64, script: Arc<MemoryScript>, limit: u64) -> MemorySwitch {
        let mut replies = vec![];
        encode(&Message::Hello(Hello::default()), 0, &mut replies);
        let place = script.begin(number as usize);
        MemorySwitch {
            dpid: DatapathId(number),
            script,
            limit,
            mouth: CacheApart(Mutex::new(Mouth { replies, place, left: 0, registered: None })),
            answered: CacheApart(AtomicU64::new(0)),
        }
    }

    /// Answers that it got.
    pub(super) fn answered(&self) -> u64 {
        self.answered.0.load(Ordering::Relaxed)
    }

    /// Registers the worker that polls it, which is told at once that it is ready.
    pub(super) fn register(&self, post: Option<(WakeReason, u64)>) {
        let mut mouth = lock(&self.mouth.0);
        mouth.registered = post;
        mouth.announce();
    }

    /// Says as much as there is and fits; returns how many bytes.
    #[inline]
    pub(super) fn say(&self, into: &mut [u8]) -> usize {
        let mut mouth = lock(&self.mouth.0);
        let replies = mouth.replies.len().min(into.len());
        if replies > 0 {
            into[..replies].copy_from_slice(&mouth.replies[..replies]);
            mouth.replies.drain(..replies);
        }
        let requests = mouth.left.min((into.len() - replies) as u64) as usize;
        self.script.say(&mut mouth.place, &mut into[replies..replies + requests]);
        mouth.left -= requests as u64;
        replies + requests
    }

    /// Takes whole messages.
    #[inline]
    pub(super) fn hear(&self, bytes: &[u8]) {
        let mut answers = 0;
        for message in Chop::new(bytes).map_while(Result::ok) {
            match message.header.kind {
                FLOW_MOD | PACKET_OUT => answers += 1,
                _ => self.reply(&message),
            }
        }
        self.answered.0.fetch_add(answers, Ordering::Relaxed);
    }

    #[cold]
    fn reply(&self, message: &Raw<'_>) {
        let mut mouth = lock(&self.mouth.0);
        let xid = message.header.xid;
        match message.header.kind {
            FEATURES_REQUEST => encode(&features(self.dpid), xid, &mut mouth.replies),
            BARRIER_REQUEST => {
                encode(&Message::BarrierReply, xid, &mut mouth.replies);
                mouth.left = self.script.len_of(self.limit);
            }
            _ => return,
        }
        mouth.announce();
    }
}

impl Mouth {
    fn announce(&self) {
        if let Some((post, token)) = &self.registered {
            post.announce(*token);
        }
    }
}

fn encode(message: &Message, xid: u32, into: &mut Vec<u8>) {
    message.encode(xid, into).expect("a short message");
}
