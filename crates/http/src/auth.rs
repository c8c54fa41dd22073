//! Authentication: the key of a request is known and has not expired, and its address does not ask
//! too often.
//!
//! A request without a key gets no answer but that, not even that there is no such resource. What a
//! key may do is decided route by route ([`AccessRole::needed`]); a route that authentication did
//! not precede refuses every request.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::access::keys::OfferedKey;
use crate::access::rate::AddressRate;
use crate::access::{Access, AccessKey, AccessRole, KeyKind};
use crate::limits::{
    AT_ONCE_S, FAILURES_AT_ONCE, FAILURES_EVERY, LEAVE_WITHIN, PASS_AGAIN, VERIFYING_MAX,
};
use crate::problem::Problem;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress {
    pub(crate) address: SocketAddr,
    /// Whether it is encrypted: no machine in between can read it, or pretend to be this one.
    pub(crate) encrypted: bool,
}

/// The sender of a request, as authentication found out.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) role: AccessRole,
    /// What its key is called; nothing where none is needed.
    pub(crate) name: Option<String>,
    /// Checked again while an answer without end is sent.
    pub(crate) grant: Grant,
}

/// The key of a request, as long as it is valid.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    /// None where none was needed.
    key: Option<AccessKey>,
    access: watch::Receiver<Arc<Access>>,
}

impl Grant {
    /// The key; none where none was needed.
    pub(crate) fn key(&self) -> Option<&AccessKey> {
        self.key.as_ref()
    }

    /// Waits until it is not valid any more: it expired, was taken away or is another now.
    pub(crate) async fn ends(&mut self) {
        while self.is_good() {
            let left = self.key.as_ref().and_then(|key| key.expires);
            let left = left.map(|end| end.duration_since(SystemTime::now()).unwrap_or_default());
            // The clock may be set meanwhile, so the time is bounded.
            let left = left.unwrap_or(PASS_AGAIN).min(PASS_AGAIN);
            if let Ok(Err(_)) = timeout(left, self.access.changed()).await {
                // The server is gone, and no change can come.
                return;
            }
        }
    }

    /// What comes of a future, unless the grant ends first. So the grant of a peer that does not
    /// read ends all the same.
    pub(crate) async fn while_good<T>(&mut self, does: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = does => Some(done),
            () = self.ends() => None,
        }
    }

    /// Whether it is valid still.
    pub(crate) fn is_good(&self) -> bool {
        let access = self.access.borrow();
        match &self.key {
            None => access.keys.is_empty(),
            Some(key) => access.keys.has(key) && !key.is_expired(SystemTime::now()),
        }
    }
}

#[cfg(test)]
impl Grant {
    /// A grant of a server that needs no key, and what ends it.
    pub(crate) fn of_no_key() -> (impl FnOnce(), Grant) {
        let (say, access) = watch::channel(Arc::new(Access::of_this_machine()));
        let hash = crate::access::SecretHash::cheap("one");
        let (kind, name) = (KeyKind::Token, "ci".into());
        let key = AccessKey { kind, name, hash, role: AccessRole::Read, expires: None };
        let end = move || {
            drop(say.send_replace(Arc::new(Access::of_this_machine().with_keys(vec![key]))))
        };
        (end, Grant { key: None, access })
    }
}

/// Cuts a connection whose answer has no end when the grant of its follower ends. The cut comes a
/// little later than the end of the answer, which may never be read. Copies are the same.
#[derive(Clone, Debug)]
pub(crate) struct Revocation(watch::Sender<Option<Grant>>);

impl Revocation {
    /// Of a connection without a follower.
    pub(crate) fn new() -> Revocation {
        Revocation(watch::Sender::new(None))
    }

    /// The connection has a follower with this grant, until it ends.
    pub(crate) fn hold(&self, grant: Grant) {
        self.0.send_replace(Some(grant));
    }

    /// Waits until it is to be cut.
    pub(crate) async fn cut(&self) {
        let mut held = self.0.subscribe();
        // The sender lives as long as `self`.
        let grant = held.wait_for(Option::is_some).await.ok().and_then(|grant| grant.clone());
        if let Some(mut grant) = grant {
            grant.ends().await;
            sleep(LEAVE_WITHIN).await;
        }
    }
}

/// The keys that there are, and how often addresses asked.
pub(crate) struct Authenticator {
    access: watch::Receiver<Arc<Access>>,
    requests: Mutex<AddressRate>,
    failures: Mutex<AddressRate>,
    /// The key that is hashed, and those that wait for it.
    hashing: Semaphore,
    waiting: Arc<Semaphore>,
}

