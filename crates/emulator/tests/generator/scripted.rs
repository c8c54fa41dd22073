//! A controller that follows a script, and short runs of load against it.

use aldis_emulator::load::{Load, Mode};
use aldis_emulator::peer::{Peer, Unexpected, bare, hello};
use aldis_wire::Version;
use aldis_wire::header::{Header, kind};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const FEATURES_REQUEST: u8 = 5;
pub(crate) const FEATURES_REPLY: u8 = 6;

/// A PACKET_IN as the controller sees it.
pub(crate) struct SeenRequest {
    pub(crate) version: Version,
    pub(crate) bytes: Vec<u8>,
}

impl SeenRequest {
    pub(crate) fn xid(&self) -> u32 {
        be32(&self.bytes[4..])
    }

    pub(crate) fn buffer_id(&self) -> u32 {
        be32(&self.bytes[8..])
    }

    pub(crate) fn in_port(&self) -> u32 {
        match self.version {
            Version::V10 => u32::from(self.bytes[14]) << 8 | u32::from(self.bytes[15]),
            Version::V13 => be32(&self.bytes[32..]),
        }
    }

    pub(crate) fn frame(&self) -> &[u8] {
        &self.bytes[if self.version == Version::V10 { 18 } else { 42 }..]
    }

    pub(crate) fn flow_mod(&self, xid: u32) -> Vec<u8> {
        let (length, buffer_id) = if self.version == Version::V10 { (72, 64) } else { (56, 32) };
        let mut bytes = vec![0; length];
        let header = Header {
            version: self.version.wire(),
            kind: kind::FLOW_MOD,
            length: length as u16,
            xid,
        };
        bytes[..8].copy_from_slice(&header.to_bytes());
        bytes[buffer_id..buffer_id + 4].copy_from_slice(&self.bytes[8..12]);
        bytes
    }

    /// A FLOW_MOD with this xid, command and buffer id whose rule matches the addresses of the
    /// request.
    pub(crate) fn rule(&self, xid: u32, command: u8, buffer_id: u32) -> Vec<u8> {
        let mut bytes = self.flow_mod(xid);
        let (at, command_at, frame) = match self.version {
            Version::V10 => (64, 57, self.frame()),
            Version::V13 => (32, 25, self.frame()),
        };
        bytes[at..at + 4].copy_from_slice(&buffer_id.to_be_bytes());
        bytes[command_at] = command;
        match self.version {
            // Everything but both addresses is a wildcard.
            Version::V10 => {
                bytes[8..12].copy_from_slice(&(0x003f_ffff_u32 & !(1 << 2 | 1 << 3)).to_be_bytes());
                bytes[14..20].copy_from_slice(&frame[6..12]);
                bytes[20..26].copy_from_slice(&frame[..6]);
            }
            Version::V13 => {
                let port = &self.bytes[28..36];
                let destination = [&[0x80, 0, 6, 6], &frame[..6]].concat();
                let source = [&[0x80, 0, 8, 6], &frame[6..12]].concat();
                bytes.truncate(48);
                bytes.extend([0, 1, 0, 32]);
                bytes.extend([port, &destination, &source].concat());
                bytes[3] = bytes.len() as u8;
            }
        }
        bytes
    }

    /// A PACKET_OUT with this xid, buffer id and frame.
    pub(crate) fn packet_out_of(&self, xid: u32, buffer_id: u32, frame: &[u8]) -> Vec<u8> {
        let head = if self.version == Version::V10 { 16 } else { 24 };
        let mut bytes = self.packet_out(xid);
        bytes.truncate(head);
        bytes.extend_from_slice(frame);
        bytes[3] = bytes.len() as u8;
        bytes[8..12].copy_from_slice(&buffer_id.to_be_bytes());
        bytes
    }

    pub(crate) fn packet_out(&self, xid: u32) -> Vec<u8> {
        let head = if self.version == Version::V10 { 16 } else { 24 };
        let length = (head + self.frame().len()) as u16;
        let header = Header { version: self.version.wire(), kind: kind::PACKET_OUT, length, xid };
        let mut bytes = header.to_bytes().to_vec();
        bytes.extend_from_slice(&self.bytes[8..12]);
        bytes.resize(head, 0);
        bytes.extend_from_slice(self.frame());
        bytes
    }
}

fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[..4].try_into().unwrap())
}

/// What one connection of a scripted controller saw.
pub(crate) type ConnectionSeen = Vec<SeenRequest>;

/// A controller that shakes hands with `switches` switches and answers each request with what
/// `answer` says, given how many came before it from the same switch.
pub(crate) fn scripted(
    version: Version,
    switches: u32,
    answer: impl Fn(usize, &SeenRequest) -> Vec<u8> + Clone + Send + 'static,
) -> (SocketAddr, JoinHandle<Vec<ConnectionSeen>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let controller = std::thread::spawn(move || {
        let serve = |_| {
            let (socket, _) = listener.accept().unwrap();
            let (peer, answer) = (Peer::over(socket, PATIENCE).unwrap(), answer.clone());
            std::thread::spawn(move || serve(peer, version, answer))
        };
        let connections: Vec<_> = (0..switches).map(serve).collect();
        connections.into_iter().map(|connection| connection.join().unwrap()).collect()
    });
    (address, controller)
}

pub(crate) fn serve(
    mut peer: Peer,
    version: Version,
    answer: impl Fn(usize, &SeenRequest) -> Vec<u8>,
) -> ConnectionSeen {
    peer.send(&hello(version)).unwrap();
    peer.expect(kind::HELLO).unwrap();
    peer.send(&bare(version, FEATURES_REQUEST, 2)).unwrap();
    peer.expect(FEATURES_REPLY).unwrap();
    let mut seen = Vec::new();
    loop {
        match peer.expect(kind::PACKET_IN) {
            Ok(bytes) => {
                let request = SeenRequest { version, bytes };
                peer.send(&answer(seen.len(), &request)).unwrap();
                seen.push(request);
            }
            Err(Unexpected::Closed) => return seen,
            Err(Unexpected::Io(_)) => return seen,
            Err(unexpected) => panic!("{unexpected}"),
        }
    }
}

/// A short run with a known number of requests: nothing is taught, every request counts.
pub(crate) fn counted(
    controller: SocketAddr,
    version: Version,
    switches: u32,
    requests: u64,
) -> Load {
    Load {
        version,
        switches,
        macs: 10,
        teach: false,
        mode: Mode::Window(8),
        requests_per_switch: Some(requests),
        warm_up: 0,
        loops: 1,
        loop_length: PATIENCE,
        handshake_deadline: PATIENCE,
        ..Load::new(controller)
    }
}
