//! The connections to one control plane, which its streams share.
//!
//! Owns which connection a stream is opened on: one to its endpoint that has room, or a new one, which all that wait for one
//! wait for together. Never opens a stream, and never decides which endpoint it is on.

mod addresses;
mod frames;
mod link;

use std::sync::{Arc, Weak};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use http::Uri;
use parking_lot::Mutex;
use tokio::time::timeout;
use tonic::transport::Endpoint;

pub(crate) use self::addresses::{Addresses, Used};
pub(crate) use self::frames::FrameReader;
pub use self::link::Carrier;
pub(crate) use self::link::{Lease, Link, Slot};
use crate::Settings;
use crate::connector::{ConnectError, Connector};
use crate::driver::chain;
use crate::pace::ConnectPace;

/// A connection that is being made, or why it cannot be.
type Opening = BoxFuture<'static, Result<Arc<Link>, Arc<str>>>;

/// The connections to one control plane.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// When its streams may connect.
    pub(crate) pace: ConnectPace,
    addresses: Arc<Addresses>,
    pool: Mutex<Pool>,
}

#[derive(Debug, Default)]
struct Pool {
    next: u64,
    links: Vec<Weak<Link>>,
    /// By what they are made for.
    opening: Vec<(Weak<Link>, WeakShared<Opening>)>,
}

impl Connections {
    /// A place for a stream on a connection to `endpoint`.
    ///
    /// # Errors
    /// Why there is no connection.
    pub(crate) async fn lease(&self, settings: &Arc<Settings>, endpoint: &str) -> Result<Lease, Arc<str>> {
        // What has been made is held until there is a stream on it.
        let mut _made: Option<Arc<Link>> = None;
        loop {
            let opening = {
                let mut pool = self.pool.lock();
                match pool.lease(settings, endpoint) {
                    Some(lease) => return Ok(lease),
                    None => pool.opening(settings, endpoint, &self.addresses),
                }
            };
            let link = opening.await?;
            if let Some(reason) = link.ended() {
                return Err(reason);
            }
            _made = Some(link);
        }
    }
}

impl Pool {
    fn lease(&mut self, settings: &Arc<Settings>, endpoint: &str) -> Option<Lease> {
        self.links.retain(|link| link.strong_count() > 0);
        let links = self.links.iter().filter_map(Weak::upgrade);
        links.filter(|link| link.is_for(settings, endpoint)).find_map(|link| link.lease())
    }

    /// The connection to `endpoint` that is being made, which is begun where there is none.
    fn opening(
        &mut self,
        settings: &Arc<Settings>,
        endpoint: &str,
        addresses: &Arc<Addresses>,
    ) -> Shared<Opening> {
        self.opening.retain(|(link, _)| link.strong_count() > 0);
        let is_same = |link: &Weak<Link>| link.upgrade().is_some_and(|link| link.is_for(settings, endpoint));
        let same = self.opening.iter().find(|(link, _)| is_same(link));
        // One that is done has been found to be full.
        let same = same.and_then(|(_, opening)| opening.upgrade()).filter(|opening| opening.peek().is_none());
        if let Some(opening) = same {
            return opening;
        }
        self.next += 1;
        let link = Arc::new(Link::new(self.next, Arc::clone(settings), endpoint));
        self.links.push(Arc::downgrade(&link));
        self.opening.retain(|(link, _)| !is_same(link));
        let weak = Arc::downgrade(&link);
        let opening =
            open(link, Arc::clone(settings), endpoint.to_owned(), Arc::clone(addresses)).boxed().shared();
        self.opening.extend(opening.downgrade().map(|opening| (weak, opening)));
        opening
    }
}

/// Connects `link`, and waits until it takes streams.
async fn open(
    link: Arc<Link>,
    settings: Arc<Settings>,
    endpoint: String,
    addresses: Arc<Addresses>,
) -> Result<Arc<Link>, Arc<str>> {
    let uri: Uri = endpoint.parse().map_err(|error: http::uri::InvalidUri| error.to_string())?;
    let connector = Connector::new(&settings).to(uri.clone()).of(&link, addresses);
    // With TLS of its own compiled in, tonic takes https from no other connector; the URL is between us and ours.
    let channel = Endpoint::from_static("http://endpoint")
        .origin(uri)
        .http2_keep_alive_interval(settings.keepalive_interval)
        .keep_alive_timeout(settings.keepalive_timeout)
        .keep_alive_while_idle(true)
        .http2_adaptive_window(true)
        .connect_with_connector(connector)
        .await
        .map_err(|error| chain(&error))?;
    match timeout(settings.connect_timeout, link.serve(channel)).await {
        Ok(served) => served.map(|()| link),
        Err(_) => Err(chain(&ConnectError::NoSettings(settings.connect_timeout)).into()),
    }
}
