//! Applications for the OpenFlow controller Aldis that run in its sandbox, as WebAssembly
//! components.
//!
//! An application implements [`App`] and is exported by [`export!`]:
//!
//! ```ignore
//! use aldis_app::{App, Next, Output, Port, Request};
//!
//! struct Hub;
//!
//! impl App for Hub {
//!     fn start(_: &str) -> Result<Hub, String> {
//!         Ok(Hub)
//!     }
//!
//!     fn packet_in(&mut self, request: &Request<'_>, out: &mut Output) -> Next {
//!         out.send(request, Port::FLOOD);
//!         Next::Stop
//!     }
//! }
//!
//! aldis_app::export!(Hub);
//! ```
//!
//! It is built with `cargo build --release --target wasm32-wasip2`. What events and commands are as
//! bytes stands in `docs/app-records.md`; [`events`] reads the ones, [`Output`] writes the others.

pub mod events;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod guest;
#[cfg(target_family = "wasm")]
pub mod host;
mod http;
mod mac_table;
pub mod message;
mod output;
pub mod packet;
mod per_switch;
mod types;

pub use events::{Datapath, Event, Request, Requests, SwitchPort};
pub use http::{HttpRequest, HttpResponse};
pub use mac_table::MacTable;
pub use output::{Flow, Output};
pub use per_switch::PerSwitch;
pub use types::{MacAddr, Port, Version};

/// Whether the applications that come later see the event too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// They do.
    Continue,
    /// They do not.
    Stop,
}

/// An application. There is one instance, or one for each worker, as its manifest says; it is never
/// called from two threads.
pub trait App: Sized + 'static {
    /// Starts with the application's own settings, as TOML.
    ///
    /// # Errors
    /// Why it cannot start, in words for the operator.
    fn start(config: &str) -> Result<Self, String>;

    /// Whether [`App::look_ahead`] is to be called.
    const LOOKS_AHEAD: bool = false;

    /// The requests of one switch that come next, before the first of them is handed over. An
    /// application with large tables has the processor load what it will need
    /// ([`MacTable::prefetch`]): so it waits for memory once a batch, and not once a request.
    fn look_ahead(&mut self, dpid: u64, requests: Requests<'_>) {
        let _ = (dpid, requests);
    }

    /// A switch asks what to do with a packet.
    fn packet_in(&mut self, request: &Request<'_>, out: &mut Output) -> Next {
        let _ = (request, out);
        Next::Continue
    }

    /// Something else happened at a switch.
    fn event(&mut self, switch: &Datapath, event: &Event<'_>, out: &mut Output) -> Next {
        let _ = (switch, event, out);
        Next::Continue
    }

    /// The interval of the manifest (`tick-ms`) is over; `now` is in nanoseconds since the
    /// controller started.
    fn tick(&mut self, now: u64, out: &mut Output) {
        let _ = (now, out);
    }

    /// A request over HTTP below `/apps/NAME`, where the manifest asks for them (`grants.http`). No
    /// command can be given here: what is to be sent is kept, and sent by the next event or
    /// [`App::tick`].
    fn http(&mut self, request: &HttpRequest) -> HttpResponse {
        let _ = request;
        HttpResponse::not_found()
    }

    /// It is stopped.
    fn stop(&mut self) {}
}

/// Handles a batch: each of its events in turn.
pub fn handle<A: App>(app: &mut A, events: &[u8], out: &mut Output) {
    let Some(mut batch) = events::Events::read(events) else { return };
    let mut ahead = events::Ahead::default();
    loop {
        if A::LOOKS_AHEAD
            && let Some((dpid, requests)) = ahead.at(&batch)
        {
            app.look_ahead(dpid, requests);
        }
        let Some(record) = batch.next() else { return };
        out.about(record.switch.dpid, record.index);
        let next = match record.request() {
            Some(request) => app.packet_in(&request, out),
            None => match record.event() {
                Some(event) => app.event(&record.switch, &event, out),
                None => Next::Continue,
            },
        };
        if next == Next::Stop {
            out.stop();
        }
    }
}

/// Exports a type that implements [`App`] as the component's application.
#[macro_export]
macro_rules! export {
    ($App:ty) => {
        const _: () = {
            ::std::thread_local! {
                static APP: ::std::cell::RefCell<$crate::guest::Hosted<$App>> =
                    const { ::std::cell::RefCell::new($crate::guest::Hosted::new()) };
            }

            struct Exported;

            impl $crate::guest::Guest for Exported {
                fn start(config: ::std::string::String) -> Result<(), ::std::string::String> {
                    APP.with_borrow_mut(|app| app.start(&config))
                }

                fn batch(events: ::std::vec::Vec<u8>) -> ::std::vec::Vec<u8> {
                    APP.with_borrow_mut(|app| app.batch(&events))
                }

                fn tick(now: u64) -> ::std::vec::Vec<u8> {
                    APP.with_borrow_mut(|app| app.tick(now))
                }

                fn http(
                    method: ::std::string::String,
                    path: ::std::string::String,
                    query: ::std::string::String,
                    content_type: ::std::string::String,
                    body: ::std::vec::Vec<u8>,
                ) -> (u16, ::std::string::String, ::std::vec::Vec<u8>) {
                    let request = $crate::HttpRequest { method, path, query, content_type, body };
                    APP.with_borrow_mut(|app| app.http(&request))
                }

                fn stop() {
                    APP.with_borrow_mut(|app| app.stop());
                }
            }

    $crate::guest::export_component!(Exported with_types_in $crate::guest);
        };
    };
}
