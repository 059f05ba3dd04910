//! Whether clients can be served.

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use weir_config::{Config, ReadyWhen};
use weir_database::Database;
use weir_upstream::Status;

/// Ready once every upstream is, until clients are moved elsewhere.
pub(crate) struct Readiness {
    wanted: Mutex<Wanted>,
    upstream: Status,
    database: Database,
    draining: CancellationToken,
}

impl Readiness {
    /// Not ready any more once `draining` is cancelled.
    pub(crate) fn new(
        config: &Config,
        upstream: Status,
        database: Database,
        draining: CancellationToken,
    ) -> Self {
        Self { wanted: Mutex::new(Wanted::of(config)), upstream, database, draining }
    }

    /// Goes by `config` from now on.
    pub(crate) fn follow(&self, config: &Config) {
        *self.wanted.lock() = Wanted::of(config);
    }

    /// What is still missing, in words for an operator; empty when ready.
    pub(crate) fn pending(&self) -> Vec<String> {
        let Wanted { authorities, when } = self.wanted.lock().clone();
        let behind = authorities.iter().filter_map(|authority| {
            let state = match (self.upstream.is_connected(authority), self.upstream.has_answered(authority)) {
                (true, true) => return None,
                _ if when == ReadyWhen::Warm && self.is_warm(authority) => return None,
                (true, false) => "has not answered everything that prefetch names",
                (false, _) => "is not connected",
            };
            Some(format!("the upstream of authority {authority:?} {state}"))
        });
        let draining = self.draining.is_cancelled().then(|| "clients are moved elsewhere".to_owned());
        draining.into_iter().chain(behind).collect()
    }

    /// Whether something of `authority` is held: stored by an earlier process or, once everything that is subscribed to
    /// at the start has come, cached.
    fn is_warm(&self, authority: &str) -> bool {
        let upstream = &self.upstream;
        upstream.is_stored(authority) || (upstream.has_answered(authority) && self.database.holds(authority))
    }
}

/// What it takes to be ready.
#[derive(Clone)]
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_upstream_that_was_never_reached_is_not_ready_and_nobody_is_while_draining() {
        let text = "downstream.listen = ['127.0.0.1:0']\n[[upstream]]\nendpoints = ['http://127.0.0.1:1']\n";
        let config = weir_config::parse(text, Path::new("x.toml")).unwrap();
        let database = Database::new(weir_database::Settings::default());
        let draining = CancellationToken::new();
        let readiness = Readiness::new(&config, Status::default(), database, draining.clone());
        let away = "the upstream of authority \"\" is not connected";
        assert_eq!(readiness.pending(), [away]);
        draining.cancel();
        assert_eq!(readiness.pending(), ["clients are moved elsewhere", away]);
    }
}
