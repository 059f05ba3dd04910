//! Requests to the admin interface.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use http::header::AUTHORIZATION;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::handshake;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use weir_tls::{Client, Token};

use super::AdminArgs;
use crate::answers;
use crate::trust::TrustArgs;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// `http://HOST:PORT` or `https://HOST:PORT`
#[derive(Clone, Debug)]
pub(crate) struct Address {
    is_https: bool,
    /// `HOST:PORT`
    authority: String,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let authority = rest.trim_end_matches('/');
        let (host, port) = authority.rsplit_once(':').unwrap_or_default();
        let good = !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok();
        if !good || !["http", "https"].contains(&scheme) {
            return Err("write it like http://127.0.0.1:19000".to_owned());
        }
        Ok(Self { is_https: scheme == "https", authority: authority.to_owned() })
    }
}

impl Address {
    pub(crate) fn is_https(&self) -> bool {
        self.is_https
    }

    /// `HOST:PORT`
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    pub(crate) fn host(&self) -> &str {
        self.authority.rsplit_once(':').map_or("", |(host, _)| host)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_https { "https" } else { "http" }, self.authority)
    }
}

/// The admin interface of one instance.
pub(crate) struct Admin {
    address: Address,
    tls: Option<Client>,
    token: Option<Token>,
    trust: TrustArgs,
    runtime: Runtime,
}

impl Admin {
    pub(crate) fn new(args: &AdminArgs) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().context("start the runtime")?;
        let AdminArgs { admin: address, trust } = args;
        let tls = runtime.block_on(async { trust.tls(address.is_https, "http/1.1") })?;
        Ok(Self { address: address.clone(), tls, token: trust.token()?, trust: trust.clone(), runtime })
    }

    /// What stands at a path.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let (status, body) = self.send(Method::GET, path, None)?;
        // Not being ready is an answer too.
        if status != 200 && !body["ready"].is_boolean() {
            return Err(problem(path, status, &body));
        }
        decode(path, body)
    }

    /// What stands at a path; none where nothing does.
    pub(crate) fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>> {
        match self.send(Method::GET, path, None)? {
            (200, body) => decode(path, body).map(Some),
            (404, _) => Ok(None),
            (status, body) => Err(problem(path, status, &body)),
        }
    }

    /// Puts something there, and gives what then stands there.
    pub(crate) fn put<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T> {
        let (status, answer) = self.send(Method::PUT, path, Some(body))?;
        if status == 200 { decode(path, answer) } else { Err(problem(path, status, &answer)) }
    }

    /// Has something done, and gives what then stands there.
    pub(crate) fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let (status, answer) = self.send(Method::POST, path, None)?;
        if (200..300).contains(&status) { decode(path, answer) } else { Err(problem(path, status, &answer)) }
    }

    /// Everything that is listed at a path with these parameters, page by page.
    pub(crate) fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        parameters: &[(&str, &str)],
    ) -> Result<Vec<T>> {
        let (mut items, mut after) = (Vec::new(), None::<String>);
        loop {
            let after_last = after.iter().map(|after| ("after", after.as_str()));
            let query = query(parameters.iter().copied().chain(after_last));
            let mut page: Value = self.get(&format!("{path}{query}"))?;
            let Value::Array(more) = page["items"].take() else {
                bail!("{}{path} does not answer with a list: is that the admin interface?", self.address);
            };
            for item in more {
                items.push(decode(path, item)?);
            }
            match page["next"].take() {
                Value::String(next) => after = Some(next),
                _ => return Ok(items),
            }
        }
    }

    fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        let answer = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, self.ask(method, path, body)).await })
            .map_err(|_| anyhow!("no answer within {} s", PATIENCE.as_secs()));
        let answer = answer.flatten();
        if !answer.as_ref().is_ok_and(|(status, body)| is_of_admin(*status, body))
            && self.runtime.block_on(async { self.is_of_clients().await })
        {
            bail!(
                "{}: this is a gRPC port, where clients connect; --admin is the address of the admin interface, [admin] \
                 listen in the configuration",
                self.address
            );
        }
        answer.with_context(|| format!("ask {}{path}", self.address))
    }

    /// Whether the address is a port for clients.
    async fn is_of_clients(&self) -> bool {
        match self.trust.tls(self.address.is_https, "h2") {
            Ok(tls) => answers::is_http2(&self.address, tls.as_ref()).await,
            Err(_) => false,
        }
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        let Address { authority, .. } = &self.address;
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", authority)
            .header("content-type", "application/json")
            .body(Full::new(bytes::Bytes::from(body)))?;
        let bearer = self.token.as_ref().and_then(Token::bearer);
        request.headers_mut().extend(bearer.map(|bearer| (AUTHORIZATION, bearer)));
        let stream = TcpStream::connect(authority).await?;
        let Some(tls) = &self.tls else { return exchange(stream, request).await };
        exchange(tls.connect(self.address.host(), stream).await?, request).await
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<bytes::Bytes>>,
) -> Result<(u16, Value)> {
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    connection.abort();
    let answer = match status {
        // Whoever refuses states why in plain text.
        401 | 403 => String::from_utf8_lossy(&body).trim().into(),
        _ => serde_json::from_slice(&body).unwrap_or_default(),
    };
    Ok((status, answer))
}

/// Whether an answer is one of an admin interface: it explains each failure, but not being ready.
fn is_of_admin(status: u16, body: &Value) -> bool {
    (200..300).contains(&status)
        || body.is_string()
        || body["detail"].is_string()
        || body["ready"].is_boolean()
}

/// Reads what stands at a path.
pub(crate) fn decode<T: DeserializeOwned>(path: &str, body: Value) -> Result<T> {
    serde_json::from_value(body).with_context(|| {
        format!("{path} has another form: is that the admin interface of a Weir of this version?")
    })
}

/// Why there is no answer.
fn problem(path: &str, status: u16, body: &Value) -> anyhow::Error {
    let detail = body["detail"].as_str();
    match (status, body.as_str(), detail) {
        (401, Some(reason), _) => {
            anyhow!("{reason}: give it by --token-file, or by --tls-cert and --tls-key")
        }
        (403, Some(reason), _) => anyhow!("{reason}"),
        (_, _, Some(detail)) => anyhow!("{detail}"),
        _ => {
            anyhow!("{path} answers with {status}: is that the admin interface of a Weir of this version?")
        }
    }
}

/// Parameters of a request, as they stand behind its path; nothing for none.
pub(crate) fn query<'a>(parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters);
    let query = query.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

/// A text as a part of a path.
pub(crate) fn part(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_hosts_and_ports() {
        for good in ["http://127.0.0.1:19000", "http://[::1]:1/", "https://weir.example:80"] {
            assert!(good.parse::<Address>().is_ok(), "{good}");
        }
        for bad in ["127.0.0.1:1", "ftp://x:1", "http://x", "http://:1", "http://x:1/y", "http://x:99999"] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
    }

    #[test]
    fn parts_of_paths_are_escaped() {
        assert_eq!(part("xdstp://a/b c"), "xdstp%3A%2F%2Fa%2Fb%20c");
        assert_eq!(part("back-end_1.x~"), "back-end_1.x~");
    }
}
