//! What one client is supposed to have.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use weir_database::Database;
use weir_database::introspect::Shown;
use weir_types::{Absence, Commit, TypeUrl, Variant};
use weir_wire::discovery::Node;
use weir_wire::redact::redacted;
use weir_wire::status::client_config::GenericXdsConfig;
use weir_wire::status::{ClientConfig, ClientResourceStatus, ConfigStatus, UpdateFailureState};

use crate::clients::{Snapshot, Standing, TypeStatus};

/// What the views show that clients are attached to, each looked up once.
pub(super) struct Contents {
    database: Database,
    /// Whether bodies are shown.
    bodies: bool,
    views: HashMap<(TypeUrl, u64), Arc<[Content]>>,
    /// By where they are held: bodies without their secrets.
    redacted: HashMap<usize, Bytes>,
}

/// What a view shows for one of its selectors.
struct Content {
    shown: Shown,
    body: Option<Bytes>,
}

impl Contents {
    pub(super) fn new(database: Database, bodies: bool) -> Self {
        Self { database, bodies, views: HashMap::new(), redacted: HashMap::new() }
    }

    /// What the client of a stream is supposed to have.
    pub(super) fn config(&mut self, snapshot: &Snapshot, node: Node) -> ClientConfig {
        let mut generic_xds_configs = Vec::new();
        for status in &snapshot.types {
            let contents = self.of_view(status);
            generic_xds_configs.extend(contents.iter().map(|content| resource(status, content)));
        }
        let (id, dialect, service) = (snapshot.id, snapshot.dialect, snapshot.service);
        let client_scope = format!("stream {id}: {service} {dialect} from {}", snapshot.peer);
        ClientConfig { node: Some(node), generic_xds_configs, client_scope }
    }

    fn of_view(&mut self, status: &TypeStatus) -> Arc<[Content]> {
        let key = (status.type_url.clone(), status.view);
        if let Some(contents) = self.views.get(&key) {
            return Arc::clone(contents);
        }
        let shown = self.database.contents(&status.type_url, status.subscription).unwrap_or_default();
        let content = |shown: Shown| {
            let body = shown.variant.as_ref().and_then(|(variant, _)| self.body(variant));
            Content { shown, body }
        };
        // A collection with nothing in it is no resource.
        let resources = shown
            .into_iter()
            .filter(|shown| shown.variant.is_some() || !shown.selector.locator.is_collection());
        let contents: Arc<[_]> = resources.map(content).collect();
        self.views.insert(key, Arc::clone(&contents));
        contents
    }

    fn body(&mut self, variant: &Arc<Variant>) -> Option<Bytes> {
        let body = variant.content().body.as_ref().filter(|_| self.bodies)?;
        // What is held while the request is answered stays where it is.
        Some(self.redacted.entry(body.as_ptr() as usize).or_insert_with(|| redacted(body)).clone())
    }
}

/// How a client stands with what was committed at `changed`.
fn standing(status: &TypeStatus, changed: Commit) -> (ConfigStatus, ClientResourceStatus) {
    match status.standing(changed) {
        Standing::Waiting => (ConfigStatus::NotSent, ClientResourceStatus::Requested),
        Standing::Accepted => (ConfigStatus::Synced, ClientResourceStatus::Acked),
        Standing::Rejected => (ConfigStatus::Error, ClientResourceStatus::Nacked),
        Standing::Unanswered => (ConfigStatus::Stale, ClientResourceStatus::ClientUnknown),
    }
}

fn resource(status: &TypeStatus, Content { shown, body }: &Content) -> GenericXdsConfig {
    let type_url = status.type_url.to_string();
    let Some((variant, changed)) = &shown.variant else { return nothing(status, shown) };
    let (config, client) = standing(status, *changed);
    let rejection = status.rejection.as_ref().filter(|_| client == ClientResourceStatus::Nacked);
    let error_state = rejection.map(|rejection| UpdateFailureState {
        failed_configuration: body.clone(),
        last_update_attempt: Some(rejection.at.into()),
        details: rejection.message.to_string(),
        version_info: variant.version(shown.selector.form).to_string(),
    });
    GenericXdsConfig {
        type_url,
        name: variant.name().to_string(),
        version_info: variant.version(shown.selector.form).to_string(),
        xds_config: body.clone(),
        last_updated: None,
        config_status: config.into(),
        client_status: client.into(),
        error_state,
        is_static_resource: false,
    }
}

/// The status of a name that has no resource.
fn nothing(status: &TypeStatus, shown: &Shown) -> GenericXdsConfig {
    let (config, client) = match (&shown.error, shown.absence) {
        (Some(_), _) => (ConfigStatus::Synced, ClientResourceStatus::ReceivedError),
        (None, Absence::Unknown) => (ConfigStatus::NotSent, ClientResourceStatus::Requested),
        (None, Absence::TimedOut) => (ConfigStatus::Synced, ClientResourceStatus::Timeout),
        (None, Absence::Known) => (ConfigStatus::Synced, ClientResourceStatus::DoesNotExist),
    };
    let error_state = shown.error.as_ref().map(|error| UpdateFailureState {
        details: format!("{}: {}", error.code, error.message),
        ..UpdateFailureState::default()
    });
    GenericXdsConfig {
        type_url: status.type_url.to_string(),
        name: shown.selector.locator.name.to_string(),
        config_status: config.into(),
        client_status: client.into(),
        error_state,
        ..GenericXdsConfig::default()
    }
}
