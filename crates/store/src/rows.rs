//! From changes to rows.

use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::Message as _;
use rusqlite::{Connection, OptionalExtension as _, Result, params};
use weir_types::xdstp::glob_of;
use weir_types::{Absence, Breadth, Constraints, Name, Provenance, ResourceLocator, Variant, VariantKey};
use weir_wire::{constraints, frame};
use xxhash_rust::xxh3::xxh3_64;

use crate::pairs::{decode_parameters, encode, encode_parameters};
use crate::pending::{Change, Changes, LocatorRecord, Pending};
use crate::{Key, Partition};

/// Writes changes to the file, within a transaction.
pub(crate) struct Rows<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) key: Option<&'a Key>,
    /// There is no room for more: what would need it is not kept.
    pub(crate) full: bool,
    /// How much was not kept for that.
    pub(crate) refused: u64,
}

/// Seconds since 1970.
pub(crate) fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Milliseconds since 1970.
pub(crate) fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn encode_constraints(constraints: &Constraints) -> Vec<u8> {
    constraints::encode(constraints).map(|message| message.encode_to_vec()).unwrap_or_default()
}

/// What a sealed content is bound to: it opens nowhere else.
pub(crate) fn place(partition: &Partition, key: &VariantKey) -> Vec<u8> {
    let Partition { origin, type_url, .. } = partition;
    let mut place = encode([&*origin.authority, type_url.as_str(), &key.name]);
    place.extend(encode_parameters(&origin.parameters));
    place.extend(encode_constraints(&key.constraints));
    place
}

/// The row of a partition; none where nothing was written of it.
pub(crate) fn stream_of(connection: &Connection, partition: &Partition) -> Result<Option<i64>> {
    const FIND: &str = "SELECT id FROM streams WHERE authority = ?1 AND type_url = ?2 AND reach = ?3
        AND ifnull(keys, 0) = ifnull(?4, 0) AND parameters = ?5";
    connection.prepare_cached(FIND)?.query_row(identity(partition), |row| row.get(0)).optional()
}

fn identity(partition: &Partition) -> impl rusqlite::Params {
    let Partition { origin, type_url, provenance } = partition;
    let provenance = match provenance {
        Provenance::Named => 0,
        Provenance::Wildcard => 1,
        Provenance::Local => 2,
    };
    let keys = origin.keys.as_ref().map(|keys| encode(keys.iter().map(|key| &**key)));
    let type_url = type_url.as_str().to_owned();
    (origin.authority.clone(), type_url, provenance, keys, encode_parameters(&origin.parameters))
}

/// Which rows of `variants` a locator may reach, by its name; its parameters have to be compared besides.
pub(crate) fn reached(columns: &str, locator: &ResourceLocator) -> String {
    match locator.breadth() {
        Breadth::Wildcard => format!("SELECT {columns} FROM variants WHERE stream = ?1 AND ?2 IS NOT NULL"),
        Breadth::Glob => format!("SELECT {columns} FROM variants WHERE stream = ?1 AND glob = ?2"),
        Breadth::Name => format!(
            "SELECT {columns} FROM variants WHERE stream = ?1 AND name = ?2 UNION ALL
             SELECT {columns} FROM variants
             WHERE id IN (SELECT variant FROM aliases WHERE stream = ?1 AND alias = ?2) AND name <> ?2"
        ),
    }
}

// === impl Rows ===

