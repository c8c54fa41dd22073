//! Open vSwitch's control socket: JSON-RPC over a Unix socket, of which a call needs its result
//! alone.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// At most this many commands of one connection are done in one turn of the daemon's main loop; one
/// more is done in a later turn, when all that came before the first was carried out
/// (`unixctl_server_run`).
const COMMANDS_A_TURN: usize = 10;

pub(crate) struct Unixctl {
    socket: UnixStream,
    received: Vec<u8>,
}

impl Unixctl {
    pub(crate) fn connect(path: &Path, patience: Duration) -> std::io::Result<Unixctl> {
        let socket = UnixStream::connect(path)?;
        socket.set_read_timeout(Some(patience))?;
        Ok(Unixctl { socket, received: Vec::new() })
    }

    /// Does one command. Its arguments must need no escaping.
    pub(crate) fn call(&mut self, command: &str, arguments: &[&str]) {
        self.send(command, arguments);
        self.answer(command);
    }

    /// Returns when the daemon's main loop has turned: frames it was given have left, and packets
    /// to the controller are in its socket.
    pub(crate) fn turn(&mut self) {
        (0..=COMMANDS_A_TURN).for_each(|_| self.send("version", &[]));
        (0..=COMMANDS_A_TURN).for_each(|_| self.answer("version"));
    }

    fn send(&mut self, command: &str, arguments: &[&str]) {
        let quoted: Vec<String> = arguments.iter().map(|text| format!("\"{text}\"")).collect();
        let request =
            format!("{{\"method\":\"{command}\",\"params\":[{}],\"id\":0}}", quoted.join(","));
        self.socket.write_all(request.as_bytes()).expect("ovs-vswitchd reads its control socket");
    }

    fn answer(&mut self, command: &str) {
        loop {
            if let Some(end) = object_end(&self.received) {
                let answer = String::from_utf8_lossy(&self.received[..end]).into_owned();
                self.received.drain(..end);
                assert!(answer.contains("\"error\":null"), "{command}: {answer}");
                return;
            }
            let mut chunk = [0; 4096];
            let read = self.socket.read(&mut chunk).expect("ovs-vswitchd answers in time");
            assert!(read > 0, "ovs-vswitchd closed its control socket");
            self.received.extend_from_slice(&chunk[..read]);
        }
    }
}

/// Where the first object ends, behind its closing brace.
fn object_end(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
