//! What is done to a switch, one step at a time.

use super::frames::TestFrame;
use aldis_wire::v10::port::PortNo as PortNo10;
use aldis_wire::v13::port::PortNo as PortNo13;
use aldis_wire::{MacAddr, Version, v10, v13};
use std::fmt;

/// What is done to a switch.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum CertifyStep {
    V10(v10::Message),
    V13(v13::Message),
    /// A PORT_MOD. The port's own address, which it has to name, is the switch's affair.
    Port {
        port: u32,
        config: u32,
        mask: u32,
    },
    /// A frame comes in by a port.
    Frame(u32, TestFrame),
    /// So many seconds pass.
    Wait(u32),
    /// So many milliseconds pass, to the millisecond: Open vSwitch's clock has to stand still
    /// otherwise.
    Pause(u32),
}

/// What the messages of a switch have to know of it.
pub(crate) struct Site {
    pub(crate) version: Version,
    /// The addresses of its ports, from port 1.
    pub(crate) addresses: Vec<MacAddr>,
}

impl fmt::Debug for CertifyStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertifyStep::V10(message) => write!(f, "{message:?}"),
            CertifyStep::V13(message) => write!(f, "{message:?}"),
            CertifyStep::Port { port, config, mask } => {
                write!(f, "PORT_MOD of port {port}: {config:#x} of {mask:#x}")
            }
            CertifyStep::Frame(port, frame) => write!(f, "port {port}: {frame}"),
            CertifyStep::Wait(seconds) => write!(f, "{seconds} s pass"),
            CertifyStep::Pause(ms) => write!(f, "{ms} ms pass"),
        }
    }
}

impl CertifyStep {
    pub(crate) fn is_message(&self) -> bool {
        matches!(self, CertifyStep::V10(_) | CertifyStep::V13(_) | CertifyStep::Port { .. })
    }

    /// The bytes of a message of this number; `None` for what is none.
    pub(crate) fn message(&self, site: &Site, number: u32) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        match self {
            CertifyStep::V10(message) => message.encode(number, &mut bytes).expect("it fits"),
            CertifyStep::V13(message) => message.encode(number, &mut bytes).expect("it fits"),
            CertifyStep::Port { port, config, mask } => {
                return port_mod(site, *port, *config, *mask).message(site, number);
            }
            CertifyStep::Frame(..) | CertifyStep::Wait(_) | CertifyStep::Pause(_) => return None,
        }
        Some(bytes)
    }

    pub(crate) fn frame(&self) -> Option<(u32, Vec<u8>)> {
        match self {
            CertifyStep::Frame(port, frame) => Some((*port, frame.to_bytes())),
            _ => None,
        }
    }
}

fn port_mod(site: &Site, port: u32, config: u32, mask: u32) -> CertifyStep {
    let hw_addr = site.addresses[port as usize - 1];
    match site.version {
        Version::V10 => CertifyStep::V10(v10::Message::PortMod(v10::PortMod {
            port_no: PortNo10(port as u16),
            hw_addr,
            config: v10::PortConfig(config),
            mask: v10::PortConfig(mask),
            advertise: v10::PortFeatures::EMPTY,
        })),
        Version::V13 => CertifyStep::V13(v13::Message::PortMod(v13::port_mod::PortMod {
            port_no: PortNo13(port),
            hw_addr,
            config: v13::port::PortConfig(config),
            mask: v13::port::PortConfig(mask),
            advertise: v13::port::PortFeatures::EMPTY,
        })),
    }
}
