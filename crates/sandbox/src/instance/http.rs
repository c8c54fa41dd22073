//! The call that answers a request over HTTP, which a component may export.

use wasmtime::component::{Instance as Linked, TypedFunc};
use wasmtime::{Error, Store};

use super::answer::appended;
use super::{Instance, InstanceState, allow};
use crate::fault::Fault;
use crate::http::{HttpRequest, RawAnswer};

/// The name of the export.
pub(crate) const HTTP: &str = "http";

/// Method, path, query, type of the body, and body.
type Params = (String, String, String, String, Vec<u8>);

/// The call: it returns the body of its answer, or appends it.
pub(super) enum HttpFunc {
    Returns(TypedFunc<Params, (RawAnswer,)>),
    Appends(TypedFunc<Params, ((u16, String),)>),
}

/// The call of a component, where it exports it.
///
/// # Errors
/// The export has another type.
pub(super) fn find(
    linked: &Linked,
    store: &mut Store<InstanceState>,
) -> Result<Option<HttpFunc>, Error> {
    let Some(func) = linked.get_func(&mut *store, HTTP) else { return Ok(None) };
    match func.typed(&*store) {
        Ok(appends) => Ok(Some(HttpFunc::Appends(appends))),
        Err(_) => func.typed(&*store).map(|returns| Some(HttpFunc::Returns(returns))),
    }
}

impl Instance {
    /// Has it answer a request.
    ///
    /// # Errors
    /// How the call failed. An application that exports none is not asked: its package is refused
    /// where its manifest says that it answers requests.
    pub(crate) fn http(&mut self, request: HttpRequest) -> Result<RawAnswer, Fault> {
        let Some(http) = &self.http else {
            return Ok((404, "text/plain".to_owned(), Vec::new()));
        };
        let HttpRequest { method, path, query, content_type, body } = request;
        let _call = allow(&mut self.store, &self.ticker, self.batch_ms);
        let (store, params) = (&mut self.store, (method, path, query, content_type, body));
        let answered = match http {
            HttpFunc::Returns(func) => func.call(&mut *store, params).map(|(answer,)| answer),
            HttpFunc::Appends(func) => func
                .call(&mut *store, params)
                .map(|((status, kind),)| (status, kind, appended(store))),
        };
        answered.map_err(|error| self.fault(&error, self.batch_ms))
    }
}
