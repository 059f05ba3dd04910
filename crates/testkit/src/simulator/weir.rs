//! Weir in the middle: a database, the streams that fill it, and who wants what of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_database::{Database, DemandChange, Settings};
use weir_protocol::Dialect;
use weir_protocol::client::Naming;
use weir_types::{DynamicParameters, Kind, ResourceLocator, TypeUrl};

use super::upstream::Upstream;

/// Wildcards, and names of types that never have one, travel on one stream; other names on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Primary,
    Secondary,
}

/// The proxy, without IO.
pub(super) struct Weir {
    pub(super) database: Database,
    dialect: Dialect,
    /// Whether the origin speaks TP2.
    native: bool,
    keys: Arc<[Arc<str>]>,
    pub(super) streams: Vec<Upstream>,
    places: BTreeMap<(DynamicParameters, Role), usize>,
    wanted: BTreeMap<(TypeUrl, ResourceLocator), usize>,
}

impl Weir {
    pub(super) fn new(dialect: Dialect, native: bool) -> Self {
        let database = Database::new(Settings { idle: Duration::from_secs(10), ..Settings::default() });
        let keys = Arc::from(["env".into(), "version".into()]);
        let (streams, places, wanted) = Default::default();
        Self { database, dialect, native, keys, streams, places, wanted }
    }

    /// Follows the demand. Gives the streams that have to be opened, and whether there was any.
    pub(super) fn follow_demand(&mut self) -> (Vec<usize>, bool) {
        let mut new = Vec::new();
        let changes = self.database.take_demand();
        for change in &changes {
            match change {
                DemandChange::Wanted(type_url, locator) => self.want(type_url, locator, &mut new),
                DemandChange::Dropped(type_url, locator) => self.give_up(type_url, locator),
            }
        }
        (new, !changes.is_empty())
    }

    fn want(&mut self, type_url: &TypeUrl, locator: &ResourceLocator, new: &mut Vec<usize>) {
        let (index, locator) = self.place(type_url, locator, new);
        let count = self.wanted.entry((type_url.clone(), locator.clone())).or_default();
        *count += 1;
        let stream = &mut self.streams[index].machine;
        if *count == 1 {
            stream.subscribe(type_url, locator);
        } else if let Some(batch) = stream.recall(type_url, &locator) {
            self.database.commit(batch);
        }
    }

    fn give_up(&mut self, type_url: &TypeUrl, locator: &ResourceLocator) {
        let (index, locator) = self.place(type_url, locator, &mut Vec::new());
        let key = (type_url.clone(), locator);
        let count = self.wanted.get_mut(&key).expect("what is dropped was wanted");
        *count -= 1;
        if *count == 0 {
            self.wanted.remove(&key);
            self.streams[index].machine.unsubscribe(type_url, &key.1);
        }
    }

    /// The stream that a locator belongs to, and what it is called there.
    fn place(
        &mut self,
        type_url: &TypeUrl,
        locator: &ResourceLocator,
        new: &mut Vec<usize>,
    ) -> (usize, ResourceLocator) {
        let may_have_wildcard =
            !matches!(type_url.kind(), Kind::ClusterLoadAssignment | Kind::RouteConfiguration);
        let primary = locator.is_wildcard() || !may_have_wildcard;
        let role = if primary { Role::Primary } else { Role::Secondary };
        let projected = locator.parameters.projected(&self.keys);
        let (set, naming, locator) = match self.native {
            true => (DynamicParameters::empty(), Naming::Locators, locator.clone()),
            false => {
                let naming = Naming::names(Arc::clone(&self.keys), &projected);
                (projected.clone(), naming, ResourceLocator::new(locator.name.clone(), projected))
            }
        };
        let streams = &mut self.streams;
        let index = *self.places.entry((set.clone(), role)).or_insert_with(|| {
            streams.push(Upstream::new(self.dialect, naming, set));
            new.push(streams.len() - 1);
            streams.len() - 1
        });
        (index, locator)
    }

    /// Lets time pass on the streams and in the database.
    pub(super) fn tick(&mut self, now: Instant) {
        for stream in &mut self.streams {
            for batch in stream.machine.handle_timeout(now) {
                self.database.commit(batch);
            }
        }
        self.database.sweep(now);
    }

    /// Everything that is wanted upstream.
    pub(super) fn wanted(&self) -> BTreeSet<&(TypeUrl, ResourceLocator)> {
        self.wanted.keys().collect()
    }
}
