//! What browsers and programs ask installed applications over HTTP: their routes and their pages.

use aldis_http::api::app_routes::{AppAnswer, AppRequest, NotAnswered};
use aldis_sandbox::{Application, HttpError, HttpRequest, HttpResponse, Package};
use tracing::warn;

use super::InstalledApps;

/// The page that is shown where no file is named.
const INDEX: &str = "index.html";

impl InstalledApps {
    /// Has an application answer a request. A failure is told to the operator.
    ///
    /// # Errors
    /// Why there is no answer of its own.
    pub(crate) fn ask(&self, name: &str, asked: AppRequest) -> Result<AppAnswer, NotAnswered> {
        let application = self.asked(name)?;
        let AppRequest { method, path, query, content_type, body } = asked;
        let request = HttpRequest { method, path, query, content_type, body };
        match application.http(request) {
            Ok(HttpResponse { status, content_type, body }) => {
                Ok(AppAnswer { status, content_type: content_type.header(), body })
            }
            Err(why) => Err(not_answered(name, why)),
        }
    }

    /// The digest of its package, where that has a page to begin with.
    ///
    /// # Errors
    /// No application of this name was installed.
    pub(crate) fn pages(&self, name: &str) -> Result<Option<String>, NotAnswered> {
        Ok(digest_of_pages(self.asked(name)?.package()))
    }

    /// A file of its package, as [`aldis_http::Controller::app_page`] has it.
    pub(crate) fn page(&self, name: &str, digest: &str, path: &str) -> Option<Option<Vec<u8>>> {
        let application = self.asked(name).ok()?;
        let package = application.package();
        if package.pages().is_empty() || package.digest().to_string() != digest {
            return None;
        }
        let found = package.pages().iter().find(|page| page.path == path);
        Some(found.map(|page| page.bytes.clone()))
    }

    /// The application, also while another one is installed.
    fn asked(&self, name: &str) -> Result<Application, NotAnswered> {
        let found = self.apps.shown().get(name).map(|installed| installed.application.clone());
        found.ok_or_else(|| {
            let why = format!("no application {name:?} was installed from a package");
            NotAnswered::Unknown(why)
        })
    }
}

/// Where the pages of an application begin, from the root of the server on.
pub(super) fn page_path(application: &Application) -> Option<String> {
    let digest = digest_of_pages(application.package())?;
    Some(format!("apps/{}/@pages/{digest}/", application.name()))
}

fn digest_of_pages(package: &Package) -> Option<String> {
    let has_index = package.pages().iter().any(|page| page.path == INDEX);
    has_index.then(|| package.digest().to_string())
}

fn not_answered(name: &str, why: HttpError) -> NotAnswered {
    let words = format!("{name}: {why}");
    match why {
        HttpError::NotOffered => NotAnswered::NoRoutes(words),
        HttpError::NotRunning(_) => NotAnswered::NotRunning(words),
        HttpError::Busy => NotAnswered::Busy(words),
        HttpError::Unfit(_) => NotAnswered::Unfit(words),
        // It begins with the name already.
        HttpError::Failed(words) => {
            warn!("{words}");
            NotAnswered::Failed(words)
        }
    }
}
