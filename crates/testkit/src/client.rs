//! A client that says exactly what a test wants it to say, byte by byte.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::running::{Running, WITHIN};

/// An answer.
#[derive(Debug)]
pub struct HttpAnswer {
    /// Its status code.
    pub status: u16,
    /// Names in small letters.
    headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

impl HttpAnswer {
    /// Whether one of the headers of this name says this.
    pub fn says(&self, name: &str, words: &str) -> bool {
        self.headers.iter().any(|(there, value)| there == name && value.contains(words))
    }

    /// The first header of this name, in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(there, _)| there == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Its body, which is JSON.
    pub fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// A problem in the form that they all have, with these words.
    pub fn is_problem(&self, status: u16, words: &str) -> bool {
        let problem = self.json();
        let detail = problem["detail"].as_str().unwrap_or_default();
        self.status == status
            && problem["status"] == status
            && self.header("content-type") == Some("application/problem+json")
            && problem["type"].as_str().is_some_and(|kind| kind.starts_with("urn:aldis:"))
            && problem["title"].is_string()
            && detail.contains(words)
    }
}

/// Where a controller serves.
#[derive(Clone, Debug)]
pub struct Api {
    /// `ADDRESS:PORT`.
    pub address: String,
}

impl Api {
    /// As the controller said.
    pub fn of(running: &mut Running) -> Api {
        let line = running.says("HTTP on http");
        Api { address: line.rsplit('/').next().unwrap().to_owned() }
    }

    /// A connection that says nothing yet.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(WITHIN)).unwrap();
        // The end of a long body would wait for an acknowledgement, which may be delayed by 40 ms.
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// The answer to GET.
    pub fn get(&self, path: &str) -> HttpAnswer {
        self.ask("GET", path, &[], b"")
    }

    /// The answer to a request with these headers, besides `Host` and `Content-Length`.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> HttpAnswer {
        self.say(&self.request(method, path, headers, body))
    }

    /// What is said to ask for this.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Vec<u8> {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text += &format!("Host: {}\r\n", self.address);
        }
        if !body.is_empty() {
            text += &format!("Content-Length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += "\r\n";
        [text.as_bytes(), body].concat()
    }

    /// These bytes, and what is answered to them until the end. A server that has heard enough may
    /// not take them all.
    pub fn say(&self, bytes: &[u8]) -> HttpAnswer {
        let mut stream = self.connect();
        let _ = stream.write_all(bytes);
        read(&mut stream)
    }
}

/// Everything until the peer closes; what came before a reset counts.
pub fn read(stream: &mut TcpStream) -> HttpAnswer {
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        text.extend_from_slice(&piece[..count]);
    }
    parse(&text)
}

/// The answer that these bytes are.
///
/// # Panics
/// Where they are none.
pub fn parse(text: &[u8]) -> HttpAnswer {
    let end = text.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(text)));
    let head = String::from_utf8_lossy(&text[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let headers = lines.filter_map(|line| line.split_once(": "));
    HttpAnswer {
        status: status.unwrap_or_else(|| panic!("no status: {head}")),
        headers: headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect(),
        body: text[end + 4..].to_vec(),
    }
}
