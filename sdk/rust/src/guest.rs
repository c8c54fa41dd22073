//! The component's side of the contract, for [`crate::export!`].

#![allow(missing_docs, reason = "the bindings are generated from wit/aldis-app.wit")]

use crate::output::Output;
use crate::{App, HttpRequest, HttpResponse, handle};

wit_bindgen::generate!({
    path: "../../wit",
    world: "app",
    pub_export_macro: true,
    export_macro_name: "export_component",
});

/// An application and its commands, while the component lives.
pub struct Hosted<A> {
    app: Option<A>,
    out: Output,
}

impl<A: App> Hosted<A> {
    pub const fn new() -> Hosted<A> {
        Hosted { app: None, out: Output::new() }
    }

    pub fn start(&mut self, config: &str) -> Result<(), String> {
        self.app = Some(A::start(config)?);
        Ok(())
    }

    pub fn batch(&mut self, events: &[u8]) -> Vec<u8> {
        if let Some(app) = self.app.as_mut() {
            handle(app, events, &mut self.out);
        }
        self.taken()
    }

    pub fn tick(&mut self, now: u64) -> Vec<u8> {
        if let Some(app) = self.app.as_mut() {
            app.tick(now, &mut self.out);
        }
        self.taken()
    }

    pub fn http(&mut self, request: &HttpRequest) -> (u16, String, Vec<u8>) {
        let answer = self.app.as_mut().map(|app| app.http(request));
        let answer = answer.unwrap_or_else(HttpResponse::not_found);
        (answer.status, answer.content_type.into_owned(), answer.body)
    }

    pub fn stop(&mut self) {
        if let Some(mut app) = self.app.take() {
            app.stop();
        }
    }

    fn taken(&mut self) -> Vec<u8> {
        let commands = self.out.bytes().to_vec();
        self.out.clear();
        commands
    }
}

impl<A: App> Default for Hosted<A> {
    fn default() -> Self {
        Hosted::new()
    }
}
