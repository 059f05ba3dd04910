//! What changes of the admin server.
//!
//! Where it listens, and whether it speaks TLS there, stays until a restart. Where that has changed, all of it stays as it
//! was, since what it takes to be an operator is for where one connects.

use std::net::SocketAddr;

use super::{Counts, Setting, text};
use crate::settings::{Admin, AdminTls, Config};

/// Where it listens, and how.
pub(super) const ALL: Setting =
    Setting { key: "admin", counts: Counts::Restart, value: |config| text(fixed(config)), keep };

pub(super) const TOKEN_FILE: Setting =
    setting("admin.token_file", Counts::AtOnce, |config| text(of(config, |admin| admin.token_file.as_ref())));
pub(super) const CHANGE_TOKEN_FILE: Setting = setting("admin.change_token_file", Counts::AtOnce, |config| {
    text(of(config, |admin| admin.change_token_file.as_ref()))
});
pub(super) const TLS: Setting = setting("admin.tls", Counts::NewConnections, |config| {
    text(of_tls(config, |tls| (&tls.key_pair, &tls.client_ca)))
});
pub(super) const READ: Setting =
    setting("admin.tls.read", Counts::AtOnce, |config| text(of_tls(config, |tls| &tls.read)));
pub(super) const CHANGE: Setting =
    setting("admin.tls.change", Counts::AtOnce, |config| text(of_tls(config, |tls| &tls.change)));

const fn setting(key: &'static str, counts: Counts, value: fn(&Config) -> String) -> Setting {
    Setting { key, counts, value, keep: |_, _| () }
}

fn of<'a, T>(config: &'a Config, part: impl Fn(&'a Admin) -> Option<T>) -> Option<T> {
    config.admin.as_ref().and_then(part)
}

fn of_tls<'a, T>(config: &'a Config, part: impl Fn(&'a AdminTls) -> T) -> Option<T> {
    of(config, |admin| admin.tls.as_ref().map(&part))
}

/// What cannot change: whether there is one, where, and whether it speaks TLS.
fn fixed(config: &Config) -> Option<(SocketAddr, bool)> {
    of(config, |admin| Some((admin.listen, admin.tls.is_some())))
}

fn keep(next: &mut Config, running: &Config) {
    if fixed(next) != fixed(running) {
        next.admin.clone_from(&running.admin);
    }
}
