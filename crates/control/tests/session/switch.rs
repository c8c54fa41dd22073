//! The switch's lines.

use aldis_control::session::Step;
use aldis_control::switch::SwitchInfo;
use aldis_wire::msg::{Port, PortDetails, PortNo};
use aldis_wire::{FixedText, MacAddr, NO_BUFFER, Version, v10, v13};

use crate::dialogue::{DPID, Dialogue, Turn};

impl Dialogue {
    pub(crate) fn says_hello(&mut self) -> Turn {
        let hello = v13::Hello::speaking(&[self.version]);
        match self.version {
            Version::V10 => self.says(1, v10::Message::Hello(v10::Hello::default())),
            Version::V13 => self.says(1, v13::Message::Hello(hello)),
        }
    }

    pub(crate) fn says_features(&mut self, auxiliary_id: u8) -> Turn {
        let xid = self.xid_of("FEATURES_REQUEST");
        match self.version {
            Version::V10 => self.says(xid, v10::Message::FeaturesReply(features_10())),
            Version::V13 => self.says(
                xid,
                v13::Message::FeaturesReply(v13::FeaturesReply {
                    datapath_id: DPID,
                    n_buffers: 256,
                    n_tables: 8,
                    auxiliary_id,
                    capabilities: v13::features::Capabilities(0),
                    reserved: 0,
                }),
            ),
        }
    }

    /// A part of the port description of 1.3.
    pub(crate) fn says_ports(&mut self, numbers: &[u32], more: bool) -> Turn {
        let xid = self.xid_of("MULTIPART_REQUEST");
        let message = ports_13(numbers, more);
        self.says(xid, message)
    }

    pub(crate) fn says_barrier_reply(&mut self) -> Turn {
        let xid = self.xid_of("BARRIER_REQUEST");
        self.says_plain(v10::Message::BarrierReply, v13::Message::BarrierReply, xid)
    }

    pub(crate) fn says_echo_reply(&mut self) -> Turn {
        let xid = self.xid_of("ECHO_REQUEST");
        self.says_plain(
            v10::Message::EchoReply(v10::Echo::default()),
            v13::Message::EchoReply(v13::Echo::default()),
            xid,
        )
    }

    pub(crate) fn says_echo_request(&mut self, data: &[u8]) -> Turn {
        self.says_raw(self.version.wire(), 2, 0x77, data)
    }

    pub(crate) fn says_port_status(&mut self, reason: u8, number: u32, link_down: bool) -> Turn {
        let state = u32::from(link_down);
        let in_10 = v10::PortStatus {
            reason: v10::PortReason(reason),
            desc: v10::PhyPort { state: v10::PortState(state), ..port_10(number) },
        };
        let in_13 = v13::PortStatus {
            reason: v13::port_status::PortReason(reason),
            desc: v13::Port { state: v13::port::PortState(state), ..port_13(number) },
        };
        self.says_plain(v10::Message::PortStatus(in_10), v13::Message::PortStatus(in_13), 0)
    }

    pub(crate) fn says_packet_in(&mut self) -> Turn {
        let mut body = vec![0; 10];
        body[..4].copy_from_slice(&NO_BUFFER.to_be_bytes());
        if self.version == Version::V13 {
            // Table, cookie, a match of the ingress port, padding.
            body.resize(16, 0);
            body.extend([0, 1, 0, 12, 0x80, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        }
        body.extend([0xff; 14]);
        self.says_raw(self.version.wire(), 10, 0, &body)
    }

    /// An error about our last request of that name.
    pub(crate) fn says_error(&mut self, kind: u16, code: u16, about: &str) -> Turn {
        let xid = self.xid_of(about);
        let about = self.bytes_of(about);
        let body = [&kind.to_be_bytes()[..], &code.to_be_bytes(), &about].concat();
        self.says_raw(self.version.wire(), 1, xid, &body)
    }

    fn says_plain(&mut self, in_10: v10::Message, in_13: v13::Message, xid: u32) -> Turn {
        match self.version {
            Version::V10 => self.says(xid, in_10),
            Version::V13 => self.says(xid, in_13),
        }
    }
}

/// What the engine learns of the switch when it is up with these ports.
pub(crate) fn up(version: Version, numbers: &[u32]) -> Step {
    let ports = numbers.iter().map(|&number| port(number)).collect();
    let tables = if version == Version::V10 { 1 } else { 8 };
    Step::Up(SwitchInfo { dpid: DPID, version, buffers: 256, tables, ports })
}

/// A port of the switch.
pub(crate) fn port(number: u32) -> Port {
    Port {
        number: PortNo(number),
        hw_addr: MacAddr::from_u64(0x0200_0000_0000 | u64::from(number & 0xffff)),
        name: FixedText::new(&format!("eth{number}")),
        admin_down: false,
        link_down: false,
        speed_kbps: 10_000_000,
        details: PortDetails {
            current: v13::port::PortFeatures::F10GB_FD,
            ..PortDetails::default()
        },
    }
}

pub(crate) fn features_10() -> v10::FeaturesReply {
    v10::FeaturesReply {
        datapath_id: DPID,
        n_buffers: 256,
        n_tables: 1,
        capabilities: v10::Capabilities(0),
        actions: v10::ActionBits(1),
        ports: [1, 2].map(port_10).into(),
    }
}

pub(crate) fn port_10(number: u32) -> v10::PhyPort {
    let port = port(number);
    v10::PhyPort {
        port_no: v10::PortNo::narrow(number).unwrap(),
        hw_addr: port.hw_addr,
        name: port.name,
        config: v10::PortConfig(0),
        state: v10::PortState(0),
        curr: v10::PortFeatures::OFPPF_10GB_FD,
        advertised: v10::PortFeatures(0),
        supported: v10::PortFeatures(0),
        peer: v10::PortFeatures(0),
    }
}

pub(crate) fn port_13(number: u32) -> v13::Port {
    let port = port(number);
    let none = v13::port::PortFeatures(0);
    v13::Port {
        port_no: v13::PortNo(number),
        hw_addr: port.hw_addr,
        name: port.name,
        config: v13::port::PortConfig(0),
        state: v13::port::PortState(0),
        curr: port.details.current,
        advertised: none,
        supported: none,
        peer: none,
        curr_speed: port.speed_kbps,
        max_speed: 0,
    }
}

pub(crate) fn ports_13(numbers: &[u32], more: bool) -> v13::Message {
    let ports = numbers.iter().map(|&number| port_13(number)).collect();
    let flags = v13::stats::MultipartFlags(u16::from(more));
    let body = v13::stats::MultipartReplyBody::PortDesc(ports);
    v13::Message::MultipartReply(v13::MultipartReply { flags, body })
}
