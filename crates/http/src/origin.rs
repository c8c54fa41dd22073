//! The origin check: in a browser, only pages that this server served may change or follow
//! anything.
//!
//! A server on loopback has one enemy of its own: a foreign page in a browser of this machine. The
//! page may send requests here from its own origin, or have its own name resolve to 127.0.0.1 (DNS
//! rebinding). So the name in the request has to be one of this machine, and a request that names
//! another origin is refused. curl and scripts name no origin.
//!
//! Over TLS a foreign name ends at the certificate, so any name will do. But a browser sends the
//! password that it remembers with the requests of a foreign page too, so origins count as they do
//! on loopback.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::{HOST, HeaderMap, HeaderName, ORIGIN, UPGRADE};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app_pages;
use crate::auth::ClientAddress;
use crate::problem::Problem;

/// Where a request comes from, as a browser has it (Fetch Metadata).
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Lets a request through, or says why not.
pub(crate) async fn check(request: Request, next: Next) -> Response {
    let encrypted = request.extensions().get::<ClientAddress>().is_some_and(|peer| peer.encrypted);
    match judge(encrypted, request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn judge(encrypted: bool, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let host = host(headers)?;
    let named = uri.authority().map(|authority| authority.as_str());
    let mut names = [Some(host), named].into_iter().flatten();
    if let Some(other) = names.find(|name| !encrypted && !is_ours(name)) {
        let detail = format!(
            "this server is not called {other:?}: ask for localhost, or for a loopback address such as 127.0.0.1"
        );
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "foreign-host", detail));
    }
    let mut origins = headers.get_all(ORIGIN).iter();
    let scheme = if encrypted { "https://" } else { "http://" };
    // The page of an application has no origin, and its parts are asked for without one.
    let is_page = method.is_safe() && app_pages::is_page(uri.path());
    if !is_page
        && !origins.all(|origin| origin.to_str().is_ok_and(|origin| is_same(origin, scheme, host)))
    {
        return Err(foreign("a page of another origin"));
    }
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    // A WebSocket begins with a GET, and is more than one.
    let is_safe = method.is_safe() && !headers.contains_key(UPGRADE);
    if !is_safe && !sites.all(|site| site == "same-origin" || site == "none") {
        return Err(foreign("a page of another site"));
    }
    Ok(())
}

/// The one name that was asked for.
fn host(headers: &HeaderMap) -> Result<&str, Problem> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next().map(|host| host.to_str()), hosts.next()) {
        (Some(Ok(host)), None) => Ok(host),
        _ => Err(Problem::bad("no-host", "a request has to say, once, for which host it is")),
    }
}

/// Whether a name, with or without a port, is one of this machine for itself.
fn is_ours(authority: &str) -> bool {
    let name = match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    name.eq_ignore_ascii_case("localhost")
        || bare.unwrap_or(name).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_same(origin: &str, scheme: &str, host: &str) -> bool {
    origin.strip_prefix(scheme).is_some_and(|name| name.eq_ignore_ascii_case(host))
}

/// For a GET that changes something all the same.
///
/// # Errors
/// A page of another site asks for it.
pub(crate) fn own_site(headers: &HeaderMap) -> Result<(), Problem> {
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    match sites.all(|site| site == "same-origin" || site == "none") {
        true => Ok(()),
        false => Err(foreign("a page of another site")),
    }
}

fn foreign(whose: &str) -> Problem {
    let detail = format!("{whose} asked for this, in a browser; only pages of this server may");
    Problem::new(StatusCode::FORBIDDEN, "foreign-origin", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(method: Method, uri: &str, headers: &[(&'static str, &str)]) -> Option<u16> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let headers = headers.collect();
        judge(false, &method, &uri.parse().unwrap(), &headers).err().map(|problem| problem.status)
    }

    #[test]
    fn only_names_of_this_machine_are_answered_to() {
        for host in
            ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "127.1.2.3", "[::1]:80", "[::1]"]
        {
            assert_eq!(judged(Method::GET, "/", &[("host", host)]), None, "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "localhost:80@evil.example",
            "192.0.2.1",
            "0.0.0.0",
            "[::]:80",
            "2130706433",
            "",
        ] {
            assert_eq!(judged(Method::GET, "/", &[("host", host)]), Some(421), "{host}");
        }
        assert_eq!(judged(Method::GET, "/", &[]), Some(400));
        let mut headers = HeaderMap::new();
        headers.append(HOST, "localhost".parse().unwrap());
        headers.append(HOST, "evil.example".parse().unwrap());
        assert_eq!(
            judge(false, &Method::GET, &"/".parse().unwrap(), &headers).unwrap_err().status,
            400
        );
        let absolute = "http://evil.example/api";
        assert_eq!(judged(Method::GET, absolute, &[("host", "localhost")]), Some(421));
    }

    #[test]
    fn pages_of_strangers_are_refused() {
        let host = ("host", "localhost:8080");
        for origin in ["http://localhost:8080", "http://LOCALHOST:8080"] {
            assert_eq!(judged(Method::POST, "/", &[host, ("origin", origin)]), None);
        }
        for origin in
            ["http://localhost:9090", "https://localhost:8080", "http://evil.example", "null", ""]
        {
            for method in [Method::GET, Method::POST] {
                assert_eq!(judged(method, "/", &[host, ("origin", origin)]), Some(403), "{origin}");
            }
        }
        for (site, method, expected) in [
            ("cross-site", Method::PUT, Some(403)),
            ("same-site", Method::DELETE, Some(403)),
            ("same-origin", Method::PUT, None),
            ("none", Method::PUT, None),
            ("cross-site", Method::GET, None),
        ] {
            assert_eq!(judged(method, "/", &[host, ("sec-fetch-site", site)]), expected, "{site}");
        }
        assert_eq!(judged(Method::POST, "/", &[host]), None, "a script says no origin");
        let page = "/apps/a/@pages/0/b.js";
        let null = [host, ("origin", "null")];
        assert_eq!(judged(Method::GET, page, &null), None, "a part of a page without an origin");
        assert_eq!(judged(Method::POST, page, &null), Some(403));
        assert_eq!(judged(Method::GET, "/apps/a/b", &null), Some(403));
        let socket = [host, ("upgrade", "websocket"), ("sec-fetch-site", "cross-site")];
        assert_eq!(judged(Method::GET, "/", &socket), Some(403), "a WebSocket");
    }

    #[test]
    fn over_tls_any_name_is_ours_and_origins_are_encrypted_too() {
        let judged = |origin: &str| {
            let headers = [(HOST, "switches.example:8443"), (ORIGIN, origin)];
            let headers =
                headers.into_iter().map(|(name, value)| (name, value.parse().unwrap())).collect();
            judge(true, &Method::POST, &"/".parse().unwrap(), &headers).err()
        };
        assert_eq!(judged("https://switches.example:8443"), None);
        for origin in ["http://switches.example:8443", "https://evil.example", "null"] {
            assert_eq!(judged(origin).unwrap().status, 403, "{origin}");
        }
    }
}
