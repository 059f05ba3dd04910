//! How far a resource has come to clients.

use weir_admin::{Changed, Delivery, Standing};
use weir_downstream::clients::{self, Condition, Registry, Snapshot, TypeStatus};
use weir_types::{Commit, TypeUrl};

/// How each open stream stands with a resource that one of these subscriptions shows.
pub(super) fn of(registry: &Registry, type_url: &TypeUrl, changed: &Changed) -> Vec<Delivery> {
    let delivery = |id: u64| {
        let snapshot = registry.get(id)?;
        let status = snapshot.types.iter().find(|status| status.type_url == *type_url)?;
        let changed = *changed.get(&status.subscription)?;
        Some(delivery(&snapshot, status, changed))
    };
    registry.ids().into_iter().filter_map(delivery).collect()
}

fn delivery(snapshot: &Snapshot, status: &TypeStatus, changed: Option<Commit>) -> Delivery {
    let state = match changed.map(|changed| status.standing(changed)) {
        Some(clients::Standing::Waiting) => Standing::Waiting,
        Some(clients::Standing::Unanswered) => Standing::Unanswered,
        Some(clients::Standing::Accepted) => Standing::Accepted,
        Some(clients::Standing::Rejected) => Standing::Rejected,
        // Of what is not there, no commit is known: it counts how it stands with the type.
        None => match (status.condition, status.sent) {
            (Condition::Rejecting, _) => Standing::Rejected,
            (Condition::InSync, _) => Standing::Accepted,
            (Condition::Behind, Some(sent)) if !sent.answered => Standing::Unanswered,
            (Condition::Behind, _) => Standing::Waiting,
        },
    };
    let rejection = status.rejection.as_ref().filter(|_| state == Standing::Rejected);
    Delivery {
        client: snapshot.id,
        node: snapshot.client.id.clone(),
        state,
        sent: status.sent.map(|sent| sent.at),
        message: rejection.map(|rejection| rejection.message.to_string()),
    }
}
