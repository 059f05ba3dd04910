//! What changes of the admin server.
//!
//! Where it listens, and whether it uses TLS there, stays until a restart. Where that has changed, all of it stays as it
//! was, since what it takes to be an operator is for where one connects.

use std::net::SocketAddr;

use super::{Counts, Setting};
use crate::Config;
use crate::settings::{Admin, AdminTls};

macro_rules! setting {
    ($counts:ident $key:literal: |$config:ident| $value:expr) => {
        Setting { key: $key, counts: Counts::$counts, differs: differs!($config, $value), keep: |_, _| () }
    };
}

/// Where it listens, and how.
pub(super) const ALL: Setting = Setting { keep, ..setting!(Restart "admin": |config| fixed(config)) };

pub(super) const TOKEN_FILE: Setting =
    setting!(AtOnce "admin.token_file": |config| of(config, |admin| admin.token_file.as_ref()));
pub(super) const CHANGE_TOKEN_FILE: Setting =
    setting!(AtOnce "admin.change_token_file": |config| of(config, |admin| admin.change_token_file.as_ref()));
pub(super) const TLS: Setting = setting!(NewConnections "admin.tls": |config| {
    of_tls(config, |tls| (&tls.certificate, &tls.key, &tls.client_ca))
});
pub(super) const READ: Setting = setting!(AtOnce "admin.tls.read": |config| of_tls(config, |tls| &tls.read));
pub(super) const CHANGE: Setting =
    setting!(AtOnce "admin.tls.change": |config| of_tls(config, |tls| &tls.change));

fn of<'a, T>(config: &'a Config, part: impl Fn(&'a Admin) -> Option<T>) -> Option<T> {
    config.admin.as_ref().and_then(part)
}

fn of_tls<'a, T>(config: &'a Config, part: impl Fn(&'a AdminTls) -> T) -> Option<T> {
    of(config, |admin| admin.tls.as_ref().map(&part))
}

/// What cannot change: whether there is one, where, and whether it uses TLS.
fn fixed(config: &Config) -> Option<(SocketAddr, bool)> {
    of(config, |admin| Some((admin.listen, admin.tls.is_some())))
}

fn keep(next: &mut Config, running: &Config) {
    if fixed(next) != fixed(running) {
        next.admin.clone_from(&running.admin);
    }
}
