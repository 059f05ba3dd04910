//! Who may look, and who may change something.
//!
//! Owns the decision for each request, made before any endpoint sees it. The method shows what an endpoint does:
//! GET, HEAD and OPTIONS look, everything else changes something. Probes, and the files of the page, are for everybody.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio::sync::watch;
use weir_tls::{Identity, TokenFile};
use weir_types::Pattern;

use crate::site;

/// Paths that show only whether the process is alive and ready.
pub(crate) const PROBES: [&str; 2] = ["/live", "/ready"];

/// What it takes. Where nothing is set, everybody who can connect may do everything.
#[derive(Clone, Debug, Default)]
pub struct Auth {
    /// The token that it takes to look.
    pub token: Option<TokenFile>,
    /// The token that it takes to change something. It is good to look, too.
    pub change_token: Option<TokenFile>,
    /// Whose certificates are good to look.
    pub readers: Vec<Pattern>,
    /// Whose certificates are good to look and to change something.
    pub changers: Vec<Pattern>,
}

/// Who connected.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Where from.
    pub address: SocketAddr,
    /// Whom its certificate names; nobody where it has shown none.
    pub identity: Option<Identity>,
}

impl Peer {
    fn name(&self) -> Option<String> {
        self.identity.as_ref().map(ToString::to_string)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Look,
    Change,
}

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// It has no credentials.
    Unknown,
    /// It is from somebody who may not.
    NotAllowed,
    /// It may come from a web page that somebody looks at, who knows nothing of it.
    Browser,
}

impl Auth {
    fn judge(&self, wish: Wish, headers: &HeaderMap, identity: Option<&Identity>) -> Result<(), Refusal> {
        let certificates = !self.readers.is_empty() || !self.changers.is_empty();
        let guards_looking = self.token.is_some() || certificates;
        if wish == Wish::Look && !guards_looking {
            return Ok(());
        }
        if !guards_looking && self.change_token.is_none() {
            return if is_of_page(headers) { Err(Refusal::Browser) } else { Ok(()) };
        }
        let shown = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes());
        let bearer = shown.and_then(|value| {
            let (scheme, token) = value.split_at_checked(7)?;
            scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
        });
        let has = |token: &Option<TokenFile>| {
            token.as_ref().zip(bearer).is_some_and(|(token, shown)| token.current().is(shown))
        };
        let is_of = |names: &[Pattern]| {
            identity.is_some_and(|identity| names.iter().any(|name| identity.matches(name)))
        };
        let has_token = has(&self.change_token);
        // A browser shows a certificate by itself, whatever page has it ask.
        if wish == Wish::Change && !has_token && is_of(&self.changers) && is_of_other_site(headers) {
            return Err(Refusal::Browser);
        }
        let changes = has_token || is_of(&self.changers);
        let looks = changes || has(&self.token) || is_of(&self.readers);
        match wish {
            Wish::Look if looks => Ok(()),
            Wish::Change if changes => Ok(()),
            _ if looks || shown.is_some() || identity.is_some() => Err(Refusal::NotAllowed),
            _ => Err(Refusal::Unknown),
        }
    }
}

/// Where the page is that a request comes from, by Fetch Metadata; none where it comes from no browser of today.
fn site(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get("sec-fetch-site").map(HeaderValue::as_bytes)
}

/// Whether a request comes from a web page.
fn is_of_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || site(headers).is_some_and(|site| site != b"none")
}

/// Whether a request comes from a web page of another server, or may.
fn is_of_other_site(headers: &HeaderMap) -> bool {
    match site(headers) {
        Some(site) => site != b"same-origin" && site != b"none",
        None => headers.contains_key(header::ORIGIN),
    }
}

/// Has every request to `router` judged first, by what it takes then.
pub(crate) fn guard(router: Router, auth: watch::Receiver<Auth>) -> Router {
    router.layer(from_fn_with_state(auth, check))
}

async fn check(State(auth): State<watch::Receiver<Auth>>, request: Request, next: Next) -> Response {
    let wish = match *request.method() {
        Method::GET | Method::HEAD | Method::OPTIONS => Wish::Look,
        _ => Wish::Change,
    };
    let path = request.uri().path();
    if wish == Wish::Look && (PROBES.contains(&path) || site::has(path)) {
        return next.run(request).await;
    }
    let peer = request.extensions().get::<Peer>().cloned();
    let identity = peer.as_ref().and_then(|peer| peer.identity.as_ref());
    let judged = auth.borrow().judge(wish, request.headers(), identity);
    match judged {
        Ok(()) if wish == Wish::Look => next.run(request).await,
        Ok(()) => change(request, peer.as_ref(), next).await,
        Err(refusal) => {
            refusal.note(wish, &request, peer.as_ref());
            refusal.answer(wish)
        }
    }
}

