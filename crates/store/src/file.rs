//! The file: opened, made, or set aside if it cannot be used.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

/// States that a file is one of ours: `WEIR` in ASCII.
const APPLICATION: i32 = 0x5745_4952;
/// What the name of a file that was set aside has behind that of the file.
const BROKEN: &str = ".broken-";

/// The version of the format. A file of another one is set aside: it is a cache, and is filled again.
const FORMAT: i32 = 1;
/// How long another process that writes is waited for.
pub(crate) const BUSY: Duration = Duration::from_secs(5);
/// How large the write-ahead log stays once it is written back, in bytes.
const LOG: i64 = 4 << 20;

const SCHEMA: &str = "
CREATE TABLE streams (
  id INTEGER PRIMARY KEY,
  authority TEXT NOT NULL, keys BLOB, parameters BLOB NOT NULL, type_url TEXT NOT NULL, reach INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX streams_identity ON streams (authority, type_url, reach, ifnull(keys, 0), parameters);
CREATE TABLE variants (
  id INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL, name TEXT NOT NULL, constraints BLOB NOT NULL, glob TEXT,
  content BLOB, sealed INTEGER NOT NULL, checksum INTEGER NOT NULL, ttl INTEGER, until INTEGER,
  UNIQUE (stream, name, constraints)
) STRICT;
CREATE INDEX variants_glob ON variants (stream, glob) WHERE glob IS NOT NULL;
CREATE TABLE aliases (
  stream INTEGER NOT NULL, alias TEXT NOT NULL, variant INTEGER NOT NULL, PRIMARY KEY (stream, alias, variant)
) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_variant ON aliases (variant);
CREATE TABLE locators (
  stream INTEGER NOT NULL, name TEXT NOT NULL, parameters BLOB NOT NULL,
  answer INTEGER NOT NULL DEFAULT 0, unwanted INTEGER,
  PRIMARY KEY (stream, name, parameters)
) STRICT, WITHOUT ROWID;
CREATE INDEX locators_unwanted ON locators (unwanted) WHERE unwanted IS NOT NULL;
";

/// Why a file is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("it is not a store")]
    Foreign,
    #[error("its format is version {found}, this is for version {FORMAT}")]
    Format { found: i32 },
    #[error("it is damaged: {0}")]
    Damaged(String),
    #[error(transparent)]
    Sqlite(rusqlite::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Self {
        match is_damage(&error) {
            true => Self::Damaged(error.to_string()),
            false => Self::Sqlite(error),
        }
    }
}

/// Whether an error states that the file itself is at fault.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Opens the file, and makes it where there is none. One that cannot be used is set aside, and a new one takes its
/// place.
///
/// # Errors
/// When there can be no such file.
pub(crate) fn open_or_replace(path: &Path) -> Result<Connection, Unusable> {
    let error = match open(path) {
        Ok(connection) => return Ok(connection),
        Err(error) => error,
    };
    if path.is_file() && !matches!(&error, Unusable::Sqlite(error) if is_busy(error)) {
        set_aside(path, &error)?;
        return open(path);
    }
    Err(error)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Renames the file, and what belongs to it.
pub(crate) fn set_aside(path: &Path, reason: &Unusable) -> io::Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let named = |number: u32| match number {
        0 => suffixed(path, &format!("{BROKEN}{since}")),
        number => suffixed(path, &format!("{BROKEN}{since}-{number}")),
    };
    let aside = (0..=u32::MAX).map(named).find(|aside| !aside.exists()).unwrap_or_else(|| named(0));
    std::fs::rename(path, &aside)?;
    for belonging in ["-wal", "-shm"] {
        match std::fs::rename(suffixed(path, belonging), suffixed(&aside, belonging)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let (path, aside) = (path.display(), aside.display());
    tracing::warn!(%path, %aside, %reason, "store unusable: moved aside, starting with a new one");
    Ok(())
}

/// What was set aside of the file at `path`, by name.
pub(crate) fn aside(path: &Path) -> io::Result<Vec<PathBuf>> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(name) = path.file_name() else { return Ok(Vec::new()) };
    let prefix = format!("{}{BROKEN}", name.to_string_lossy());
    let is_aside = |name: &str| {
        name.strip_prefix(&prefix).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if is_aside(&entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn open(path: &Path) -> Result<Connection, Unusable> {
    // What SQLite makes beside it has the mode of the file.
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    check(&connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Nothing is torn by a power cut either; the last transactions may be missing.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "journal_size_limit", LOG)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_prepared_statement_cache_capacity(64);
    make(&mut connection)?;
    Ok(connection)
}

/// Whether it is a store of this format that is whole, or nothing yet.
fn check(connection: &Connection) -> Result<(), Unusable> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    match (number("application_id")?, number("user_version")?) {
        (0, 0) if number("schema_version")? == 0 => return Ok(()),
        (APPLICATION, FORMAT) => {}
        (APPLICATION, found) => return Err(Unusable::Format { found }),
        _ => return Err(Unusable::Foreign),
    }
    let found: String = connection.pragma_query_value(None, "quick_check", |row| row.get(0))?;
    if found != "ok" {
        return Err(Unusable::Damaged(found));
    }
    match connection.prepare("SELECT 1 FROM streams, variants, aliases, locators") {
        Ok(_) => Ok(()),
        Err(error) => Err(Unusable::Damaged(error.to_string())),
    }
}

/// Makes the tables, unless they are there, or another process has just made them.
fn make(connection: &mut Connection) -> Result<(), Unusable> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if transaction.pragma_query_value(None, "schema_version", |row| row.get::<_, i32>(0))? == 0 {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    }
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests;
