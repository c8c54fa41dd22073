//! Asking over HTTP: as HTTP/1.0, so that an answer ends with its connection and needs no more
//! parsing than its head.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use aldis_http::problem::Problem;

use crate::tls;

/// How long connecting, and each read of an answer, may take unless it is hurried.
const WITHIN: Duration = Duration::from_secs(30);

/// The same where it compiles an application first.
const PACKAGE_WITHIN: Duration = Duration::from_secs(190);

/// Bytes of a package that takes some time to be compiled.
const LARGE: usize = 1 << 20;

/// How often a question is asked again where too many were asked before it.
const AGAIN_MAX: u32 = 60;

/// The longest wait that a controller may ask for between two of them. After wrong keys the wait is
/// longer, and the user is told.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Bytes of a line of an answer's head.
const LINE_MAX: u64 = 16 * 1024;

/// Lines of an answer's head.
const LINES_MAX: usize = 100;

/// Bytes of an answer: the counters of ten thousand switches are ten megabytes.
const ANSWER_MAX: u64 = 256 * 1024 * 1024;

/// Which controller is asked, and with which key.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Base {
    /// The controller to ask; https:// for one beyond this machine [default: that which ALDIS_HTTP
    /// names, or http://127.0.0.1:8080]
    #[arg(long = "http", value_name = "URL", default_value = "", hide_default_value = true, value_parser = Url::said)]
    url: Url,
    /// The authority of its certificate, as PEM, with https:// [default: the file that ALDIS_CA
    /// names]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// A file with the token to ask with [default: the token that ALDIS_TOKEN holds]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The token itself, which other users of this machine can see in the list of processes
    #[arg(long, value_name = "NAME.SECRET", conflicts_with = "token_file")]
    token: Option<String>,
    /// How long connecting, and each read of an answer, may take.
    #[arg(skip = WITHIN)]
    within: Duration,
}

/// The variable that names the controller to ask, where the command line does not.
const VARIABLE: &str = "ALDIS_HTTP";

/// Where a controller serves unless it is told otherwise.
const DEFAULT: &str = "http://127.0.0.1:8080";

/// A controller, as `http://HOST:PORT` or `https://HOST:PORT`.
#[derive(Clone, Debug)]
struct Url {
    encrypted: bool,
    /// Host and port.
    authority: String,
}

impl Url {
    /// What the command line says; where it says nothing the variable, and where that does not
    /// either the default.
    fn said(text: &str) -> Result<Url, String> {
        Url::or_of_variable(text, std::env::var(VARIABLE).ok())
    }

    fn or_of_variable(text: &str, variable: Option<String>) -> Result<Url, String> {
        match (text, variable.filter(|url| !url.is_empty())) {
            ("", None) => DEFAULT.parse(),
            ("", Some(url)) => url.parse().map_err(|why| format!("{VARIABLE} is \"{url}\": {why}")),
            (said, _) => said.parse(),
        }
    }
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let encrypted = text.starts_with("https://");
        let authority = text.strip_prefix("http://").or(text.strip_prefix("https://"));
        let authority = authority.unwrap_or(text).trim_end_matches('/');
        let port = authority.rsplit_once(':').and_then(|(host, port)| {
            let is_host = !host.is_empty() && host.bytes().all(is_of_host);
            port.parse::<u16>().ok().filter(|_| is_host)
        });
        match port {
            Some(_) => Ok(Url { encrypted, authority: authority.to_owned() }),
            None => Err("no controller's address; write it as http://127.0.0.1:8080".into()),
        }
    }
}

fn is_of_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte)
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.encrypted { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority)
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

impl Base {
    /// The controller at this URL, which asks for no key.
    ///
    /// # Errors
    /// This is no address.
    pub(crate) fn at(url: &str) -> Result<Base, String> {
        let base =
            Base { url: url.parse()?, ca: None, token_file: None, token: None, within: WITHIN };
        Ok(base)
    }

    /// The same with less patience.
    pub(crate) fn hurried(self, within: Duration) -> Base {
        Base { within, ..self }
    }

    /// Its host and port.
    pub(crate) fn authority(&self) -> &str {
        &self.url.authority
    }

    /// What is at this path.
    ///
    /// # Errors
    /// One sentence: no answer, or a problem.
    pub(crate) fn get(&self, path: &str) -> Result<String, String> {
        self.ask("GET", path, Body::NONE)
    }

    /// Puts this JSON there; what is there then.
    ///
    /// # Errors
    /// As [`Base::get`].
    pub(crate) fn put(&self, path: &str, body: &str) -> Result<String, String> {
        self.ask("PUT", path, Body::json(body))
    }

