//! Subscriptions written to files that an Envoy watches.
//!
//! Owns what is exported and how it stands. A file is written beside and renamed over, so that nobody reads half
//! of it, and only when all of the subscription is known: what is missing in a file is deleted by who reads it.
//! While that is not so, and when writing fails, the last good file stays.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use opentelemetry::metrics::Counter;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use weir_config::Export;
use weir_database::{Database, Query, Refused, Shape, ViewHandle, ViewListener};
use weir_types::{Cursor, DynamicParameters, Kind, Selector, SubscriptionChange, TypeUrl, Version, WILDCARD};
use weir_wire::file::{FormatError, response, write_as};

/// How long after a failure a file is tried again, if nothing changes before.
const RETRY: Duration = Duration::from_secs(5);

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Something in it has no form in this format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The file system does not let us.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The writing thread is gone: the runtime is shutting down.
    #[error("writing was interrupted")]
    Interrupted(#[from] JoinError),
}

/// Keeps the files up to date until `shutdown`. What was written stays.
///
/// # Errors
/// When a subscription is refused at the start.
pub async fn run(
    database: Database,
    exports: Vec<Export>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Refused> {
    let mut tasks = JoinSet::new();
    for export in exports {
        tasks.spawn(Exporter::new(&database, export)?.run());
    }
    shutdown.await;
    Ok(())
}

struct Signal {
    changed: Notify,
    file: Arc<str>,
}

impl ViewListener for Signal {
    fn wake(&self) {
        self.changed.notify_one();
    }

    fn name(&self) -> Arc<str> {
        Arc::clone(&self.file)
    }
}

/// One file, and how far it is.
struct Exporter {
    export: Export,
    changed: Arc<Signal>,
    attachment: ViewHandle,
    /// The version of what was written last.
    written: Option<Version>,
    writes: Counter<u64>,
    failures: Counter<u64>,
}

impl Exporter {
    fn new(database: &Database, export: Export) -> Result<Self, Refused> {
        let file = export.to.path().to_string_lossy().into();
        let changed = Arc::new(Signal { changed: Notify::new(), file });
        let parameters: DynamicParameters =
            export.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let selector = |name: &str| Selector::plain(name, parameters.clone());
        let names: Vec<Selector> = match &export.names[..] {
            [] => vec![selector(WILDCARD)],
            names => names.iter().map(|name| selector(name)).collect(),
        };
        let subscriber: Arc<dyn ViewListener> = changed.clone();
        let attachment = database.attach(&export.type_url, SubscriptionChange::adding(&names), subscriber)?;
        Ok(Self {
            export,
            changed,
            attachment,
            written: None,
            writes: weir_metrics::EXPORT_WRITES.counter(),
            failures: weir_metrics::EXPORT_FAILURES.counter(),
        })
    }

    async fn run(mut self) {
        loop {
            let failed = self.update().await;
            tokio::select! {
                () = self.changed.changed.notified() => {}
                () = tokio::time::sleep(RETRY), if failed => {}
            }
        }
    }

    /// Writes the file, if it is not up to date. Returns whether that failed.
    async fn update(&mut self) -> bool {
        let unsettled = self.attachment.unsettled();
        if unsettled.names + unsettled.collections > 0 {
            return false;
        }
        let Some((version, response)) = self.response() else {
            self.answer();
            return false;
        };
        let Export { to, type_url, .. } = self.export.clone();
        let bytes = response.len();
        let writing = tokio::task::spawn_blocking(move || {
            write(to.path(), &type_url, &write_as(to.format(), response, version)?)?;
            Ok::<_, ExportError>(())
        });
        let outcome = writing.await.map_err(ExportError::from).flatten();
        let (file, type_url) = (self.export.to.path().display(), &self.export.type_url);
        match outcome {
            Ok(()) => {
                self.written = Some(version);
                self.writes.add(1, &[]);
                tracing::info!(%file, %type_url, %version, bytes, "exported");
                self.answer();
                false
            }
            Err(error) => {
                self.failures.add(1, &[]);
                tracing::error!(%file, %type_url, %error, "cannot export");
                true
            }
        }
    }

    /// The file contains everything that it was given.
    fn answer(&mut self) {
        self.attachment.answer(self.attachment.cursor().removals, None);
    }

    /// Everything that there is, if it is not what was written.
    fn response(&mut self) -> Option<(Version, Bytes)> {
        let diff = self.attachment.diff(&Query::new(Cursor::default(), Shape::Everything));
        self.attachment.advance(Cursor { removals: diff.to, additions: diff.to });
        if self.written == Some(diff.version) {
            return None;
        }
        let (kept, uncacheable): (Vec<_>, Vec<_>) =
            diff.resources.into_iter().partition(|(variant, _)| !variant.content().do_not_cache);
        for (variant, _) in uncacheable {
            let (file, name) = (self.export.to.path().display(), variant.name());
            tracing::warn!(%file, %name, "resource not exported: it must not be cached (do_not_cache)");
        }
        let (version, response) = response(&self.export.type_url, &kept);
        (self.written != Some(version)).then_some((version, response))
    }
}

/// Replaces the file `to` of resources of this type, all at once. Who could read the file before can read it after; a
/// new one of secrets is for nobody else.
pub fn write(to: &Path, type_url: &TypeUrl, bytes: &[u8]) -> io::Result<()> {
    let name = to.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_string_lossy();
    let beside = to.with_file_name(format!(".{name}.{}", std::process::id()));
    let before = fs::metadata(to).ok().map(|before| before.permissions());
    let secret = before.is_some() || type_url.kind_of_message() == Kind::Secret;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(if secret { 0o600 } else { 0o666 });
    let written = options.open(&beside).and_then(|mut file| {
        if let Some(permissions) = before {
            file.set_permissions(permissions)?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&beside, to));
    if replaced.is_err() {
        // There may be nothing to remove, or no right to.
        _ = fs::remove_file(&beside);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use weir_types::{Answered, Batch, Constraints, Content, Provenance, Variant, VariantKey};

    use super::*;

    fn world(to: &Path) -> (Database, Exporter) {
        let database = Database::new(weir_database::Settings::default());
        let export = Export {
            type_url: TypeUrl::new("type.googleapis.com/envoy.config.cluster.v3.Cluster"),
            names: Vec::new(),
            parameters: Default::default(),
            to: to.to_owned().try_into().unwrap(),
        };
        let exporter = Exporter::new(&database, export).unwrap();
        (database, exporter)
    }

    struct Unobserved;

    impl weir_database::Observer for Unobserved {}

    fn batch(exporter: &Exporter, names: &[&str]) -> Batch {
        let mut batch = Batch::new(exporter.export.type_url.clone(), Provenance::Wildcard);
        batch.answered.push(Answered::all());
        let variant = |name: &&str| {
            let content = Content { body: Some(Bytes::from_static(b"")), ..Content::default() };
            Variant::new(VariantKey::new(*name, Constraints::unconstrained()), content)
        };
        batch.upserts = names.iter().map(variant).collect();
        batch
    }

    #[tokio::test]
    async fn f03_nothing_is_written_before_everything_is_known_nor_twice() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.pb");
        let (database, mut exporter) = world(&file);
        assert!(!exporter.update().await && !file.exists(), "nobody has answered");

        database.commit(batch(&exporter, &["a"]));
        assert!(!exporter.update().await);
        let first = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        database.commit(batch(&exporter, &["a"]));
        assert!(!exporter.update().await && !file.exists(), "nothing has changed");

        let watch = database.commit_watched(batch(&exporter, &["a", "c"]), 100, Arc::new(Unobserved));
        assert!(!watch.is_over());
        assert!(!exporter.update().await);
        assert!(watch.is_over(), "what is written is accepted");

        database.commit(batch(&exporter, &["a", "b"]));
        assert!(!exporter.update().await);
        assert!(fs::read(&file).unwrap().len() > first.len());
    }

    #[tokio::test]
    async fn p17_what_must_not_be_cached_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.pb");
        let (database, mut exporter) = world(&file);
        let mut more = batch(&exporter, &["a", "b"]);
        let secret =
            Content { body: Some(Bytes::from_static(b"")), do_not_cache: true, ..Content::default() };
        more.upserts.push(Variant::new(VariantKey::new("c", Constraints::unconstrained()), secret));
        database.commit(more);
        assert!(!exporter.update().await);
        let other = directory.path().join("y.pb");
        let (without, mut exporter_without) = world(&other);
        without.commit(batch(&exporter_without, &["a", "b"]));
        assert!(!exporter_without.update().await);
        assert_eq!(fs::read(&file).unwrap(), fs::read(&other).unwrap());
        fs::remove_file(&file).unwrap();
        database.commit(batch(&exporter, &["b"]));
        assert!(!exporter.update().await && !file.exists(), "nothing has changed");
    }

    #[test]
    fn a_new_file_of_secrets_is_for_nobody_else_and_one_that_is_there_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let (secrets, clusters) = ("sds".parse().unwrap(), "cds".parse().unwrap());
        let mode = |name: &str, type_url: &TypeUrl| {
            let file = directory.path().join(name);
            write(&file, type_url, b"x").unwrap();
            fs::metadata(file).unwrap().permissions().mode() & 0o777
        };
        assert_eq!(mode("s.pb", &secrets), 0o600);
        assert_ne!(mode("c.pb", &clusters) & 0o400, 0);
        for (name, type_url, wanted) in [("s.pb", &secrets, 0o640), ("c.pb", &clusters, 0o604)] {
            let file = directory.path().join(name);
            fs::set_permissions(&file, fs::Permissions::from_mode(wanted)).unwrap();
            assert_eq!(mode(name, type_url), wanted, "{name}");
        }
    }

    #[tokio::test]
    async fn f03_a_failure_leaves_the_last_good_file_and_is_made_up_for() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("later");
        let file = place.join("x.pb");
        let (database, mut exporter) = world(&file);
        database.commit(batch(&exporter, &["a"]));
        assert!(exporter.update().await, "there is no directory");
        fs::create_dir(&place).unwrap();
        assert!(!exporter.update().await);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 1, "nothing is left beside");
    }
}
