//! Whether clients can be served.

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use weir_config::Config;

/// Ready once every upstream is, until clients are moved elsewhere.
#[derive(Debug)]
pub(crate) struct Readiness {
    authorities: Mutex<Vec<String>>,
    upstream: weir_upstream::Status,
    draining: CancellationToken,
}

impl Readiness {
    /// Not ready any more once `draining` is cancelled.
    pub(crate) fn new(config: &Config, upstream: weir_upstream::Status, draining: CancellationToken) -> Self {
        Self { authorities: Mutex::new(authorities(config)), upstream, draining }
    }

    /// Goes by the upstreams of `config` from now on.
    pub(crate) fn follow(&self, config: &Config) {
        *self.authorities.lock() = authorities(config);
    }

    /// What is still missing, in words for an operator; empty when ready.
    pub(crate) fn pending(&self) -> Vec<String> {
        let authorities = self.authorities.lock();
        let behind = authorities.iter().filter_map(|authority| {
            let state = match (self.upstream.is_connected(authority), self.upstream.is_in_sync(authority)) {
                (_, true) => return None,
                (true, false) => "has not answered everything yet",
                (false, false) => "is not connected",
            };
            Some(format!("the upstream of authority {authority:?} {state}"))
        });
        let draining = self.draining.is_cancelled().then(|| "clients are moved elsewhere".to_owned());
        draining.into_iter().chain(behind).collect()
    }
}

fn authorities(config: &Config) -> Vec<String> {
    config.upstreams.iter().map(|upstream| upstream.authority.clone()).collect()
}