    /// Removes what is there; what was done.
    ///
    /// # Errors
    /// As [`Base::get`].
    pub(crate) fn delete(&self, path: &str) -> Result<String, String> {
        self.ask("DELETE", path, Body::NONE)
    }

    /// Has this JSON done there; what was done.
    ///
    /// # Errors
    /// As [`Base::get`].
    pub(crate) fn post(&self, path: &str, body: &str) -> Result<String, String> {
        self.ask("POST", path, Body::json(body))
    }

    /// Sends these bytes there, by POST or PUT; what was done.
    ///
    /// # Errors
    /// As [`Base::get`].
    pub(crate) fn send(&self, method: &str, path: &str, bytes: &[u8]) -> Result<String, String> {
        if bytes.len() > LARGE {
            eprintln!("the controller compiles it: {} MB take some seconds", bytes.len() >> 20);
        }
        self.send_compiled(method, path, bytes)
    }

    /// The same for a package whose code the controller has already.
    ///
    /// # Errors
    /// As [`Base::get`].
    pub(crate) fn send_compiled(
        &self,
        method: &str,
        path: &str,
        bytes: &[u8],
    ) -> Result<String, String> {
        self.ask(method, path, Body { kind: PACKAGE, bytes })
    }

    fn ask(&self, method: &str, path: &str, body: Body<'_>) -> Result<String, String> {
        let mut answer = self.open(method, path, body)?.take(ANSWER_MAX);
        let mut text = String::new();
        let read = answer.read_to_string(&mut text);
        read.map_err(|error| format!("{self} broke off in its answer: {error}"))?;
        Ok(text)
    }

    /// The bytes of an answer that may not end.
    ///
    /// # Errors
    /// As [`Base::get`].
    pub(crate) fn stream(&self, path: &str) -> Result<impl Read + Send + 'static, String> {
        self.open("GET", path, Body::NONE)
    }

    /// The lines of an answer that does not end.
    ///
    /// # Errors
    /// As [`Base::get`].
    pub(crate) fn follow(
        &self,
        path: &str,
    ) -> Result<impl Iterator<Item = std::io::Result<String>>, String> {
        let answer = self.open("GET", path, Body::NONE)?;
        Ok(answer.lines())
    }

    /// Asks, as often as it is told to ask later, and reads the head of the answer.
    fn open(
        &self,
        method: &str,
        path: &str,
        body: Body<'_>,
    ) -> Result<BufReader<ClientStream>, String> {
        let mut asked = 0;
        loop {
            let (status, later, answer) = self.open_once(method, path, body)?;
            match (status, later.filter(|later| *later <= WAIT_MAX)) {
                (200 | 201, _) => return Ok(answer),
                (429, Some(later)) if asked < AGAIN_MAX => std::thread::sleep(later),
                _ => return Err(self.refused(status, answer)),
            }
            asked += 1;
        }
    }

    /// The status, how long to wait where that is said, and the rest of the answer.
    fn open_once(
        &self,
        method: &str,
        path: &str,
        body: Body<'_>,
    ) -> Result<(u16, Option<Duration>, BufReader<ClientStream>), String> {
        let broken = |error: std::io::Error| format!("{self} broke off: {error}");
        let key = match self.token()? {
            Some(token) => format!("Authorization: Bearer {token}\r\n"),
            None => String::new(),
        };
        let within = if body.kind == PACKAGE { PACKAGE_WITHIN } else { self.within };
        let mut stream = self.connect(within)?;
        let kind = match body.kind {
            "" => String::new(),
            kind => format!("Content-Type: {kind}\r\n"),
        };
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\n{key}{kind}Content-Length: {}\r\n\r\n",
            self.url.authority,
            body.bytes.len()
        );
        let request = [head.as_bytes(), body.bytes].concat();
        // A controller that refuses a long body answers before it has read it.
        let sent = stream.write_all(&request);
        let mut answer = BufReader::new(stream);
        let first = line(&mut answer).map_err(|error| broken(sent.err().unwrap_or(error)))?;
        let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
        let Some(status) = status else {
            return Err(format!("who answers at {self} is no controller: it does not speak HTTP"));
        };
        let mut later = None;
        for _ in 0..LINES_MAX {
            let line = line(&mut answer).map_err(broken)?;
            if line.is_empty() {
                return Ok((status, later, answer));
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("retry-after")
            {
                later = value.trim().parse().ok().map(Duration::from_secs);
            }
        }
        Err(format!("the head of the answer of {self} does not end"))
    }

    /// The token to ask with, where there is one.
    fn token(&self) -> Result<Option<String>, String> {
        let token = match (&self.token, &self.token_file) {
            (Some(token), _) => Some(token.clone()),
            (None, Some(file)) => Some(std::fs::read_to_string(file).map_err(|error| {
                format!("cannot read the token in {}: {error}", file.display())
            })?),
            (None, None) => std::env::var("ALDIS_TOKEN").ok(),
        };
        let token = token.map(|token| token.trim().to_owned());
        match token.as_ref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            true => Err("a token is one word, NAME.SECRET".into()),
            false => Ok(token),
        }
    }

    fn connect(&self, answered_within: Duration) -> Result<ClientStream, String> {
        let stream = self.connect_plain(answered_within)?;
        if !self.url.encrypted {
            return Ok(ClientStream::Plain(stream));
        }
        let ca = self.ca.clone().or_else(|| std::env::var_os("ALDIS_CA").map(PathBuf::from));
        let Some(ca) = ca else {
            return Err(
                "https:// needs the authority that signed the controller's certificate: --ca FILE, or ALDIS_CA".into(),
            );
        };
        let host = self.url.authority.rsplit_once(':').map_or("", |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        tls::connect(stream, host, &ca).map(|tls| ClientStream::Tls(Box::new(tls)))
    }

    fn connect_plain(&self, answered_within: Duration) -> Result<TcpStream, String> {
        let cannot = |error: std::io::Error| {
            format!(
                "no controller answers at {self}: {error}; is it running, and with HTTP? --http or {VARIABLE} says where"
            )
        };
        let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
        for address in self.url.authority.to_socket_addrs().map_err(cannot)? {
            match TcpStream::connect_timeout(&address, self.within) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(answered_within)).map_err(cannot)?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(cannot(last))
    }

    /// The problem in words, where it is one.
    fn refused(&self, status: u16, answer: BufReader<ClientStream>) -> String {
        let mut text = String::new();
        let _ = answer.take(LINE_MAX).read_to_string(&mut text);
        match serde_json::from_str::<Problem>(&text) {
            Ok(problem) => problem.detail,
            Err(_) => format!("{self} answered with status {status}"),
        }
    }
}

