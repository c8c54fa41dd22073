//! Who comes in: with which key, and how often.
//!
//! Nothing is answered to who has no key, not even that there is no such resource. What a key is good for is decided route by
//! route ([`Role::needed`]); where no door was passed, a route answers nobody.

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

use crate::access::keys::Offered;
use crate::access::rate::Rate;
use crate::access::{Access, Key, Kind, Role};
use crate::limits::{
    AT_ONCE_S, FAILURES_AT_ONCE, FAILURES_EVERY, LEAVE_WITHIN, PASS_AGAIN, VERIFYING_MAX,
};
use crate::problem::Problem;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// Whether nobody in between can read it, or pretend to be us.
    pub(crate) encrypted: bool,
}

/// Who asks, as the door found out.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) role: Role,
    /// What its key is called; nothing where none is needed.
    pub(crate) name: Option<String>,
    /// To be looked at again where an answer has no end.
    pub(crate) pass: Pass,
}

/// The key that somebody came in with, as long as it is good for anything.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    /// None where none was needed.
    key: Option<Key>,
    access: watch::Receiver<Arc<Access>>,
}

impl Pass {
    /// Waits until it is good for nothing any more: it expired, was taken away or is another now.
    pub(crate) async fn ends(&mut self) {
        while self.is_good() {
            let left = self.key.as_ref().and_then(|key| key.expires);
            let left = left.map(|end| end.duration_since(SystemTime::now()).unwrap_or_default());
            // A clock may be set: nobody sleeps until the end of the century.
            let left = left.unwrap_or(PASS_AGAIN).min(PASS_AGAIN);
            if let Ok(Err(_)) = timeout(left, self.access.changed()).await {
                // Nobody is left who could say.
                return;
            }
        }
    }

    /// What comes of something, unless the pass ends first: whoever does not read what is said to it leaves all the same.
    pub(crate) async fn while_good<T>(&mut self, does: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = does => Some(done),
            () = self.ends() => None,
        }
    }

    /// Whether it is good for anything still.
    pub(crate) fn is_good(&self) -> bool {
        let access = self.access.borrow();
        match &self.key {
            None => access.keys.is_empty(),
            Some(key) => access.keys.has(key) && !key.is_expired(SystemTime::now()),
        }
    }
}

#[cfg(test)]
impl Pass {
    /// One that was given where no key was needed, and what ends it.
    pub(crate) fn of_nobody() -> (impl FnOnce(), Pass) {
        let (say, access) = watch::channel(Arc::new(Access::of_this_machine()));
        let hash = crate::access::Hash::cheap("one");
        let (kind, name) = (Kind::Token, "ci".into());
        let key = Key { kind, name, hash, role: Role::Read, expires: None };
        let end = move || {
            drop(say.send_replace(Arc::new(Access::of_this_machine().with_keys(vec![key]))))
        };
        (end, Pass { key: None, access })
    }
}

/// By which a connection is held whose answer has no end: it is cut when the pass of who follows there ends, and a little later
/// than the answer, whose end may never be read. Copies are the same.
#[derive(Clone, Debug)]
pub(crate) struct Leash(watch::Sender<Option<Pass>>);

impl Leash {
    /// Of a connection that nobody follows over.
    pub(crate) fn new() -> Leash {
        Leash(watch::Sender::new(None))
    }

    /// Somebody follows with this pass, until the connection ends.
    pub(crate) fn hold(&self, pass: Pass) {
        self.0.send_replace(Some(pass));
    }

    /// Waits until it is to be cut.
    pub(crate) async fn cut(&self) {
        let mut held = self.0.subscribe();
        // The sender is here: it says so, or nobody ever does.
        let pass = held.wait_for(Option::is_some).await.ok().and_then(|pass| pass.clone());
        if let Some(mut pass) = pass {
            pass.ends().await;
            sleep(LEAVE_WITHIN).await;
        }
    }
}

/// What the door knows.
pub(crate) struct Door {
    access: watch::Receiver<Arc<Access>>,
    requests: Mutex<Rate>,
    failures: Mutex<Rate>,
    /// Who is hashed, and who waits to be.
    hashing: Semaphore,
    waiting: Arc<Semaphore>,
}

impl Door {
    pub(crate) fn new(access: watch::Receiver<Arc<Access>>) -> Door {
        let requests_at_once = access.borrow().requests_per_s.saturating_mul(AT_ONCE_S);
        Door {
            access,
            requests: Mutex::new(Rate::new(requests_at_once)),
            failures: Mutex::new(Rate::new(FAILURES_AT_ONCE)),
            hashing: Semaphore::new(1),
            waiting: Arc::new(Semaphore::new(VERIFYING_MAX)),
        }
    }

    async fn judge(&self, peer: IpAddr, headers: &HeaderMap) -> Result<Caller, Turned> {
        let access = Arc::clone(&self.access.borrow());
        if access.keys.is_empty() {
            let pass = Pass { key: None, access: self.access.clone() };
            return Ok(Caller { role: Role::Admin, name: None, pass });
        }
        let every = Duration::from_secs(1) / access.requests_per_s;
        lock(&self.requests).take(peer, every, Instant::now()).map_err(Turned::TooMany)?;
        let offered = offered(headers)?;
        if let Some(key) = access.keys.recall(&offered) {
            return self.caller(key);
        }
        // Counted before it is known to be wrong, so that many at once are no way around it.
        let taken = lock(&self.failures).take(peer, FAILURES_EVERY, Instant::now());
        taken.map_err(Turned::TooManyFailures)?;
        let Some(key) = self.verify(&access, offered).await? else { return Err(Turned::Wrong) };
        lock(&self.failures).give_back(peer, FAILURES_EVERY);
        self.caller(&key)
    }

