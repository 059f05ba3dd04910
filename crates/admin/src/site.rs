//! The page at `/`, for people: its files, which are built into the program.
//!
//! They are the same wherever this version of Weir runs, and contain nothing about it: whoever has to show a token needs the
//! page to be asked for it. What the page shows, it asks of the other endpoints.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::Router;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File {
    /// Where it is found.
    pub(crate) path: &'static str,
    /// The content.
    pub(crate) text: &'static str,
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[
            File { path: "/", text: include_str!("../page/index.html") },
            $(File { path: concat!("/page/", $name), text: include_str!(concat!("../page/", $name)) },)*
        ]
    };
}

/// All there are.
pub(crate) const FILES: &[File] = files![
    "api.js",
    "chart.js",
    "dom.js",
    "fleet.js",
    "format.js",
    "header.js",
    "icon.svg",
    "latency.js",
    "layout.css",
    "live.js",
    "main.js",
    "pages.js",
    "panel.js",
    "panels.css",
    "panels/client.js",
    "panels/lists.js",
    "panels/overview.js",
    "panels/rejections.js",
    "panels/resource.js",
    "parts.css",
    "parts.js",
    "rows.js",
    "search.js",
    "theme.css",
    "token.js",
    "tree.js",
];

/// Nothing but these files may run or be loaded, nobody but this Weir may be asked, and no text may become markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types";

/// What goes with every file. They are asked for again each time, and not sent again unless they have changed.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-cache"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Whether a path is that of a file.
pub(crate) fn has(path: &str) -> bool {
    FILES.iter().any(|file| file.path == path)
}

/// A route to each file.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.iter().fold(Router::new(), |router, file| {
        router.route(file.path, get(async |headers: HeaderMap| file.answer(&headers)))
    })
}

impl File {
    /// The file, unless who asks has just this one.
    pub(crate) fn answer(&self, headers: &HeaderMap) -> Response {
        let tag = self.tag();
        if headers.get_all(header::IF_NONE_MATCH).iter().any(|held| names(held.as_bytes(), &tag)) {
            return (StatusCode::NOT_MODIFIED, HEADERS, [(header::ETAG, tag)]).into_response();
        }
        let kind = [(header::CONTENT_TYPE, self.kind())];
        (HEADERS, kind, [(header::ETAG, tag)], self.text).into_response()
    }

    /// A hash of the content, to distinguish it from that of other versions.
    fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        format!("\"{:016x}\"", hasher.finish())
    }

    fn kind(&self) -> &'static str {
        match self.path.rsplit_once('.') {
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            _ => "text/html; charset=utf-8",
        }
    }
}

/// Whether `If-None-Match` names a tag.
fn names(held: &[u8], tag: &str) -> bool {
    held.split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .any(|one| one == b"*" || one.strip_prefix(b"W/").unwrap_or(one) == tag.as_bytes())
}
