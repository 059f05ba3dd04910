//! Letting go of what nobody wants any more: after some time, or sooner where room is needed.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, Result, params};
use weir_types::xdstp::collections_of;
use weir_types::{DynamicParameters, Name, ResourceLocator};

use crate::Partition;
use crate::pairs::{decode_parameters, encode_parameters};
use crate::rows::{read_key, remove_row, stream_of};

/// How many locators are given up at a time to make room.
const STEP: i64 = 256;

/// At the start, nobody wants anything yet.
pub(crate) fn begin(connection: &Connection, now: i64) -> Result<()> {
    connection.execute("UPDATE locators SET unwanted = ?1 WHERE unwanted IS NULL", [now]).map(drop)
}

/// Writes again what is wanted here: another process that shared the file has given it up.
pub(crate) fn insist(
    connection: &Connection,
    wanted: &HashMap<Partition, HashSet<ResourceLocator>>,
) -> Result<()> {
    const WANT: &str = "UPDATE locators SET unwanted = NULL
        WHERE stream = ?1 AND name = ?2 AND parameters = ?3 AND unwanted IS NOT NULL";
    for (partition, locators) in wanted {
        let Some(stream) = stream_of(connection, partition)? else { continue };
        for locator in locators {
            let row = params![stream, &*locator.name, encode_parameters(&locator.parameters)];
            connection.prepare_cached(WANT)?.execute(row)?;
        }
    }
    Ok(())
}

/// Gives up what nobody has wanted since before `then`.
pub(crate) fn age_out(connection: &Connection, then: i64) -> Result<()> {
    let mut aged = connection.prepare("DELETE FROM locators WHERE unwanted < ?1 RETURNING stream")?;
    let streams = aged.query_map([then], |row| row.get(0))?.collect::<Result<HashSet<i64>>>()?;
    streams.into_iter().try_for_each(|stream| sweep(connection, stream))
}

/// Gives up what nobody wants, the oldest first, until there is `room`. Whether there is.
pub(crate) fn make_room(connection: &Connection, room: impl Fn(&Connection) -> Result<bool>) -> Result<bool> {
    const OLDEST: &str = "DELETE FROM locators WHERE (stream, name, parameters) IN (
        SELECT stream, name, parameters FROM locators WHERE unwanted IS NOT NULL ORDER BY unwanted LIMIT ?1
        ) RETURNING stream";
    while !room(connection)? {
        let mut oldest = connection.prepare_cached(OLDEST)?;
        let streams = oldest.query_map([STEP], |row| row.get(0))?.collect::<Result<HashSet<i64>>>()?;
        if streams.is_empty() {
            return Ok(false);
        }
        streams.into_iter().try_for_each(|stream| sweep(connection, stream))?;
    }
    Ok(true)
}

/// How much of the file is in use, in bytes.
pub(crate) fn used(connection: &Connection) -> Result<u64> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let used = (number("page_count")? - number("freelist_count")?) * number("page_size")?;
    Ok(u64::try_from(used).unwrap_or_default())
}

/// Removes the variants of a stream that no locator of it reaches any more.
fn sweep(connection: &Connection, stream: i64) -> Result<()> {
    let by_stream: bool = connection
        .prepare_cached("SELECT keys IS NOT NULL FROM streams WHERE id = ?1")?
        .query_row([stream], |row| row.get(0))?;
    let asking = asking(connection, stream)?;
    let mut variants =
        connection.prepare_cached("SELECT id, name, constraints FROM variants WHERE stream = ?1")?;
    let mut aliases = connection.prepare_cached("SELECT alias FROM aliases WHERE variant = ?1")?;
    let mut rows = variants.query([stream])?;
    let mut lost = Vec::new();
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let key = read_key(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_blob()?);
        let others = aliases.query_map([id], |row| row.get(0))?.collect::<Result<Vec<String>>>()?;
        let reached = key.is_some_and(|key| {
            let others = others.iter().map(Name::from);
            let mut names = collections_of(&key.name).chain(others).chain([key.name.clone()]);
            let matches = |parameters| by_stream || key.constraints.matches(parameters);
            names.any(|name| asking.get(&name).is_some_and(|sets| sets.iter().any(matches)))
        });
        if !reached {
            lost.push(id);
        }
    }
    lost.into_iter().try_for_each(|id| remove_row(connection, id))?;
    if asking.is_empty() {
        connection.prepare_cached("DELETE FROM streams WHERE id = ?1")?.execute([stream])?;
    }
    Ok(())
}

/// The locators of a stream, by name.
fn asking(connection: &Connection, stream: i64) -> Result<HashMap<Name, Vec<DynamicParameters>>> {
    let mut statement =
        connection.prepare_cached("SELECT name, parameters FROM locators WHERE stream = ?1")?;
    let mut rows = statement.query([stream])?;
    let mut asking: HashMap<Name, Vec<DynamicParameters>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let parameters = decode_parameters(row.get_ref(1)?.as_blob()?);
        asking.entry(row.get_ref(0)?.as_str()?.into()).or_default().extend(parameters);
    }
    Ok(asking)
}
