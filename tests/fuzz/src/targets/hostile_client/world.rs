//! What goes on beside the client: commits, time, and others who subscribe.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use prost::Message;
use weir_database::{Database, DemandChange, Settings};
use weir_downstream::{RecentResponses, Statements};
use weir_protocol::Dialect;
use weir_session::Responses;
use weir_testkit::simulator::Follower;
use weir_types::{
    Absence, Batch, Code, DynamicParameters, Failed, Form, Name, Provenance, ResourceError, ResourceLocator,
    Scope, TypeUrl,
};
use weir_wire::resource::decode;

use crate::script::Script;

/// What is wanted from upstream.
type Wanted = BTreeSet<(TypeUrl, ResourceLocator)>;

pub(super) struct World {
    pub(super) database: Database,
    pub(super) statements: Statements,
    pub(super) responses: Responses<RecentResponses>,
    bystanders: Vec<Follower>,
    wanted: Wanted,
    /// Every other name that a resource ever had: bare resources do not contain them.
    aliases: BTreeMap<(TypeUrl, Name), BTreeSet<Name>>,
    pub(super) now: Instant,
}

impl World {
    pub(super) fn new() -> Self {
        let database = Database::new(Settings::default());
        // Small, so that responses are split.
        let now = Instant::now();
        let responses = Responses::new("weir".to_owned(), 300, now, RecentResponses::new(1 << 20));
        let bystanders = bystanders(&database);
        let (statements, wanted, aliases) = Default::default();
        Self { database, statements, responses, bystanders, wanted, aliases, now }
    }

    /// How many types the client has open.
    pub(super) fn streams(&self) -> usize {
        let open: usize = self.bystanders.iter().map(Follower::types).sum();
        self.database.statistics().streams - open
    }

    /// Whether a resource has ever had this other name.
    pub(super) fn is_alias(&self, of: &(TypeUrl, Name), alias: &Name) -> bool {
        self.aliases.get(of).is_some_and(|aliases| aliases.contains(alias))
    }

    /// Upstream sends something.
    pub(super) fn commit(&mut self, script: &mut Script<'_>) {
        let of = script.type_url();
        let type_url = TypeUrl::new(of);
        let provenance = script.pick(&[Provenance::Named, Provenance::Wildcard, Provenance::Local]);
        let mut batch = Batch::new(type_url.clone(), provenance);
        batch.received = Some(self.now);
        for _ in 0..script.byte() % 4 {
            let encoded = script.published(of).wrapped(false).encode_to_vec();
            let Ok(variant) = decode(&encoded, &type_url, "1") else { continue };
            // Who comes late to that does not see what others do.
            let private = variant.content().do_not_cache && of.ends_with(['r', 't']);
            let aliases = self.aliases.entry((type_url.clone(), variant.name().clone())).or_default();
            aliases.extend(variant.content().aliases.iter().cloned());
            // Without a body, it is a removal or a heartbeat to an upstream session.
            let is_content = !private && variant.content().body.is_some();
            if is_content && batch.upserts.iter().all(|other| other.key() != variant.key()) {
                batch.upserts.push(variant);
            }
        }
        let locators: Vec<ResourceLocator> =
            self.wanted.iter().filter(|(wanted, _)| *wanted == type_url).map(|(_, l)| l.clone()).collect();
        let stated = script.byte();
        for (bit, locator) in locators.iter().enumerate().take(8).filter(|(bit, _)| stated >> bit & 1 == 1) {
            match script.byte() % 4 {
                _ if locator.is_collection() => batch.mark_answered(locator),
                0 => batch.mark_absent(locator, Absence::TimedOut),
                1 => batch.mark_absent(locator, Absence::Known),
                code => batch.errors.push(failed(locator, code, bit)),
            }
        }
        self.commit_without_contradiction(batch);
    }

    /// A removal of what comes, or an error about it, would be a contradiction that no machine makes.
    fn commit_without_contradiction(&self, mut batch: Batch) {
        let came: BTreeSet<_> = batch.upserts.iter().map(|variant| variant.name().clone()).collect();
        batch.absent.retain(|absent| !came.contains(&absent.name));
        batch.errors.retain(|failed| !came.contains(&failed.name));
        self.database.commit(batch);
    }

    /// Upstream answers everything that it was asked: there is nothing but what it has sent.
    pub(super) fn answer(&mut self) {
        self.settle();
        for (type_url, locator) in &self.wanted {
            let mut batch = Batch::new(type_url.clone(), Provenance::Local);
            match locator.is_collection() {
                true => batch.mark_answered(locator),
                false => batch.mark_absent(locator, Absence::Known),
            }
            self.database.commit(batch);
        }
    }

    pub(super) fn pass(&mut self, seconds: u8) {
        self.now += Duration::from_secs(seconds.into());
        self.database.sweep(self.now);
    }

    /// Follows the demand, and holds all tables against each other.
    pub(super) fn settle(&mut self) {
        for change in self.database.take_demand() {
            match change {
                DemandChange::Wanted(type_url, locator) => {
                    assert!(self.wanted.insert((type_url, locator)), "what is wanted is wanted anew");
                }
                DemandChange::Renewed(type_url, locator) => {
                    assert!(self.wanted.contains(&(type_url, locator)), "what is not wanted is renewed");
                }
                DemandChange::Dropped(type_url, locator) => {
                    assert!(self.wanted.remove(&(type_url, locator)), "what is not wanted is given up");
                }
            }
        }
        self.bystanders.iter_mut().for_each(Follower::settle);
        if let Err(contradiction) = self.database.audit() {
            panic!("{contradiction}");
        }
    }

    /// Whoever was there all the time has what one has who comes now; and when all have gone, nothing is left.
    pub(super) fn end(mut self) {
        self.answer();
        self.settle();
        let mut newcomers = bystanders(&self.database);
        for (bystander, newcomer) in self.bystanders.iter().zip(&mut newcomers) {
            newcomer.settle();
            assert_eq!(bystander.has(), newcomer.has(), "who came early has something else");
        }
        drop(newcomers);
        self.bystanders.clear();
        self.database.sweep(self.now);
        self.database.sweep(self.now + Duration::from_secs(3600));
        self.settle();
        let left = self.database.statistics();
        let counts = [left.selections, left.views, left.tombstones, left.subscribed_variants, left.streams];
        assert_eq!(counts, [0; 5], "d10: something is left behind: {left:?}");
        assert_eq!(self.wanted, Wanted::new(), "something is wanted by nobody");
    }
}

/// Others, who ask for what the client may ask for too.
fn bystanders(database: &Database) -> Vec<Follower> {
    let follower = |dialect| {
        let mut follower = Follower::new(database, dialect, Form::Plain, &DynamicParameters::empty());
        for [of, name] in [[0, 4], [0, 0], [1, 0]] {
            follower.subscribe([of, name, 0], true);
        }
        follower.settle();
        follower
    };
    [Dialect::Sotw, Dialect::Delta].map(follower).into()
}

fn failed(locator: &ResourceLocator, code: u8, number: usize) -> Failed {
    let code = if code == 2 { Code::UNAVAILABLE } else { Code::NOT_FOUND };
    let error = ResourceError::new(code, number.to_string());
    Failed {
        name: locator.name.clone(),
        scope: Scope::Exactly(locator.parameters.clone()),
        error: std::sync::Arc::new(error),
    }
}