    fn caller(&self, key: &Key) -> Result<Caller, Turned> {
        if key.is_expired(SystemTime::now()) {
            return Err(Turned::Expired(key.kind, key.name.clone()));
        }
        let name = Some(format!("{} {:?}", key.kind.name(), key.name));
        let pass = Pass { key: Some(key.clone()), access: self.access.clone() };
        Ok(Caller { role: key.role, name, pass })
    }

    /// One at a time, beside the thread that serves.
    async fn verify(&self, access: &Arc<Access>, offered: Offered) -> Result<Option<Key>, Turned> {
        let _waits = self.waiting.try_acquire().map_err(|_| Turned::Busy)?;
        let _turn = self.hashing.acquire().await.map_err(|_| Turned::Busy)?;
        let access = Arc::clone(access);
        let verified =
            tokio::task::spawn_blocking(move || access.keys.verify(&offered).cloned()).await;
        verified.map_err(|_| Turned::Busy)
    }
}

fn lock(rate: &Mutex<Rate>) -> std::sync::MutexGuard<'_, Rate> {
    rate.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The one key that a request says it has.
fn offered(headers: &HeaderMap) -> Result<Offered, Turned> {
    let mut said = headers.get_all(AUTHORIZATION).iter();
    match (said.next(), said.next()) {
        (None, _) => Err(Turned::Nameless),
        (Some(header), None) => Offered::read(header).ok_or(Turned::Wrong),
        _ => Err(Turned::Wrong),
    }
}

/// Why somebody is turned away.
#[derive(Debug)]
enum Turned {
    Nameless,
    Wrong,
    Expired(Kind, String),
    TooMany(Duration),
    TooManyFailures(Duration),
    Busy,
}

impl IntoResponse for Turned {
    fn into_response(self) -> Response {
        let unauthorized =
            |kind, detail: String| Problem::new(StatusCode::UNAUTHORIZED, kind, detail);
        match self {
            Turned::Nameless => {
                let detail = "this needs a key: a token (Authorization: Bearer NAME.SECRET) or a password (Basic)";
                challenged(unauthorized("no-key", detail.into()))
            }
            Turned::Wrong => {
                challenged(unauthorized("wrong-key", "no such token or password is known".into()))
            }
            Turned::Expired(kind, name) => {
                let detail = format!("the {} {name:?} has expired: ask for another", kind.name());
                challenged(unauthorized("expired-key", detail))
            }
            Turned::TooMany(wait) => later(
                wait,
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-requests",
                "more requests from this address than are answered",
            ),
            Turned::TooManyFailures(wait) => later(
                wait,
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-failures",
                "too many wrong tokens and passwords from this address",
            ),
            Turned::Busy => later(
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

/// Lets somebody in who may come in, and says who it is.
pub(crate) async fn door(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.address.ip());
    match door.judge(peer, request.headers()).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(turned) => turned.into_response(),
    }
}

/// Lets a request through to a route that needs this role.
pub(crate) async fn need(State(needed): State<Role>, request: Request, next: Next) -> Response {
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
    use crate::access::Hash;

    fn key(secret: &str, expires: Option<SystemTime>) -> Key {
        let (kind, hash) = (Kind::Token, Hash::cheap(secret));
        Key { kind, name: "ci".into(), hash, role: Role::Read, expires }
    }

    fn with(keys: &[Key]) -> Arc<Access> {
        Arc::new(Access::of_this_machine().with_keys(keys.to_vec()))
    }

    /// What comes of a pass when others are good from now on; whether it ended by itself within ten seconds.
    fn ended(had: &[Key], then: Option<&[Key]>) -> bool {
        let (say, access) = watch::channel(with(had));
        let mut pass = Pass { key: had.first().cloned(), access };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            assert!(pass.is_good() || then.is_none());
            let change = async {
                if let Some(then) = then {
                    say.send_replace(with(then));
                }
            };
            let patience = if then == Some(had) { 50 } else { 10_000 };
            let (ended, ()) =
                tokio::join!(timeout(Duration::from_millis(patience), pass.ends()), change);
            assert_eq!(ended.is_ok(), !pass.is_good());
            ended.is_ok()
        })
    }

    #[test]
    fn a_pass_is_good_as_long_as_its_key() {
        let keys = [key("one", None), Key { name: "other".into(), ..key("two", None) }];
        assert!(!ended(&keys, Some(&keys)), "the same were read again");
        assert!(ended(&keys, Some(&keys[1..])), "it was taken away");
        assert!(ended(&keys, Some(&[key("another", None)])), "its secret is another now");
        assert!(ended(&keys, Some(&[])), "none is needed now, and its was taken away");
        assert!(ended(&[], Some(&keys)), "none was needed until now");
        let soon = SystemTime::now() + Duration::from_secs(1);
        assert!(ended(&[key("one", Some(soon))], None), "it expired");
    }

    #[test]
    fn what_takes_for_ever_ends_with_the_pass() {
        let (say, access) = watch::channel(with(&[key("one", None)]));
        let mut pass = Pass { key: Some(key("one", None)), access };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            assert_eq!(pass.while_good(async { 7 }).await, Some(7));
            say.send_replace(with(&[]));
            let never = pass.while_good(std::future::pending::<()>());
            assert_eq!(timeout(Duration::from_secs(10), never).await, Ok(None));
        });
    }

    #[test]
    fn a_pass_ends_with_the_server() {
        let (say, access) = watch::channel(with(&[]));
        let mut pass = Pass { key: None, access };
        drop(say);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let ends = async { timeout(Duration::from_secs(10), pass.ends()).await };
        assert!(runtime.block_on(ends).is_ok());
    }
}
