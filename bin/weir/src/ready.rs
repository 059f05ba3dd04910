//! Whether clients can be served.

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use weir_config::{Config, ReadyWhen};

/// Ready once every upstream is, until clients are moved elsewhere.
#[derive(Debug)]
pub(crate) struct Readiness {
    wanted: Mutex<Wanted>,
    upstream: weir_upstream::Status,
    draining: CancellationToken,
}

impl Readiness {
    /// Not ready any more once `draining` is cancelled.
    pub(crate) fn new(config: &Config, upstream: weir_upstream::Status, draining: CancellationToken) -> Self {
        Self { wanted: Mutex::new(Wanted::of(config)), upstream, draining }
    }

    /// Goes by what `config` says from now on.
    pub(crate) fn follow(&self, config: &Config) {
        *self.wanted.lock() = Wanted::of(config);
    }

    /// What is still missing, in words for an operator; empty when ready.
    pub(crate) fn pending(&self) -> Vec<String> {
        let Wanted { authorities, when } = &*self.wanted.lock();
        let behind = authorities.iter().filter_map(|authority| {
            if *when == ReadyWhen::Warm && self.upstream.is_warm(authority) {
                return None;
            }
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

/// What it takes to be ready.
#[derive(Debug)]
struct Wanted {
    authorities: Vec<String>,
    when: ReadyWhen,
}

impl Wanted {
    fn of(config: &Config) -> Self {
        let authorities = config.upstreams.iter().map(|upstream| upstream.authority.clone()).collect();
        Self { authorities, when: config.downstream.ready_when }
    }
}
