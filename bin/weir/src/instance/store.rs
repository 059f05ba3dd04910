//! The last known good, on disk.

use weir_store::Store;

/// As the admin server shows it; `unconfirmed` resources are served from it.
pub(super) fn shown(store: &Store, unconfirmed: usize) -> weir_admin::Store {
    let set_aside = store.set_aside();
    let unreadable = set_aside.as_ref().err().map(|error| format!("its directory cannot be read: {error}"));
    let status = store.status();
    weir_admin::Store {
        path: status.path.display().to_string(),
        failure: status.failure.or(unreadable),
        size: status.size,
        max_size: status.max_size,
        pending: status.pending,
        written: status.written,
        refused: status.refused,
        unreadable: status.unreadable,
        secrets: status.secrets,
        set_aside: set_aside.into_iter().flatten().map(|path| path.display().to_string()).collect(),
        unconfirmed,
    }
}