impl Rows<'_> {
    /// Writes all of `pending`.
    pub(crate) fn write(&mut self, pending: &Pending) -> Result<()> {
        // Not even the names of secrets are stored.
        let secrets = self.key.is_some();
        let mut partitions = pending.partitions().filter(|(partition, _)| secrets || !partition.is_secret());
        partitions.try_for_each(|(partition, changes)| self.write_partition(partition, changes))
    }

    fn write_partition(&mut self, partition: &Partition, changes: &Changes) -> Result<()> {
        const NEW: &str = "INSERT INTO streams (authority, type_url, reach, keys, parameters)
            VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id";
        let stream = match stream_of(self.connection, partition)? {
            Some(stream) => stream,
            None => self.connection.prepare_cached(NEW)?.query_row(identity(partition), |row| row.get(0))?,
        };
        for (locator, held) in &changes.forgotten {
            self.forget(stream, partition, locator, held)?;
        }
        for (key, change) in &changes.variants {
            match change {
                Change::Put(variant, until) => self.put(stream, partition, variant, *until)?,
                Change::Refreshed(life) => self.refresh(stream, key, life.ttl, life.until)?,
                Change::Gone(aliases) => self.remove(stream, partition, key, aliases)?,
            }
        }
        for (name, sets) in &changes.locators {
            for (parameters, record) in sets {
                let locator = ResourceLocator::new(name.clone(), parameters.clone());
                self.write_locator(stream, &locator, *record)?;
            }
        }
        Ok(())
    }

    fn forget(
        &self,
        stream: i64,
        partition: &Partition,
        locator: &ResourceLocator,
        held: &HashSet<VariantKey>,
    ) -> Result<()> {
        let sql = reached("id, name, constraints", locator);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![stream, &*locator.name])?;
        let mut gone = Vec::new();
        while let Some(row) = rows.next()? {
            let key = read_key(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_blob()?);
            // What cannot be read is no loss.
            if key.is_none_or(|key| partition.matches(&key, &locator.parameters) && !held.contains(&key)) {
                gone.push(row.get(0)?);
            }
        }
        gone.into_iter().try_for_each(|id| remove_row(self.connection, id))
    }

    fn put(
        &mut self,
        stream: i64,
        partition: &Partition,
        variant: &Variant,
        until: Option<SystemTime>,
    ) -> Result<()> {
        const PUT: &str = "INSERT INTO variants
            (stream, name, constraints, glob, content, sealed, checksum, ttl, until)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            ON CONFLICT (stream, name, constraints) DO UPDATE SET content = excluded.content,
            sealed = excluded.sealed, checksum = excluded.checksum, ttl = excluded.ttl, until = excluded.until
            RETURNING id";
        let key = variant.key();
        let constraints = encode_constraints(&key.constraints);
        let (content, sealed) = self.content(partition, variant);
        let content = match content {
            Some(content) if self.full && !self.fits(stream, key, &constraints, content.len())? => {
                self.refused += 1;
                None
            }
            content => content,
        };
        let checksum = content.as_deref().map_or(0, xxh3_64).cast_signed();
        let ttl = variant.content().ttl.and_then(|ttl| i64::try_from(ttl.as_millis()).ok());
        let glob = glob_of(&key.name);
        let row = params![
            stream,
            &*key.name,
            constraints,
            glob.as_deref(),
            content,
            sealed,
            checksum,
            ttl,
            until.map(milliseconds)
        ];
        let id: i64 = self.connection.prepare_cached(PUT)?.query_row(row, |row| row.get(0))?;
        self.connection.prepare_cached("DELETE FROM aliases WHERE variant = ?1")?.execute([id])?;
        for alias in &*variant.content().aliases {
            let mut list =
                self.connection.prepare_cached("INSERT OR IGNORE INTO aliases VALUES (?1, ?2, ?3)")?;
            list.execute(params![stream, &**alias, id])?;
        }
        self.end_absence(stream, partition, key, &variant.content().aliases)
    }

    /// What is written of a variant, and whether it is sealed; none if nothing may be.
    fn content(&self, partition: &Partition, variant: &Variant) -> (Option<Vec<u8>>, bool) {
        // Not in whatever form: nobody may be served it by a later process.
        if variant.content().do_not_cache {
            return (None, false);
        }
        let plain = frame::as_received(variant);
        if !partition.is_secret() {
            return (Some(plain.into()), false);
        }
        (self.key.and_then(|key| key.seal(&plain, &place(partition, variant.key()))), true)
    }

    /// Whether a row has room for a content already.
    fn fits(&self, stream: i64, key: &VariantKey, constraints: &[u8], length: usize) -> Result<bool> {
        const LENGTH: &str = "SELECT ifnull(length(content), 0) FROM variants
            WHERE stream = ?1 AND name = ?2 AND constraints = ?3";
        let mut statement = self.connection.prepare_cached(LENGTH)?;
        let there = statement.query_row(params![stream, &*key.name, constraints], |row| row.get::<_, i64>(0));
        Ok(there.optional()?.is_some_and(|there| usize::try_from(there).is_ok_and(|there| length <= there)))
    }

    /// Parameter sets that a variant is, or was, for no longer get what was known before it came.
    fn end_absence(
        &self,
        stream: i64,
        partition: &Partition,
        key: &VariantKey,
        aliases: &[Name],
    ) -> Result<()> {
        const ABSENT: &str =
            "SELECT parameters FROM locators WHERE stream = ?1 AND name = ?2 AND answer <> 0";
        const END: &str =
            "UPDATE locators SET answer = 0 WHERE stream = ?1 AND name = ?2 AND parameters = ?3";
        for name in [&key.name].into_iter().chain(aliases) {
            let mut absent = self.connection.prepare_cached(ABSENT)?;
            let sets = absent.query_map(params![stream, &**name], |row| row.get::<_, Vec<u8>>(0))?;
            for set in sets.collect::<Result<Vec<_>>>()? {
                let parameters = decode_parameters(&set);
                if parameters.is_none_or(|parameters| partition.matches(key, &parameters)) {
                    self.connection.prepare_cached(END)?.execute(params![stream, &**name, set])?;
                }
            }
        }
        Ok(())
    }

    fn refresh(&self, stream: i64, key: &VariantKey, ttl: Duration, until: SystemTime) -> Result<()> {
        const REFRESH: &str = "UPDATE variants SET ttl = ?4, until = ?5
            WHERE stream = ?1 AND name = ?2 AND constraints = ?3";
        let ttl = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        let constraints = encode_constraints(&key.constraints);
        let row = params![stream, &*key.name, constraints, ttl, milliseconds(until)];
        self.connection.prepare_cached(REFRESH)?.execute(row).map(drop)
    }

    fn remove(&self, stream: i64, partition: &Partition, key: &VariantKey, aliases: &[Name]) -> Result<()> {
        const FIND: &str = "SELECT id FROM variants WHERE stream = ?1 AND name = ?2 AND constraints = ?3";
        let row = params![stream, &*key.name, encode_constraints(&key.constraints)];
        let id = self.connection.prepare_cached(FIND)?.query_row(row, |row| row.get(0)).optional()?;
        id.map_or(Ok(()), |id| remove_row(self.connection, id))?;
        self.end_absence(stream, partition, key, aliases)
    }

    fn write_locator(&self, stream: i64, locator: &ResourceLocator, record: LocatorRecord) -> Result<()> {
        const INSERT: &str = "INSERT INTO locators (stream, name, parameters, answer, unwanted)
            VALUES (?1, ?2, ?3, ifnull(?4, 0), ?5) ON CONFLICT DO UPDATE SET
            answer = ifnull(?4, answer), unwanted = iif(?6, ?5, unwanted)";
        let answer = record.answer.map(|absence| match absence {
            Absence::Unknown => 0,
            Absence::TimedOut => 1,
            Absence::Known => 2,
        });
        let unwanted = (record.wanted == Some(false)).then(|| seconds(SystemTime::now()));
        let parameters = encode_parameters(&locator.parameters);
        let row = params![stream, &*locator.name, parameters, answer, unwanted, record.wanted.is_some()];
        self.connection.prepare_cached(INSERT)?.execute(row).map(drop)
    }
}

/// The identity in a row; none if it cannot be read.
pub(crate) fn read_key(name: &str, constraints: &[u8]) -> Option<VariantKey> {
    if constraints.is_empty() {
        return Some(VariantKey::new(name, Constraints::unconstrained()));
    }
    let message = weir_wire::discovery::DynamicParameterConstraints::decode(constraints).ok()?;
    Some(VariantKey::new(name, constraints::decode(Some(&message)).ok()?))
}

pub(crate) fn remove_row(connection: &Connection, id: i64) -> Result<()> {
    connection.prepare_cached("DELETE FROM aliases WHERE variant = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM variants WHERE id = ?1")?.execute([id]).map(drop)
}
