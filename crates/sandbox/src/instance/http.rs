//! The call that answers a request over HTTP, which a component may export.

use wasmtime::component::{Instance as Linked, TypedFunc};
use wasmtime::{Error, Store};

use super::{Instance, InstanceState, allow};
use crate::fault::Fault;
use crate::http::{HttpRequest, RawAnswer};

/// The name of the export.
pub(crate) const HTTP: &str = "http";

/// Method, path, query, type of the body, and body.
type Params = (String, String, String, String, Vec<u8>);

/// The call.
pub(super) type HttpFunc = TypedFunc<Params, (RawAnswer,)>;

/// The call of a component, where it exports it.
///
/// # Errors
/// The export has another type.
pub(super) fn find(
    linked: &Linked,
    store: &mut Store<InstanceState>,
) -> Result<Option<HttpFunc>, Error> {
    match linked.get_func(&mut *store, HTTP) {
        None => Ok(None),
        Some(func) => func.typed(&*store).map(Some),
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
        allow(&mut self.store, &self.ticker, self.batch_ms);
        let answer = http.call(&mut self.store, (method, path, query, content_type, body));
        answer.map(|(answer,)| answer).map_err(|error| self.fault(&error))
    }
}
