//! NAME: what it does, in a sentence.

use aldis_app::{App, Next, Output, Port, Request};

/// Floods every packet: a hub.
struct NewApp;

impl App for NewApp {
    fn start(_config: &str) -> Result<NewApp, String> {
        Ok(NewApp)
    }

    fn packet_in(&mut self, request: &Request<'_>, out: &mut Output) -> Next {
        out.send(request, Port::FLOOD);
        // The applications that come later do not see the packet.
        Next::Stop
    }
}

aldis_app::export!(NewApp);
