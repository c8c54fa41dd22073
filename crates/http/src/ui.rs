//! The web interface: the files that `web/` is built to, compressed once, as a browser reads them.
//!
//! They are the same for every client and say nothing of the network, so they need no key: the page
//! asks the API for everything, with the key of the person before it. A page that is newer or
//! older than its controller is found by its entity tag.

use std::sync::LazyLock;

use axum::Router;
use axum::http::header::{
    CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue,
    IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

use crate::etag;

/// Scripts, styles, data and frames of this server alone, itself in no frame, with no form that is
/// sent anywhere. A frame holds the page of an application (`app_pages`).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      connect-src 'self'; img-src 'self' data:; frame-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A window that another page opened, or that this one opens, cannot reach the other.
const OPENER_POLICY: (HeaderName, HeaderValue) = (
    HeaderName::from_static("cross-origin-opener-policy"),
    HeaderValue::from_static("same-origin"),
);

/// A file of the interface.
struct UiAsset {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
    is_gzip: bool,
}

/// All that a browser loads. Every browser that runs the page reads gzip.
static ASSETS: [UiAsset; 4] = [
    UiAsset {
        path: "/",
        kind: "text/html; charset=utf-8",
        bytes: include_bytes!("../ui/index.html"),
        is_gzip: false,
    },
    UiAsset {
        path: "/app.js",
        kind: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../ui/app.js.gz"),
        is_gzip: true,
    },
    UiAsset {
        path: "/app.css",
        kind: "text/css; charset=utf-8",
        bytes: include_bytes!("../ui/app.css.gz"),
        is_gzip: true,
    },
    UiAsset {
        path: "/icon.svg",
        kind: "image/svg+xml",
        bytes: include_bytes!("../ui/icon.svg"),
        is_gzip: false,
    },
];

/// The tag of each, in the same order.
static TAGS: LazyLock<[String; ASSETS.len()]> = LazyLock::new(|| {
    std::array::from_fn(|at| {
        let digest = Sha256::digest(ASSETS[at].bytes);
        let digits: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("\"{digits}\"")
    })
});

/// The routes of the interface, which need no key.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    ASSETS.iter().enumerate().fold(Router::new(), |router, (at, asset)| {
        router.route(asset.path, get(move |headers: HeaderMap| async move { show(at, &headers) }))
    })
}

fn show(at: usize, headers: &HeaderMap) -> Response {
    let (asset, tag) = (&ASSETS[at], &TAGS[at]);
    let mut known = headers.get_all(IF_NONE_MATCH).iter();
    let has_it = known.any(|known| etag::names(known, tag));
    let mut response = match has_it {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => asset.bytes.into_response(),
    };
    let said = response.headers_mut();
    said.insert(CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    said.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    said.insert(OPENER_POLICY.0, OPENER_POLICY.1);
    said.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if asset.is_gzip {
        said.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Ok(tag) = HeaderValue::from_str(tag) {
        said.insert(ETAG, tag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_that_has_a_file_is_told_so() {
        for (at, asset) in ASSETS.iter().enumerate() {
            let first = show(at, &HeaderMap::new());
            assert_eq!(first.status(), StatusCode::OK, "{}", asset.path);
            let tag = first.headers()[ETAG].clone();
            let again = show(at, &HeaderMap::from_iter([(IF_NONE_MATCH, tag)]));
            assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{}", asset.path);
            let other = HeaderValue::from_static("\"another\"");
            let other = show(at, &HeaderMap::from_iter([(IF_NONE_MATCH, other)]));
            assert_eq!(other.status(), StatusCode::OK, "{}", asset.path);
        }
    }

    #[test]
    fn the_page_is_small_and_names_only_files_that_are_there() {
        let loaded: usize = ASSETS.iter().map(|asset| asset.bytes.len()).sum();
        assert!(loaded <= 300 * 1024, "{loaded} bytes");
        assert!(ASSETS.iter().all(|asset| !asset.is_gzip || asset.bytes.starts_with(b"\x1f\x8b")));
        let page = std::str::from_utf8(ASSETS[0].bytes).unwrap();
        let named = page.split(['"', '\'']).filter_map(|word| word.strip_prefix("./"));
        for name in named {
            let path = format!("/{name}");
            assert!(ASSETS.iter().any(|asset| asset.path == path), "{path}");
        }
        assert!(!page.contains("=\"/") && !page.contains("://"), "a path that no prefix fits");
    }
}