impl Authenticator {
    pub(crate) fn new(access: watch::Receiver<Arc<Access>>) -> Authenticator {
        let requests_at_once = access.borrow().requests_per_s.saturating_mul(AT_ONCE_S);
        Authenticator {
            access,
            requests: Mutex::new(AddressRate::new(requests_at_once)),
            failures: Mutex::new(AddressRate::new(FAILURES_AT_ONCE)),
            hashing: Semaphore::new(1),
            waiting: Arc::new(Semaphore::new(VERIFYING_MAX)),
        }
    }

    async fn judge(&self, peer: IpAddr, headers: &HeaderMap) -> Result<Caller, Denied> {
        let access = Arc::clone(&self.access.borrow());
        if access.keys.is_empty() {
            let grant = Grant { key: None, access: self.access.clone() };
            return Ok(Caller { role: AccessRole::Admin, name: None, grant });
        }
        let every = Duration::from_secs(1) / access.requests_per_s;
        lock(&self.requests).take(peer, every, Instant::now()).map_err(Denied::TooMany)?;
        let offered = offered(headers)?;
        if let Some(key) = access.keys.recall(&offered) {
            return self.caller(key);
        }
        // Counted before it is known to be wrong, so that many at once are no way around it.
        let taken = lock(&self.failures).take(peer, FAILURES_EVERY, Instant::now());
        taken.map_err(Denied::TooManyFailures)?;
        let Some(key) = self.verify(&access, offered).await? else { return Err(Denied::Wrong) };
        lock(&self.failures).give_back(peer, FAILURES_EVERY);
        self.caller(&key)
    }

    fn caller(&self, key: &AccessKey) -> Result<Caller, Denied> {
        if key.is_expired(SystemTime::now()) {
            return Err(Denied::Expired(key.kind, key.name.clone()));
        }
        let name = Some(format!("{} {:?}", key.kind.name(), key.name));
        let grant = Grant { key: Some(key.clone()), access: self.access.clone() };
        Ok(Caller { role: key.role, name, grant })
    }

    /// Hashes one key at a time, on another thread than the one that serves.
    async fn verify(
        &self,
        access: &Arc<Access>,
        offered: OfferedKey,
    ) -> Result<Option<AccessKey>, Denied> {
        let _waits = self.waiting.try_acquire().map_err(|_| Denied::Busy)?;
        let _turn = self.hashing.acquire().await.map_err(|_| Denied::Busy)?;
        let access = Arc::clone(access);
        let verified =
            tokio::task::spawn_blocking(move || access.keys.verify(&offered).cloned()).await;
        verified.map_err(|_| Denied::Busy)
    }
}

fn lock(rate: &Mutex<AddressRate>) -> std::sync::MutexGuard<'_, AddressRate> {
    rate.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The one key that a request says it has.
fn offered(headers: &HeaderMap) -> Result<OfferedKey, Denied> {
    let mut said = headers.get_all(AUTHORIZATION).iter();
    match (said.next(), said.next()) {
        (None, _) => Err(Denied::Nameless),
        (Some(header), None) => OfferedKey::read(header).ok_or(Denied::Wrong),
        _ => Err(Denied::Wrong),
    }
}

/// Why a request is denied.
#[derive(Debug)]
enum Denied {
    Nameless,
    Wrong,
    Expired(KeyKind, String),
    TooMany(Duration),
    TooManyFailures(Duration),
    Busy,
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        let unauthorized =
            |kind, detail: String| Problem::new(StatusCode::UNAUTHORIZED, kind, detail);
        match self {
            Denied::Nameless => {
                let detail = "this needs a key: a token (Authorization: Bearer NAME.SECRET) or a password (Basic)";
                challenged(unauthorized("no-key", detail.into()))
            }
            Denied::Wrong => {
                challenged(unauthorized("wrong-key", "no such token or password is known".into()))
            }
            Denied::Expired(kind, name) => {
                let detail = format!("the {} {name:?} has expired: ask for another", kind.name());
                challenged(unauthorized("expired-key", detail))
            }
            Denied::TooMany(wait) => later(
                wait,
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-requests",
                "more requests from this address than are answered",
            ),
            Denied::TooManyFailures(wait) => later(
                wait,
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-failures",
                "too many wrong tokens and passwords from this address",
            ),
            Denied::Busy => later(
                Duration::from_secs(1),
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "many tokens and passwords are looked at already",
            ),
        }
    }
}

