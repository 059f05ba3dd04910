//! How far a resource has come to clients.

use std::time::SystemTime;

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
        sent: sent_at(state, status),
        message: rejection.map(|rejection| rejection.message.to_string()),
    }
}

/// When it was sent what there is. What a client that waits was sent before is something else.
fn sent_at(state: Standing, status: &TypeStatus) -> Option<SystemTime> {
    status.sent.filter(|_| state != Standing::Waiting).map(|sent| sent.at)
}

#[cfg(test)]
mod tests {
    use weir_database::{Barred, Unsettled};
    use weir_downstream::clients::Sent;
    use weir_session::Nonce;
    use weir_types::{Cursor, Fingerprint, Head, Version};

    use super::*;

    #[test]
    fn e04_a_client_that_waits_was_not_sent_the_change() {
        let commit = Commit(1);
        let nonce = Nonce { commit, part: 0 };
        let status = TypeStatus {
            type_url: TypeUrl::new("acme.Widget"),
            view: 1,
            subscription: Fingerprint::default(),
            selectors: 1,
            head: Head { additions: Commit(2), ..Head::default() },
            cursor: Cursor { additions: commit, removals: commit },
            unsettled: Unsettled::default(),
            barred: Barred::default(),
            sent: Some(Sent { nonce, version: Version(1), at: SystemTime::UNIX_EPOCH, answered: true }),
            accepted: Some((commit, Version(1))),
            rejection: None,
            condition: Condition::Behind,
        };
        assert_eq!(sent_at(Standing::Accepted, &status), Some(SystemTime::UNIX_EPOCH));
        assert_eq!(sent_at(Standing::Waiting, &status), None);
    }
}