/// Runs a request that changes something, and logs who sent it.
async fn change(request: Request, peer: Option<&Peer>, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let response = next.run(request).await;
    weir_metrics::ADMIN_CHANGES.counter().add(1, &[]);
    let changed = response.status().is_success();
    let event = if changed { "an operator has changed something" } else { "change by an operator rejected" };
    tracing::info!(
        peer = peer.map(|peer| peer.address.to_string()), identity = peer.and_then(Peer::name), %method, %uri,
        status = response.status().as_u16(), "{event}"
    );
    response
}

impl Refusal {
    fn note(self, wish: Wish, request: &Request, peer: Option<&Peer>) {
        weir_metrics::ADMIN_DENIED.counter().add(1, &[]);
        tracing::warn!(
            peer = peer.map(|peer| peer.address.to_string()), identity = peer.and_then(Peer::name), method = %request.method(),
            path = request.uri().path(), reason = self.text(wish), "admin request denied"
        );
    }

    /// The reason, for the caller and the log.
    fn text(self, wish: Wish) -> &'static str {
        match (self, wish) {
            (Self::Browser, _) => "a request from a web page cannot change anything",
            (Self::Unknown, Wish::Look) => "this takes a token (admin.token_file) or a certificate",
            (Self::Unknown, Wish::Change) => "this takes a token (admin.change_token_file) or a certificate",
            (Self::NotAllowed, Wish::Look) => "the token or certificate is not good for this",
            (Self::NotAllowed, Wish::Change) => {
                "the token or certificate is not good to change anything (admin.change_token_file)"
            }
        }
    }

    fn answer(self, wish: Wish) -> Response {
        let text = format!("{}\n", self.text(wish));
        match self {
            Self::Unknown => {
                (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], text).into_response()
            }
            Self::NotAllowed | Self::Browser => (StatusCode::FORBIDDEN, text).into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_tls::Token;

    use super::*;

    fn token(directory: &tempfile::TempDir, text: &str) -> Option<TokenFile> {
        let path = directory.path().join(text);
        std::fs::write(&path, text).unwrap();
        Some(Token::keep("test", &path).unwrap())
    }

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        [(name, HeaderValue::from_str(value).unwrap())].into_iter().collect()
    }

    #[tokio::test]
    async fn looking_and_changing_take_different_things() {
        let directory = tempfile::tempdir().unwrap();
        let pattern = |text: &str| vec![text.parse().unwrap()];
        let both = Auth {
            token: token(&directory, "look"),
            change_token: token(&directory, "change"),
            readers: pattern("spiffe://a/reader"),
            changers: pattern("spiffe://a/changer"),
        };
        let looking = Auth { token: both.token.clone(), ..Auth::default() };
        let changing = Auth { change_token: both.change_token.clone(), ..Auth::default() };
        let open = Auth::default();
        let bearer = |token: &str| headers(header::AUTHORIZATION, &format!("Bearer {token}"));
        let none = HeaderMap::new;
        let of = |name: &str| Some(Identity::new(vec![format!("spiffe://a/{name}")], Vec::new()));
        let fetched = |site: &str| headers(header::HeaderName::from_static("sec-fetch-site"), site);
        let page = Err(Refusal::Browser);
        let (ok, unknown, denied) = (Ok(()), Err(Refusal::Unknown), Err(Refusal::NotAllowed));
        for (auth, headers, identity, look, change) in [
            (&open, none(), None, ok, ok),
            (&open, headers(header::ORIGIN, "http://evil.example"), None, ok, page),
            (&open, fetched("cross-site"), None, ok, page),
            (&open, fetched("same-site"), None, ok, page),
            (&open, fetched("none"), None, ok, ok),
            (&both, fetched("cross-site"), of("changer"), ok, page),
            (&both, headers(header::ORIGIN, "http://evil.example"), of("changer"), ok, page),
            (&both, fetched("same-origin"), of("changer"), ok, ok),
            (&looking, none(), None, unknown, unknown),
            (&looking, bearer("look"), None, ok, denied),
            (&looking, bearer("loo"), None, denied, denied),
            (&looking, headers(header::AUTHORIZATION, "Basic look"), None, denied, denied),
            (&looking, headers(header::AUTHORIZATION, "bearer look"), None, ok, denied),
            (&changing, none(), None, ok, unknown),
            (&changing, bearer("change"), None, ok, ok),
            (&changing, bearer("look"), None, ok, denied),
            (&both, none(), None, unknown, unknown),
            (&both, bearer("change"), None, ok, ok),
            (&both, bearer("look"), None, ok, denied),
            (&both, none(), of("reader"), ok, denied),
            (&both, none(), of("changer"), ok, ok),
            (&both, none(), of("other"), denied, denied),
            (&both, bearer("change"), of("reader"), ok, ok),
        ] {
            for (wish, wanted) in [(Wish::Look, look), (Wish::Change, change)] {
                let judged = auth.judge(wish, &headers, identity.as_ref());
                assert_eq!(judged, wanted, "{wish:?} {headers:?} {identity:?} {auth:?}");
            }
        }
    }
}