fn challenged(problem: Problem) -> Response {
    let mut response = problem.into_response();
    for how in [r#"Basic realm="aldis", charset="UTF-8""#, r#"Bearer realm="aldis""#] {
        response.headers_mut().append(WWW_AUTHENTICATE, HeaderValue::from_static(how));
    }
    response
}

fn later(wait: Duration, status: StatusCode, kind: &str, detail: &str) -> Response {
    let seconds = (wait.as_millis().div_ceil(1000) as u64).max(1);
    let problem = Problem::new(status, kind, format!("{detail}; try again in {seconds} s"));
    ([(RETRY_AFTER, HeaderValue::from(seconds))], problem).into_response()
}

/// Lets a request with a valid key through, and notes its sender.
pub(crate) async fn authenticate(
    State(authenticator): State<Arc<Authenticator>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<ClientAddress>();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.address.ip());
    match authenticator.judge(peer, request.headers()).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(turned) => turned.into_response(),
    }
}

/// Lets a request through to a route that needs this role.
pub(crate) async fn require(
    State(needed): State<AccessRole>,
    request: Request,
    next: Next,
) -> Response {
    let (role, whose) = match request.extensions().get::<Caller>() {
        Some(Caller { role, .. }) if *role >= needed => return next.run(request).await,
        Some(Caller { role, name, .. }) => (role.name(), name.as_deref().unwrap_or("this key")),
        None => ("no", "nobody"),
    };
    let detail = format!("this needs the role {needed}; {whose} has the role {role}");
    let problem = Problem::new(StatusCode::FORBIDDEN, "lesser-role", detail);
    let how = format!(r#"Bearer realm="aldis", error="insufficient_scope", scope="{needed}""#);
    let how = HeaderValue::from_str(&how).unwrap_or(HeaderValue::from_static("Bearer"));
    let headers: [(HeaderName, HeaderValue); 1] = [(WWW_AUTHENTICATE, how)];
    (headers, problem).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::SecretHash;

    fn key(secret: &str, expires: Option<SystemTime>) -> AccessKey {
        let (kind, hash) = (KeyKind::Token, SecretHash::cheap(secret));
        AccessKey { kind, name: "ci".into(), hash, role: AccessRole::Read, expires }
    }

    fn with(keys: &[AccessKey]) -> Arc<Access> {
        Arc::new(Access::of_this_machine().with_keys(keys.to_vec()))
    }

    /// Whether a grant ends by itself within ten seconds when other keys are valid from now on.
    fn ended(had: &[AccessKey], then: Option<&[AccessKey]>) -> bool {
        let (say, access) = watch::channel(with(had));
        let mut grant = Grant { key: had.first().cloned(), access };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            assert!(grant.is_good() || then.is_none());
            let change = async {
                if let Some(then) = then {
                    say.send_replace(with(then));
                }
            };
            let patience = if then == Some(had) { 50 } else { 10_000 };
            let (ended, ()) =
                tokio::join!(timeout(Duration::from_millis(patience), grant.ends()), change);
            assert_eq!(ended.is_ok(), !grant.is_good());
            ended.is_ok()
        })
    }

    #[test]
    fn a_grant_is_valid_as_long_as_its_key() {
        let keys = [key("one", None), AccessKey { name: "other".into(), ..key("two", None) }];
        assert!(!ended(&keys, Some(&keys)), "the same were read again");
        assert!(ended(&keys, Some(&keys[1..])), "it was taken away");
        assert!(ended(&keys, Some(&[key("another", None)])), "its secret is another now");
        assert!(ended(&keys, Some(&[])), "none is needed now, and its was taken away");
        assert!(ended(&[], Some(&keys)), "none was needed until now");
        let soon = SystemTime::now() + Duration::from_secs(1);
        assert!(ended(&[key("one", Some(soon))], None), "it expired");
    }

    #[test]
    fn what_takes_for_ever_ends_with_the_grant() {
        let (say, access) = watch::channel(with(&[key("one", None)]));
        let mut grant = Grant { key: Some(key("one", None)), access };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            assert_eq!(grant.while_good(async { 7 }).await, Some(7));
            say.send_replace(with(&[]));
            let never = grant.while_good(std::future::pending::<()>());
            assert_eq!(timeout(Duration::from_secs(10), never).await, Ok(None));
        });
    }

    #[test]
    fn a_grant_ends_with_the_server() {
        let (say, access) = watch::channel(with(&[]));
        let mut grant = Grant { key: None, access };
        drop(say);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let ends = async { timeout(Duration::from_secs(10), grant.ends()).await };
        assert!(runtime.block_on(ends).is_ok());
    }
}
