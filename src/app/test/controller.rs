//! The controller that an application is tested in: in this process, on ports of this machine
//! alone, asked over its REST interface like any other.

use std::path::Path;
use std::sync::Arc;

use aldis::{Args, Controller, Running};
use aldis_http::api::Page;
use aldis_http::api::apps::{App, AppLine, AppLog, Apps};
use aldis_http::api::events::Event;
use aldis_http::api::flows::Flow;
use aldis_sandbox::{Compiled, Package, Runtime};
use clap::Parser;
use serde::de::DeserializeOwned;

use super::super::private_folder::PrivateFolder;
use crate::client::Base;
use crate::failure::CommandFailure;

/// A controller with one application that was installed.
pub(super) struct TestController {
    running: Running,
    http: Base,
    /// The application.
    name: String,
}

/// What is to be asked of it; it can be sent to another thread.
#[derive(Clone)]
pub(super) struct ControllerView {
    http: Base,
    name: String,
}

/// The arguments of a controller, as a command line has them.
#[derive(Parser)]
struct ControllerLine {
    #[command(flatten)]
    args: Args,
}

/// A folder for compiled code that is gone with its owner.
pub(super) struct CodeFolder(PrivateFolder);

impl CodeFolder {
    /// One that the owner alone may read.
    ///
    /// # Errors
    /// One sentence: the system makes none.
    pub(super) fn new() -> Result<CodeFolder, String> {
        PrivateFolder::new("test").map(CodeFolder)
    }

    /// Compiles a package, so that each controller with this folder loads it at once: to install it
    /// takes no longer than a request over HTTP may.
    ///
    /// # Errors
    /// What is wrong with its component.
    pub(super) fn compile(&self, package: Package) -> Result<(), String> {
        let runtime = Runtime::from_now().map_err(|why| format!("cannot make sandboxes: {why}"))?;
        let compiled =
            Compiled::load(&runtime, Arc::new(package), Some(&self.0.path().join("code")));
        compiled.map(drop).map_err(|why| why.to_string())
    }
}

impl TestController {
    /// Starts one with these applications, and installs one from its package in front of them.
    ///
    /// # Errors
    /// Another application that there is not, or a package that is refused, in a sentence.
    pub(super) fn start(
        (name, package): (&str, &[u8]),
        apps: &[String],
        code: &CodeFolder,
    ) -> Result<TestController, CommandFailure> {
        let controller = Controller::with_args(arguments(apps, code.0.path())?);
        let running = controller.start()?;
        let Some(url) = running.url() else {
            running.stop();
            return Err(CommandFailure::Failed("the controller serves no HTTP".to_owned()));
        };
        let controller = TestController { running, http: Base::at(&url)?, name: name.to_owned() };
        match controller.http.send_compiled("POST", "/api/v1/apps", package) {
            Ok(_) => Ok(controller),
            Err(why) => {
                controller.running.stop();
                Err(CommandFailure::Failed(why))
            }
        }
    }

    /// Where switches connect.
    ///
    /// # Errors
    /// It listens nowhere.
    pub(super) fn address(&self) -> Result<std::net::SocketAddr, String> {
        let address = self.running.listening().first().copied();
        address.ok_or_else(|| "the controller listens nowhere".to_owned())
    }

    /// What is asked of it.
    pub(super) fn view(&self) -> ControllerView {
        ControllerView { http: self.http.clone(), name: self.name.clone() }
    }

    /// Removes the application with all that it kept, and stops.
    pub(super) fn stop(self) {
        // It ends in any case; what it kept is in a folder of its own.
        let _ = self.http.delete(&format!("/api/v1/apps/{}", self.name));
        self.running.stop();
    }
}

/// Those of a controller that tells nothing but what it cannot go on from.
fn arguments(apps: &[String], folder: &Path) -> Result<Args, CommandFailure> {
    let mut words = vec!["aldis", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"];
    words.extend(["--workers", "1", "--log", "error"]);
    let (apps, folder) = (apps.join(","), folder.display().to_string());
    words.extend(["--app-folder", &folder]);
    if !apps.is_empty() {
        words.extend(["--apps", &apps]);
    }
    let line = ControllerLine::try_parse_from(words);
    line.map(|line| line.args).map_err(|why| CommandFailure::Usage(why.to_string()))
}

impl ControllerView {
    /// The application, as it is now.
    pub(super) fn app(&self) -> Result<App, String> {
        let apps: Apps = self.ask("/api/v1/apps")?;
        let mut all = apps.apps.into_iter();
        all.find(|app| app.name == self.name)
            .ok_or_else(|| format!("{} is not there any more", self.name))
    }

    /// The name of the application.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The flows of a switch.
    pub(super) fn flows(&self, dpid: u32) -> Result<Vec<Flow>, String> {
        let page: Page<Flow> = self.ask(&format!("/api/v1/switches/{dpid}/flows"))?;
        Ok(page.items)
    }

    /// What the application wrote to the log, oldest first.
    pub(super) fn lines(&self) -> Result<Vec<AppLine>, String> {
        let log: AppLog = self.ask(&format!("/api/v1/apps/{}/log", self.name))?;
        Ok(log.lines)
    }

    /// What the controller told of the application, such as why a command was refused.
    pub(super) fn told(&self) -> Result<Vec<String>, String> {
        let page: Page<Event> = self.ask("/api/v1/events/recent")?;
        let about = page.items.into_iter().map(|event| event.text);
        Ok(about.filter(|text| text.contains(&self.name)).collect())
    }

    /// What the application answers over HTTP, at this path behind its name.
    pub(super) fn get(&self, path: &str) -> Result<String, String> {
        self.http.get(&format!("/apps/{}/{}", self.name, path.trim_start_matches('/')))
    }

    fn ask<T: DeserializeOwned>(&self, path: &str) -> Result<T, String> {
        let answer = self.http.get(path)?;
        serde_json::from_str(&answer).map_err(|why| format!("{path}: {why}"))
    }
}
