//! A WebSocket as a script opens one (RFC 6455), as far as short text messages go.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::client::Api;

/// One that is open.
#[derive(Debug)]
pub struct WebSocket(BufReader<TcpStream>);

impl WebSocket {
    /// Opens one at this path.
    pub fn open(api: &Api, path: &str) -> WebSocket {
        let mut stream = api.connect();
        let request = format!(
            "GET {path} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nHost: {}\r\n\r\n",
            api.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        // RFC 6455 §1.3 has the answer to this key.
        assert!(head.starts_with("HTTP/1.1 101") && head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        WebSocket(reader)
    }

    /// The next text message; pings are passed over.
    pub fn next_message(&mut self) -> Value {
        loop {
            let mut head = [0; 2];
            self.0.read_exact(&mut head).unwrap();
            let mut len = usize::from(head[1]);
            if len == 126 {
                let mut long = [0; 2];
                self.0.read_exact(&mut long).unwrap();
                len = usize::from(u16::from_be_bytes(long));
            }
            let mut text = vec![0; len];
            self.0.read_exact(&mut text).unwrap();
            match head[0] {
                0x81 => return serde_json::from_slice(&text).unwrap(),
                0x89 => {}
                other => panic!("{other:#x} is no text message"),
            }
        }
    }

    /// A text message of ours: short, and masked with zeros, as a client has to mask.
    pub fn say(&mut self, text: &str) {
        assert!(text.len() < 126);
        let head = [&[0x81, 0x80 | text.len() as u8][..], &[0; 4], text.as_bytes()].concat();
        self.0.get_mut().write_all(&head).unwrap();
    }
}
