//! Whether clients can be served.

use tokio_util::sync::CancellationToken;
use weir_config::Config;

/// Ready once every upstream is, until clients are moved elsewhere.
#[derive(Debug)]
pub(crate) struct Readiness {
    authorities: Vec<String>,
    upstream: weir_upstream::Status,
    draining: CancellationToken,
}

impl Readiness {
    /// Not ready any more once `draining` is cancelled.
    pub(crate) fn new(config: &Config, upstream: weir_upstream::Status, draining: CancellationToken) -> Self {
        let authorities = config.upstreams.iter().map(|upstream| upstream.authority.clone()).collect();
        Self { authorities, upstream, draining }
    }

    /// What is still missing, in words for an operator; empty when ready.
    pub(crate) fn pending(&self) -> Vec<String> {
        let behind = self.authorities.iter().filter_map(|authority| {
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
