//! The reader of a batch of events.

use crate::types::{MacAddr, Port, Version};

/// The first four bytes of a batch.
const MAGIC: &[u8; 4] = b"ALB1";
const BATCH_HEADER_LEN: usize = 16;
const EVENT_HEADER_LEN: usize = 40;
const UP_LEN: usize = 16;
const PORT_LEN: usize = 32;

/// Requests that an application looks ahead to: what it needs for them fits the nearest cache.
pub(crate) const LOOK_AHEAD: usize = 64;

/// The buffer of a packet that the switch does not hold.
pub const NO_BUFFER: u32 = u32::MAX;

/// A batch of events.
#[derive(Clone, Debug)]
pub struct Events<'b> {
    /// When it was closed, in nanoseconds since the controller started.
    pub now: u64,
    rest: &'b [u8],
}

/// The requests of one switch that come next: up to 64.
#[derive(Clone, Debug)]
pub struct Requests<'b> {
    events: Events<'b>,
    dpid: u64,
    left: usize,
}

/// How far an application has looked ahead.
#[derive(Default)]
pub(crate) struct Ahead {
    dpid: u64,
    left: usize,
}

/// One event, as it is laid out.
#[derive(Clone, Copy, Debug)]
pub struct EventRecord<'b> {
    kind: u16,
    reason: u8,
    /// The switch where it happened.
    pub switch: Datapath,
    /// What a command calls it.
    pub index: u32,
    in_port: u32,
    buffer_id: u32,
    xid: u32,
    total_len: u32,
    body: &'b [u8],
}

/// A switch, as far as each event says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datapath {
    /// Its datapath id.
    pub dpid: u64,
    /// The version that it speaks.
    pub version: Version,
}

/// A switch asks what to do with a packet.
#[derive(Clone, Copy, Debug)]
pub struct Request<'b> {
    pub(crate) record: EventRecord<'b>,
    /// Whether it is about links: LLDP or BDDP.
    pub is_lldp: bool,
}

/// What else happens at a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<'b> {
    /// It joins: what is sent now is sent to it first.
    Joining(Description<'b>),
    /// It joined and can be programmed.
    Up(Description<'b>),
    /// It is gone.
    Down,
    /// A port came (0), went (1) or changed (2).
    PortChange(u8, SwitchPort),
    /// It removed a flow: the message of OpenFlow 1.3.
    FlowRemoved(&'b [u8]),
    /// It refused something: the transaction id of the message, and what in words.
    Error(u32, &'b str),
    /// It replied to the message with this transaction id: the reply.
    Reply(u32, &'b [u8]),
    /// It sent a message that answers nothing, with this transaction id: an experimenter message,
    /// or a reply that was not asked for.
    Unsolicited(u32, &'b [u8]),
    /// A second passed there.
    Second,
}

/// A switch that joins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description<'b> {
    /// Packets that it can hold back.
    pub buffers: u32,
    /// Its flow tables.
    pub tables: u32,
    ports: &'b [u8],
}

/// A port of a switch, described.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchPort {
    /// Its number.
    pub number: Port,
    /// Its own address.
    pub hw_addr: MacAddr,
    /// Whether it was taken down by configuration.
    pub admin_down: bool,
    /// Whether it has no link.
    pub link_down: bool,
    /// Its speed in kilobits a second; 0 where the switch does not say.
    pub speed_kbps: u32,
    /// Its name.
    pub name: String,
}

fn u32_at(bytes: &[u8; EVENT_HEADER_LEN], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl<'b> Events<'b> {
    /// Reads the head of a batch; none where it is no batch.
    pub fn read(bytes: &'b [u8]) -> Option<Events<'b>> {
        let (head, rest) = bytes.split_first_chunk::<BATCH_HEADER_LEN>()?;
        let now = u64::from_le_bytes(*head.last_chunk()?);
        head.starts_with(MAGIC).then_some(Events { now, rest })
    }
}

impl<'b> Iterator for Events<'b> {
    type Item = EventRecord<'b>;

    #[inline]
    fn next(&mut self) -> Option<EventRecord<'b>> {
        let (head, rest) = self.rest.split_first_chunk::<EVENT_HEADER_LEN>()?;
        let len = u32_at(head, 4) as usize;
        let body = rest.get(..len)?;
        self.rest = rest.get(len.next_multiple_of(8)..).unwrap_or_default();
        let low = u64::from(u32_at(head, 8));
        let dpid = low | u64::from(u32_at(head, 12)) << 32;
        let version = if head[2] == 1 { Version::V10 } else { Version::V13 };
        Some(EventRecord {
            kind: u16::from_le_bytes([head[0], head[1]]),
            reason: head[3],
            switch: Datapath { dpid, version },
            index: u32_at(head, 32),
            in_port: u32_at(head, 16),
            buffer_id: u32_at(head, 20),
            xid: u32_at(head, 24),
            total_len: u32_at(head, 36),
            body,
        })
    }
}

impl<'b> Iterator for Requests<'b> {
    type Item = Request<'b>;

    #[inline]
    fn next(&mut self) -> Option<Request<'b>> {
        self.left = self.left.checked_sub(1)?;
        let record = self.events.next()?;
        if record.switch.dpid != self.dpid {
            return None;
        }
        record.request()
    }
}

impl Ahead {
    /// The requests that come next, where the application has looked at none of them yet.
    #[inline]
    pub(crate) fn at<'b>(&mut self, events: &Events<'b>) -> Option<(u64, Requests<'b>)> {
        let head: &[u8; 16] = events.rest.first_chunk()?;
        let dpid = u64::from_le_bytes(*head.last_chunk()?);
        if self.left > 0 && self.dpid == dpid {
            self.left -= 1;
            return None;
        }
        (self.dpid, self.left) = (dpid, LOOK_AHEAD - 1);
        Some((dpid, Requests { events: events.clone(), dpid, left: LOOK_AHEAD }))
    }
}

impl<'b> EventRecord<'b> {
    /// The request, where it is one.
    #[inline]
    pub fn request(&self) -> Option<Request<'b>> {
        matches!(self.kind, 1 | 2).then_some(Request { record: *self, is_lldp: self.kind == 2 })
    }

    /// What else it is; none for a kind that is unknown here.
    pub fn event(&self) -> Option<Event<'b>> {
        Some(match self.kind {
            3 => Event::Joining(Description::read(self.body)?),
            4 => Event::Up(Description::read(self.body)?),
            5 => Event::Down,
            6 => Event::PortChange(self.reason, SwitchPort::read(self.body.first_chunk()?)),
            7 => Event::FlowRemoved(self.body),
            8 => Event::Error(self.xid, std::str::from_utf8(self.body).ok()?),
            9 => Event::Reply(self.xid, self.body),
            10 => Event::Second,
            11 => Event::Unsolicited(self.xid, self.body),
            _ => return None,
        })
    }
}

