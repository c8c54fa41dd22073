//! Any bytes as events: an application reads them without a panic, whatever they say.

use crate::events::{Event, SwitchPort};
use crate::{App, Datapath, Flow, Next, Output, Port, Request, Requests};

/// An application that looks at all of what it is handed, and answers.
struct Reader(usize);

impl App for Reader {
    const LOOKS_AHEAD: bool = true;

    fn start(_: &str) -> Result<Reader, String> {
        Ok(Reader(0))
    }

    fn look_ahead(&mut self, dpid: u64, requests: Requests<'_>) {
        self.0 += requests.filter(|request| request.dpid() == dpid).count();
    }

    fn packet_in(&mut self, request: &Request<'_>, out: &mut Output) -> Next {
        match (request.src(), request.dst()) {
            (Some(_), Some(_)) => out.flow(request, request.in_port(), Flow::new()),
            _ => out.send(request, Port::FLOOD),
        }
        out.discard(request);
        Next::Stop
    }

    fn event(&mut self, _: &Datapath, event: &Event<'_>, out: &mut Output) -> Next {
        let read = |port: SwitchPort| port.name.len();
        self.0 += match event {
            Event::Joining(switch) | Event::Up(switch) => switch.ports().map(read).sum(),
            Event::PortChange(_, port) => read(port.clone()),
            Event::FlowRemoved(bytes) | Event::Reply(_, bytes) | Event::Unsolicited(_, bytes) => {
                bytes.len()
            }
            Event::Error(_, text) => text.len(),
            Event::Down | Event::Second => 0,
        };
        out.count(0, self.0 as u64);
        Next::Continue
    }
}

/// Hands `bytes` to an application as a batch; what it answers stays within what it read.
pub fn events(bytes: &[u8]) {
    let mut out = Output::new();
    crate::handle(&mut Reader(0), bytes, &mut out);
    assert!(out.bytes().len() <= 8 * bytes.len(), "{} of {}", out.bytes().len(), bytes.len());
    assert!(out.bytes().len().is_multiple_of(8));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_is_cut_anywhere_is_read_as_far_as_it_goes() {
        let seed = include_str!("../../../fuzz/seeds/records/events.hex");
        let digits = seed.lines().filter(|line| !line.starts_with('#'));
        let digits = digits.flat_map(str::split_whitespace).skip(1);
        let bytes: Vec<u8> = digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
        let mut out = Output::new();
        crate::handle(&mut Reader(0), &bytes, &mut out);
        assert_eq!(out.bytes().len(), 24 + 16 + 24 + 8, "a flow and a counter");
        (0..bytes.len()).for_each(|len| events(&bytes[..len]));
        for at in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[at] ^= 0xff;
            events(&altered);
        }
    }
}
