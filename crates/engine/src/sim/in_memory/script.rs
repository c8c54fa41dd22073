//! What switches in memory say: PACKET_INs of OpenFlow 1.0 with frames of 64 bytes, as `aldis
//! bench` sends them.

use aldis_wire::v10::{Message, PacketIn, PacketInReason, PortNo};

/// Ports of a switch, numbered from 1: host I lives on port 1 + I mod PORTS.
const PORTS: u32 = 16;

/// Requests of a round: 164 KB, a part of the second cache.
const ROUND: u32 = 2_000;

/// Requests between the places where two switches begin their rounds, so that they do not ask about
/// the same hosts at once.
const APART: usize = 61;

const BROADCAST: u64 = 0xffff_ffff_ffff;

/// A broadcast from every host, and then one round of requests.
#[derive(Debug)]
pub(super) struct MemoryScript {
    bytes: Box<[u8]>,
    /// Where the round begins, in bytes.
    round: usize,
    request_len: usize,
}

/// How far one switch is.
#[derive(Debug)]
pub(super) struct ScriptPosition {
    at: usize,
    /// Where it begins its first round.
    enters: usize,
}

impl MemoryScript {
    /// For switches of so many hosts, two at least.
    pub(super) fn new(hosts: u32) -> MemoryScript {
        let hosts = hosts.max(2);
        let mut bytes = Vec::new();
        (0..hosts).for_each(|host| packet_in(host, BROADCAST, host, &mut bytes));
        let round = bytes.len();
        for number in 0..ROUND {
            let source = number % hosts;
            packet_in(source, mac(whom(source, number, hosts)), hosts + number, &mut bytes);
        }
        MemoryScript { request_len: round / hosts as usize, round, bytes: bytes.into() }
    }

    /// Where the `number`th switch begins.
    pub(super) fn begin(&self, number: usize) -> ScriptPosition {
        let first = (number * APART) % ROUND as usize;
        ScriptPosition { at: 0, enters: self.round + first * self.request_len }
    }

    /// Bytes of so many requests.
    pub(super) fn len_of(&self, requests: u64) -> u64 {
        requests.saturating_mul(self.request_len as u64)
    }

    /// Fills `into` with what comes next.
    #[inline]
    pub(super) fn say(&self, place: &mut ScriptPosition, into: &mut [u8]) {
        let mut filled = 0;
        while filled < into.len() {
            let ScriptPosition { at, enters } = *place;
            let (end, next) = match at < self.round {
                true => (self.round, enters),
                false => (self.bytes.len(), self.round),
            };
            let some = (end - at).min(into.len() - filled);
            into[filled..filled + some].copy_from_slice(&self.bytes[at..at + some]);
            filled += some;
            place.at = if at + some == end { next } else { at + some };
        }
    }
}

/// Jumps about among the hosts of other ports: a learning switch drops what stays on one.
fn whom(source: u32, number: u32, hosts: u32) -> u32 {
    let destination = (source + 1 + number.wrapping_mul(37) % (hosts - 1)) % hosts;
    match destination % PORTS == source % PORTS {
        true if destination > 0 => destination - 1,
        true => 1,
        false => destination,
    }
}

fn mac(host: u32) -> u64 {
    0x02 << 40 | u64::from(host)
}

/// IPv4 from one host to the other; the switch keeps the frame as `number`.
fn packet_in(source: u32, destination: u64, number: u32, bytes: &mut Vec<u8>) {
    let mut data = vec![0; 64];
    data[..6].copy_from_slice(&destination.to_be_bytes()[2..]);
    data[6..12].copy_from_slice(&mac(source).to_be_bytes()[2..]);
    data[12..14].copy_from_slice(&[0x08, 0x00]);
    let packet_in = PacketIn {
        buffer_id: number,
        total_len: data.len() as u16,
        in_port: PortNo((1 + source % PORTS) as u16),
        reason: PacketInReason::NO_MATCH,
        data,
    };
    Message::PacketIn(packet_in).encode(number, bytes).expect("a short message");
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::Chop;

    #[test]
    fn it_is_the_same_however_it_is_read() {
        let script = MemoryScript::new(20);
        let said = |step: usize| {
            let (mut place, mut all) = (script.begin(3), vec![]);
            while all.len() < 200_000 {
                let from = all.len();
                all.resize(from + step, 0);
                script.say(&mut place, &mut all[from..]);
            }
            all.truncate(200_000);
            all
        };
        let whole = said(200_000);
        assert!([7, 82, 2_048, 65_536].iter().all(|step| said(*step) == whole));
        assert_eq!(whole[20 * 82..][..4 * 82], script.bytes[(20 + 3 * 61) * 82..][..4 * 82]);
    }

    #[test]
    fn requests_are_from_one_port_to_another() {
        for hosts in [2, 3, 17, 1_000] {
            let script = MemoryScript::new(hosts);
            let port = |mac: &[u8]| (u32::from(mac[4]) << 8 | u32::from(mac[5])) % PORTS;
            let requests = Chop::new(&script.bytes[script.round..]).map(Result::unwrap);
            assert_eq!(requests.clone().count(), ROUND as usize);
            for request in requests {
                let (to, from) = request.bytes[18..30].split_at(6);
                assert_ne!(port(to), port(from), "{hosts} hosts");
                assert_eq!(u32::from(request.bytes[15]), 1 + port(from));
            }
        }
    }
}