impl<'b> Request<'b> {
    /// The switch that asks.
    #[inline]
    pub fn dpid(&self) -> u64 {
        self.record.switch.dpid
    }

    /// The switch that asks, and the version that it speaks.
    pub fn switch(&self) -> Datapath {
        self.record.switch
    }

    /// The port that the packet came in by.
    #[inline]
    pub fn in_port(&self) -> Port {
        Port(self.record.in_port)
    }

    /// The frame, as far as the manifest (`frame-bytes`) and the switch hand it over.
    #[inline]
    pub fn frame(&self) -> &'b [u8] {
        self.record.body
    }

    /// The length of the whole packet, in bytes.
    pub fn total_len(&self) -> u32 {
        self.record.total_len
    }

    /// Why the switch asks, as its version numbers it.
    pub fn reason(&self) -> u8 {
        self.record.reason
    }

    /// The buffer of the switch that holds the packet, or [`NO_BUFFER`].
    pub fn buffer_id(&self) -> u32 {
        self.record.buffer_id
    }

    /// The transaction id.
    pub fn xid(&self) -> u32 {
        self.record.xid
    }

    /// Where the frame goes, and where it comes from; none where it is shorter than that.
    #[inline]
    pub fn addresses(&self) -> Option<(MacAddr, MacAddr)> {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *self.frame().first_chunk()?;
        Some((MacAddr([a, b, c, d, e, f]), MacAddr([g, h, i, j, k, l])))
    }

    /// Where the frame goes; none where it is shorter than that.
    #[inline]
    pub fn dst(&self) -> Option<MacAddr> {
        self.frame().first_chunk().map(|mac| MacAddr(*mac))
    }

    /// Where the frame comes from; none where it is shorter than that.
    #[inline]
    pub fn src(&self) -> Option<MacAddr> {
        self.frame().get(6..)?.first_chunk().map(|mac| MacAddr(*mac))
    }
}

impl<'b> Description<'b> {
    fn read(body: &'b [u8]) -> Option<Description<'b>> {
        let (head, ports) = body.split_first_chunk::<UP_LEN>()?;
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let ports = ports.get(..number(8) as usize * PORT_LEN)?;
        Some(Description { buffers: number(0), tables: number(4), ports })
    }

    /// Its ports.
    pub fn ports(&self) -> impl Iterator<Item = SwitchPort> + use<'b> {
        let ports = self.ports.chunks_exact(PORT_LEN);
        ports.filter_map(|port| port.first_chunk()).map(SwitchPort::read)
    }
}

impl SwitchPort {
    fn read(port: &[u8; PORT_LEN]) -> SwitchPort {
        let name = port[16..].split(|byte| *byte == 0).next().unwrap_or_default();
        SwitchPort {
            number: Port(u32::from_le_bytes([port[0], port[1], port[2], port[3]])),
            hw_addr: MacAddr([port[4], port[5], port[6], port[7], port[8], port[9]]),
            admin_down: port[10] != 0,
            link_down: port[11] != 0,
            speed_kbps: u32::from_le_bytes([port[12], port[13], port[14], port[15]]),
            name: String::from_utf8_lossy(name).into_owned(),
        }
    }
}
