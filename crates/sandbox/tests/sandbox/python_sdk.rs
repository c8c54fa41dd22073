//! The Python SDK without WebAssembly: the same code, run by the machine's own Python, reads what
//! the host writes and writes what the host reads.

use std::path::Path;
use std::process::Command;

use aldis_control::RequestHeader;
use aldis_control::Time;
use aldis_records::{CommandReader, EventPlace, Events, command, kind};
use aldis_wire::NO_BUFFER;
use aldis_wire::Version;
use aldis_wire::msg::{Field, Message};

use crate::network::{frame, info};

/// Reads a batch as hexadecimal digits, and prints the commands.
const PROGRAM: &str = "import sys
sys.path[:0] = sys.argv[1:3]
import learning_switch
from aldis._batch import Dispatcher
dispatcher = Dispatcher(learning_switch.LearningSwitch())
print(dispatcher.batch(bytes.fromhex(sys.argv[3])).hex())";

fn python(events: &[u8]) -> Vec<u8> {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/python");
    let digits: String = events.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut python = Command::new("python3");
    python.args(["-B", "-c", PROGRAM]).arg(&sdk).arg(sdk.join("examples")).arg(digits);
    let ran = python.output().expect("python3 is needed: install Python 3.10 or later");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).expect("digits");
    let digits = text.trim().as_bytes().chunks_exact(2);
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

#[test]
fn python_reads_and_writes_the_records_of_the_host() {
    let (mut events, switch) = (Events::default(), info(7));
    events.begin(Time(1));
    events.switch(kind::UP, EventPlace::at(&switch, 0), &switch);
    for (index, (dst, src)) in [(2, 1), (1, 2)].into_iter().enumerate() {
        let request = RequestHeader {
            frame_at: 0,
            head_len: 0,
            frame_len: 14,
            total_len: 14,
            reason: 0,
            stopped: false,
            in_port: u32::from(src),
            buffer_id: NO_BUFFER,
            xid: 5,
        };
        let at = EventPlace::at(&switch, index as u32 + 1);
        events.request(kind::PACKET_IN, at, &request, &frame(dst, src));
    }
    let commands = python(events.finish());
    let read = CommandReader::check(&commands, 3, 100).expect("well-formed commands");
    let message = |body| Message::decode(Version::V13, body).expect("a message").1;
    let said: Vec<_> = read.map(|command| (command.kind, command.request, command.value)).collect();
    let (flood, to_one) = (0xffff_fffb, 1);
    let expected = [
        (command::ANSWER, 0, 0),
        (command::SEND, 1, flood),
        (command::STOP, 1, 0),
        (command::ANSWER, 2, 0),
        (command::SEND, 2, to_one),
        (command::STOP, 2, 0),
    ];
    assert_eq!(said, expected);
    let mut read = CommandReader::check(&commands, 3, 100).expect("well-formed commands");
    let Message::FlowMod(miss) = message(read.next().unwrap().body) else { panic!("no flow") };
    assert_eq!((miss.priority, miss.match_.fields.len()), (0, 0));
    let Message::FlowMod(flow) = message(read.nth(2).unwrap().body) else { panic!("no flow") };
    assert_eq!((flow.priority, flow.buffer_id), (1, NO_BUFFER));
    assert_eq!(flow.match_.fields.len(), 3);
    assert!(matches!(flow.match_.fields[0], Field::InPort(port) if port.0 == 2));
}

#[test]
fn the_sdk_of_python_passes_its_own_tests() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/python/tests");
    let mut python = Command::new("python3");
    python.args(["-B", "-m", "unittest", "discover", "-s"]).arg(tests);
    let ran = python.output().expect("python3 is needed: install Python 3.10 or later");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("\nOK"), "{said}");
}
