//! Asking over HTTP: as HTTP/1.0, so that an answer ends with its connection and needs no more parsing than its head.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use aldis_http::problem::Problem;

/// How long connecting, and each read of an answer, may take.
const WITHIN: Duration = Duration::from_secs(30);

/// Bytes of a line of an answer's head.
const LINE_MAX: u64 = 16 * 1024;

/// Lines of an answer's head.
const LINES_MAX: usize = 100;

/// Bytes of an answer: the counters of ten thousand switches are ten megabytes.
const ANSWER_MAX: u64 = 256 * 1024 * 1024;

/// A controller, as `http://HOST:PORT`.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// Host and port.
    authority: String,
}

impl FromStr for Base {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("https://") {
            return Err(
                "only http:// can be asked; reach another machine through a tunnel (ssh -L)".into(),
            );
        }
        let authority = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        let port = authority.rsplit_once(':').and_then(|(host, port)| {
            let is_host = !host.is_empty() && host.bytes().all(is_of_host);
            port.parse::<u16>().ok().filter(|_| is_host)
        });
        match port {
            Some(_) => Ok(Base { authority: authority.to_owned() }),
            None => Err("no controller's address; write it as http://127.0.0.1:8080".into()),
        }
    }
}

fn is_of_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte)
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority)
    }
}

impl Base {
    /// What is at this path.
    ///
    /// # Errors
    /// One sentence: nobody answers, or with a problem.
    pub(crate) fn get(&self, path: &str) -> Result<String, String> {
        self.ask("GET", path, "")
    }

    /// Puts this JSON there; what is there then.
    ///
    /// # Errors
    /// As [`Base::get`].
    pub(crate) fn put(&self, path: &str, body: &str) -> Result<String, String> {
        self.ask("PUT", path, body)
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Result<String, String> {
        let mut answer = self.open(method, path, body)?.take(ANSWER_MAX);
        let mut text = String::new();
        let read = answer.read_to_string(&mut text);
        read.map_err(|error| format!("{self} broke off in its answer: {error}"))?;
        Ok(text)
    }

    /// The lines of an answer that does not end.
    ///
    /// # Errors
    /// As [`Base::get`].
    pub(crate) fn follow(
        &self,
        path: &str,
    ) -> Result<impl Iterator<Item = std::io::Result<String>>, String> {
        let answer = self.open("GET", path, "")?;
        Ok(answer.lines())
    }

    /// Asks, and reads the head of the answer.
    fn open(&self, method: &str, path: &str, body: &str) -> Result<BufReader<TcpStream>, String> {
        let broken = |error: std::io::Error| format!("{self} broke off: {error}");
        let mut stream = self.connect()?;
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\n{kind}Content-Length: {}\r\n\r\n{body}",
            self.authority,
            body.len()
        );
        stream.write_all(request.as_bytes()).map_err(broken)?;
        let mut answer = BufReader::new(stream);
        let first = line(&mut answer).map_err(broken)?;
        let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
        let Some(status) = status else {
            return Err(format!("who answers at {self} is no controller: it does not speak HTTP"));
        };
        for _ in 0..LINES_MAX {
            if line(&mut answer).map_err(broken)?.is_empty() {
                return if status == 200 { Ok(answer) } else { Err(self.refused(status, answer)) };
            }
        }
        Err(format!("the head of the answer of {self} does not end"))
    }

    fn connect(&self) -> Result<TcpStream, String> {
        let cannot = |error: std::io::Error| {
            format!(
                "no controller answers at {self}: {error}; is it running, and with HTTP? --http says where"
            )
        };
        let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
        for address in self.authority.to_socket_addrs().map_err(cannot)? {
            match TcpStream::connect_timeout(&address, WITHIN) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(WITHIN)).map_err(cannot)?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(cannot(last))
    }

    /// The problem in words, where it is one.
    fn refused(&self, status: u16, answer: BufReader<TcpStream>) -> String {
        let mut text = String::new();
        let _ = answer.take(LINE_MAX).read_to_string(&mut text);
        match serde_json::from_str::<Problem>(&text) {
            Ok(problem) => problem.detail,
            Err(_) => format!("{self} answered with status {status}"),
        }
    }
}

fn line(answer: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let mut line = String::new();
    answer.take(LINE_MAX).read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.trim_end_matches('\r').to_owned()),
        None => Err(std::io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_named_as_people_name_it() {
        for text in
            ["http://127.0.0.1:8080", "127.0.0.1:8080", "http://localhost:8080/", "[::1]:80"]
        {
            assert!(text.parse::<Base>().is_ok(), "{text}");
        }
        for text in
            ["", "8080", "http://", "http://host", "http://a b:1", "h:1\r\nX: y", ":80", "h:99999"]
        {
            assert!(text.parse::<Base>().unwrap_err().contains("http://127.0.0.1:8080"), "{text}");
        }
        assert!("https://h:1".parse::<Base>().unwrap_err().contains("tunnel"));
    }
}
