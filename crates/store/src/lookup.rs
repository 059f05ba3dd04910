//! From rows to what was known.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};
use weir_types::{Absence, Content, Lease, ResourceLocator, TypeUrl, Variant, VariantKey};
use weir_wire::resource::{Bodies, decode_among};
use xxhash_rust::xxh3::xxh3_64;

use crate::pairs::encode_parameters;
use crate::rows::{milliseconds, place, reached, read_key, stream_of};
use crate::{Key, Origin, Partition};

/// What an earlier process knew of some locators of a type.
#[derive(Debug)]
pub struct Past {
    /// Which type.
    pub type_url: TypeUrl,
    /// What they reach. Times to live count already.
    pub variants: Vec<Variant>,
    /// The collections of which that is all, and the names that nothing matches, and how that is known.
    pub known: Vec<(ResourceLocator, Absence)>,
}

/// Reads what was known of locators.
pub(crate) struct Reader<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) key: Option<&'a Key>,
    /// How many rows could not be read.
    pub(crate) unreadable: u64,
}

/// What has become of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Alive,
    Expired,
    /// There was something that was not written, or cannot be read any more.
    Lost,
}

impl Reader<'_> {
    /// What was known of `locators` of one upstream stream.
    pub(crate) fn look_up(
        &mut self,
        origin: &Arc<Origin>,
        locators: &[(TypeUrl, ResourceLocator)],
    ) -> Result<Vec<Past>> {
        let mut partitions: HashMap<Partition, Vec<&ResourceLocator>> = HashMap::new();
        for (type_url, locator) in locators {
            partitions.entry(Partition::of(origin, type_url, locator)).or_default().push(locator);
        }
        let mut pasts = Vec::new();
        for (partition, locators) in partitions {
            if let Some(stream) = stream_of(self.connection, &partition)? {
                pasts.push(self.read_partition(&partition, stream, locators)?);
            }
        }
        pasts.retain(|past| !past.variants.is_empty() || !past.known.is_empty());
        Ok(pasts)
    }

    fn read_partition(
        &mut self,
        partition: &Partition,
        stream: i64,
        locators: Vec<&ResourceLocator>,
    ) -> Result<Past> {
        const COLUMNS: &str = "id, name, constraints, content, sealed, checksum, ttl, until";
        let mut past = Past { type_url: partition.type_url.clone(), variants: Vec::new(), known: Vec::new() };
        let (mut outcomes, mut bodies) = (HashMap::new(), Bodies::default());
        for locator in locators {
            let mut statement = self.connection.prepare_cached(&reached(COLUMNS, locator))?;
            let mut rows = statement.query(params![stream, &*locator.name])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let Some(key) = read_key(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_blob()?) else {
                    self.unreadable += 1;
                    found.push(Outcome::Lost);
                    continue;
                };
                if !partition.matches(&key, &locator.parameters) {
                    continue;
                }
                found.push(match outcomes.entry(row.get::<_, i64>(0)?) {
                    Entry::Occupied(seen) => *seen.get(),
                    Entry::Vacant(vacant) => {
                        let (outcome, variant) = self.read_row(partition, key, row, &mut bodies)?;
                        past.variants.extend(variant);
                        *vacant.insert(outcome)
                    }
                });
            }
            let answer = self.answer(stream, locator)?;
            past.known.extend(conclude(locator, answer, &found).map(|known| (locator.clone(), known)));
        }
        Ok(past)
    }

    fn answer(&self, stream: i64, locator: &ResourceLocator) -> Result<Absence> {
        const ANSWER: &str =
            "SELECT answer FROM locators WHERE stream = ?1 AND name = ?2 AND parameters = ?3";
        let row = params![stream, &*locator.name, encode_parameters(&locator.parameters)];
        let answer: Option<i64> =
            self.connection.prepare_cached(ANSWER)?.query_row(row, |row| row.get(0)).optional()?;
        Ok(match answer {
            Some(1) => Absence::TimedOut,
            Some(2) => Absence::Known,
            _ => Absence::Unknown,
        })
    }

    fn read_row(
        &mut self,
        partition: &Partition,
        key: VariantKey,
        row: &Row<'_>,
        bodies: &mut Bodies,
    ) -> Result<(Outcome, Option<Variant>)> {
        let Some(content) = row.get_ref(3)?.as_blob_or_null()? else { return Ok((Outcome::Lost, None)) };
        let left = match row.get::<_, Option<i64>>(7)? {
            None => None,
            Some(until) => match u64::try_from(until - milliseconds(SystemTime::now())) {
                Ok(left) if left > 0 => Some(Duration::from_millis(left)),
                _ => return Ok((Outcome::Expired, None)),
            },
        };
        let whole = xxh3_64(content).cast_signed() == row.get::<_, i64>(5)?;
        let opened = match (whole, row.get(4)?) {
            (false, _) => None,
            (true, false) => Some(Bytes::copy_from_slice(content)),
            (true, true) => {
                let opened = self.key.and_then(|sealing| sealing.open(content, &place(partition, &key)));
                opened.map(Bytes::from)
            }
        };
        let ttl = row.get::<_, Option<i64>>(6)?.and_then(|ttl| u64::try_from(ttl).ok());
        let decoded = opened.and_then(|opened| decode_among(bodies, &opened, &partition.type_url, "").ok());
        let Some(variant) = decoded.filter(|variant| *variant.key() == key) else {
            self.unreadable += 1;
            return Ok((Outcome::Lost, None));
        };
        Ok((Outcome::Alive, Some(living(variant, ttl.map(Duration::from_millis), left))))
    }
}

/// Whether some variant of `authority` was written with its content, and lives at `now`.
pub(crate) fn any_variant(connection: &Connection, authority: &str, now: SystemTime) -> Result<bool> {
    const ANY: &str = "SELECT EXISTS (
        SELECT 1 FROM streams JOIN variants ON variants.stream = streams.id
        WHERE authority = ?1 AND content IS NOT NULL AND ifnull(until > ?2, 1))";
    connection.prepare_cached(ANY)?.query_row(params![authority, milliseconds(now)], |row| row.get(0))
}

/// A variant with the time to live that it had last, of which so much is left.
fn living(variant: Variant, ttl: Option<Duration>, left: Option<Duration>) -> Variant {
    let Some(ttl) = ttl else { return variant };
    let content = Content { ttl: Some(ttl), ..variant.content().clone() };
    let variant = Variant::new(variant.key().clone(), content);
    // A clock that was set back makes no life longer.
    let lease = left.and_then(|left| Lease::new(Instant::now(), left.min(ttl)));
    lease.map_or(variant.clone(), |lease| variant.with_lease(lease))
}

/// What is known of a locator beside what it reaches.
fn conclude(locator: &ResourceLocator, answer: Absence, found: &[Outcome]) -> Option<Absence> {
    let any = |outcome| found.contains(&outcome);
    match (any(Outcome::Lost), answer) {
        (true, _) => None,
        (false, Absence::Unknown) if locator.is_collection() => None,
        (false, _) if locator.is_collection() => Some(Absence::Known),
        (false, _) if any(Outcome::Alive) => None,
        // Nobody vouches for it any more, as if it had expired while Weir was there.
        (false, Absence::Unknown) => any(Outcome::Expired).then_some(Absence::TimedOut),
        (false, answer) => Some(answer),
    }
}
