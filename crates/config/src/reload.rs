//! What changes when the file does while the program runs, and when that counts.
//!
//! One table has a row for each key; `docs/reload.md` shows the same, and a test holds both against the reference. Never
//! applies anything: that is the program's.

/// Compares a setting of two configurations.
macro_rules! differs {
    ($config:ident, $value:expr) => {
        |$config: &Config, other: &Config| {
            let one = &$value;
            let $config = other;
            *one != $value
        }
    };
}

mod admin;
mod upstream;

use crate::Config;

/// When a changed setting counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// From now on, for everyone.
    AtOnce,
    /// For streams and polls that are opened from now on.
    NewStreams,
    /// For connections that are opened from now on.
    NewConnections,
    /// After a restart.
    Restart,
}

impl Counts {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AtOnce => "at once",
            Self::NewStreams => "for new streams",
            Self::NewConnections => "for new connections",
            Self::Restart => "after a restart",
        }
    }
}

/// A key, or all keys below one.
#[derive(Debug)]
pub struct Setting {
    /// The dotted key, as in the reference.
    pub key: &'static str,
    /// When a change of it counts.
    pub counts: Counts,
    /// Whether the settings differ.
    differs: fn(&Config, &Config) -> bool,
    /// Puts the second one's setting into the first, where a change has to wait.
    keep: fn(&mut Config, &Config),
}

impl Setting {
    /// Whether it is not the same in both.
    pub fn differs(&self, one: &Config, other: &Config) -> bool {
        (self.differs)(one, other)
    }
}

/// The settings in force when `file` is the content of the file now, and `running` was in force until now.
pub fn in_force(running: &Config, file: &Config) -> Config {
    let mut next = file.clone();
    SETTINGS.iter().for_each(|setting| (setting.keep)(&mut next, running));
    // Which addresses use TLS is decided when they are bound.
    if next.downstream.tls.is_some() != running.downstream.tls.is_some() {
        next.downstream.tls.clone_from(&running.downstream.tls);
    }
    next
}

/// What keeps a setting as it was, if it has to be.
macro_rules! keep {
    (Restart, $config:ident, $value:expr) => {
        |next: &mut Config, running: &Config| {
            let kept = {
                let $config = running;
                $value.clone()
            };
            let $config = next;
            $value = kept;
        }
    };
    ($counts:ident, $config:ident, $value:expr) => {
        |_, _| ()
    };
}

/// A row for each key, and those of the upstreams.
macro_rules! settings {
    ($($counts:ident $key:literal: |$config:ident| $value:expr;)* $(+ $upstream:expr;)*) => {
        /// Every setting. Of two that are about a key, the more specific one counts.
        pub const SETTINGS: &[Setting] = &[
            $(Setting {
                key: $key,
                counts: Counts::$counts,
                differs: differs!($config, $value),
                keep: keep!($counts, $config, $value),
            },)*
            $($upstream,)*
        ];
    };
}

settings! {
    Restart "node": |c| c.node;
    AtOnce "log.level": |c| c.log.level;
    Restart "log.format": |c| c.log.format;
    Restart "telemetry": |c| c.telemetry;
    Restart "downstream.listen": |c| c.downstream.listen;
    Restart "downstream.listen_plaintext": |c| c.downstream.listen_plaintext;
    NewConnections "downstream.tls": |c| c.downstream.tls;
    NewStreams "downstream.max_request_size": |c| c.downstream.max_request_size;
    Restart "downstream.max_response_size": |c| c.downstream.max_response_size;
    NewConnections "downstream.keepalive_interval": |c| c.downstream.keepalive_interval;
    NewConnections "downstream.keepalive_timeout": |c| c.downstream.keepalive_timeout;
    NewStreams "downstream.rest_hold": |c| c.downstream.rest_hold;
    AtOnce "downstream.csds": |c| c.downstream.csds;
    AtOnce "downstream.reflection": |c| c.downstream.reflection;
    AtOnce "downstream.ready_when": |c| c.downstream.ready_when;
    NewConnections "downstream.receive_timeout": |c| c.downstream.receive_timeout;
    NewConnections "downstream.stall_timeout": |c| c.downstream.stall_timeout;
    NewStreams "downstream.warming_timeout": |c| c.downstream.warming_timeout;
    NewStreams "downstream.first_response_timeout": |c| c.downstream.first_response_timeout;
    NewConnections "downstream.max_connection_age": |c| c.downstream.max_connection_age;
    NewStreams "downstream.wrap_resources": |c| c.downstream.wrap_resources;
    NewStreams "downstream.cold_start": |c| c.downstream.cold_start;
    Restart "cache": |c| c.cache;
    NewStreams "limits.max_name_length": |c| c.limits.max_name_length;
    NewStreams "limits.max_names": |c| c.limits.max_names;
    AtOnce "limits.max_connections": |c| c.limits.max_connections;
    AtOnce "limits.max_connections_per_address": |c| c.limits.max_connections_per_address;
    AtOnce "limits.max_streams": |c| c.limits.max_streams;
    NewConnections "limits.max_streams_per_connection": |c| c.limits.max_streams_per_connection;
    NewStreams "limits.max_streams_per_node": |c| c.limits.max_streams_per_node;
    AtOnce "limits.max_load_streams": |c| c.limits.max_load_streams;
    NewStreams "limits.max_node_size": |c| c.limits.max_node_size;
    NewStreams "limits.max_names_per_stream": |c| c.limits.max_names_per_stream;
    NewStreams "limits.max_locators_per_name": |c| c.limits.max_locators_per_name;
    NewStreams "limits.max_types_per_stream": |c| c.limits.max_types_per_stream;
    AtOnce "limits.max_partial_requests": |c| c.limits.max_partial_requests;
    AtOnce "limits.max_handshakes": |c| c.limits.max_handshakes;
    AtOnce "limits.new_names_per_client": |c| c.limits.new_names_per_client;
    AtOnce "limits.max_new_names_per_client": |c| c.limits.max_new_names_per_client;
    AtOnce "limits.new_parameter_sets_per_client": |c| c.limits.new_parameter_sets_per_client;
    AtOnce "limits.max_new_parameter_sets_per_client": |c| c.limits.max_new_parameter_sets_per_client;
    AtOnce "admission.new_streams_per_second": |c| c.admission.new_streams_per_second;
    AtOnce "admission.new_streams_burst": |c| c.admission.new_streams_burst;
    NewStreams "admission.max_first_responses": |c| c.admission.max_first_responses;
    AtOnce "admission.retry_after": |c| c.admission.retry_after;
    AtOnce "drain.delay": |c| c.drain.delay;
    AtOnce "drain.over": |c| c.drain.over;
    AtOnce "drain.grace": |c| c.drain.grace;
    Restart "store": |c| c.store;
    NewStreams "dynamic_parameters": |c| c.node_rules;
    NewStreams "access": |c| c.access;
    AtOnce "export": |c| c.exports;
    + admin::ALL;
    + admin::TOKEN_FILE;
    + admin::CHANGE_TOKEN_FILE;
    + admin::TLS;
    + admin::READ;
    + admin::CHANGE;
    + upstream::ALL;
    + upstream::VIRTUAL_HOSTS;
    + upstream::FILES;
    + upstream::POLL_INTERVAL;
    + upstream::PROTOCOL;
    + upstream::TRANSPORT;
    + upstream::DYNAMIC_PARAMETERS;
    + upstream::PARAMETER_KEYS;
    + upstream::NODE;
}