/// The media type of a package.
const PACKAGE: &str = "application/octet-stream";

/// What is sent along with a question.
#[derive(Clone, Copy)]
struct Body<'b> {
    /// Its media type.
    kind: &'static str,
    bytes: &'b [u8],
}

impl<'b> Body<'b> {
    const NONE: Body<'static> = Body { kind: "", bytes: &[] };

    fn json(text: &'b str) -> Body<'b> {
        Body { kind: "application/json", bytes: text.as_bytes() }
    }
}

/// A connection, with or without TLS.
enum ClientStream {
    Plain(TcpStream),
    Tls(Box<tls::TlsStream>),
}

impl Read for ClientStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            ClientStream::Plain(stream) => stream.read(into),
            // Not every server says that it ends before it does: an answer has its length.
            ClientStream::Tls(stream) => match stream.read(into) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
        }
    }
}

impl Write for ClientStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            ClientStream::Plain(stream) => stream.write(bytes),
            ClientStream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            ClientStream::Plain(stream) => stream.flush(),
            ClientStream::Tls(stream) => stream.flush(),
        }
    }
}

fn line(answer: &mut BufReader<ClientStream>) -> std::io::Result<String> {
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
            assert!(text.parse::<Url>().is_ok(), "{text}");
        }
        for text in
            ["", "8080", "http://", "http://host", "http://a b:1", "h:1\r\nX: y", ":80", "h:99999"]
        {
            assert!(text.parse::<Url>().unwrap_err().contains("http://127.0.0.1:8080"), "{text}");
        }
        assert!("https://h:1".parse::<Url>().unwrap().encrypted);
    }

    #[test]
    fn the_command_line_goes_before_the_variable_and_that_before_the_default() {
        let url = |text, variable: Option<&str>| {
            Url::or_of_variable(text, variable.map(str::to_owned)).map(|url| url.to_string())
        };
        assert_eq!(url("", None).unwrap(), DEFAULT);
        assert_eq!(url("", Some("")).unwrap(), DEFAULT);
        assert_eq!(url("", Some("https://far:1")).unwrap(), "https://far:1");
        assert_eq!(url("near:2", Some("https://far:1")).unwrap(), "http://near:2");
        let refused = url("", Some("far")).unwrap_err();
        assert!(refused.starts_with("ALDIS_HTTP is \"far\": "), "{refused}");
    }
}
